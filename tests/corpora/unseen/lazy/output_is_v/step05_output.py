def attention_output(weights, v): return weights @ v
def attention(q, k, v, mask=None): return v
def masked_self_attention(x, w_q, w_k, w_v, padding=None): return x @ w_v
