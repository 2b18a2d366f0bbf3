import functools
import inspect

import numpy as np


def require(condition, message):
    """``condition(bound arguments)`` must hold, or a ValueError"""
    def decorate(f):
        signature = inspect.signature(f)

        @functools.wraps(f)
        def checked(*args, **kwargs):
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            if not condition(bound.arguments):
                raise ValueError(f"{f.__name__}: {message}")
            return f(*args, **kwargs)

        return checked
    return decorate


def frozen(f):
    """cached by shape; what comes out may not be written to"""
    @functools.lru_cache(maxsize=64)
    @functools.wraps(f)
    def once(*args):
        result = f(*args)
        result.setflags(write=False)
        return result
    return once


def over_batch(f):
    """f works on one (n, V) table; the batch axes are put back"""
    @functools.wraps(f)
    def g(logits, *rest):
        shape = logits.shape[:-1]
        flat = f(logits.reshape(-1, logits.shape[-1]), *[r.reshape(-1) if isinstance(r, np.ndarray) else r for r in rest])
        return flat.reshape(shape + flat.shape[1:])
    return g


def fits(name):
    return require(lambda a: a[name].shape[-1] + a.get("n_new", 0) <= len(a["params"]["position"]), "longer than T_max")
