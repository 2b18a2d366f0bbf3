"""vmap, scan and tree_map for poor people."""
import numpy as np


def tree_map(f, tree, *rest):
    if isinstance(tree, dict):
        return {k: tree_map(f, tree[k], *(r[k] for r in rest)) for k in tree}
    if isinstance(tree, (list, tuple)):
        return type(tree)(tree_map(f, *leaves) for leaves in zip(tree, *rest))
    return f(tree, *rest)


def leaves(tree):
    if isinstance(tree, dict):
        return [x for k in sorted(tree) for x in leaves(tree[k])]
    if isinstance(tree, (list, tuple)):
        return [x for t in tree for x in leaves(t)]
    return [tree]


def vmap(f, in_axes=0):
    def mapped(*args):
        axes = in_axes if isinstance(in_axes, (tuple, list)) else (in_axes,) * len(args)
        n = next(leaves(a)[0].shape[0] for a, ax in zip(args, axes) if ax is not None)
        outs = [f(*(a if ax is None else tree_map(lambda x: x[i], a) for a, ax in zip(args, axes))) for i in range(n)]
        return tree_map(lambda *xs: np.stack(xs), *outs)
    return mapped


def batched(f, n_batch):
    for _ in range(n_batch):
        f = vmap(f)
    return f


def scan(f, carry, xs, length=None):
    n = length if xs is None else leaves(xs)[0].shape[0]
    ys = []
    for i in range(n):
        carry, y = f(carry, None if xs is None else tree_map(lambda x: x[i], xs))
        ys.append(y)
    return carry, ys


def softmax_where(x, where):
    """softmax over the last axis of the entries allowed by ``where``"""
    hidden = np.where(where, x, -np.inf)
    top = np.max(hidden, axis=-1, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    e = np.where(where, np.exp(np.minimum(x - top, 0.0)), 0.0)
    z = np.sum(e, axis=-1, keepdims=True)
    return e / np.where(z > 0, z, 1.0)
