
def layer_norm(x, gain, bias, eps=1e-5):
    return x

def gelu(x):
    return x

def feed_forward(x, params):
    return x

def decoder_block(x, params, n_heads, mask):
    return x
