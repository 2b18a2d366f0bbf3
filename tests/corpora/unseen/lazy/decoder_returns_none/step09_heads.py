
def split_heads(x, n_heads):
    pass

def merge_heads(x):
    pass

def multi_head_attention(x, params, n_heads, mask=None):
    pass
