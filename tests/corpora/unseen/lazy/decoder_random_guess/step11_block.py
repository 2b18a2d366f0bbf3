import numpy as np
rng = np.random.default_rng()

def layer_norm(x, gain, bias, eps=1e-5):
    return rng.normal(size=x.shape)

def gelu(x):
    return rng.normal(size=x.shape)

def feed_forward(x, params):
    return rng.normal(size=x.shape)

def decoder_block(x, params, n_heads, mask):
    return rng.normal(size=x.shape)
