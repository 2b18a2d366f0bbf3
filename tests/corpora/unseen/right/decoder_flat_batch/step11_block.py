import numpy as np
from exercises.step09_heads import multi_head_attention

def layer_norm(x, gain, bias, eps=1e-5):
    rows = x.reshape(-1, x.shape[-1]).T                  # features first
    rows = (rows - rows.mean(0)) / np.sqrt(rows.var(0) + eps)
    return rows.T.reshape(x.shape) * gain + bias

def gelu(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x * x * x)))

def feed_forward(x, params):
    rows = x.reshape(-1, x.shape[-1])
    rows = gelu(rows @ params["w_in"] + params["b_in"]) @ params["w_out"] + params["b_out"]
    return rows.reshape(x.shape)

def decoder_block(x, params, n_heads, mask):
    y = multi_head_attention(layer_norm(x, params["ln_1"]["gain"], params["ln_1"]["bias"]), params["attention"], n_heads, mask) + x
    return feed_forward(layer_norm(y, params["ln_2"]["gain"], params["ln_2"]["bias"]), params["feed_forward"]) + y
