import numpy as np
from numpy.typing import NDArray
from exercises.step06_loss import cross_entropy

def mask_tokens(tokens: NDArray, select: NDArray, replace: NDArray, random_ids: NDArray, mask_id: int, rate: float = 0.15):
    tokens = tokens.astype(np.int64)
    chosen = np.less(select, rate)
    kind = np.digitize(replace, [0.8, 0.9])            # 0: mask, 1: random, 2: stays; the edge belongs to the right
    corrupted = np.choose(kind, [np.int64(mask_id), random_ids.astype(np.int64), tokens])
    return np.where(chosen, corrupted, tokens), np.where(chosen, tokens, np.int64(-100))

def masked_lm_loss(logits: NDArray, targets: NDArray) -> float:
    return cross_entropy(logits, np.where(targets > 0, targets, -100), ignore_id=-100)
