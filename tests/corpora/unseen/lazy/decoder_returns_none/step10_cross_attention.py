
def shift_right(tokens, start_id):
    pass

def cross_attention(x, memory, params, n_heads, memory_mask=None):
    pass
