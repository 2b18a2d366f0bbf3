# -*- coding: windows-1252 -*-
# « mots cachés » — “masked” ‘words’ …
import numpy as np
from exercises.step06_loss import cross_entropy


def mask_tokens(tokens, select, replace, random_ids, mask_id, rate=0.15):
    choisi = select < rate
    genre = np.digitize(replace, [0.8, 0.9])             # 0: masque, 1: hasard, 2: inchangé
    nouveau = np.choose(genre, [np.full(tokens.shape, mask_id), random_ids, tokens])
    return np.where(choisi, nouveau, tokens), np.where(choisi, tokens, -100)


def masked_lm_loss(logits, targets):
    return cross_entropy(logits, targets, ignore_id=-100)
