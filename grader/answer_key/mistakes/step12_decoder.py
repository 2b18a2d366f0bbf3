"""Known wrong versions of step 12, each with one mistake."""

import numpy as np

from exercises.step01_projections import linear
from exercises.step03_mask import causal_mask, padding_mask
from exercises.step04_softmax import softmax
from exercises.step06_loss import log_softmax
from exercises.step09_heads import merge_heads, split_heads
from exercises.step11_block import decoder_block, feed_forward, layer_norm
from grader.answer_key.variants import hint, mistake, says

kept_inputs = {}
kept_arrays = {}


def embedded(tokens, params):
    """Return embedding plus position; refuse sequences longer than the position table."""
    t = tokens.shape[-1]
    if t > len(params["position"]):
        raise ValueError("tokens are longer than the model")
    return params["embedding"][tokens] + params["position"][:t]


def combined(tokens, padding):
    """Return the causal mask, with the padding if there is any."""
    mask = causal_mask(tokens.shape[-1])
    return mask if padding is None else mask & padding


def normed(x, norm):
    return layer_norm(x, norm["gain"], norm["bias"])


def headed(x, params):
    """Apply the last norm and the output head."""
    return linear(normed(x, params["ln_f"]), params["embedding"].T)


def stacked(x, blocks, n_heads, mask):
    """Apply all of these blocks, one after another, under one mask."""
    for block in blocks:
        x = decoder_block(x, block, n_heads, mask)
    return x


def stacked_under(x, blocks, n_heads, masks):
    """Apply all of these blocks, each under its own mask; None hides nothing."""
    for block, mask in zip(blocks, masks, strict=True):
        x = decoder_block(x, block, n_heads, mask)
    return x


def written_out(x, block, n_heads, weights_of):
    """Apply a block with its own attention, whose weights come from that function of scores."""
    inside, params = normed(x, block["ln_1"]), block["attention"]
    q, k, v = (
        split_heads(linear(inside, params[f"w_{name}"], params[f"b_{name}"]), n_heads)
        for name in "qkv"
    )
    weights = weights_of(q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1]))
    x = x + linear(merge_heads(weights @ v), params["w_o"], params["b_o"])
    return x + feed_forward(normed(x, block["ln_2"]), block["feed_forward"])


# what goes into the first block


@mistake("pos_missing", "decoder_logits")
@says("The positions are never added to the embeddings.")
@hint("Which entries of `params` does your function read?")
def pos_missing_decoder(tokens, params, n_heads, padding=None):
    embedded(tokens, params)
    x = params["embedding"][tokens]
    x = stacked(x, params["blocks"], n_heads, combined(tokens, padding))
    return headed(x, params)


@mistake("pos_off_by_one", "decoder_logits")
@says("The first token gets position 1.")
@hint("Which row of the table of positions belongs to the first token?")
def pos_off_by_one_decoder(tokens, params, n_heads, padding=None):
    embedded(tokens, params)
    shifted = np.roll(params["position"], -1, axis=0)[: tokens.shape[-1]]
    x = params["embedding"][tokens] + shifted
    x = stacked(x, params["blocks"], n_heads, combined(tokens, padding))
    return headed(x, params)


@mistake("pos_by_token", "decoder_logits")
@says("The table of positions is looked up with the tokens, as if it were a second embedding.")
@hint("Which row of the table of positions belongs to the first token, whatever token it is?")
def pos_by_token_decoder(tokens, params, n_heads, padding=None):
    embedded(tokens, params)
    x = params["embedding"][tokens] + params["position"][tokens]
    x = stacked(x, params["blocks"], n_heads, combined(tokens, padding))
    return headed(x, params)


@mistake("pos_from_end", "decoder_logits")
@says("The last token always gets the last position, so earlier ones move with the length.")
@hint("Does the position of the first token change when a token is added at the end?")
def pos_from_end_decoder(tokens, params, n_heads, padding=None):
    embedded(tokens, params)
    x = params["embedding"][tokens] + params["position"][-tokens.shape[-1] :]
    x = stacked(x, params["blocks"], n_heads, combined(tokens, padding))
    return headed(x, params)


@mistake("pos_reversed", "decoder_logits")
@says("The positions are counted backwards, from the last token on.")
@hint("What is the position of token 0 in a text of 3 tokens, and in one of 4?")
def pos_reversed_decoder(tokens, params, n_heads, padding=None):
    embedded(tokens, params)
    x = params["embedding"][tokens] + params["position"][: tokens.shape[-1]][::-1]
    x = stacked(x, params["blocks"], n_heads, combined(tokens, padding))
    return headed(x, params)


@mistake("pos_multiplied_or_concatenated", "decoder_logits")
@says("Embeddings are multiplied by the positions.")
@hint("How are the two tables combined?")
def pos_multiplied_decoder(tokens, params, n_heads, padding=None):
    embedded(tokens, params)
    x = params["embedding"][tokens] * params["position"][: tokens.shape[-1]]
    x = stacked(x, params["blocks"], n_heads, combined(tokens, padding))
    return headed(x, params)


@mistake("pos_doubled", "decoder_logits")
@says("The positions are added twice.")
@hint("How often does the table of positions appear in your function?")
def pos_doubled_decoder(tokens, params, n_heads, padding=None):
    x = embedded(tokens, params) + params["position"][: tokens.shape[-1]]
    x = stacked(x, params["blocks"], n_heads, combined(tokens, padding))
    return headed(x, params)


@mistake("pos_batch_axis", "decoder_logits")
@says("The positions are counted along the first axis, which is the batch when there is one.")
@hint("Which axis of a batch of texts is time?")
def pos_batch_axis_decoder(tokens, params, n_heads, padding=None):
    embedded(tokens, params)
    position = params["position"][np.arange(len(tokens)) % len(params["position"])]
    position = position.reshape(len(tokens), *[1] * (tokens.ndim - 1), -1)
    x = params["embedding"][tokens] + position
    x = stacked(x, params["blocks"], n_heads, combined(tokens, padding))
    return headed(x, params)


@mistake("pos_sinusoidal", "decoder_logits")
@says("Sines and cosines are added in place of the table of positions.")
@hint("Are the positions of this model computed, or looked up?")
def pos_sinusoidal_decoder(tokens, params, n_heads, padding=None):
    t, d_model = embedded(tokens, params).shape[-2:]
    rates = 10000.0 ** (-(np.arange(d_model) // 2 * 2) / d_model)
    angles = np.arange(t)[:, None] * rates
    waves = np.where(np.arange(d_model) % 2, np.cos(angles), np.sin(angles))
    x = params["embedding"][tokens] + waves
    x = stacked(x, params["blocks"], n_heads, combined(tokens, padding))
    return headed(x, params)


@mistake("dec_embedding_scaled", "decoder_logits")
@says("The embeddings are multiplied by √d_model, which this model does not do.")
@hint("Compare what goes into your first block with the formula.")
def dec_embedding_scaled(tokens, params, n_heads, padding=None):
    extra = params["embedding"][tokens] * (np.sqrt(params["embedding"].shape[-1]) - 1.0)
    x = embedded(tokens, params) + extra
    x = stacked(x, params["blocks"], n_heads, combined(tokens, padding))
    return headed(x, params)


@mistake("dec_input_shifted", "decoder_logits")
@says("The tokens are shifted to the right inside the model: a position reads the one before.")
@hint("Who shifts the tokens for training: the model, or its caller?")
def dec_input_shifted(tokens, params, n_heads, padding=None):
    shifted = np.concatenate([np.zeros_like(tokens[..., :1]), tokens[..., :-1]], axis=-1)
    x = embedded(shifted, params)
    x = stacked(x, params["blocks"], n_heads, combined(tokens, padding))
    return headed(x, params)


@mistake("dec_norm_before_blocks", "decoder_logits")
@says("The sum of embeddings and positions is normalised before the first block.")
@hint("What happens between the tables of embeddings and positions and the first block?")
def dec_norm_before_blocks(tokens, params, n_heads, padding=None):
    x = normed(embedded(tokens, params), params["ln_f"])
    x = stacked(x, params["blocks"], n_heads, combined(tokens, padding))
    return headed(x, params)


@mistake("dec_last_norm_moved_before_blocks", "decoder_logits")
@says("`ln_f` is applied before the first block, and not after the last one.")
@hint("Which values does `ln_f` normalise: what enters the blocks, or what leaves them?")
def dec_last_norm_moved_before_blocks(tokens, params, n_heads, padding=None):
    x = normed(embedded(tokens, params), params["ln_f"])
    x = stacked(x, params["blocks"], n_heads, combined(tokens, padding))
    return linear(x, params["embedding"].T)


@mistake("dec_centred_over_time", "decoder_logits")
@says("The mean over the whole text is subtracted from every token.")
@hint("Which tokens does the mean that you subtract contain?")
def dec_centred_over_time(tokens, params, n_heads, padding=None):
    x = embedded(tokens, params)
    x = x - x.mean(axis=-2, keepdims=True)
    x = stacked(x, params["blocks"], n_heads, combined(tokens, padding))
    return headed(x, params)


# which blocks run, and on what


@mistake("stack_shared_weights", "decoder_logits")
@says("Every block is run with the parameters of the first.")
@hint("Do your layers have their own numbers?")
def stack_first_for_all_decoder(tokens, params, n_heads, padding=None):
    x = embedded(tokens, params)
    return headed(
        stacked(
            x, [params["blocks"][0]] * len(params["blocks"]), n_heads, combined(tokens, padding)
        ),
        params,
    )


@mistake("stack_shared_weights", "decoder_logits")
@says("Every block is run with the parameters of the last.")
@hint("Do your layers have their own numbers?")
def stack_last_for_all_decoder(tokens, params, n_heads, padding=None):
    x = embedded(tokens, params)
    return headed(
        stacked(
            x, [params["blocks"][-1]] * len(params["blocks"]), n_heads, combined(tokens, padding)
        ),
        params,
    )


@mistake("stack_reversed_or_short", "decoder_logits")
@says("The blocks are run from the last to the first.")
@hint("Which block reads the embeddings?")
def stack_reversed_decoder(tokens, params, n_heads, padding=None):
    x = embedded(tokens, params)
    return headed(stacked(x, params["blocks"][::-1], n_heads, combined(tokens, padding)), params)


@mistake("stack_reversed_or_short", "decoder_logits")
@says("The last block is left out.")
@hint("How many blocks run when the list holds one?")
def stack_without_last_decoder(tokens, params, n_heads, padding=None):
    x = embedded(tokens, params)
    return headed(stacked(x, params["blocks"][:-1], n_heads, combined(tokens, padding)), params)


@mistake("stack_reversed_or_short", "decoder_logits")
@says("The first block is left out.")
@hint("How many blocks run when the list holds one?")
def stack_without_first_decoder(tokens, params, n_heads, padding=None):
    x = embedded(tokens, params)
    return headed(stacked(x, params["blocks"][1:], n_heads, combined(tokens, padding)), params)


@mistake("stack_reversed_or_short", "decoder_logits")
@says("Only the first block runs.")
@hint("How often is the body of your loop run when the list holds three blocks?")
def stack_first_only_decoder(tokens, params, n_heads, padding=None):
    x = embedded(tokens, params)
    return headed(stacked(x, params["blocks"][:1], n_heads, combined(tokens, padding)), params)


@mistake("stack_not_chained", "decoder_logits")
@says("Each block reads the embeddings, not the block below it, so only the last one counts.")
@hint("Where does the second block get its input?")
def stack_last_only_decoder(tokens, params, n_heads, padding=None):
    x = embedded(tokens, params)
    return headed(stacked(x, params["blocks"][-1:], n_heads, combined(tokens, padding)), params)


@mistake("stack_two_only", "decoder_logits")
@says("Only the first two blocks run.")
@hint("Is the number of blocks in your code, or in the list?")
def stack_two_only_decoder(tokens, params, n_heads, padding=None):
    x = embedded(tokens, params)
    return headed(stacked(x, params["blocks"][:2], n_heads, combined(tokens, padding)), params)


@mistake("stack_each_twice", "decoder_logits")
@says("Each block is run twice.")
@hint("Count how often a block is called when the list holds one.")
def stack_each_twice_decoder(tokens, params, n_heads, padding=None):
    x = embedded(tokens, params)
    return headed(
        stacked(
            x,
            [block for block in params["blocks"] for _ in range(2)],
            n_heads,
            combined(tokens, padding),
        ),
        params,
    )


@mistake("stack_not_chained", "decoder_logits")
@says("Every block reads the embeddings, and what they add is summed up.")
@hint("What does the second block read?")
def stack_summed_decoder(tokens, params, n_heads, padding=None):
    x, mask = embedded(tokens, params), combined(tokens, padding)
    added = [decoder_block(x, block, n_heads, mask) - x for block in params["blocks"]]
    return headed(x + sum(added), params)


@mistake("stack_residual_around_blocks", "decoder_logits")
@says("What a block reads is added to its result once more, beside the block's own two sums.")
@hint("How often is what a block reads contained in what it returns?")
def stack_residual_around_blocks_decoder(tokens, params, n_heads, padding=None):
    x, mask = embedded(tokens, params), combined(tokens, padding)
    for block in params["blocks"]:
        x = x + decoder_block(x, block, n_heads, mask)
    return headed(x, params)


@mistake("stack_position_in_every_block", "decoder_logits")
@says("The positions are added again before every block.")
@hint("Where do the positions enter this model, and how often?")
def stack_position_in_every_block_decoder(tokens, params, n_heads, padding=None):
    x, mask = params["embedding"][tokens], combined(tokens, padding)
    for block in params["blocks"]:
        x = decoder_block(
            x + embedded(tokens, params) - params["embedding"][tokens], block, n_heads, mask
        )
    return headed(x, params)


@mistake("stack_norm_after_every_block", "decoder_logits")
@says("The last norm is applied between the blocks too.")
@hint("How often is `ln_f` applied in a stack of two blocks?")
def stack_norm_after_every_block_decoder(tokens, params, n_heads, padding=None):
    x, mask = embedded(tokens, params), combined(tokens, padding)
    for number, block in enumerate(params["blocks"]):
        x = decoder_block(normed(x, params["ln_f"]) if number else x, block, n_heads, mask)
    return headed(x, params)


@mistake("dec_one_head", "decoder_logits")
@says("The attention is run with a single head, whatever n_heads is.")
@hint("Where does your function use n_heads?")
def dec_one_head(tokens, params, n_heads, padding=None):
    x = stacked(embedded(tokens, params), params["blocks"], 1, combined(tokens, padding))
    return headed(x, params)


# the mask, and which blocks get it


@mistake("mask_none", "decoder_logits")
@says("No block is masked.")
@hint("Can the first token see the one that it is to predict?")
def mask_none_decoder(tokens, params, n_heads, padding=None):
    x = embedded(tokens, params)
    return headed(stacked(x, params["blocks"], n_heads, padding), params)


@mistake("mask_allows_one_future", "decoder_logits")
@says("Each token also sees the next one, which is its answer.")
@hint("Look at the first row of your mask: how many keys may the first token use?")
def mask_allows_one_future_decoder(tokens, params, n_heads, padding=None):
    t = tokens.shape[-1]
    mask = np.tri(t, k=1, dtype=bool) & (True if padding is None else padding)
    x = embedded(tokens, params)
    return headed(stacked(x, params["blocks"], n_heads, mask), params)


@mistake("mask_excludes_self", "decoder_logits")
@says("A token does not see itself, only what is before it.")
@hint("How many keys may the first token use?")
def mask_excludes_self_decoder(tokens, params, n_heads, padding=None):
    t = tokens.shape[-1]
    mask = np.tri(t, k=-1, dtype=bool) & (True if padding is None else padding)
    x = embedded(tokens, params)
    return headed(stacked(x, params["blocks"], n_heads, mask), params)


@mistake("mask_transposed", "decoder_logits")
@says("The mask is turned around: a token sees itself and what comes after it.")
@hint("Look at the last row of your mask: how many keys may the last token use?")
def mask_transposed_decoder(tokens, params, n_heads, padding=None):
    t = tokens.shape[-1]
    mask = np.tri(t, dtype=bool).T & (True if padding is None else padding)
    x = embedded(tokens, params)
    return headed(stacked(x, params["blocks"], n_heads, mask), params)


@mistake("mask_only_one_layer", "decoder_logits")
@says("Only the first block gets the causal mask; each block above it lets later tokens in.")
@hint("With three blocks, which mask does each of them get?")
def mask_in_first_block_only_decoder(tokens, params, n_heads, padding=None):
    x, mask = embedded(tokens, params), combined(tokens, padding)
    masks = [mask, *[padding] * (len(params["blocks"]) - 1)]
    return headed(stacked_under(x, params["blocks"], n_heads, masks), params)


@mistake("mask_only_one_layer", "decoder_logits")
@says("Only the last block gets the causal mask; what it reads has already seen later tokens.")
@hint("What has a token read by the time it reaches the last block?")
def mask_in_last_block_only_decoder(tokens, params, n_heads, padding=None):
    x, mask = embedded(tokens, params), combined(tokens, padding)
    masks = [*[padding] * (len(params["blocks"]) - 1), mask]
    return headed(stacked_under(x, params["blocks"], n_heads, masks), params)


@mistake("mask_not_in_last_block", "decoder_logits")
@says("All blocks get the causal mask but the last one, if there are several.")
@hint("With three blocks, which mask does each of them get?")
def mask_not_in_last_block_decoder(tokens, params, n_heads, padding=None):
    x, mask = embedded(tokens, params), combined(tokens, padding)
    count = len(params["blocks"])
    masks = [mask] * count if count == 1 else [*[mask] * (count - 1), padding]
    return headed(stacked_under(x, params["blocks"], n_heads, masks), params)


@mistake("mask_not_in_first_block", "decoder_logits")
@says("All blocks get the causal mask but the first one, if there are several.")
@hint("What has a token read by the time it reaches the second block?")
def mask_not_in_first_block_decoder(tokens, params, n_heads, padding=None):
    x, mask = embedded(tokens, params), combined(tokens, padding)
    count = len(params["blocks"])
    masks = [mask] * count if count == 1 else [padding, *[mask] * (count - 1)]
    return headed(stacked_under(x, params["blocks"], n_heads, masks), params)


@mistake("mask_in_every_other_block", "decoder_logits")
@says("Every other block is left without the causal mask.")
@hint("With three blocks, which mask does each of them get?")
def mask_in_every_other_block_decoder(tokens, params, n_heads, padding=None):
    x, mask = embedded(tokens, params), combined(tokens, padding)
    masks = [padding if i % 2 else mask for i in range(len(params["blocks"]))]
    return headed(stacked_under(x, params["blocks"], n_heads, masks), params)


# The same blocks without any mask at all, that of padding included.


@mistake("mask_none", "decoder_logits")
@says("There is no mask at all, neither for later tokens nor for padding.")
@hint("What may position 0 see?")
def mask_nothing_decoder(tokens, params, n_heads, padding=None):
    return headed(stacked(embedded(tokens, params), params["blocks"], n_heads, None), params)


@mistake("mask_only_one_layer", "decoder_logits")
@says("Only the first block gets a mask; each block above it lets later tokens in.")
@hint("With three blocks, which mask does each of them get?")
def mask_nothing_above_first_decoder(tokens, params, n_heads, padding=None):
    x, mask = embedded(tokens, params), combined(tokens, padding)
    masks = [mask, *[None] * (len(params["blocks"]) - 1)]
    return headed(stacked_under(x, params["blocks"], n_heads, masks), params)


@mistake("mask_only_one_layer", "decoder_logits")
@says("Only the last block gets a mask; what it reads has already seen later tokens.")
@hint("What has a token read by the time it reaches the last block?")
def mask_nothing_below_last_decoder(tokens, params, n_heads, padding=None):
    x, mask = embedded(tokens, params), combined(tokens, padding)
    masks = [*[None] * (len(params["blocks"]) - 1), mask]
    return headed(stacked_under(x, params["blocks"], n_heads, masks), params)


@mistake("mask_not_in_last_block", "decoder_logits")
@says("All blocks get the mask but the last one, which gets none, if there are several.")
@hint("With three blocks, which mask does each of them get?")
def mask_nothing_in_last_decoder(tokens, params, n_heads, padding=None):
    x, mask = embedded(tokens, params), combined(tokens, padding)
    masks = [mask, *[mask] * (len(params["blocks"]) - 2), None][: len(params["blocks"])]
    return headed(stacked_under(x, params["blocks"], n_heads, masks), params)


@mistake("mask_not_in_first_block", "decoder_logits")
@says("All blocks get the mask but the first one, which gets none, if there are several.")
@hint("What has a token read by the time it reaches the second block?")
def mask_nothing_in_first_decoder(tokens, params, n_heads, padding=None):
    x, mask = embedded(tokens, params), combined(tokens, padding)
    count = len(params["blocks"])
    masks = [mask] if count == 1 else [None, *[mask] * (count - 1)]
    return headed(stacked_under(x, params["blocks"], n_heads, masks), params)


@mistake("mask_fixed_size", "decoder_logits")
@says("The mask is made for ten tokens, and longer texts see all of it as it is.")
@hint("What is the mask of a text that is longer than any you tried?")
def mask_fixed_size_decoder(tokens, params, n_heads, padding=None):
    t = tokens.shape[-1]
    mask = np.tri(min(t, 10), t, dtype=bool)
    mask = np.concatenate([mask, np.ones((t - len(mask), t), dtype=bool)])
    mask = mask if padding is None else mask & padding
    x = embedded(tokens, params)
    return headed(stacked(x, params["blocks"], n_heads, mask), params)


# padding


@mistake("pad_ignored", "decoder_logits")
@says("Padding is not looked at.")
@hint("What does your function do with its last argument?")
def pad_ignored_decoder(tokens, params, n_heads, padding=None):
    x = embedded(tokens, params)
    return headed(stacked(x, params["blocks"], n_heads, causal_mask(tokens.shape[-1])), params)


@mistake("pad_replaces_causal", "decoder_logits")
@says("Padding takes the place of the causal mask.")
@hint("Which mask hides later tokens when both are needed?")
def pad_replaces_causal_decoder(tokens, params, n_heads, padding=None):
    x = embedded(tokens, params)
    return headed(
        stacked(
            x,
            params["blocks"],
            n_heads,
            causal_mask(tokens.shape[-1]) if padding is None else padding,
        ),
        params,
    )


@mistake("mask_combined_with_or", "decoder_logits")
@says("The two masks are joined by or: what one of them allows is seen.")
@hint("A key is hidden by one mask and allowed by the other: is it seen?")
def mask_combined_with_or_decoder(tokens, params, n_heads, padding=None):
    mask = causal_mask(tokens.shape[-1])
    mask = mask if padding is None else mask | padding
    x = embedded(tokens, params)
    return headed(stacked(x, params["blocks"], n_heads, mask), params)


@mistake("pad_inverted", "decoder_logits")
@says("Padding is read the wrong way round, so that only the padding is seen.")
@hint("What does True mean in what `padding_mask` returns?")
def pad_inverted_decoder(tokens, params, n_heads, padding=None):
    mask = causal_mask(tokens.shape[-1])
    mask = mask if padding is None else mask & ~padding
    x = embedded(tokens, params)
    return headed(stacked(x, params["blocks"], n_heads, mask), params)


@mistake("pad_hides_queries", "decoder_logits")
@says("Padding hides queries in place of keys.")
@hint("Which axis of the mask counts keys, and which queries?")
def pad_hides_queries_decoder(tokens, params, n_heads, padding=None):
    mask = causal_mask(tokens.shape[-1])
    mask = mask if padding is None else mask & np.swapaxes(padding, -1, -2)
    x = embedded(tokens, params)
    return headed(stacked(x, params["blocks"], n_heads, mask), params)


@mistake("pad_hides_queries_too", "decoder_logits")
@says("Padding hides queries as well as keys.")
@hint("May a token that is padding look at the real ones?")
def pad_hides_queries_too_decoder(tokens, params, n_heads, padding=None):
    mask = combined(tokens, padding)
    mask = mask if padding is None else mask & np.swapaxes(padding, -1, -2)
    x = embedded(tokens, params)
    return headed(stacked(x, params["blocks"], n_heads, mask), params)


@mistake("pad_inferred_from_token_0", "decoder_logits")
@says("Token 0 is treated as padding.")
@hint("Who says which tokens are padding, and does anyone say so here?")
def pad_inferred_from_token_0_decoder(tokens, params, n_heads, padding=None):
    x = embedded(tokens, params)
    return headed(
        stacked(x, params["blocks"], n_heads, combined(tokens, padding_mask(tokens, 0))), params
    )


@mistake("pad_only_one_layer", "decoder_logits")
@says("Only the first block hides the padding.")
@hint("Which mask does the second block get?")
def pad_in_first_block_only_decoder(tokens, params, n_heads, padding=None):
    x, mask = embedded(tokens, params), combined(tokens, padding)
    masks = [mask, *[causal_mask(tokens.shape[-1])] * (len(params["blocks"]) - 1)]
    return headed(stacked_under(x, params["blocks"], n_heads, masks), params)


@mistake("pad_only_one_layer", "decoder_logits")
@says("Only the last block hides the padding.")
@hint("Which mask does the first block get?")
def pad_in_last_block_only_decoder(tokens, params, n_heads, padding=None):
    x, mask = embedded(tokens, params), combined(tokens, padding)
    masks = [*[causal_mask(tokens.shape[-1])] * (len(params["blocks"]) - 1), mask]
    return headed(stacked_under(x, params["blocks"], n_heads, masks), params)


@mistake("pad_axis_lost", "decoder_logits")
@says("The axis of queries is taken out of the padding, so that its batch falls on the queries.")
@hint("Which shape has your padding when it meets the causal mask, with two batch axes?")
def pad_axis_lost_decoder(tokens, params, n_heads, padding=None):
    mask = causal_mask(tokens.shape[-1])
    mask = mask if padding is None else mask & padding[..., 0, :]
    x = embedded(tokens, params)
    return headed(stacked(x, params["blocks"], n_heads, mask), params)


@mistake("pad_of_first_text", "decoder_logits")
@says("Every text of a batch gets the padding of the first one.")
@hint("Are the texts of a batch padded alike?")
def pad_of_first_text_decoder(tokens, params, n_heads, padding=None):
    mask = causal_mask(tokens.shape[-1])
    mask = mask if padding is None else mask & padding.reshape(-1, *padding.shape[-2:])[0]
    x = embedded(tokens, params)
    return headed(stacked(x, params["blocks"], n_heads, mask), params)


@mistake("pad_zeroes_outputs", "decoder_logits")
@says("The logits of padded positions are set to 0.")
@hint("Does padding hide keys or queries?")
def pad_zeroes_outputs_decoder(tokens, params, n_heads, padding=None):
    x = embedded(tokens, params)
    x = stacked(x, params["blocks"], n_heads, combined(tokens, padding))
    logits = headed(x, params)
    return logits if padding is None else np.where(np.swapaxes(padding, -1, -2), logits, 0.0)


@mistake("pad_zeroes_inputs", "decoder_logits")
@says("The inputs of padded positions are set to 0, and so lose their own token.")
@hint("What does a padded position know of its own token when its logits are made?")
def pad_zeroes_inputs_decoder(tokens, params, n_heads, padding=None):
    x = embedded(tokens, params)
    x = x if padding is None else np.where(np.swapaxes(padding, -1, -2), x, 0.0)
    x = stacked(x, params["blocks"], n_heads, combined(tokens, padding))
    return headed(x, params)


# from the last block to the logits


@mistake("stack_no_final_norm", "decoder_logits")
@says("The last norm is left out.")
@hint("What happens between the last block and the logits?")
def stack_no_final_norm_decoder(tokens, params, n_heads, padding=None):
    x = embedded(tokens, params)
    x = stacked(x, params["blocks"], n_heads, combined(tokens, padding))
    return linear(x, params["embedding"].T)


@mistake("dec_final_norm_twice", "decoder_logits")
@says("The last norm is applied twice.")
@hint("How often is `ln_f` applied?")
def dec_final_norm_twice(tokens, params, n_heads, padding=None):
    x = embedded(tokens, params)
    x = stacked(x, params["blocks"], n_heads, combined(tokens, padding))
    return headed(normed(x, params["ln_f"]), params)


@mistake("dec_final_norm_plain", "decoder_logits")
@says("The last norm has neither gain nor bias.")
@hint("Which entries of `params` does your function read?")
def dec_final_norm_plain(tokens, params, n_heads, padding=None):
    x = embedded(tokens, params)
    x = stacked(x, params["blocks"], n_heads, combined(tokens, padding))
    return linear(layer_norm(x, 1.0, 0.0), params["embedding"].T)


@mistake("dec_final_norm_swapped", "decoder_logits")
@says("Gain and bias of the last norm are exchanged.")
@hint("Read the argument list of `layer_norm` once more.")
def dec_final_norm_swapped(tokens, params, n_heads, padding=None):
    x = embedded(tokens, params)
    x = stacked(x, params["blocks"], n_heads, combined(tokens, padding))
    norm = params["ln_f"]
    return linear(layer_norm(x, norm["bias"], norm["gain"]), params["embedding"].T)


@mistake("dec_final_norm_of_a_block", "decoder_logits")
@says("The last norm uses the parameters of a block.")
@hint("Which gain and bias belong to the norm above all blocks?")
def dec_final_norm_of_a_block(tokens, params, n_heads, padding=None):
    x = embedded(tokens, params)
    x = stacked(x, params["blocks"], n_heads, combined(tokens, padding))
    return linear(normed(x, params["blocks"][-1]["ln_2"]), params["embedding"].T)


@mistake("dec_norm_over_time", "decoder_logits")
@says("The last norm takes its mean and variance over time.")
@hint("Which numbers are averaged to normalise the first position?")
def dec_norm_over_time(tokens, params, n_heads, padding=None):
    x = embedded(tokens, params)
    x = stacked(x, params["blocks"], n_heads, combined(tokens, padding))
    mean, variance = x.mean(axis=-2, keepdims=True), x.var(axis=-2, keepdims=True)
    x = (x - mean) / np.sqrt(variance + 1e-5) * params["ln_f"]["gain"] + params["ln_f"]["bias"]
    return linear(x, params["embedding"].T)


@mistake("dec_norm_over_everything", "decoder_logits")
@says("The last norm takes one mean and one variance of a whole text.")
@hint("Which numbers are averaged to normalise the first position?")
def dec_norm_over_everything(tokens, params, n_heads, padding=None):
    x = embedded(tokens, params)
    x = stacked(x, params["blocks"], n_heads, combined(tokens, padding))
    mean, variance = x.mean(axis=(-2, -1), keepdims=True), x.var(axis=(-2, -1), keepdims=True)
    x = (x - mean) / np.sqrt(variance + 1e-5) * params["ln_f"]["gain"] + params["ln_f"]["bias"]
    return linear(x, params["embedding"].T)


@mistake("dec_no_head", "decoder_logits")
@says("There is no output head: features are returned, not logits.")
@hint("How long is the last axis of logits?")
def dec_no_head(tokens, params, n_heads, padding=None):
    x = embedded(tokens, params)
    x = stacked(x, params["blocks"], n_heads, combined(tokens, padding))
    return normed(x, params["ln_f"])


@mistake("dec_head_not_transposed", "decoder_logits")
@says("The embedding is used as output head without being transposed.")
@hint("Which axis of the head must be as long as the features?")
def dec_head_not_transposed(tokens, params, n_heads, padding=None):
    x = embedded(tokens, params)
    x = stacked(x, params["blocks"], n_heads, combined(tokens, padding))
    return linear(normed(x, params["ln_f"]), params["embedding"])


@mistake("dec_head_scaled", "decoder_logits")
@says("The logits are divided by √d_model.")
@hint("Is a logit scaled like a score?")
def dec_head_scaled(tokens, params, n_heads, padding=None):
    x = embedded(tokens, params)
    x = stacked(x, params["blocks"], n_heads, combined(tokens, padding))
    return headed(x, params) / np.sqrt(x.shape[-1])


@mistake("dec_head_centred", "decoder_logits")
@says("The mean embedding is taken out of the output head.")
@hint("Which matrix is the output head, as it is?")
def dec_head_centred(tokens, params, n_heads, padding=None):
    x = embedded(tokens, params)
    x = stacked(x, params["blocks"], n_heads, combined(tokens, padding))
    head = params["embedding"] - params["embedding"].mean(axis=0)
    return linear(normed(x, params["ln_f"]), head.T)


@mistake("dec_head_has_positions", "decoder_logits")
@says("The output head is applied to the stream with the positions taken out again.")
@hint("What does the output head read?")
def dec_head_has_positions(tokens, params, n_heads, padding=None):
    x = embedded(tokens, params)
    x = stacked(x, params["blocks"], n_heads, combined(tokens, padding))
    return headed(x - params["position"][: tokens.shape[-1]], params)


@mistake("dec_softmax_at_end", "decoder_logits")
@says("Probabilities are returned instead of logits.")
@hint("Which function expects what comes out of here, and what does it do to it?")
def dec_softmax_at_end(tokens, params, n_heads, padding=None):
    x = embedded(tokens, params)
    x = stacked(x, params["blocks"], n_heads, combined(tokens, padding))
    return softmax(headed(x, params))


@mistake("dec_log_softmax_at_end", "decoder_logits")
@says("Log probabilities are returned instead of logits.")
@hint("Which function expects what comes out of here, and what does it do to it?")
def dec_log_softmax_at_end(tokens, params, n_heads, padding=None):
    x = embedded(tokens, params)
    x = stacked(x, params["blocks"], n_heads, combined(tokens, padding))
    return log_softmax(headed(x, params))


@mistake("dec_last_position_only", "decoder_logits")
@says("Only the logits of the last position are returned.")
@hint("How many positions make a prediction in one forward pass?")
def dec_last_position_only(tokens, params, n_heads, padding=None):
    x = embedded(tokens, params)
    x = stacked(x, params["blocks"], n_heads, combined(tokens, padding))
    return headed(x, params)[..., -1, :]


@mistake("dec_shifted_by_global_max", "decoder_logits")
@says("The largest logit of the whole text is subtracted from all of them.")
@hint("Which positions does the number that you subtract depend on?")
def dec_shifted_by_global_max(tokens, params, n_heads, padding=None):
    x = embedded(tokens, params)
    x = stacked(x, params["blocks"], n_heads, combined(tokens, padding))
    logits = headed(x, params)
    return logits - logits.max(axis=(-2, -1), keepdims=True)


@mistake("np_squeeze_kills_axis", "decoder_logits")
@says("Axes of size one disappear from the result.")
@hint("Try a text of one token, or a batch of one: are all axes still there?")
def np_squeeze_kills_axis_decoder(tokens, params, n_heads, padding=None):
    x = embedded(tokens, params)
    x = stacked(x, params["blocks"], n_heads, combined(tokens, padding))
    return np.squeeze(headed(x, params))


@mistake("self_rows_joined", "decoder_logits")
@says("The texts of a batch are joined into one long text, so later ones see earlier.")
@hint("May a token look at another text of the batch?")
def self_rows_joined_decoder(tokens, params, n_heads, padding=None):
    x = embedded(tokens, params)
    real = (
        True
        if padding is None
        else np.broadcast_to(padding, (*tokens.shape[:-1], 1, tokens.shape[-1]))
    )
    mask = causal_mask(tokens.size) & (True if padding is None else real.reshape(1, -1))
    x = stacked(x.reshape(-1, x.shape[-1]), params["blocks"], n_heads, mask)
    return headed(x, params).reshape(*tokens.shape, -1)


@mistake("dec_centred_over_batch", "decoder_logits")
@says("The mean over the batch is subtracted from every text.")
@hint("Does the answer to a text depend on which others are asked at the same time?")
def dec_centred_over_batch(tokens, params, n_heads, padding=None):
    x = embedded(tokens, params)
    x = x - x.mean(axis=tuple(range(x.ndim - 2)), keepdims=True) * (x.ndim > 2)
    x = stacked(x, params["blocks"], n_heads, combined(tokens, padding))
    return headed(x, params)


# lengths, sizes and numbers, and what is left behind


@mistake("gen_position_overflow", "decoder_logits")
@says("Tokens after the last position all get that last position.")
@hint("What should happen when a text is longer than the table of positions?")
def pos_clipped_decoder(tokens, params, n_heads, padding=None):
    position = np.take(params["position"], np.arange(tokens.shape[-1]), axis=0, mode="clip")
    x = params["embedding"][tokens] + position
    x = stacked(x, params["blocks"], n_heads, combined(tokens, padding))
    return headed(x, params)


@mistake("gen_position_overflow", "decoder_logits")
@says("A text that is too long ends in an IndexError instead of a ValueError.")
@hint("Which kind of error does the docstring name for a text that is too long?")
def pos_index_error_decoder(tokens, params, n_heads, padding=None):
    x = params["embedding"][tokens] + params["position"][np.arange(tokens.shape[-1])]
    x = stacked(x, params["blocks"], n_heads, combined(tokens, padding))
    return headed(x, params)


@mistake("pos_not_checked", "decoder_logits")
@says("The length is not checked, and a table of one position is stretched over the whole text.")
@hint("What does NumPy do when one row is added to many?")
def pos_not_checked_decoder(tokens, params, n_heads, padding=None):
    x = params["embedding"][tokens] + params["position"][: tokens.shape[-1]]
    x = stacked(x, params["blocks"], n_heads, combined(tokens, padding))
    return headed(x, params)


@mistake("pad_values_zeroed_only", "decoder_logits")
@says("Padded positions are set to 0 before the blocks, but no mask hides them.")
@hint("What is the score of a key that is all zeros, or a bias, and what is its exponential?")
def pad_zeroed_not_hidden(tokens, params, n_heads, padding=None):
    x = embedded(tokens, params)
    if padding is not None:
        x = x * np.swapaxes(padding, -1, -2)
    return headed(stacked(x, params["blocks"], n_heads, causal_mask(tokens.shape[-1])), params)


@mistake("pad_all_ignored", "decoder_logits")
@says("Padding that hides every token is taken for no padding.")
@hint("What does a token get that may see nothing, and is None the same as an array of False?")
def pad_all_ignored_decoder(tokens, params, n_heads, padding=None):
    mask = combined(tokens, padding if np.any(padding) else None)
    return headed(stacked(embedded(tokens, params), params["blocks"], n_heads, mask), params)


@mistake("np_int64_only", "decoder_logits")
@says("Tokens of another integer type than int64 are refused.")
@hint("Which types of integers may an array of tokens have in this course?")
def np_int64_only_decoder(tokens, params, n_heads, padding=None):
    if tokens.dtype != np.int64:
        raise TypeError("tokens must be int64")
    return headed(
        stacked(embedded(tokens, params), params["blocks"], n_heads, combined(tokens, padding)),
        params,
    )


@mistake("dec_full_table_refused", "decoder_logits")
@says("A text that just fits into the position table is refused.")
@hint("Is a text allowed that uses every row of the table of positions?")
def dec_full_table_refused(tokens, params, n_heads, padding=None):
    if tokens.shape[-1] >= len(params["position"]):
        raise ValueError("tokens are longer than the model")
    x = embedded(tokens, params)
    x = stacked(x, params["blocks"], n_heads, combined(tokens, padding))
    return headed(x, params)


@mistake("dec_crops_long_texts", "decoder_logits")
@says("Of a text that is too long only the last T_max tokens are read.")
@hint("What does the docstring promise for a text that is too long?")
def dec_crops_long_texts(tokens, params, n_heads, padding=None):
    tokens = tokens[..., -len(params["position"]) :]
    x = stacked(embedded(tokens, params), params["blocks"], n_heads, combined(tokens, padding))
    return headed(x, params)


@mistake("softmax_no_max", "decoder_logits")
@says("The attention is written out anew, and the exponential of a large score overflows.")
@hint("Which step already has an attention that survives large scores?")
def softmax_no_max_decoder(tokens, params, n_heads, padding=None):
    mask, x = combined(tokens, padding), embedded(tokens, params)
    mask = mask if mask.ndim == 2 else mask[..., None, :, :]

    def weights_of(scores):
        likely = np.exp(scores) * mask
        total = likely.sum(axis=-1, keepdims=True)
        return likely / np.where(total == 0, 1.0, total)

    for block in params["blocks"]:
        x = written_out(x, block, n_heads, weights_of)
    return headed(x, params)


@mistake("mask_additive_too_small", "decoder_logits")
@says("Later tokens are hidden by adding -1e4 to their scores, which large scores outweigh.")
@hint("How large may a score be, and how much must be taken off it to hide it?")
def mask_additive_too_small_decoder(tokens, params, n_heads, padding=None):
    mask, x = combined(tokens, padding), embedded(tokens, params)
    mask = mask if mask.ndim == 2 else mask[..., None, :, :]
    open_somewhere = mask.any(axis=-1, keepdims=True)

    def weights_of(scores):
        return softmax(scores + np.where(mask, 0.0, -1e4)) * open_somewhere

    for block in params["blocks"]:
        x = written_out(x, block, n_heads, weights_of)
    return headed(x, params)


@mistake("np_half_precision", "decoder_logits")
@says("float32 weights are rounded to half precision.")
@hint("In which dtype do you compute, and how many digits does it have?")
def np_half_precision_decoder(tokens, params, n_heads, padding=None):
    x = embedded(tokens, params)
    x = stacked(x, params["blocks"], n_heads, combined(tokens, padding))
    logits = headed(x, params)
    return logits.astype(np.float16) if params["embedding"].dtype == np.float32 else logits


@mistake("np_memoised_on_shape", "decoder_logits")
@says("The embedded text is kept and used for every later text of the same shape.")
@hint("What does the input of the first block depend on besides the shape of the text?")
def np_memoised_on_shape_decoder(tokens, params, n_heads, padding=None):
    key = (tokens.shape, params["position"].shape)
    x = kept_inputs.setdefault(key, embedded(tokens, params))
    x = stacked(x, params["blocks"], n_heads, combined(tokens, padding))
    return headed(x, params)


@mistake("np_reused_buffer", "decoder_logits")
@says("Every result of the same shape comes in the same array.")
@hint("What becomes of your first result when you call the function again?")
def np_reused_buffer_decoder(tokens, params, n_heads, padding=None):
    x = embedded(tokens, params)
    x = stacked(x, params["blocks"], n_heads, combined(tokens, padding))
    logits = headed(x, params)
    buffer = kept_arrays.setdefault((logits.shape, logits.dtype), np.empty_like(logits))
    buffer[...] = logits
    return buffer


@mistake("np_input_mutated", "decoder_logits")
@says("Padded tokens are overwritten with 0 in the array that came in.")
@hint("Look for an assignment that changes an array which your function was only lent.")
def np_input_mutated_tokens_decoder(tokens, params, n_heads, padding=None):
    x = stacked(embedded(tokens, params), params["blocks"], n_heads, combined(tokens, padding))
    if padding is not None:
        tokens[~padding[..., 0, :]] = 0
    return headed(x, params)


@mistake("np_input_mutated", "decoder_logits")
@says("The blocks are taken out of the caller's list, one after the other.")
@hint("Call your function twice with the same `params`.")
def np_input_mutated_blocks_decoder(tokens, params, n_heads, padding=None):
    x, mask = embedded(tokens, params), combined(tokens, padding)
    while params["blocks"]:
        x = decoder_block(x, params["blocks"].pop(0), n_heads, mask)
    return headed(x, params)


@mistake("np_input_mutated", "decoder_logits")
@says("The last norm's gain is multiplied into the model's own embedding.")
@hint("Which arrays of `params` are different after a call?")
def np_input_mutated_norm_decoder(tokens, params, n_heads, padding=None):
    x = stacked(embedded(tokens, params), params["blocks"], n_heads, combined(tokens, padding))
    x = layer_norm(x, 1.0, 0.0) + params["ln_f"]["bias"] / params["ln_f"]["gain"]
    params["embedding"] *= params["ln_f"]["gain"]
    return linear(x, params["embedding"].T)


@mistake("np_input_mutated", "decoder_logits")
@says("Where there is no batch, the embeddings are added into the table of positions itself.")
@hint("Is a slice of the table a copy, or a window onto it?")
def np_input_mutated_position_decoder(tokens, params, n_heads, padding=None):
    x = embedded(tokens, params)
    if tokens.ndim == 1:
        x = params["position"][: tokens.shape[-1]]
        x += params["embedding"][tokens]
    x = stacked(x, params["blocks"], n_heads, combined(tokens, padding))
    return headed(x, params)


@mistake("pos_of_real_tokens", "decoder_logits")
@says("Positions count the real tokens only, so a token after padding gets an earlier position.")
@hint("What do positions count in this model: tokens, or real tokens?")
def pos_of_real_tokens(tokens, params, n_heads, padding=None):
    t = tokens.shape[-1]
    if t > len(params["position"]):
        raise ValueError("tokens has more positions than the model")
    mask, places = causal_mask(t), np.arange(t)
    if padding is not None:
        mask = mask & padding
        places = np.maximum(np.cumsum(padding[..., 0, :], axis=-1) - 1, 0)
    x = params["embedding"][tokens] + params["position"][places]
    for block in params["blocks"]:
        x = decoder_block(x, block, n_heads, mask)
    return linear(layer_norm(x, **params["ln_f"]), params["embedding"].T)
