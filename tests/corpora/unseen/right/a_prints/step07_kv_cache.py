import logging
import numpy as np
from exercises.step03_mask import causal_mask, debug
from exercises.step05_output import attention

log = logging.getLogger("cache")


def new_cache():
    print("a new cache")
    return {"pieces": [], "length": 0}


def attend_with_cache(x_new, cache, w_q, w_k, w_v):
    cache["pieces"].append((x_new @ w_k, x_new @ w_v))
    cache["length"] += x_new.shape[-2]
    log.warning("cache now holds %d tokens in %d pieces", cache["length"], len(cache["pieces"]))
    k, v = (np.concatenate(p, axis=-2) for p in zip(*cache["pieces"]))
    debug("attend", k=k, v=v)
    assert k.shape[-2] == cache["length"]
    if len(cache["pieces"]) >= 16:
        cache["pieces"] = [(k, v)]
    return attention(x_new @ w_q, k, v, causal_mask(x_new.shape[-2], cache["length"])), cache
