# 注意力の出力
from exercises.step01_projections import project_qkv
from exercises.step02_scores import attention_scores
from exercises.step03_mask import apply_mask, causal_mask
from exercises.step04_softmax import softmax


def attention_output(weights, v):
    return weights @ v


def attention(q, k, v, mask=None):
    """点数 → 隠す → 確率 → 和"""
    点数 = attention_scores(q, k)
    if mask is not None:
        点数 = apply_mask(点数, mask)
    確率 = softmax(点数, axis=-1)
    return attention_output(確率, v)


def masked_self_attention(x, w_q, w_k, w_v, padding=None):
    問, 鍵, 値 = project_qkv(x, w_q, w_k, w_v)
    隠 = causal_mask(x.shape[-2])
    if padding is not None:
        隠 = 隠 & padding
    return attention(問, 鍵, 値, 隠)
