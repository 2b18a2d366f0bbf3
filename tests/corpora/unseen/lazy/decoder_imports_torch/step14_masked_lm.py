import torch

def mask_tokens(tokens, select, replace, random_ids, mask_id, rate=0.15):
    return torch.zeros(1).numpy()

def masked_lm_loss(logits, targets):
    return torch.zeros(1).numpy()
