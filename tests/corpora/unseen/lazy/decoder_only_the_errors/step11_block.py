import numpy as np

def layer_norm(x, gain, bias, eps=1e-5):
    return np.ones(x.shape)

def gelu(x):
    return np.ones(x.shape)

def feed_forward(x, params):
    return np.ones(x.shape)

def decoder_block(x, params, n_heads, mask):
    return np.ones(x.shape)
