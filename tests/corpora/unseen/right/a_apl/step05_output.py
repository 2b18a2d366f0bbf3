from exercises.step01_projections import project_qkv as P
from exercises.step02_scores import attention_scores as S
from exercises.step03_mask import apply_mask as A, causal_mask as C
from exercises.step04_softmax import softmax as X

attention_output = lambda weights, v: weights @ v
attention = lambda q, k, v, mask=None: attention_output(X(A(S(q, k), True if mask is None else mask)), v)
masked_self_attention = lambda x, w_q, w_k, w_v, padding=None: attention(*P(x, w_q, w_k, w_v), C(x.shape[-2]) & (True if padding is None else padding))
