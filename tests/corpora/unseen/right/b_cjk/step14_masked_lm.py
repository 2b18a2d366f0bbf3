# 隐藏词语，而不是隐藏时间
import numpy as np

from exercises.step06_loss import cross_entropy

忽略 = -100


def mask_tokens(tokens, select, replace, random_ids, mask_id, rate=0.15):
    选中 = select < rate
    结果 = np.where(选中 & (replace < 0.8), mask_id, tokens)
    随机 = 选中 & ~(replace < 0.8) & (replace < 0.9)
    结果[随机] = random_ids[随机]
    return 结果, np.where(选中, tokens, 忽略)


def masked_lm_loss(logits, targets):
    return cross_entropy(logits, targets, ignore_id=忽略)
