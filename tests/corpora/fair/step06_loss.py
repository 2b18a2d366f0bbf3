"""Right versions of step 6 in unusual style."""

import functools
import math
import sys
import warnings
from collections import namedtuple

import numpy as np

from exercises.step05_output import masked_self_attention
from grader.answer_key.variants import fair

InputsTargets = namedtuple("InputsTargets", "inputs targets")


def at_least_two(tokens):
    if tokens.shape[-1] < 2:
        raise ValueError("tokens: nothing comes next in a text of one token")
    return tokens


def fit_positions(length, position):
    if length > len(position):
        raise ValueError(f"tokens: {length} are more than T_max = {len(position)}")
    return position[:length]


def logs_of_list(values):
    """Log-softmax of a list of Python floats."""
    top = max(values)
    log_total = math.log(math.fsum(math.exp(s - top) for s in values))
    return [s - top - log_total for s in values]


def log_of_target(logits, targets):
    """log p(target), for targets that lie inside the vocabulary."""
    shifted = logits - logits.max(axis=-1, keepdims=True)
    picked = np.take_along_axis(shifted, targets[..., None], axis=-1)[..., 0]
    return picked - np.log(np.exp(shifted).sum(axis=-1))


def forward_pass(tokens, params):
    x = params["embedding"][tokens] + fit_positions(tokens.shape[-1], params["position"])
    y = masked_self_attention(x, params["w_q"], params["w_k"], params["w_v"])
    return y @ params["w_out"]


class CrossEntropy:
    """A callable object in place of the function."""

    def __call__(self, logits, targets, ignore_id=None):
        kept = np.ones(targets.shape, bool) if ignore_id is None else targets != ignore_id
        if not kept.any():
            raise ValueError("targets: every one of them is ignored")
        return -log_of_target(logits[kept], targets[kept]).mean()


cross_entropy_object = CrossEntropy()


def cut_tokens(first, last, tokens):
    tokens = at_least_two(tokens)
    return tokens[..., first], tokens[..., last]


partial_shift = functools.partial(cut_tokens, np.s_[:-1], np.s_[1:])

text_log_prob = lambda logits, targets: log_of_target(logits, targets).sum(-1)  # noqa: E731


@fair("namedtuple_copies", "shift_tokens")
def shift_namedtuple_copies(tokens):
    kept = at_least_two(tokens)
    return InputsTargets(kept[..., :-1].copy(), kept[..., 1:].copy())


@fair("list_of_int32", "shift_tokens")
def shift_list_of_int32(tokens):
    at_least_two(tokens)
    return [np.delete(tokens, where, axis=-1).astype(np.int32) for where in (-1, 0)]


@fair("smallest_integers", "shift_tokens")
def shift_smallest_integers(tokens):
    """uint8 where the ids fit into it; read-only views of one fresh array."""
    kind = np.result_type(*map(np.min_scalar_type, (at_least_two(tokens).min(), tokens.max())))
    small = tokens.astype(kind)
    small.setflags(write=False)
    return small[..., :-1], small[..., 1:]


@fair("pairs", "shift_tokens")
def shift_pairs(tokens):
    """A sliding window of two tokens, taken apart."""
    pairs = np.lib.stride_tricks.sliding_window_view(at_least_two(tokens), 2, axis=-1)
    return pairs[..., 0], pairs[..., 1]


@fair("python_lists", "shift_tokens")
def shift_python_lists(text):
    """Recursion down to Python lists, under another parameter name."""
    if text.ndim > 1:
        parts = [shift_python_lists(part) for part in text]
        return np.stack([a for a, _ in parts]), np.stack([b for _, b in parts])
    ids = at_least_two(text).tolist()
    return np.array(ids[:-1], order="F"), np.array(ids[1:])


@fair("logaddexp", "log_softmax")
def logs_logaddexp(logits):
    shifted = logits - logits.max(axis=-1, keepdims=True)
    return shifted - np.logaddexp.reduce(shifted, axis=-1, keepdims=True)


@fair("logsumexp", "log_softmax")
def logs_logsumexp(logits):
    """Nothing is subtracted beforehand, so digits are lost where logits are large in float32."""
    return logits - np.logaddexp.reduce(logits, axis=-1, keepdims=True)


@fair("fsum_rows", "log_softmax")
def logs_fsum_rows(logits):
    """Lists, math.log and math.fsum."""
    rows = [logs_of_list(row.tolist()) for row in logits.reshape(-1, logits.shape[-1])]
    return np.array(rows).reshape(logits.shape)


@fair("logs_longdouble", "log_softmax")
def logs_longdouble(logits):
    """Extended precision, inside and in the result."""
    wide = logits.astype(np.longdouble)
    wide -= wide.max(axis=-1, keepdims=True)
    return wide - np.log(np.exp(wide).sum(axis=-1, keepdims=True))


@fair("log1p_of_the_others", "log_softmax")
def logs_log1p_of_the_others(logits):
    """The largest logit contributes exactly 1, the others through log1p."""
    shifted = logits - np.max(logits, axis=-1, keepdims=True)
    others = np.exp(np.sort(shifted, axis=-1)[..., :-1]).sum(axis=-1, keepdims=True)
    return shifted - np.log1p(others)


@fair("pairwise_differences", "log_softmax")
def logs_pairwise_differences(logits):
    """-log Σ_j exp(l_j - l_i), shifted once more inside."""
    gaps = logits[..., None, :] - logits[..., :, None]
    top = gaps.max(axis=-1)
    return -top - np.log(np.exp(gaps - top[..., None]).sum(axis=-1))


@fair("float32_readonly", "log_softmax")
def logs_float32_readonly(z):
    """float64 inside, the input's dtype in the result, read-only."""
    shifted = z.astype(np.float64) - z.max(axis=-1, keepdims=True)
    out = (shifted - np.log(np.sum(np.exp(shifted), axis=-1, keepdims=True))).astype(z.dtype)
    out.flags.writeable = False
    return out


@fair("classes_first", "log_softmax", also={"shift_tokens": "partial_shift"})
def logs_classes_first(logits, base=math.e):
    """Works on the moved axis and returns a view; shift_tokens is a functools.partial object."""
    columns = np.moveaxis(logits, -1, 0)
    columns = columns - columns.max(axis=0)
    out = columns - np.log(np.add.reduce(np.exp(columns), axis=0))
    return np.moveaxis(out / math.log(base), 0, -1)


@fair("ce_python_loops", "cross_entropy")
def ce_python_loops(logits, targets, ignore_id=None):
    """A list of terms and a Python float."""
    terms = []
    for place in np.ndindex(*targets.shape):
        target = int(targets[place])
        if ignore_id is None or target != ignore_id:
            terms.append(-logs_of_list(logits[place].tolist())[target])
    if not terms:
        raise ValueError("targets: every one of them is ignored")
    return math.fsum(terms) / len(terms)


@fair("one_hot", "cross_entropy")
def ce_one_hot(logits, targets, ignore_id=None):
    """Targets as rows of zeros and a one; an ignored one is a row of zeros; a 0-d array."""
    hot = targets[..., None] == np.arange(logits.shape[-1])
    if ignore_id is not None:
        hot = hot & (targets != ignore_id)[..., None]
    if not hot.any():
        raise ValueError("targets: every one of them is ignored")
    shifted = logits - logits.max(axis=-1, keepdims=True)
    logs = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    return np.array(-np.where(hot, logs, 0).sum() / np.count_nonzero(hot))


@fair("margins", "cross_entropy")
def ce_margins(logits, targets, ignore_id=None):
    """-log p = logsumexp(logits - logit of the target)."""
    flat, ids = logits.reshape(-1, logits.shape[-1]), targets.ravel()
    keep = np.arange(len(ids)) if ignore_id is None else np.flatnonzero(ids != ignore_id)
    if keep.size == 0:
        raise ValueError("targets: every one of them is ignored")
    flat = flat[keep]
    margins = flat - flat[np.arange(len(keep)), ids[keep], None]
    return np.float64(np.logaddexp.reduce(margins, axis=-1).mean())


@fair("safe_targets", "cross_entropy")
def ce_safe_targets(logits, targets, ignore_id=None):
    """Ignored targets become 0 and their terms too."""
    keep = np.full(targets.shape, True) if ignore_id is None else targets != ignore_id
    if not np.any(keep):
        raise ValueError("targets: every one of them is ignored")
    terms = log_of_target(logits, np.where(keep, targets, 0))
    return float(-np.average(terms, weights=keep))


@fair("masked_array", "cross_entropy")
def ce_masked_array(logits, targets, ignore_id=None):
    """np.ma inside, a Python float outside."""
    hidden = np.zeros(targets.shape, bool) if ignore_id is None else targets == ignore_id
    if hidden.all():
        raise ValueError("targets: every one of them is ignored")
    terms = log_of_target(logits, np.ma.array(targets, mask=hidden).filled(0))
    return float(-np.ma.array(terms, mask=hidden).mean())


@fair("ce_longdouble", "cross_entropy")
def ce_longdouble(logits, targets, ignore_id=None):
    """Extended precision, inside and in the result."""
    return cross_entropy_object(logits.astype(np.longdouble), targets, ignore_id)


@fair("float32_noisy", "cross_entropy")
def ce_float32_noisy(scores, answers, ignore_id=None, reduction="mean"):
    """A NumPy scalar of the input's dtype, output on both streams, a warning."""
    print("scores", scores.shape, "ignoring", ignore_id)
    print("answers", answers.shape, file=sys.stderr)
    warnings.warn("a loss is in nats", stacklevel=2)
    loss = cross_entropy_object(scores.astype(float), answers, ignore_id)
    return np.result_type(scores, np.float32).type(loss)


@fair("ce_recursion", "cross_entropy", also={"sequence_log_prob": "text_log_prob"})
def ce_recursion(logits, targets, ignore_id=None):
    """Sums and counts text by text; sequence_log_prob is a lambda."""

    def total_and_count(part, ids):
        if ids.ndim:
            pairs = [total_and_count(*pair) for pair in zip(part, ids, strict=True)]
            return tuple(map(sum, zip(*pairs, strict=True)))
        if ids == ignore_id:
            return 0.0, 0
        return -logs_of_list(part.tolist())[int(ids)], 1

    total, count = total_and_count(logits, targets)
    if count == 0:
        raise ValueError("targets: every one of them is ignored")
    return total / count


@fair("log_softmax_and_take", "sequence_log_prob")
def text_log_softmax_and_take(logits, targets):
    chosen = np.take_along_axis(log_softmax(logits), np.expand_dims(targets, -1), -1)
    return np.add.reduce(chosen[..., 0], axis=-1)


@fair("text_python_loops", "sequence_log_prob")
def text_python_loops(logits, targets):
    """A 0-d array where there is no batch axis."""
    sums = np.zeros(targets.shape[:-1])
    for row in np.ndindex(*sums.shape):
        logs = [logs_of_list(step.tolist()) for step in logits[row]]
        sums[row] = math.fsum(log[i] for log, i in zip(logs, targets[row].tolist(), strict=True))
    return sums


@fair("text_recursion", "sequence_log_prob")
def text_recursion(logits, targets):
    """A Python float where there is no batch axis, else a Fortran-ordered array."""
    if targets.ndim > 1:
        parts = [text_recursion(*part) for part in zip(logits, targets, strict=True)]
        return np.asfortranarray(parts)
    picked = logits[np.arange(len(targets)), targets]
    gaps = logits - picked[:, None]
    return -float(np.sum(np.logaddexp.reduce(gaps, axis=-1)))


@fair("logits_less_normaliser", "sequence_log_prob")
def text_logits_less_normaliser(logits, targets):
    """The one-hot product less the normaliser, in extended precision."""
    wide = logits.astype(np.longdouble)
    wide = wide - wide.max(axis=-1, keepdims=True)
    hot = np.eye(logits.shape[-1])[targets]
    return np.einsum("...tv,...tv->...", wide, hot) - np.log(np.exp(wide).sum(-1)).sum(-1)


@fair("one_hot_embedding", "next_token_logits")
def model_one_hot_embedding(tokens, params):
    """The embedding as a product with one-hot rows."""
    hot = np.eye(len(params["embedding"]))[tokens]
    x = hot @ params["embedding"] + fit_positions(tokens.shape[-1], params["position"])
    y = masked_self_attention(x, *(params[name] for name in ("w_q", "w_k", "w_v")), padding=None)
    return np.tensordot(y, params["w_out"], axes=1)


@fair("model_written_out", "next_token_logits")
def model_written_out(tokens, params):
    """Attention without the earlier steps, keys first, mask by indices."""
    x = np.take(params["embedding"], tokens, axis=0)
    x = x + fit_positions(x.shape[-2], params["position"])
    q, k, v = x @ params["w_q"], x @ params["w_k"], x @ params["w_v"]
    scores = k @ q.swapaxes(-1, -2) / math.sqrt(k.shape[-1])
    key, query = np.indices(scores.shape[-2:])
    scores[..., key > query] = -np.inf
    e = np.exp(scores - scores.max(axis=-2, keepdims=True))
    return (e / e.sum(axis=-2, keepdims=True)).swapaxes(-1, -2) @ v @ params["w_out"]


@fair("products_in_one", "next_token_logits")
def logits_products_in_one(tokens, params):
    """One einsum makes the scores, another everything after the softmax."""
    length, w_q = tokens.shape[-1], params["w_q"]
    if length > len(params["position"]):
        raise ValueError("the text is too long")
    x = params["embedding"][tokens] + params["position"][:length]
    scores = np.einsum("...tm,mk,nk,...sn->...ts", x, w_q, params["w_k"], x)
    scores = np.where(np.tri(length, dtype=bool), scores / np.sqrt(w_q.shape[-1]), -np.inf)
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = e / e.sum(axis=-1, keepdims=True)
    return np.einsum("...ts,...sm,mv,vo->...to", weights, x, params["w_v"], params["w_out"])


@fair("text_by_text", "next_token_logits")
def model_text_by_text(tokens, params):
    """Recursion over the batch axes; the result is read-only."""
    if tokens.ndim > 1:
        return np.stack([model_text_by_text(text, params) for text in tokens])
    out = forward_pass(tokens, params)
    out.setflags(write=False)
    return out


@fair("folded_batch", "next_token_logits")
def model_folded_batch(ids, weights):
    """All batch axes in one, other parameter names, a view at the end."""
    flat = ids.reshape(-1, ids.shape[-1])
    logits = forward_pass(flat, dict(weights))
    return logits.reshape((*ids.shape, -1))


@fair("float32_fortran", "next_token_logits")
def model_float32_fortran(tokens, params):
    """float64 inside, the parameters' dtype in the result, Fortran order."""
    kind = np.result_type(np.float32, *params.values())
    wide = {name: value.astype(np.float64) for name, value in params.items()}
    return np.asfortranarray(forward_pass(tokens, wide).astype(kind))


@fair("through_log_prob", "teacher_forced_loss")
def loss_through_log_prob(tokens, params):
    """Minus the log probability of all texts over the number of predictions."""
    inputs, targets = shift_tokens(tokens)
    return -np.sum(sequence_log_prob(next_token_logits(inputs, params), targets)) / targets.size


@fair("loss_written_out", "teacher_forced_loss")
def loss_written_out(tokens, params):
    """None of the other functions; a 0-d array."""
    targets = at_least_two(tokens)[..., 1:]
    logits = forward_pass(tokens[..., :-1], params)
    return np.asarray(-log_of_target(logits, targets).mean())


@fair("mean_of_margins", "teacher_forced_loss")
def loss_mean_of_margins(text, model):
    """logsumexp less the logit of the answer; a Python float."""
    logits = next_token_logits(at_least_two(text)[..., :-1], model).astype(float)
    answers = np.moveaxis(text, -1, 0)[1:]
    gaps = np.moveaxis(logits, -2, 0)
    gaps = gaps - np.take_along_axis(gaps, answers[..., None], -1)
    return float(np.logaddexp.reduce(gaps, axis=-1).mean())


@fair("cross_entropy_object", "teacher_forced_loss", also={"cross_entropy": "cross_entropy_object"})
def loss_cross_entropy_object(tokens, params):
    """cross_entropy is a callable object; texts one after the other."""
    texts = at_least_two(tokens).reshape(-1, tokens.shape[-1])
    losses = [cross_entropy(forward_pass(t[:-1], params), t[1:], ignore_id=None) for t in texts]
    return math.fsum(losses) / len(losses)


@fair("noisy", "teacher_forced_loss")
def loss_noisy(tokens, params):
    """Prints on both streams and warns."""
    inputs, targets = shift_tokens(tokens)
    print("predicting", targets.size, "tokens")
    loss = cross_entropy(next_token_logits(inputs, params), targets)
    print(float(loss), file=sys.stderr)
    warnings.warn("lower is better", stacklevel=2)
    return np.float64(loss)
