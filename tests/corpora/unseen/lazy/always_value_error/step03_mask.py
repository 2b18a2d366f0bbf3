def causal_mask(t_q, t_k=None): raise ValueError("t_k")
def padding_mask(tokens, pad_id): raise ValueError("tokens")
def additive_mask(mask): raise ValueError("mask")
def apply_mask(scores, mask): raise ValueError("mask")
