"""Right versions of step 18 in unusual style."""

import numpy as np

from exercises.step03_mask import causal_mask
from exercises.step06_loss import cross_entropy, log_softmax, shift_tokens
from exercises.step11_block import decoder_block, layer_norm
from exercises.step12_decoder import decoder_logits
from exercises.step15_gradients import cross_entropy_backward, embedding_backward, linear_backward
from exercises.step17_block_gradient import decoder_block_backward, layer_norm_backward
from grader.answer_key.variants import fair


def added(one, other):
    """Two trees of the same keys, added up."""
    if isinstance(one, dict):
        return {key: added(one[key], other[key]) for key in other}
    if isinstance(one, list):
        return [added(a, b) for a, b in zip(one, other, strict=True)]
    return one + other


def times(tree, factor):
    """A tree with every array multiplied."""
    if isinstance(tree, dict):
        return {key: times(item, factor) for key, item in tree.items()}
    if isinstance(tree, (list, tuple)):
        return [times(item, factor) for item in tree]
    return tree * factor


def one_sequence(tokens, params, n_heads, ignore_id):
    """The sum of the losses of one sequence, its gradients, and how many there are."""
    inputs, targets = tokens[:-1], tokens[1:]
    length = len(inputs)
    counted = np.full(length, True) if ignore_id is None else targets != ignore_id
    mask, embedding, ln_f = causal_mask(length), params["embedding"], params["ln_f"]
    xs = [embedding[inputs] + params["position"][:length]]
    for block in params["blocks"]:
        xs.append(decoder_block(xs[-1], block, n_heads, mask))
    h = layer_norm(xs[-1], ln_f["gain"], ln_f["bias"])
    log_p = log_softmax(h @ embedding.T)
    loss = -(log_p[np.arange(length), targets] * counted).sum()
    d_logits = (np.exp(log_p) - np.eye(len(embedding))[targets]) * counted[:, None]
    d_x, d_gain, d_bias = layer_norm_backward(d_logits @ embedding, xs[-1], ln_f["gain"])
    blocks = [None] * len(params["blocks"])
    for i in range(len(blocks) - 1, -1, -1):
        d_x, blocks[i] = decoder_block_backward(d_x, xs[i], params["blocks"][i], n_heads, mask)
    table = d_logits.T @ h
    np.add.at(table, inputs, d_x)
    position = np.concatenate([d_x, np.zeros((len(params["position"]) - length, d_x.shape[1]))])
    norm = {"gain": d_gain, "bias": d_bias}
    grads = {"embedding": table, "position": position, "blocks": blocks, "ln_f": norm}
    return loss, grads, int(counted.sum())


def check_length(tokens, params):
    if not 2 <= tokens.shape[-1] <= len(params["position"]) + 1:
        raise ValueError(f"{tokens.shape[-1]} tokens")


# decoder_loss


@fair("by_sequence", "decoder_loss")
def loss_by_sequence(tokens, params, n_heads, ignore_id=None):
    """One forward pass for each sequence, and one mean over all predictions."""
    check_length(tokens, params)
    total, number = 0.0, 0
    for row in tokens.reshape(-1, tokens.shape[-1]):
        log_p = log_softmax(decoder_logits(row[:-1], params, n_heads))
        for t, target in enumerate(row[1:]):
            if target != ignore_id:
                total, number = total - log_p[t, target], number + 1
    if not number:
        raise ValueError("nothing to predict")
    return total / number


@fair("gathered", "decoder_loss")
def loss_gathered(tokens, params, n_heads, ignore_id=None):
    """take_along_axis and a weighted mean; a 0-d array as result."""
    check_length(tokens, params)
    targets = tokens[..., 1:]
    weights = np.ones(targets.shape) if ignore_id is None else 1.0 * (targets != ignore_id)
    if weights.sum() == 0:
        raise ValueError("nothing to predict")
    log_p = log_softmax(decoder_logits(tokens[..., :-1], params, n_heads))
    chosen = np.take_along_axis(log_p, targets[..., None], axis=-1)[..., 0]
    return np.asarray(-(chosen * weights).sum() / weights.sum())


@fair("padded_head", "decoder_loss")
def loss_boolean_index(tokens, params, n_heads, ignore_id=None):
    """Only the logits of counted positions go on, as rows."""
    inputs, targets = shift_tokens(tokens)
    logits = decoder_logits(inputs, params, n_heads)
    kept = np.ones(targets.shape, bool) if ignore_id is None else targets != ignore_id
    if not kept.any():
        raise ValueError("nothing to predict")
    print(kept.sum(), "predictions")
    return np.float64(cross_entropy(logits[kept], targets[kept]))


@fair("from_gradients", "decoder_loss")
def loss_from_gradients(tokens, params, n_heads, ignore_id=None):
    """The loss that comes with the gradients."""
    return decoder_loss_and_gradients(tokens, params, n_heads, ignore_id)[0]


# decoder_loss_and_gradients


@fair("by_sequence", "decoder_loss_and_gradients")
def gradients_by_sequence(tokens, params, n_heads, ignore_id=None):
    """Sequence by sequence, added up, then divided by the number of predictions."""
    check_length(tokens, params)
    total, number, grads = 0.0, 0, None
    for row in tokens.reshape(-1, tokens.shape[-1]):
        loss, mine, count = one_sequence(row, params, n_heads, ignore_id)
        grads = mine if grads is None else added(grads, mine)
        total, number = total + loss, number + count
    if not number:
        raise ValueError("nothing to predict")
    return total / number, times(grads, 1 / number)


def gradients_recursive(tokens, params, n_heads, ignore_id=None):
    """Recursion up the stack and down again; the keys in another order."""
    inputs, targets = shift_tokens(tokens)
    length = inputs.shape[-1]
    if length > len(params["position"]):
        raise ValueError("too long")
    mask, table, ln_f = causal_mask(length), params["embedding"], params["ln_f"]

    def climb(x, blocks):
        if not blocks:
            h = layer_norm(x, **ln_f)
            logits = np.einsum("...d,vd->...v", h, table)
            loss = cross_entropy(logits, targets, ignore_id)
            d_logits = cross_entropy_backward(logits, targets, ignore_id)
            head = d_logits.reshape(-1, len(table)).T @ h.reshape(-1, h.shape[-1])
            d_x, gain, bias = layer_norm_backward(d_logits @ table, x, ln_f["gain"])
            return loss, d_x, [], head, {"bias": bias, "gain": gain}
        loss, d_x, above, head, norm = climb(decoder_block(x, blocks[0], n_heads, mask), blocks[1:])
        d_x, mine = decoder_block_backward(d_x, x, blocks[0], n_heads, mask)
        return loss, d_x, [mine, *above], head, norm

    start = np.take(table, inputs, axis=0) + params["position"][:length]
    loss, d_x, blocks, head, norm = climb(start, params["blocks"])
    places = np.broadcast_to(np.arange(length), inputs.shape)
    return [
        loss,
        {
            "ln_f": norm,
            "blocks": blocks,
            "position": embedding_backward(d_x, places, len(params["position"])),
            "embedding": head + embedding_backward(d_x, inputs, len(table)),
        },
    ]


@fair("recursive", "decoder_loss_and_gradients")
def gradients_recursive_alone(tokens, params, n_heads, ignore_id=None):
    """Recursion up the stack and down again; the keys in another order."""
    return gradients_recursive(tokens, params, n_heads, ignore_id)


def gradients_by_closures(tokens, params, n_heads, ignore_id=None):
    """Each operation of the forward pass leaves a closure; they run in reverse."""
    inputs, targets = shift_tokens(tokens)
    length, table = inputs.shape[-1], params["embedding"]
    if length > len(params["position"]):
        raise ValueError("too long")
    mask, backs = causal_mask(length), []
    grads = {"embedding": np.zeros(table.shape), "position": np.zeros(params["position"].shape)}
    grads |= {"blocks": [None] * len(params["blocks"]), "ln_f": None}

    def read(d):
        np.add.at(grads["embedding"], inputs, d)
        grads["position"][:length] += d.sum(axis=tuple(range(d.ndim - 2)))

    x = table[inputs] + params["position"][:length]
    backs.append(read)
    for number, block in enumerate(params["blocks"]):

        def back(d, x=x, number=number, block=block):
            d, grads["blocks"][number] = decoder_block_backward(d, x, block, n_heads, mask)
            return d

        x = decoder_block(x, block, n_heads, mask)
        backs.append(back)
    top, gain = x, params["ln_f"]["gain"]

    def norm_back(d):
        d, d_gain, d_bias = layer_norm_backward(d, top, gain)
        grads["ln_f"] = {"gain": d_gain, "bias": d_bias}
        return d

    backs.append(norm_back)
    h = layer_norm(top, gain, params["ln_f"]["bias"])

    def head_back(d):
        d, d_weight, _ = linear_backward(d, h, table.T)
        grads["embedding"] += d_weight.T
        return d

    backs.append(head_back)
    logits = h @ table.T
    d = cross_entropy_backward(logits, targets, ignore_id)
    for back in reversed(backs):
        d = back(d)
    return cross_entropy(logits, targets, ignore_id), grads


@fair("tape", "decoder_loss_and_gradients")
def gradients_by_closures_alone(tokens, params, n_heads, ignore_id=None):
    """Each operation of the forward pass leaves a closure; they run in reverse."""
    return gradients_by_closures(tokens, params, n_heads, ignore_id)


@fair("in_double", "decoder_loss_and_gradients")
def gradients_in_double(tokens, params, n_heads, ignore_id=None):
    """Everything in float64, whatever comes in; the parameters copied; read-only gradients."""

    def copied(tree):
        if isinstance(tree, dict):
            return {key: copied(item) for key, item in tree.items()}
        if isinstance(tree, (list, tuple)):
            return [copied(item) for item in tree]
        return np.array(tree, dtype=np.float64)

    def locked(tree):
        for item in tree.values() if isinstance(tree, dict) else tree:
            if isinstance(item, np.ndarray):
                item.setflags(write=False)
            else:
                locked(item)
        return tree

    loss, grads = gradients_recursive(tokens, copied(params), n_heads, ignore_id)
    return float(loss), locked(grads)


@fair("loss_apart", "decoder_loss_and_gradients")
def gradients_loss_apart(tokens, params, n_heads, ignore_id=None):
    """The loss by decoder_loss; positions by an identity matrix instead of a slice."""
    loss = decoder_loss(tokens, params, n_heads, ignore_id)
    _, grads = gradients_by_closures(tokens, params, n_heads, ignore_id)
    rows = grads["position"][: tokens.shape[-1] - 1]
    spread = np.eye(len(params["position"]), len(rows))
    return np.asarray(loss), {**grads, "position": spread @ rows}


@fair("blocks_in_a_tuple", "decoder_loss_and_gradients")
def gradients_in_a_tuple(tokens, params, n_heads, ignore_id=None):
    """A tuple in place of the list of blocks."""
    loss, grads = gradients_by_closures(tokens, params, n_heads, ignore_id)
    return loss, {**grads, "blocks": tuple(grads["blocks"])}
