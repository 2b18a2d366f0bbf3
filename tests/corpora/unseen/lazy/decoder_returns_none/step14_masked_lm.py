
def mask_tokens(tokens, select, replace, random_ids, mask_id, rate=0.15):
    pass

def masked_lm_loss(logits, targets):
    pass
