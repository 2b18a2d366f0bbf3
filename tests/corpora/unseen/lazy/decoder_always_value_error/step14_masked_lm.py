
def mask_tokens(tokens, select, replace, random_ids, mask_id, rate=0.15):
    raise ValueError("no")

def masked_lm_loss(logits, targets):
    raise ValueError("no")
