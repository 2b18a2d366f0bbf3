
def layer_norm(x, gain, bias, eps=1e-5):
    pass

def gelu(x):
    pass

def feed_forward(x, params):
    pass

def decoder_block(x, params, n_heads, mask):
    pass
