import numpy as np
from exercises.step02_scores import attention_scores
from exercises.step03_mask import apply_mask, causal_mask
from exercises.step04_softmax import softmax

attention_output = np.vectorize(np.dot, signature="(i,j),(j,d)->(i,d)", otypes=[float])


def attention(q, k, v, mask=None):
    s = attention_scores(q, k)
    return attention_output(softmax(s if mask is None else apply_mask(s, mask)), v)


def masked_self_attention(x, w_q, w_k, w_v, padding=None):
    m = causal_mask(x.shape[-2])
    project = np.vectorize(np.dot, signature="(t,d),(d,e)->(t,e)", otypes=[float])
    return attention(project(x, w_q), project(x, w_k), project(x, w_v), m if padding is None else m & padding)
