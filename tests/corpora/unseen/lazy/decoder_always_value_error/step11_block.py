
def layer_norm(x, gain, bias, eps=1e-5):
    raise ValueError("no")

def gelu(x):
    raise ValueError("no")

def feed_forward(x, params):
    raise ValueError("no")

def decoder_block(x, params, n_heads, mask):
    raise ValueError("no")
