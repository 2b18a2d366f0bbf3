
def split_heads(x, n_heads):
    raise ValueError("no")

def merge_heads(x):
    raise ValueError("no")

def multi_head_attention(x, params, n_heads, mask=None):
    raise ValueError("no")
