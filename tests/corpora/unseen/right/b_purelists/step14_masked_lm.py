from exercises.step06_loss import cross_entropy


def _one(t, s, r, i, mask_id, rate):
    if s >= rate:
        return (t, -100)
    if r < 0.8:
        return (mask_id, t)
    if r < 0.9:
        return (i, t)
    return (t, t)


def mask_tokens(tokens, select, replace, random_ids, mask_id, rate=0.15):
    columns = (a.reshape(-1).tolist() for a in (tokens, select, replace, random_ids))
    pairs = [_one(*row, mask_id, rate) for row in zip(*columns)]
    import numpy

    corrupted, targets = (numpy.array(c).reshape(tokens.shape) for c in zip(*pairs))
    return corrupted, targets


def masked_lm_loss(logits, targets):
    return cross_entropy(logits, targets, ignore_id=-100)
