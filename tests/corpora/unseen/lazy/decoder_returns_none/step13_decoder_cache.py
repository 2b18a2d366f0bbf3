
def new_decoder_cache(n_layers):
    pass

def decoder_step(tokens_new, cache, params, n_heads):
    pass

def decoder_generate(prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None):
    pass
