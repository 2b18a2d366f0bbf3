#!/usr/bin/env python3
# coding: latin-1
# Verlust: §$% öäüß ÄÖÜ ½ ± µ
import numpy as np
from exercises.step05_output import masked_self_attention


def shift_tokens(tokens):
    if tokens.shape[-1] < 2:
        raise ValueError("tokens: zu kurz für ein nächstes Wort")
    return np.split(tokens, [tokens.shape[-1] - 1], axis=-1)[0], np.split(tokens, [1], axis=-1)[1]


def log_softmax(logits):
    verschoben = logits - np.max(logits, axis=-1, keepdims=True)
    return verschoben - np.log(np.exp(verschoben).sum(axis=-1, keepdims=True))


def _für_ziel(logits, targets):
    lp = log_softmax(logits)
    stellen = np.indices(targets.shape)
    return lp[(*stellen, targets)]


def cross_entropy(logits, targets, ignore_id=None):
    zählt = np.full(targets.shape, True) if ignore_id is None else targets != ignore_id
    if not zählt.any():
        raise ValueError("targets: nichts übrig")
    ziele = np.where(zählt, targets, 0)
    return float(-_für_ziel(logits, ziele)[zählt].sum() / zählt.sum())


def sequence_log_prob(logits, targets):
    return _für_ziel(logits, targets).sum(axis=-1)


def next_token_logits(tokens, params):
    länge = tokens.shape[-1]
    if länge > params["position"].shape[0]:
        raise ValueError("tokens: länger als T_max")
    x = params["embedding"][tokens] + params["position"][:länge]
    return masked_self_attention(x, params["w_q"], params["w_k"], params["w_v"]) @ params["w_out"]


def teacher_forced_loss(tokens, params):
    eingabe, ziel = shift_tokens(tokens)
    return cross_entropy(next_token_logits(eingabe, params), ziel)
