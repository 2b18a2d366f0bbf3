from __future__ import annotations

from typing import Final

import numpy as np

from exercises.step06_loss import cross_entropy
from exercises.types_ import Bools, Floats, Ints

NOT_CHOSEN: Final = -100


def mask_tokens(tokens: Ints, select: Floats, replace: Floats, random_ids: Ints, mask_id: int,
                rate: float = 0.15) -> tuple[Ints, Ints]:
    chosen: Bools = np.less(select, rate)
    to_mask: Bools = chosen & np.less(replace, 0.8)
    to_random: Bools = chosen & np.greater_equal(replace, 0.8) & np.less(replace, 0.9)
    corrupted: Ints = np.select([to_mask, to_random], [np.full_like(tokens, mask_id), random_ids], default=tokens)
    targets: Ints = np.where(chosen, tokens, NOT_CHOSEN)
    return corrupted, targets


def masked_lm_loss(logits: Floats, targets: Ints) -> float:
    return cross_entropy(logits, targets, NOT_CHOSEN)
