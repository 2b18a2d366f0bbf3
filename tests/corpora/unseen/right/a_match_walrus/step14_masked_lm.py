import numpy as np
from exercises.step06_loss import cross_entropy


def _fate(s, r, rate):
    match (s < rate, r < 0.8, r < 0.9):
        case (False, _, _):
            return "left alone"
        case (True, True, _):
            return "mask"
        case (True, False, True):
            return "random"
        case _:
            return "kept"


def mask_tokens(tokens, select, replace, random_ids, mask_id, rate=0.15):
    corrupted, targets = np.array(tokens), np.array(tokens)
    for i in np.ndindex(tokens.shape):
        match _fate(float(select[i]), float(replace[i]), rate):
            case "left alone":
                targets[i] = -100
            case "mask":
                corrupted[i] = mask_id
            case "random":
                corrupted[i] = random_ids[i]
    return corrupted, targets


def masked_lm_loss(logits, targets):
    return cross_entropy(logits, targets, ignore_id=-100)
