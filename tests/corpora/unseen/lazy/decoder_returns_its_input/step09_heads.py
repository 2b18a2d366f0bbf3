
def split_heads(x, n_heads):
    return x

def merge_heads(x):
    return x

def multi_head_attention(x, params, n_heads, mask=None):
    return x
