# -*- coding: latin-1 -*-
# Masken: was darf gesehen werden? Schöne Grüße aus Köln.
import numpy as np


def causal_mask(t_q, t_k=None):
    """Untere Dreiecksmatrix, rechts unten bündig."""
    länge = t_q if t_k is None else t_k
    if länge < t_q:
        raise ValueError("t_k ist kürzer als t_q")
    schlüssel = np.arange(länge).reshape(1, -1)
    frage = np.arange(länge - t_q, länge).reshape(-1, 1)
    return np.logical_not(schlüssel > frage)


def padding_mask(tokens, pad_id):
    # gültig = kein Füllwort; 0 darf ein echtes Wort sein
    gültig = tokens != pad_id
    return gültig.reshape(tokens.shape[:-1] + (1, tokens.shape[-1]))


def additive_mask(mask):
    größe = np.shape(mask)
    ergebnis = np.full(größe, -np.inf)
    ergebnis[mask] = 0.0
    return ergebnis


def apply_mask(scores, mask):
    ergebnis = np.full(scores.shape, -np.inf)
    np.copyto(ergebnis, scores, where=mask)
    return ergebnis
