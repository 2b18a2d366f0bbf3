import numpy as np

from exercises import layers
from exercises.tape import Var, tree, tree_backward


def _loss(tokens, p, n_heads, ignore_id):
    t = tokens.shape[-1] - 1
    if t < 1:
        raise ValueError("tokens: T < 2")
    if t > p["position"].shape[0]:
        raise ValueError("tokens: T > T_max + 1")
    x = p["embedding"][tokens[..., :-1]] + p["position"][np.arange(t)]
    mask = np.tri(t, dtype=bool)
    for b in p["blocks"]:
        x = layers.block(x, b, n_heads, mask)
    logits = layers.layer_norm(x, **p["ln_f"]) @ p["embedding"].swap(0, 1)
    return layers.cross_entropy(logits, tokens[..., 1:], ignore_id)


def decoder_loss(tokens, params, n_heads, ignore_id=None):
    return float(_loss(tokens, tree(Var, params), n_heads, ignore_id).value)


def decoder_loss_and_gradients(tokens, params, n_heads, ignore_id=None):
    p = tree(Var, params)
    loss = _loss(tokens, p, n_heads, ignore_id)
    return float(loss.value), tree_backward(loss, 1.0, p)
