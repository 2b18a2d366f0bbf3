
def new_decoder_cache(n_layers):
    return n_layers

def decoder_step(tokens_new, cache, params, n_heads):
    return tokens_new, cache

def decoder_generate(prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None):
    return prompt
