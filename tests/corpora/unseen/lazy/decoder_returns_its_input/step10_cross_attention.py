
def shift_right(tokens, start_id):
    return tokens

def cross_attention(x, memory, params, n_heads, memory_mask=None):
    return x
