"""Compute Part III with torch, gradients by autograd and training by torch.optim: the reference.

The forward functions are written once more here, in torch operations that autograd can follow. No
gradient is written by hand: `torch.autograd.grad` finds each. Arguments are NumPy arrays or trees
of them, and are never modified. Results are new NumPy arrays.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch.optim.adamw import adamw

from grader.answer_key.reference import Array, Floats, Params, _array, _cross_entropy, _ids
from grader.steps.tree import leaves, map_leaves, named_leaves

Tree = Any


def _leaf(values: Array) -> torch.Tensor:
    """Return a copy in float64 whose gradients autograd can compute."""
    return torch.from_numpy(np.array(values, dtype=np.float64, order="C")).requires_grad_()


def _gradients(out: torch.Tensor, tree: Tree, d_out: Array | None = None) -> Tree:
    """Return the gradient of `out`, weighted by d_out, with respect to each tensor of the tree."""
    weights = None if d_out is None else _leaf(d_out).detach()
    tensors = list(leaves(tree))
    found = torch.autograd.grad(out, tensors, weights, allow_unused=True)
    given = [np.zeros(t.shape) if g is None else g.numpy().copy() for t, g in zip(tensors, found)]
    rest = iter(given)
    return map_leaves(tree, lambda _: next(rest))


def _differentiate(forward: Callable[..., Any], d_out: Array | None, *given: Tree) -> Tree:
    """Return the gradients of a function's result, weighted by d_out, one for each argument."""
    tensors = [map_leaves(one, _leaf) for one in given]
    with torch.enable_grad():
        out = forward(*tensors)
    return tuple(_gradients(out, tensors, d_out))


def linear_backward(d_out: Array, x: Array, weight: Array) -> Tree:
    """Differentiate `F.linear`, with a bias of zeros."""
    bias = np.zeros(np.shape(weight)[-1])
    return _differentiate(lambda a, w, b: F.linear(a, w.T, b), d_out, x, weight, bias)


def softmax_backward(d_weights: Array, weights: Array) -> Floats:
    """Differentiate `torch.softmax` at the logarithm of its result; a row of zeros gives zeros."""
    empty = ~(np.asarray(weights) > 0).any(axis=-1, keepdims=True)
    with np.errstate(divide="ignore"):
        scores = np.where(empty, 0.0, np.log(np.asarray(weights, np.float64)))
    (gradient,) = _differentiate(partial(torch.softmax, dim=-1), d_weights, scores)
    return np.asarray(np.where(empty, 0.0, gradient))


def cross_entropy_backward(logits: Array, targets: Array, ignore_id: int | None = None) -> Tree:
    """Differentiate `F.cross_entropy`; ignoring everything is an error."""
    return _differentiate(lambda a: _cross_entropy(a, targets, ignore_id), None, logits)[0]


def embedding_backward(d_x: Array, tokens: Array, vocabulary: int) -> Tree:
    """Differentiate `F.embedding`."""
    table = np.zeros((vocabulary, np.shape(d_x)[-1]))
    return _differentiate(partial(F.embedding, _ids(tokens)), d_x, table)[0]


def _attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: Any) -> torch.Tensor:
    """Return attention whose gradient is 0, not NaN, if a query may attend to nothing."""
    scores = torch.einsum("...qd,...kd->...qk", q, k) / math.sqrt(q.shape[-1])
    allowed = torch.from_numpy(np.array(True if mask is None else mask)).expand(scores.shape)
    some = allowed.any(dim=-1, keepdim=True)
    hidden = scores.masked_fill(~allowed & some, -torch.inf)
    return torch.matmul(torch.softmax(hidden, dim=-1) * some, v)


def attention_backward(
    d_out: Array, q: Array, k: Array, v: Array, mask: Array | None = None
) -> Tree:
    """Differentiate softmax(q kᵀ / √d_k) v."""
    return _differentiate(partial(_attention, mask=mask), d_out, q, k, v)


def masked_self_attention_backward(
    d_out: Array, x: Array, w_q: Array, w_k: Array, w_v: Array, padding: Array | None = None
) -> Tree:
    """Differentiate causal self-attention."""
    length = np.shape(x)[-2]
    mask = np.tri(length, dtype=bool) & (True if padding is None else padding)

    def forward(a: torch.Tensor, *weights: torch.Tensor) -> torch.Tensor:
        q, k, v = (a @ weight for weight in weights)
        return _attention(q, k, v, mask)

    return _differentiate(forward, d_out, x, w_q, w_k, w_v)


def _normalise(x: torch.Tensor, norm: Mapping[str, torch.Tensor]) -> torch.Tensor:
    return F.layer_norm(x, x.shape[-1:], norm["gain"], norm["bias"])


def layer_norm_backward(d_out: Array, x: Array, gain: Array, eps: float = 1e-5) -> Tree:
    """Differentiate `F.layer_norm`, with a bias of zeros."""
    norm = partial(F.layer_norm, normalized_shape=np.shape(gain), eps=eps)
    return _differentiate(
        lambda a, g, b: norm(a, weight=g, bias=b), d_out, x, gain, np.zeros_like(gain)
    )


def gelu_backward(d_out: Array, x: Array) -> Tree:
    """Differentiate `F.gelu` in its tanh form."""
    return _differentiate(partial(F.gelu, approximate="tanh"), d_out, x)[0]


def _feed_forward(x: torch.Tensor, params: Mapping[str, torch.Tensor]) -> torch.Tensor:
    hidden = F.gelu(F.linear(x, params["w_in"].T, params["b_in"]), approximate="tanh")
    return F.linear(hidden, params["w_out"].T, params["b_out"])


def _heads(
    x: torch.Tensor, params: Mapping[str, torch.Tensor], n_heads: int, mask: Any
) -> torch.Tensor:
    """Return multi-head attention; the mask has no head axis."""
    length, d_model = x.shape[-2:]
    allowed = np.broadcast_to(True if mask is None else mask, (*x.shape[:-1], length))

    def split(name: str) -> torch.Tensor:
        made = F.linear(x, params[f"w_{name}"].T, params[f"b_{name}"])
        parts = made.reshape(*made.shape[:-1], n_heads, d_model // n_heads)
        return parts.transpose(-3, -2)

    out = _attention(split("q"), split("k"), split("v"), allowed[..., None, :, :])
    return F.linear(out.transpose(-3, -2).flatten(-2), params["w_o"].T, params["b_o"])


def _block(x: torch.Tensor, params: Mapping[str, Any], n_heads: int, mask: Any) -> torch.Tensor:
    x = x + _heads(_normalise(x, params["ln_1"]), params["attention"], n_heads, mask)
    return x + _feed_forward(_normalise(x, params["ln_2"]), params["feed_forward"])


def feed_forward_backward(d_out: Array, x: Array, params: Params) -> Tree:
    """Differentiate `F.linear`, `F.gelu`, `F.linear`."""
    return _differentiate(_feed_forward, d_out, x, params)


def multi_head_attention_backward(
    d_out: Array, x: Array, params: Params, n_heads: int, mask: Array | None = None
) -> Tree:
    """Differentiate multi-head self-attention."""
    return _differentiate(partial(_heads, n_heads=n_heads, mask=mask), d_out, x, params)


def decoder_block_backward(
    d_out: Array, x: Array, params: Mapping[str, Any], n_heads: int, mask: Array
) -> Tree:
    """Differentiate a pre-norm block."""
    return _differentiate(partial(_block, n_heads=n_heads, mask=mask), d_out, x, params)


def _loss(tokens: Array, params: Tree, n_heads: int, ignore_id: int | None) -> torch.Tensor:
    """Return the mean cross entropy of every next token, in one pass."""
    if np.shape(tokens)[-1] < 2:
        raise ValueError("tokens must hold at least 2 positions")
    inputs, targets = np.asarray(tokens)[..., :-1], np.asarray(tokens)[..., 1:]
    length, t_max = inputs.shape[-1], len(params["position"])
    if length > t_max:
        raise ValueError(f"tokens has {length} inputs, more than T_max, which is {t_max}")
    x = F.embedding(_ids(inputs), params["embedding"]) + params["position"][:length]
    for block in params["blocks"]:
        x = _block(x, block, n_heads, np.tri(length, dtype=bool))
    logits = F.linear(_normalise(x, params["ln_f"]), params["embedding"])
    return _cross_entropy(logits, targets, ignore_id)


def decoder_loss(
    tokens: Array, params: Mapping[str, Any], n_heads: int, ignore_id: int | None = None
) -> float:
    """Apply `F.cross_entropy` to one forward pass."""
    return float(_loss(tokens, map_leaves(params, _leaf), n_heads, ignore_id))


def decoder_loss_and_gradients(
    tokens: Array, params: Mapping[str, Any], n_heads: int, ignore_id: int | None = None
) -> tuple[float, Tree]:
    """Return the gradients by autograd, which adds up both uses of the embedding."""
    tensors = map_leaves(params, _leaf)
    with torch.enable_grad():
        loss = _loss(tokens, tensors, n_heads, ignore_id)
    return float(loss), _gradients(loss, tensors)


def clip_gradients(grads: Tree, max_norm: float) -> tuple[Tree, float]:
    """Apply `torch.linalg.vector_norm` to all gradients; torch's own clipping adds 1e-6."""
    if max_norm <= 0:
        raise ValueError(f"max_norm must be above 0, and is {max_norm}")
    numbers = np.concatenate([np.zeros(1), *(np.ravel(leaf) for leaf in leaves(grads))])
    norm = float(torch.linalg.vector_norm(_leaf(numbers).detach()))
    scale = min(1.0, max_norm / norm) if norm else 1.0
    return map_leaves(grads, lambda g: np.asarray(g, np.float64) * scale), norm


State = tuple[Tree, Tree, Tree]


def new_adamw(params: Tree) -> State:
    """Return the means of gradients and squares for every array, and the number of steps."""
    zeros = map_leaves(params, lambda p: np.zeros(np.shape(p)))
    return zeros, zeros, map_leaves(params, lambda _: np.zeros(()))


def adamw_step(
    params: Tree,
    grads: Tree,
    state: State,
    lr: float,
    betas: Sequence[float] = (0.9, 0.999),
    eps: float = 1e-8,
    weight_decay: float = 0.01,
) -> tuple[Tree, State]:
    """Apply `torch.optim.adamw.adamw`, the function inside `torch.optim.AdamW`, on copies."""
    trees = [map_leaves(tree, lambda leaf: _leaf(leaf).detach()) for tree in (params, *state)]
    # The contract compares dicts by key: the gradients in the order of the parameters.
    gradients = named_leaves(grads)
    adamw(
        list(leaves(trees[0])),
        [_leaf(gradients[name]).detach() for name in named_leaves(params)],
        list(leaves(trees[1])),
        list(leaves(trees[2])),
        max_exp_avg_sqs=[],
        state_steps=list(leaves(trees[3])),
        foreach=False,
        amsgrad=False,
        beta1=betas[0],
        beta2=betas[1],
        lr=lr,
        weight_decay=weight_decay,
        eps=eps,
        maximize=False,
    )
    new, *means = (map_leaves(tree, lambda leaf: leaf.numpy().copy()) for tree in trees)
    return new, (means[0], means[1], means[2])


def adamw_run(
    params: Tree,
    grads: Sequence[Tree],
    lr: Sequence[float],
    weight_decay: Sequence[float] | None = None,
    nudge: Sequence[float] | None = None,
    **constants: Any,
) -> tuple[Tree, ...]:
    """Return the parameters after each of some steps of AdamW, each with its own gradients.

    nudge: added to every parameter before each step, outside AdamW.
    """
    state, found = new_adamw(params), []
    for number, gradients in enumerate(grads):
        if nudge is not None:
            params = map_leaves(params, partial(np.add, nudge[number]))
        if weight_decay is not None:
            constants["weight_decay"] = weight_decay[number]
        params, state = adamw_step(params, gradients, state, lr[number], **constants)
        found.append(params)
    return tuple(found)


def learning_rate(step: int, peak: float, warmup: int, total: int, floor: float = 0.0) -> float:
    """Apply the closed form of `torch.optim.lr_scheduler`'s cosine, after a linear ramp."""
    if warmup > total:
        raise ValueError(f"warmup is {warmup}, more than total, which is {total}")
    if step < warmup:
        return peak * (step + 1) / warmup
    if step >= total:
        return floor
    share = torch.tensor((step - warmup) / (total - warmup), dtype=torch.float64)
    return float(floor + (peak - floor) * (1 + torch.cos(math.pi * share)) / 2)


def sample_batch(stream: Array, length: int, starts: Array) -> NDArray[np.int64]:
    """Apply `torch.Tensor.unfold` to get all windows, and choose those of the starts."""
    tokens, first = _ids(stream), _ids(starts)
    fits = (first >= 0) & (first + length + 1 <= len(tokens))
    if not bool(fits.all()):
        raise ValueError("starts must leave room for length + 1 tokens in the stream")
    windows = tokens.unfold(0, length + 1, 1)
    return _array(windows[first])


def train_step(
    tokens: Array,
    params: Mapping[str, Any],
    state: State,
    n_heads: int,
    lr: float,
    max_norm: float = 1.0,
) -> tuple[float, Tree, State]:
    """Return the loss after autograd, clipping and one step of AdamW."""
    loss, grads = decoder_loss_and_gradients(tokens, params, n_heads)
    params, state = adamw_step(params, clip_gradients(grads, max_norm)[0], state, lr)
    return loss, params, state


def train_run(
    tokens: Sequence[Array],
    params: Mapping[str, Any],
    n_heads: int,
    lr: Sequence[float],
    max_norm: float = 1.0,
) -> tuple[tuple[float, Tree], ...]:
    """Return the loss and the parameters after each training step, each on its own batch."""
    state, found = new_adamw(params), []
    for batch, rate in zip(tokens, lr, strict=True):
        loss, params, state = train_step(batch, params, state, n_heads, rate, max_norm)
        found.append((loss, params))
    return tuple(found)
