import io
import numpy as np
from exercises.step03_mask import causal_mask
from exercises.step05_output import attention


def freeze(*arrays):
    f = io.BytesIO()
    np.savez(f, *arrays)
    return f.getvalue()


def thaw(frozen):
    with np.load(io.BytesIO(frozen)) as z:
        return [z[f"arr_{i}"] for i in range(len(z.files))]


def new_cache():
    return b""


def attend_with_cache(x_new, cache, w_q, w_k, w_v):
    new = [x_new @ w_k, x_new @ w_v]
    if cache:
        new = [np.concatenate(pair, axis=-2) for pair in zip(thaw(cache), new)]
    k, v = new
    return attention(x_new @ w_q, k, v, causal_mask(x_new.shape[-2], k.shape[-2])), freeze(k, v)
