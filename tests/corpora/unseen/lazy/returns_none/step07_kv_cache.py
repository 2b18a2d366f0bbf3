def new_cache(): pass
def attend_with_cache(x_new, cache, w_q, w_k, w_v): pass
