# 掩码：True 表示可以看
import numpy as np


def causal_mask(t_q, t_k=None):
    """因果掩码，右下角对齐。"""
    长度 = t_q if t_k is None else t_k
    if 长度 < t_q:
        raise ValueError("t_k 太小")
    查询 = np.arange(长度 - t_q, 长度)
    键 = np.arange(长度)
    return np.greater_equal.outer(查询, 键)


def padding_mask(tokens, pad_id):
    # 填充只隐藏键，不隐藏查询
    return np.not_equal(np.expand_dims(tokens, -2), pad_id)


def additive_mask(mask):
    结果 = np.zeros(np.shape(mask))
    np.putmask(结果, ~mask, -np.inf)
    return 结果


def apply_mask(scores, mask):
    结果 = scores.copy()
    np.copyto(结果, -np.inf, where=~np.asarray(mask))
    return 结果
