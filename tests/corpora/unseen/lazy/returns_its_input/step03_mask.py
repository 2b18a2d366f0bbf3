def causal_mask(t_q, t_k=None): return t_q
def padding_mask(tokens, pad_id): return tokens
def additive_mask(mask): return mask
def apply_mask(scores, mask): return scores
