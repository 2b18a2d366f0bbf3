import numpy as np

def layer_norm(x, gain, bias, eps=1e-5):
    return np.array(x)

def gelu(x):
    return np.array(x)

def feed_forward(x, params):
    return np.zeros(x.shape)

def decoder_block(x, params, n_heads, mask):
    return np.array(x)
