"""Known wrong versions of step 18, each with one mistake."""

import numpy as np

from exercises.step03_mask import causal_mask
from exercises.step06_loss import cross_entropy, shift_tokens
from exercises.step11_block import decoder_block, layer_norm
from exercises.step12_decoder import decoder_logits
from exercises.step15_gradients import cross_entropy_backward, embedding_backward, linear_backward
from exercises.step17_block_gradient import decoder_block_backward, layer_norm_backward
from grader.answer_key.variants import hint, mistake, says

kept_arrays = {}


def forward(inputs, params, n_heads, mask=None):
    """Return the stream below each block and at the top, and the normalised top."""
    length = inputs.shape[-1]
    if length > len(params["position"]):
        raise ValueError("too many tokens")
    mask = causal_mask(length) if mask is None else mask
    stream = [params["embedding"][inputs] + params["position"][:length]]
    for block in params["blocks"]:
        stream.append(decoder_block(stream[-1], block, n_heads, mask))
    return stream, layer_norm(stream[-1], params["ln_f"]["gain"], params["ln_f"]["bias"])


def backward(d_x, stream, params, n_heads, mask):
    """Return the gradient at the bottom, and that of each block."""
    d_blocks = []
    for x, block in zip(reversed(stream[:-1]), reversed(params["blocks"]), strict=True):
        d_x, d_block = decoder_block_backward(d_x, x, block, n_heads, mask)
        d_blocks.insert(0, d_block)
    return d_x, d_blocks


def shares(inputs, targets, params, n_heads, ignore_id, mask=None, back=cross_entropy_backward):
    """Return the loss, both parts of the embedding's gradient, the bottom's, and the others."""
    mask = causal_mask(inputs.shape[-1]) if mask is None else mask
    stream, h = forward(inputs, params, n_heads, mask)
    logits = h @ params["embedding"].T
    loss = cross_entropy(logits, targets, ignore_id)
    d_logits = back(logits, targets, ignore_id)
    d_h, d_head, _ = linear_backward(d_logits, h, params["embedding"].T)
    d_x, d_gain, d_bias = layer_norm_backward(d_h, stream[-1], params["ln_f"]["gain"])
    d_x, d_blocks = backward(d_x, stream, params, n_heads, mask)
    rest = {"blocks": d_blocks, "ln_f": {"gain": d_gain, "bias": d_bias}}
    return loss, d_head.T, d_x, rest


def unshifted_shares(logits):
    """Return the softmax of logits whose exponentials are taken without a shift."""
    with np.errstate(all="ignore"):
        e = np.exp(logits)
        return e / e.sum(axis=-1, keepdims=True)


def unshifted_back(logits, targets, ignore_id):
    """Return the gradient of the cross entropy by that softmax."""
    counts = np.full(targets.shape, True) if ignore_id is None else targets != ignore_id
    if not counts.any():
        raise ValueError("every target is ignored")
    truth = np.eye(logits.shape[-1])[np.where(counts, targets, 0)]
    return (unshifted_shares(logits) - truth) * counts[..., None] / counts.sum()


def position_of(d_x, params):
    """Return a right gradient of the position table."""
    d_position = np.zeros_like(params["position"])
    d_position[: d_x.shape[-2]] = d_x.reshape(-1, *d_x.shape[-2:]).sum(axis=0)
    return d_position


def all_of(tokens, params, n_heads, ignore_id=None, mask=None, back=cross_entropy_backward):
    """Return the right loss, and the right gradients by any gradient of the cross entropy."""
    inputs, targets = shift_tokens(tokens)
    loss, d_head, d_x, rest = shares(inputs, targets, params, n_heads, ignore_id, mask, back)
    read = embedding_backward(d_x, inputs, len(params["embedding"]))
    return loss, {"embedding": d_head + read, "position": position_of(d_x, params), **rest}


def summed(one, other):
    """Return the sum of two trees with the same structure."""
    if isinstance(one, dict):
        return {key: summed(item, other[key]) for key, item in one.items()}
    if isinstance(one, list):
        return [summed(*items) for items in zip(one, other, strict=True)]
    return one + other


def everywhere(function, tree):
    """Return the function's results in a tree with the same structure."""
    if isinstance(tree, dict):
        return {key: everywhere(function, item) for key, item in tree.items()}
    if isinstance(tree, list):
        return [everywhere(function, item) for item in tree]
    return function(tree)


# decoder_loss


@mistake("loss_not_shifted", "decoder_loss")
@says("Each position is asked for the token that it has just been given: nothing is shifted.")
@hint("Which token should position 0 predict?")
def loss_not_shifted(tokens, params, n_heads, ignore_id=None):
    inputs, _ = shift_tokens(tokens)
    return cross_entropy(decoder_logits(inputs, params, n_heads), inputs, ignore_id)


@mistake("loss_shifted_backwards", "decoder_loss")
@says("Positions are asked for the token before them.")
@hint("Which of the two halves is read, and which is predicted?")
def loss_shifted_backwards(tokens, params, n_heads, ignore_id=None):
    targets, inputs = shift_tokens(tokens)
    return cross_entropy(decoder_logits(inputs, params, n_heads), targets, ignore_id)


@mistake("loss_sum_for_mean", "decoder_loss")
@says("The losses of all predictions are added up, not averaged.")
@hint("What becomes of your loss if the batch holds each sequence twice?")
def loss_sum(tokens, params, n_heads, ignore_id=None):
    inputs, targets = shift_tokens(tokens)
    counted = targets.size if ignore_id is None else np.count_nonzero(targets != ignore_id)
    return counted * cross_entropy(decoder_logits(inputs, params, n_heads), targets, ignore_id)


@mistake("loss_last_only", "decoder_loss")
@says("Only the last prediction of each sequence counts.")
@hint("How many predictions does one forward pass make?")
def loss_last_only(tokens, params, n_heads, ignore_id=None):
    inputs, targets = shift_tokens(tokens)
    logits = decoder_logits(inputs, params, n_heads)
    return cross_entropy(logits[..., -1:, :], targets[..., -1:], ignore_id)


@mistake("loss_ignore_not_used", "decoder_loss")
@says("ignore_id is not used: every target counts.")
@hint("Follow the argument ignore_id through your function: where does it act?")
def loss_ignores_nothing(tokens, params, n_heads, ignore_id=None):
    inputs, targets = shift_tokens(tokens)
    if ignore_id is not None and (targets == ignore_id).all():
        raise ValueError("all ignored")
    return cross_entropy(decoder_logits(inputs, params, n_heads), targets)


@mistake("loss_ignore_not_used", "decoder_loss")
@says("ignore_id is not used: every target counts, also where all are to be ignored.")
@hint("Follow the argument ignore_id through your function: where does it act?")
def loss_ignores_nothing_at_all(tokens, params, n_heads, ignore_id=None):
    inputs, targets = shift_tokens(tokens)
    return cross_entropy(decoder_logits(inputs, params, n_heads), targets)


@mistake("loss_ignore_zero_is_false", "decoder_loss")
@says("An ignore_id of 0 is taken for none at all.")
@hint("Which values does Python take for false in a condition?")
def loss_zero_is_false(tokens, params, n_heads, ignore_id=None):
    inputs, targets = shift_tokens(tokens)
    return cross_entropy(decoder_logits(inputs, params, n_heads), targets, ignore_id or None)


@mistake("loss_ignore_id_as_index", "decoder_loss")
@says("ignore_id is used as an index, so −1 leaves out the last token.")
@hint("What does a negative index mean in NumPy?")
def loss_ignore_id_as_index(tokens, params, n_heads, ignore_id=None):
    inputs, targets = shift_tokens(tokens)
    vocabulary = np.arange(len(params["embedding"]))
    inside = ignore_id is not None and ignore_id < len(vocabulary)
    ignored = vocabulary[ignore_id] if inside else None
    return cross_entropy(decoder_logits(inputs, params, n_heads), targets, ignored)


@mistake("loss_ignored_inputs", "decoder_loss")
@says("Positions whose input is ignore_id are left out, not those whose target is.")
@hint("Of which token does the docstring say that it does not count: the one read, or the next?")
def loss_ignored_inputs(tokens, params, n_heads, ignore_id=None):
    inputs, targets = shift_tokens(tokens)
    if ignore_id is not None and (targets == ignore_id).all():
        raise ValueError("all ignored")
    logits = decoder_logits(inputs, params, n_heads)
    if ignore_id is None or (inputs == ignore_id).all():
        return cross_entropy(logits, targets)
    return cross_entropy(logits, np.where(inputs == ignore_id, -1, targets), -1)


@mistake("loss_ignored_is_padding", "decoder_loss")
@says("Ignored tokens are hidden as keys as well, as if ignore_id were padding.")
@hint("What does the docstring say about an ignored token: is it read, or hidden?")
def loss_ignored_is_padding(tokens, params, n_heads, ignore_id=None):
    inputs, targets = shift_tokens(tokens)
    padding = None if ignore_id is None else (inputs != ignore_id)[..., None, :]
    return cross_entropy(decoder_logits(inputs, params, n_heads, padding), targets, ignore_id)


@mistake("loss_mean_of_means", "decoder_loss")
@says("Each sequence is averaged by itself, and then the means: short sequences weigh more.")
@hint("Two sequences, one with 1 and one with 9 predictions. What is the mean over all ten?")
def loss_mean_of_means(tokens, params, n_heads, ignore_id=None):
    rows = tokens.reshape(-1, tokens.shape[-1])
    counted = [row for row in rows if ignore_id is None or (row[1:] != ignore_id).any()]
    if not counted:
        raise ValueError("all ignored")
    losses = []
    for row in counted:
        inputs, targets = shift_tokens(row)
        losses.append(cross_entropy(decoder_logits(inputs, params, n_heads), targets, ignore_id))
    return float(np.mean(losses))


@mistake("loss_prefix_by_prefix", "decoder_loss")
@says("A forward pass is made for every position, over its prefix.")
@hint("In one pass over all tokens, which row is equal to that of each prefix?")
def loss_prefix_by_prefix(tokens, params, n_heads, ignore_id=None):
    inputs, targets = shift_tokens(tokens)
    ends = range(1, inputs.shape[-1] + 1)
    rows = [decoder_logits(inputs[..., :end], params, n_heads)[..., -1:, :] for end in ends]
    return cross_entropy(np.concatenate(rows, axis=-2), targets, ignore_id)


@mistake("loss_two_axes_only", "decoder_loss")
@says("Tokens with more than one batch axis are refused.")
@hint("What does `...` stand for in the shape of the tokens?")
def loss_two_axes_only(tokens, params, n_heads, ignore_id=None):
    _, _ = np.atleast_2d(tokens).shape
    inputs, targets = shift_tokens(tokens)
    return cross_entropy(decoder_logits(inputs, params, n_heads), targets, ignore_id)


@mistake("np_input_mutated", "decoder_loss")
@says("Ignored targets are overwritten in the caller's tokens.")
@hint("Is a slice of the tokens a copy of them, or a window onto them?")
def loss_writes_ignored(tokens, params, n_heads, ignore_id=None):
    inputs, targets = shift_tokens(tokens)
    loss = cross_entropy(decoder_logits(inputs, params, n_heads), targets, ignore_id)
    if ignore_id is not None:
        seen = tokens[..., 1:]
        seen[seen == ignore_id] = 0
    return loss


@mistake("gradients_position_by_position", "decoder_loss_and_gradients")
@says("There is a pass each way for every position, and their gradients are added.")
@hint("Can one backward pass begin with the slopes of all logits at once?")
def gradients_position_by_position(tokens, params, n_heads, ignore_id=None):
    def back_from(t):
        def back(logits, targets, ignore_id):
            d_logits = cross_entropy_backward(logits, targets, ignore_id)
            return np.where(np.arange(logits.shape[-2])[:, None] == t, d_logits, 0)

        return back

    found = [
        all_of(tokens, params, n_heads, ignore_id, back=back_from(t))
        for t in range(tokens.shape[-1] - 1)
    ]
    loss, total = found[0]
    for _, grads in found[1:]:
        total = summed(total, grads)
    return loss, total


@mistake("loss_all_tokens_read", "decoder_loss")
@says("All tokens go through the decoder, the last one too, so T_max + 1 tokens do not fit.")
@hint("Does the last token of a text predict anything?")
def loss_reads_all(tokens, params, n_heads, ignore_id=None):
    _, targets = shift_tokens(tokens)
    logits = decoder_logits(tokens, params, n_heads)[..., :-1, :]
    return cross_entropy(logits, targets, ignore_id)


@mistake("loss_no_causal_mask", "decoder_loss")
@says("The decoder runs without the causal mask: each position can read its own answer.")
@hint("Where is the target of position t in the inputs?")
def loss_without_mask(tokens, params, n_heads, ignore_id=None):
    inputs, targets = shift_tokens(tokens)
    mask = np.full((inputs.shape[-1],) * 2, True)
    _, h = forward(inputs, params, n_heads, mask)
    return cross_entropy(h @ params["embedding"].T, targets, ignore_id)


@mistake("loss_too_long_cut", "decoder_loss")
@says("A text that is too long is cut off without a word.")
@hint("What should happen if there are more tokens than T_max + 1?")
def loss_cuts(tokens, params, n_heads, ignore_id=None):
    tokens = tokens[..., : len(params["position"]) + 1]
    inputs, targets = shift_tokens(tokens)
    return cross_entropy(decoder_logits(inputs, params, n_heads), targets, ignore_id)


@mistake("loss_all_ignored_zero", "decoder_loss")
@says("If every target is ignored, 0 comes back instead of a ValueError.")
@hint("What is the mean of no numbers?")
def loss_all_ignored_zero(tokens, params, n_heads, ignore_id=None):
    inputs, targets = shift_tokens(tokens)
    if ignore_id is not None and (targets == ignore_id).all():
        return 0.0
    return cross_entropy(decoder_logits(inputs, params, n_heads), targets, ignore_id)


@mistake("np_half_precision", "decoder_loss")
@says("With float32 parameters everything is computed in half precision.")
@hint("In which dtype do your arrays go through the blocks, and how many digits does it have?")
def loss_in_half(tokens, params, n_heads, ignore_id=None):
    inputs, targets = shift_tokens(tokens)
    if params["embedding"].dtype == np.float32:
        params = everywhere(lambda p: p.astype(np.float16), params)
    logits = decoder_logits(inputs, params, n_heads).astype(np.float64)
    return cross_entropy(logits, targets, ignore_id)


@mistake("softmax_no_max_subtraction", "decoder_loss")
@says("The exponentials are taken of the logits as they are, and overflow.")
@hint("What is exp(1000), and what is the logarithm of its share?")
def loss_unshifted(tokens, params, n_heads, ignore_id=None):
    inputs, targets = shift_tokens(tokens)
    shares_of_all = unshifted_shares(decoder_logits(inputs, params, n_heads))
    with np.errstate(all="ignore"):
        logs = np.log(np.take_along_axis(shares_of_all, targets[..., None], -1)[..., 0])
    counts = np.full(targets.shape, True) if ignore_id is None else targets != ignore_id
    if not counts.any():
        raise ValueError("every target is ignored")
    return float(-logs[counts].mean())


@mistake("softmax_no_max_subtraction", "decoder_loss_and_gradients")
@says("The exponentials are taken of the logits as they are, and overflow.")
@hint("What is exp(1000), and what is it divided by itself?")
def gradients_unshifted(tokens, params, n_heads, ignore_id=None):
    return all_of(tokens, params, n_heads, ignore_id, back=unshifted_back)


@mistake("np_memoised_on_shape", "decoder_loss")
@says("The logits of the first text are kept for every later one of the same shape.")
@hint("What do the logits depend on besides the shape of tokens?")
def loss_memoised(tokens, params, n_heads, ignore_id=None):
    inputs, targets = shift_tokens(tokens)
    key = (tokens.shape, params["embedding"].shape, len(params["blocks"]))
    if key not in kept_arrays:
        kept_arrays[key] = decoder_logits(inputs, params, n_heads)
    return cross_entropy(kept_arrays[key], targets, ignore_id)


@mistake("np_input_mutated", "decoder_loss")
@says("The caller's tokens are shifted in place.")
@hint("Whose array is on the left of your assignment?")
def loss_shifts_in_place(tokens, params, n_heads, ignore_id=None):
    inputs, targets = (part.copy() for part in shift_tokens(tokens))
    tokens[..., :-1] = targets
    return cross_entropy(decoder_logits(inputs, params, n_heads), targets, ignore_id)


# decoder_loss_and_gradients: the embedding


@mistake("tied_head_share_only", "decoder_loss_and_gradients")
@says("The embedding gets only the output head's share of its gradient.")
@hint("How often is the table used in the forward pass, and where?")
def embedding_head_only(tokens, params, n_heads, ignore_id=None):
    inputs, targets = shift_tokens(tokens)
    loss, d_head, d_x, rest = shares(inputs, targets, params, n_heads, ignore_id)
    return loss, {"embedding": d_head, "position": position_of(d_x, params), **rest}


@mistake("tied_reader_share_only", "decoder_loss_and_gradients")
@says("The embedding gets only the share of the table that was read: the head's is missing.")
@hint("How often is the table used in the forward pass, and where?")
def embedding_reader_only(tokens, params, n_heads, ignore_id=None):
    inputs, targets = shift_tokens(tokens)
    loss, _, d_x, rest = shares(inputs, targets, params, n_heads, ignore_id)
    read = embedding_backward(d_x, inputs, len(params["embedding"]))
    return loss, {"embedding": read, "position": position_of(d_x, params), **rest}


@mistake("tied_shares_averaged", "decoder_loss_and_gradients")
@says("The two shares of the embedding are averaged, not added up.")
@hint("A table with two uses changes the loss in two ways. What is their sum?")
def embedding_averaged(tokens, params, n_heads, ignore_id=None):
    loss, grads = all_of(tokens, params, n_heads, ignore_id)
    return loss, {**grads, "embedding": grads["embedding"] / 2}


@mistake("tied_reader_gets_targets", "decoder_loss_and_gradients")
@says("The reader's share goes to the rows of the targets, not to those of the inputs.")
@hint("Which tokens were looked up in the table: the inputs or the targets?")
def embedding_rows_of_targets(tokens, params, n_heads, ignore_id=None):
    inputs, targets = shift_tokens(tokens)
    loss, d_head, d_x, rest = shares(inputs, targets, params, n_heads, ignore_id)
    read = embedding_backward(d_x, targets, len(params["embedding"]))
    return loss, {"embedding": d_head + read, "position": position_of(d_x, params), **rest}


@mistake("embedding_grad_last_wins", "decoder_loss_and_gradients")
@says("A token that was read twice gets only one of its gradients.")
@hint("What does += do if its index names the same row twice?")
def embedding_last_wins(tokens, params, n_heads, ignore_id=None):
    inputs, targets = shift_tokens(tokens)
    loss, d_head, d_x, rest = shares(inputs, targets, params, n_heads, ignore_id)
    d_head = d_head.copy()
    d_head[inputs] += d_x
    return loss, {"embedding": d_head, "position": position_of(d_x, params), **rest}


@mistake("tied_unused_rows_zero", "decoder_loss_and_gradients")
@says("Tokens that do not occur get no gradient, though the head had a logit for each.")
@hint("A token that did not come had a probability. Should it have had more, or less?")
def embedding_unused_zero(tokens, params, n_heads, ignore_id=None):
    loss, grads = all_of(tokens, params, n_heads, ignore_id)
    used = np.isin(np.arange(len(params["embedding"])), tokens)[:, None]
    return loss, {**grads, "embedding": np.where(used, grads["embedding"], 0)}


@mistake("head_grad_transposed", "decoder_loss_and_gradients")
@says("The gradient of the embedding is transposed.")
@hint("Which shape has the embedding, and which has its gradient?")
def embedding_transposed(tokens, params, n_heads, ignore_id=None):
    loss, grads = all_of(tokens, params, n_heads, ignore_id)
    return loss, {**grads, "embedding": grads["embedding"].T.copy()}


# decoder_loss_and_gradients: positions


@mistake("position_grad_short", "decoder_loss_and_gradients")
@says("The gradient of the positions has rows for the used ones only.")
@hint("Which shape has params['position'], and which has your gradient of it?")
def position_short(tokens, params, n_heads, ignore_id=None):
    loss, grads = all_of(tokens, params, n_heads, ignore_id)
    return loss, {**grads, "position": grads["position"][: tokens.shape[-1] - 1]}


@mistake("position_grad_per_sequence", "decoder_loss_and_gradients")
@says("The sum over the batch is missing in the gradient of the positions.")
@hint("How many sequences have read row 0 of the position table?")
def position_per_sequence(tokens, params, n_heads, ignore_id=None):
    inputs, targets = shift_tokens(tokens)
    loss, d_head, d_x, rest = shares(inputs, targets, params, n_heads, ignore_id)
    read = embedding_backward(d_x, inputs, len(params["embedding"]))
    d_position = np.zeros_like(params["position"])
    d_position[: d_x.shape[-2]] = d_x[(0,) * (d_x.ndim - 2)]
    return loss, {"embedding": d_head + read, "position": d_position, **rest}


@mistake("grad_mean_over_batch", "decoder_loss_and_gradients")
@says("The gradient of the positions is averaged over the batch.")
@hint("Where has the mean been taken already: here, or in the loss?")
def position_batch_mean(tokens, params, n_heads, ignore_id=None):
    loss, grads = all_of(tokens, params, n_heads, ignore_id)
    count = max(1, int(np.prod(tokens.shape[:-1])))
    return loss, {**grads, "position": grads["position"] / count}


@mistake("position_grad_forgotten", "decoder_loss_and_gradients")
@says("The positions get no gradient.")
@hint("The stream begins as a sum of two tables. What does a sum do to a gradient?")
def position_forgotten(tokens, params, n_heads, ignore_id=None):
    loss, grads = all_of(tokens, params, n_heads, ignore_id)
    return loss, {**grads, "position": np.zeros_like(params["position"])}


@mistake("position_grad_by_token", "decoder_loss_and_gradients")
@says("The gradient of the positions is collected by token id, not by position.")
@hint("Which row of the position table did the first token read?")
def position_by_token(tokens, params, n_heads, ignore_id=None):
    inputs, targets = shift_tokens(tokens)
    loss, d_head, d_x, rest = shares(inputs, targets, params, n_heads, ignore_id)
    read = embedding_backward(d_x, inputs, len(params["embedding"]))
    by_token = embedding_backward(d_x, inputs % len(params["position"]), len(params["position"]))
    return loss, {"embedding": d_head + read, "position": by_token, **rest}


# decoder_loss_and_gradients: the stack


@mistake("blocks_grad_reversed", "decoder_loss_and_gradients")
@says("The blocks' gradients are listed in the order in which they were computed.")
@hint("Which block do you walk back through first, and where in the list does it belong?")
def blocks_reversed(tokens, params, n_heads, ignore_id=None):
    loss, grads = all_of(tokens, params, n_heads, ignore_id)
    return loss, {**grads, "blocks": grads["blocks"][::-1]}


@mistake("blocks_grad_first_to_last", "decoder_loss_and_gradients")
@says("The blocks are walked back from the first to the last.")
@hint("Which block stood last on the way forward?")
def blocks_first_to_last(tokens, params, n_heads, ignore_id=None):
    inputs, targets = shift_tokens(tokens)
    mask = causal_mask(inputs.shape[-1])
    stream, h = forward(inputs, params, n_heads, mask)
    loss, d_head, _, rest = shares(inputs, targets, params, n_heads, ignore_id)
    d_logits = cross_entropy_backward(h @ params["embedding"].T, targets, ignore_id)
    d_h = d_logits @ params["embedding"]
    d_x, _, _ = layer_norm_backward(d_h, stream[-1], params["ln_f"]["gain"])
    d_blocks = []
    for x, block in zip(stream, params["blocks"], strict=False):
        d_x, d_block = decoder_block_backward(d_x, x, block, n_heads, mask)
        d_blocks.append(d_block)
    read = embedding_backward(d_x, inputs, len(params["embedding"]))
    rest = {**rest, "blocks": d_blocks}
    return loss, {"embedding": d_head + read, "position": position_of(d_x, params), **rest}


@mistake("blocks_grad_outputs_for_inputs", "decoder_loss_and_gradients")
@says("Each block is walked back with its output, not with what it read.")
@hint("Which x does decoder_block_backward ask for?")
def blocks_outputs_for_inputs(tokens, params, n_heads, ignore_id=None):
    inputs, targets = shift_tokens(tokens)
    mask = causal_mask(inputs.shape[-1])
    stream, h = forward(inputs, params, n_heads, mask)
    loss, d_head, _, rest = shares(inputs, targets, params, n_heads, ignore_id)
    d_h = cross_entropy_backward(h @ params["embedding"].T, targets, ignore_id)
    d_h = d_h @ params["embedding"]
    d_x, _, _ = layer_norm_backward(d_h, stream[-1], params["ln_f"]["gain"])
    d_x, d_blocks = backward(d_x, [*stream[1:], stream[-1]], params, n_heads, mask)
    read = embedding_backward(d_x, inputs, len(params["embedding"]))
    rest = {**rest, "blocks": d_blocks}
    return loss, {"embedding": d_head + read, "position": position_of(d_x, params), **rest}


@mistake("blocks_grad_all_get_the_last", "decoder_loss_and_gradients")
@says("Every block gets the gradient that came out of ln_f: it is not passed on.")
@hint("What goes into the backward pass of block 0 when there are two blocks?")
def blocks_not_chained(tokens, params, n_heads, ignore_id=None):
    inputs, targets = shift_tokens(tokens)
    mask = causal_mask(inputs.shape[-1])
    stream, h = forward(inputs, params, n_heads, mask)
    loss, d_head, _, rest = shares(inputs, targets, params, n_heads, ignore_id)
    d_h = cross_entropy_backward(h @ params["embedding"].T, targets, ignore_id)
    d_h = d_h @ params["embedding"]
    top, _, _ = layer_norm_backward(d_h, stream[-1], params["ln_f"]["gain"])
    d_x, d_blocks = top, []
    for x, block in zip(stream, params["blocks"], strict=False):
        d_x, d_block = decoder_block_backward(top, x, block, n_heads, mask)
        d_blocks.append(d_block)
    read = embedding_backward(d_x, inputs, len(params["embedding"]))
    rest = {**rest, "blocks": d_blocks}
    return loss, {"embedding": d_head + read, "position": position_of(d_x, params), **rest}


@mistake("blocks_grad_as_dict", "decoder_loss_and_gradients")
@says("The blocks' gradients come back in a dict by number, not in a list.")
@hint("What is params['blocks']: a list or a dict?")
def blocks_as_dict(tokens, params, n_heads, ignore_id=None):
    loss, grads = all_of(tokens, params, n_heads, ignore_id)
    numbered = {str(number): block for number, block in enumerate(grads["blocks"])}
    return loss, {**grads, "blocks": numbered}


@mistake("blocks_grad_stacked", "decoder_loss_and_gradients")
@says("Only one block's gradients come back, whatever number of blocks there is.")
@hint("How long is params['blocks'], and how long is your list?")
def blocks_only_one(tokens, params, n_heads, ignore_id=None):
    loss, grads = all_of(tokens, params, n_heads, ignore_id)
    return loss, {**grads, "blocks": grads["blocks"][:1]}


@mistake("last_norm_grad_skipped", "decoder_loss_and_gradients")
@says("The gradient goes from the head straight to the last block, past ln_f.")
@hint("What comes between the last block and the logits?")
def last_norm_skipped(tokens, params, n_heads, ignore_id=None):
    inputs, targets = shift_tokens(tokens)
    mask = causal_mask(inputs.shape[-1])
    stream, h = forward(inputs, params, n_heads, mask)
    loss, d_head, _, rest = shares(inputs, targets, params, n_heads, ignore_id)
    d_x = cross_entropy_backward(h @ params["embedding"].T, targets, ignore_id)
    d_x, d_blocks = backward(d_x @ params["embedding"], stream, params, n_heads, mask)
    read = embedding_backward(d_x, inputs, len(params["embedding"]))
    rest = {**rest, "blocks": d_blocks}
    return loss, {"embedding": d_head + read, "position": position_of(d_x, params), **rest}


@mistake("tree_key_missing", "decoder_loss_and_gradients")
@says("The gradients of ln_f are missing in grads.")
@hint("Which keys has params, and which has your grads?")
def last_norm_missing(tokens, params, n_heads, ignore_id=None):
    loss, grads = all_of(tokens, params, n_heads, ignore_id)
    return loss, {name: value for name, value in grads.items() if name != "ln_f"}


# decoder_loss_and_gradients: mask, shift, mean


@mistake("grads_without_mask", "decoder_loss_and_gradients")
@says("Loss and gradients are those of a decoder without the causal mask.")
@hint("Let only the first target count. Which rows of the position table get a gradient?")
def all_without_mask(tokens, params, n_heads, ignore_id=None):
    return all_of(tokens, params, n_heads, ignore_id, np.full((tokens.shape[-1] - 1,) * 2, True))


@mistake("grads_backward_without_mask", "decoder_loss_and_gradients")
@says("The loss is right, but the backward pass goes through the blocks without the mask.")
@hint("Which mask do your blocks get on the way back?")
def backward_without_mask(tokens, params, n_heads, ignore_id=None):
    inputs, targets = shift_tokens(tokens)
    mask, none = causal_mask(inputs.shape[-1]), np.full((inputs.shape[-1],) * 2, True)
    stream, h = forward(inputs, params, n_heads, mask)
    loss, d_head, _, rest = shares(inputs, targets, params, n_heads, ignore_id)
    d_h = cross_entropy_backward(h @ params["embedding"].T, targets, ignore_id)
    d_h = d_h @ params["embedding"]
    d_x, _, _ = layer_norm_backward(d_h, stream[-1], params["ln_f"]["gain"])
    d_x, d_blocks = backward(d_x, stream, params, n_heads, none)
    read = embedding_backward(d_x, inputs, len(params["embedding"]))
    rest = {**rest, "blocks": d_blocks}
    return loss, {"embedding": d_head + read, "position": position_of(d_x, params), **rest}


@mistake("grads_of_the_sum", "decoder_loss_and_gradients")
@says("The gradients are those of the sum of all losses, not of their mean.")
@hint("By what is the loss divided? Is the gradient divided by it, too?")
def grads_of_the_sum(tokens, params, n_heads, ignore_id=None):
    loss, grads = all_of(tokens, params, n_heads, ignore_id)
    targets = tokens[..., 1:]
    count = targets.size if ignore_id is None else np.count_nonzero(targets != ignore_id)
    return loss, everywhere(lambda g: g * count, grads)


@mistake("ce_grad_ignored_in_count", "decoder_loss_and_gradients")
@says("The gradients count ignored targets in N, the loss does not.")
@hint("By what is the loss divided? Is the gradient divided by it, too?")
def grads_count_ignored(tokens, params, n_heads, ignore_id=None):
    loss, grads = all_of(tokens, params, n_heads, ignore_id)
    targets = tokens[..., 1:]
    count = targets.size if ignore_id is None else np.count_nonzero(targets != ignore_id)
    return loss, everywhere(lambda g: g * count / targets.size, grads)


@mistake("grads_mean_of_sequences", "decoder_loss_and_gradients")
@says("Each sequence's loss and gradients are averaged with equal weight.")
@hint("Two sequences, one with 1 and one with 9 predictions. What is the mean over all ten?")
def grads_mean_of_sequences(tokens, params, n_heads, ignore_id=None):
    rows = tokens.reshape(-1, tokens.shape[-1])
    counted = [row for row in rows if ignore_id is None or (row[1:] != ignore_id).any()]
    if not counted:
        raise ValueError("all ignored")
    loss, grads = all_of(counted[0], params, n_heads, ignore_id)
    for row in counted[1:]:
        more, others = all_of(row, params, n_heads, ignore_id)
        loss, grads = loss + more, summed(grads, others)
    return loss / len(counted), everywhere(lambda g: g / len(counted), grads)


@mistake("grads_ignore_not_used", "decoder_loss_and_gradients")
@says("The loss leaves out ignored targets, the gradients do not.")
@hint("Follow the argument ignore_id through your function: how often does it act?")
def grads_ignore_nothing(tokens, params, n_heads, ignore_id=None):
    def back(logits, targets, ignore_id):
        return cross_entropy_backward(logits, targets)

    return all_of(tokens, params, n_heads, ignore_id, back=back)


@mistake("grads_loss_ignores_nothing", "decoder_loss_and_gradients")
@says("The gradients leave out ignored targets, the loss does not.")
@hint("Follow the argument ignore_id through your function: how often does it act?")
def grads_loss_ignores_nothing(tokens, params, n_heads, ignore_id=None):
    losses = []

    def back(logits, targets, ignore_id):
        losses.append(cross_entropy(logits, targets))
        return cross_entropy_backward(logits, targets, ignore_id)

    _, grads = all_of(tokens, params, n_heads, ignore_id, back=back)
    return losses[0], grads


@mistake("loss_ignore_not_used", "decoder_loss_and_gradients")
@says("ignore_id is not used: every target counts, in the loss and in the gradients.")
@hint("Follow the argument ignore_id through your function: where does it act?")
def grads_ignore_id_unused(tokens, params, n_heads, ignore_id=None):
    return all_of(tokens, params, n_heads)


@mistake("loss_ignore_zero_is_false", "decoder_loss_and_gradients")
@says("An ignore_id of 0 is taken for none at all.")
@hint("Which values does Python take for false in a condition?")
def grads_zero_is_false(tokens, params, n_heads, ignore_id=None):
    return all_of(tokens, params, n_heads, ignore_id or None)


@mistake("loss_ignore_id_as_index", "decoder_loss_and_gradients")
@says("ignore_id is used as an index, so −1 leaves out the last token.")
@hint("What does a negative index mean in NumPy?")
def grads_ignore_id_as_index(tokens, params, n_heads, ignore_id=None):
    vocabulary = np.arange(len(params["embedding"]))
    inside = ignore_id is not None and ignore_id < len(vocabulary)
    return all_of(tokens, params, n_heads, vocabulary[ignore_id] if inside else None)


@mistake("grads_ignored_rows_zero", "decoder_loss_and_gradients")
@says("The ignored token's row of the embedding gets zeros, though it is read and has a logit.")
@hint("What exactly does ignore_id leave out: a target, or a token?")
def grads_ignored_row_zero(tokens, params, n_heads, ignore_id=None):
    loss, grads = all_of(tokens, params, n_heads, ignore_id)
    if ignore_id is not None and 0 <= ignore_id < len(params["embedding"]):
        table = grads["embedding"].copy()
        table[ignore_id] = 0
        grads = {**grads, "embedding": table}
    return loss, grads


@mistake("loss_and_grads_swapped", "decoder_loss_and_gradients")
@says("The gradients come first and the loss second.")
@hint("In which order does the docstring name the results?")
def grads_first(tokens, params, n_heads, ignore_id=None):
    return all_of(tokens, params, n_heads, ignore_id)[::-1]


@mistake("grads_sign", "decoder_loss_and_gradients")
@says("The gradients have their sign turned round: they point where the loss falls.")
@hint("In which direction does a gradient point: where the loss grows, or where it falls?")
def grads_downhill(tokens, params, n_heads, ignore_id=None):
    loss, grads = all_of(tokens, params, n_heads, ignore_id)
    return loss, everywhere(lambda g: -g, grads)


@mistake("grads_too_long_cut", "decoder_loss_and_gradients")
@says("A text that is too long is cut off without a word.")
@hint("What should happen if there are more tokens than T_max + 1?")
def grads_cut(tokens, params, n_heads, ignore_id=None):
    return all_of(tokens[..., : len(params["position"]) + 1], params, n_heads, ignore_id)


@mistake("grad_accumulates", "decoder_loss_and_gradients")
@says("Gradients are added to those of earlier calls, as torch adds to .grad.")
@hint("Call your function twice with the same arguments: is the second answer the first?")
def grads_accumulate(tokens, params, n_heads, ignore_id=None):
    loss, grads = all_of(tokens, params, n_heads, ignore_id)
    key = ("position", grads["position"].shape)
    kept_arrays[key] = kept_arrays.get(key, 0) + grads["position"]
    return loss, {**grads, "position": kept_arrays[key].copy()}


@mistake("np_input_mutated", "decoder_loss_and_gradients")
@says("The gradients are written into the caller's params.")
@hint("Whose dict is it that your function writes into?")
def grads_into_params(tokens, params, n_heads, ignore_id=None):
    loss, grads = all_of(tokens, params, n_heads, ignore_id)
    params["position"] = grads["position"]
    return loss, grads


@mistake("np_float32_downcast", "decoder_loss_and_gradients")
@says("The gradients are collected in float32.")
@hint("How many correct digits do you expect from float64, and how many do you get?")
def grads_in_float32(tokens, params, n_heads, ignore_id=None):
    loss, grads = all_of(tokens, params, n_heads, ignore_id)
    return loss, everywhere(lambda g: g.astype(np.float32), grads)


@mistake("np_hardcoded_rank", "decoder_loss_and_gradients")
@says("The gradient of the positions is summed over one axis, whatever batch axes there are.")
@hint("How many axes are before time in a batch of batches?")
def position_over_one_axis(tokens, params, n_heads, ignore_id=None):
    inputs, targets = shift_tokens(tokens)
    loss, grads = all_of(tokens, params, n_heads, ignore_id)
    d_x = shares(inputs, targets, params, n_heads, ignore_id)[2]
    if d_x.ndim > 2:
        total = d_x.sum(axis=0)
        first = total if total.ndim == 2 else total[(0,) * (total.ndim - 2)]
        grads["position"] = position_of(first, params)
    return loss, grads


@mistake("np_squeeze_kills_axis", "decoder_loss_and_gradients")
@says("Axes of size one disappear from the gradients.")
@hint("Try a feed-forward width of 1: are all axes of its gradient still there?")
def grads_squeezed(tokens, params, n_heads, ignore_id=None):
    loss, grads = all_of(tokens, params, n_heads, ignore_id)
    return loss, everywhere(np.squeeze, grads)


@mistake("np_half_precision", "decoder_loss_and_gradients")
@says("The gradients of float32 parameters are kept in half precision.")
@hint("In which dtype do you keep the gradients, and how many digits does it have?")
def grads_in_half(tokens, params, n_heads, ignore_id=None):
    loss, grads = all_of(tokens, params, n_heads, ignore_id)
    if params["embedding"].dtype == np.float32:
        grads = everywhere(lambda g: g.astype(np.float16).astype(np.float32), grads)
    return loss, grads
