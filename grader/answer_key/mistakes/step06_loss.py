"""Known wrong versions of step 6, each with one mistake."""

import numpy as np

from exercises.step01_projections import project_qkv
from exercises.step03_mask import padding_mask
from exercises.step04_softmax import softmax
from exercises.step05_output import attention, masked_self_attention
from grader.answer_key.variants import hint, mistake, says

kept_arrays = {}
kept_targets = {}
kept_losses = {}
kept_inputs = {}


def in_the_same_array(result):
    """Return the result in an array that is reused for every result of that shape."""
    buffer = kept_arrays.setdefault((result.shape, result.dtype), np.empty_like(result))
    buffer[...] = result
    return buffer


def shiftable(tokens):
    """Return the tokens if there are enough of them to shift."""
    if tokens.shape[-1] < 2:
        raise ValueError("tokens must hold at least 2 positions")
    return tokens


def stable_log_softmax(logits):
    shifted = logits - logits.max(axis=-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))


def log_probs_of(logits, targets):
    """Return log p(target) at every position."""
    return np.take_along_axis(stable_log_softmax(logits), targets[..., None], axis=-1)[..., 0]


def counted_positions(targets, ignore_id):
    """Return True where a target counts; refuse a batch without any."""
    counted = np.ones(targets.shape, dtype=bool) if ignore_id is None else targets != ignore_id
    if not counted.any():
        raise ValueError("every target is ignored")
    return counted


def masked_log_probs(logits, targets, ignore_id):
    """Return log p(target) where a target counts and 0 elsewhere, and where it counts."""
    counted = counted_positions(targets, ignore_id)
    return np.where(counted, log_probs_of(logits, np.where(counted, targets, 0)), 0.0), counted


def embedded(tokens, params):
    """Return embedding plus position; refuse sequences longer than the position table."""
    t = tokens.shape[-1]
    if t > len(params["position"]):
        raise ValueError("tokens are longer than the model")
    return params["embedding"][tokens] + params["position"][:t]


def attended(x, params, padding=None):
    return masked_self_attention(x, params["w_q"], params["w_k"], params["w_v"], padding)


# shift_tokens: which token is predicted where


@mistake("loss_same_slice", "shift_tokens")
@says("Inputs and targets are the same tokens, so each token is to predict itself.")
@hint("Are both slices cut at the same end?")
def loss_same_slice(tokens):
    inputs = shiftable(tokens)[..., :-1]
    return inputs.copy(), inputs.copy()


@mistake("loss_same_slice", "shift_tokens")
@says("Inputs and targets are the same tokens, so each token is to predict itself.")
@hint("Are both slices cut at the same end?")
def loss_same_last_slice(tokens):
    targets = shiftable(tokens)[..., 1:]
    return targets.copy(), targets.copy()


@mistake("loss_shift_wrong_way", "shift_tokens")
@says("Inputs and targets are exchanged, so each token is to predict the one before it.")
@hint("Does the answer lie to the left or to the right of the question?")
def loss_shift_wrong_way(tokens):
    shiftable(tokens)
    return tokens[..., 1:].copy(), tokens[..., :-1].copy()


@mistake("loss_double_shift", "shift_tokens")
@says("The targets are shifted by two, so each token is to predict the one after the next.")
@hint("Count how many times the targets are moved.")
def loss_double_shift(tokens):
    shiftable(tokens)
    return tokens[..., :-2].copy(), tokens[..., 2:].copy()


@mistake("loss_roll_wraparound", "shift_tokens")
@says("The targets are rolled around, so the last token is to predict the first.")
@hint("What is the last token of a text supposed to predict?")
def loss_roll_wraparound(tokens):
    return shiftable(tokens).copy(), np.roll(tokens, -1, axis=-1)


@mistake("loss_drops_last_token", "shift_tokens")
@says("The last token of the text never becomes a target.")
@hint("How many predictions can be made within T tokens?")
def loss_drops_last_token(tokens):
    shiftable(tokens)
    return tokens[..., :-2].copy(), tokens[..., 1:-1].copy()


@mistake("np_int64_only", "shift_tokens")
@says("Tokens of another integer type than int64 are refused.")
@hint("Which types of integers may an array of tokens have in this course?")
def np_int64_only_shift(tokens):
    if tokens.dtype != np.int64:
        raise TypeError("tokens must be int64")
    return tokens[..., :-1].copy(), shiftable(tokens)[..., 1:].copy()


@mistake("shift_first_axis", "shift_tokens")
@says("The first axis is shifted, which is the batch when there is one.")
@hint("Which axis of a batch of texts is time?")
def shift_first_axis(tokens):
    shiftable(tokens)
    return tokens[:-1].copy(), tokens[1:].copy()


@mistake("np_squeeze_kills_axis", "shift_tokens")
@says("Axes of size one disappear from the result.")
@hint("Try a batch of one text, or texts of two tokens: are all axes still there?")
def np_squeeze_kills_axis_shift(tokens):
    shiftable(tokens)
    return np.squeeze(tokens[..., :-1]), np.squeeze(tokens[..., 1:])


@mistake("shift_short_not_refused", "shift_tokens")
@says("A text of one token gives two empty arrays instead of an error.")
@hint("How many predictions does a text of one token contain?")
def shift_short_not_refused(tokens):
    return tokens[..., :-1].copy(), tokens[..., 1:].copy()


@mistake("shift_length_of_batch", "shift_tokens")
@says("The length is read from the first axis, so a batch of one text is refused.")
@hint("Which axis of a batch of texts is time?")
def shift_length_of_batch(tokens):
    if len(tokens) < 2:
        raise ValueError("tokens must hold at least 2 positions")
    return tokens[..., :-1].copy(), tokens[..., 1:].copy()


@mistake("np_input_mutated", "shift_tokens")
@says("The tokens are moved to the left inside the caller's array.")
@hint("Look for an assignment that changes an array which your function was only lent.")
def np_input_mutated_shift(tokens):
    inputs = shiftable(tokens)[..., :-1].copy()
    tokens[..., :-1] = tokens[..., 1:].copy()
    return inputs, tokens[..., :-1].copy()


# log_softmax


@mistake("loss_unstable_log", "log_softmax")
@says("The logarithm is taken of a softmax that can be zero.")
@hint("What is the logarithm of a probability that is too small for a float?")
def loss_unstable_log(logits):
    return np.log(softmax(logits))


@mistake("softmax_no_max", "log_softmax")
@says("The exponential of a large logit overflows.")
@hint("Which number may you subtract from every logit without changing the result?")
def softmax_no_max_log(logits):
    return logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))


@mistake("softmax_global_max", "log_softmax")
@says("One maximum of all logits is subtracted, so rows far below it have a sum of zero.")
@hint("Whose maximum should each row subtract?")
def softmax_global_max_log(logits):
    shifted = logits - logits.max()
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))


@mistake("loss_eps_in_log", "log_softmax")
@says("A small number, about 1e-9, is added before the logarithm.")
@hint("Which number is the logarithm taken of when a probability is far smaller than that?")
def loss_larger_eps_in_log(logits):
    return np.log(softmax(logits) + 1e-9)


@mistake("loss_eps_in_log", "log_softmax")
@says("A small number inside the logarithm keeps very unlikely tokens from their value.")
@hint("How negative can a log probability become, and how negative can yours?")
def loss_eps_in_log(logits):
    return np.log(softmax(logits) + 1e-12)


@mistake("loss_wrong_axis", "log_softmax")
@says("The probabilities of one token over all positions add up to one.")
@hint("Which axis counts the tokens of the vocabulary?")
def loss_wrong_axis(logits):
    return np.log(softmax(logits, axis=0))


@mistake("softmax_hardcoded_rank", "log_softmax")
@says("The axis has a fixed number, which is the last one of a table only.")
@hint("Does axis 1 mean the same with no batch axis and with two of them?")
def softmax_hardcoded_rank_log(logits):
    shifted = logits - logits.max(axis=1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))


@mistake("softmax_keepdims_missing", "log_softmax")
@says("The sums lose their axis, so they do not line up with their rows.")
@hint("What shape has the array that you subtract?")
def softmax_keepdims_missing_log(logits):
    shifted = logits - logits.max(axis=-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=-1))


@mistake("log_softmax_max_not_subtracted", "log_softmax")
@says("The maximum is taken off inside the sum but not from the logits themselves.")
@hint("If a number is subtracted in one place, where must it be subtracted as well?")
def log_softmax_max_not_subtracted(logits):
    shifted = logits - logits.max(axis=-1, keepdims=True)
    return logits - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))


@mistake("log_softmax_max_not_subtracted", "log_softmax")
@says("The maximum is taken off the logits themselves but not inside the sum.")
@hint("If a number is subtracted in one place, where must it be subtracted as well?")
def log_softmax_max_not_in_the_sum(logits):
    shifted = logits - logits.max(axis=-1, keepdims=True)
    return shifted - np.log(np.exp(logits).sum(axis=-1, keepdims=True))


@mistake("np_half_precision", "log_softmax")
@says("float32 logits are rounded to half precision.")
@hint("In which dtype do you compute, and how many digits does it have?")
def np_half_precision_log(logits):
    if logits.dtype == np.float32:
        logits = logits.astype(np.float16).astype(np.float32)
    return stable_log_softmax(logits)


@mistake("np_float32_downcast", "log_softmax")
@says("The logits are rounded to float32.")
@hint("How many correct digits do you expect from float64, and how many do you get?")
def np_float32_downcast_log(logits):
    return stable_log_softmax(logits.astype(np.float32))


@mistake("out_returns_view", "log_softmax")
@says("The result lives in a buffer that the next call of the same shape overwrites.")
@hint("Keep an answer, ask for another one, and look at the first again.")
def out_returns_view_log(logits):
    return in_the_same_array(stable_log_softmax(logits))


@mistake("np_input_mutated", "log_softmax")
@says("The maximum is subtracted inside the caller's array.")
@hint("Look for an assignment that changes an array which your function was only lent.")
def np_input_mutated_log(logits):
    logits -= logits.max(axis=-1, keepdims=True)
    return logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))


# cross_entropy


@mistake("loss_targets_index_texts", "cross_entropy")
@says("The targets are used as an index along the first axis, which holds positions or texts.")
@hint("Which axis of the log probabilities holds the vocabulary, and which does your index use?")
def loss_targets_index_texts(logits, targets, ignore_id=None):
    return float(-stable_log_softmax(logits)[targets].mean())


@mistake("loss_targets_index_texts", "cross_entropy")
@says("The targets are used as an index along the first axis, which holds positions or texts.")
@hint("Which axis of the log probabilities holds the vocabulary, and which does your index use?")
def loss_targets_index_kept_positions(logits, targets, ignore_id=None):
    log_probs = stable_log_softmax(logits)
    if ignore_id is not None:
        kept = targets != ignore_id
        if not kept.any():
            raise ValueError("every target is ignored")
        log_probs, targets = log_probs[kept], targets[kept]
    return float(-log_probs[targets].mean())


@mistake("loss_sign", "cross_entropy")
@says("The mean log probability is returned without turning its sign.")
@hint("Should a better prediction raise or lower the loss?")
def loss_sign(logits, targets, ignore_id=None):
    log_probs, counted = masked_log_probs(logits, targets, ignore_id)
    return float(log_probs.sum() / counted.sum())


@mistake("loss_missing_softmax_or_log", "cross_entropy")
@says("The logit of the target is used as if it were a log probability.")
@hint("Can your loss be negative?")
def loss_missing_softmax_or_log(logits, targets, ignore_id=None):
    counted = counted_positions(targets, ignore_id)
    chosen = np.take_along_axis(logits, np.where(counted, targets, 0)[..., None], axis=-1)[..., 0]
    return float(-chosen[counted].mean())


@mistake("loss_missing_softmax_or_log", "cross_entropy")
@says("The probability of the target is averaged instead of its logarithm.")
@hint("What should the loss be when the target has probability zero?")
def loss_missing_log(logits, targets, ignore_id=None):
    log_probs, counted = masked_log_probs(logits, targets, ignore_id)
    return float(-np.exp(log_probs)[counted].mean())


@mistake("loss_double_softmax", "cross_entropy")
@says("The logits go through a softmax before the log-softmax.")
@hint("Does the logarithmic part expect scores or probabilities?")
def loss_double_softmax(logits, targets, ignore_id=None):
    log_probs, counted = masked_log_probs(softmax(logits), targets, ignore_id)
    return float(-log_probs.sum() / counted.sum())


@mistake("loss_wrong_base_or_perplexity", "cross_entropy")
@says("The exponential of the loss is returned, which is the perplexity.")
@hint("In which unit does the docstring measure the loss?")
def loss_wrong_base_or_perplexity(logits, targets, ignore_id=None):
    log_probs, counted = masked_log_probs(logits, targets, ignore_id)
    return float(np.exp(-log_probs.sum() / counted.sum()))


@mistake("loss_reduction_wrong", "cross_entropy")
@says("The losses of all positions are added up and not averaged.")
@hint("Divide your value by the expected one: do you recognise the number?")
def loss_reduction_wrong(logits, targets, ignore_id=None):
    log_probs, _ = masked_log_probs(logits, targets, ignore_id)
    return float(-log_probs.sum())


@mistake("loss_reduction_wrong", "cross_entropy")
@says("The loss is averaged over time and added up over the batch.")
@hint("Does your loss grow when the same text is in the batch twice?")
def loss_summed_over_batch(logits, targets, ignore_id=None):
    log_probs, counted = masked_log_probs(logits, targets, ignore_id)
    rows = targets.size / targets.shape[-1]
    return float(-log_probs.sum() / counted.sum() * rows)


@mistake("loss_not_reduced", "cross_entropy")
@says("One loss for each position is returned instead of their mean.")
@hint("How many numbers should come back?")
def loss_not_reduced(logits, targets, ignore_id=None):
    return -masked_log_probs(logits, targets, ignore_id)[0]


@mistake("loss_fancy_index_cross_product", "cross_entropy")
@says("Every position is paired with the targets of all positions.")
@hint("Count the log probabilities that you selected, and the positions.")
def loss_fancy_index_cross_product(logits, targets, ignore_id=None):
    counted = counted_positions(targets, ignore_id)
    return float(-log_softmax(logits[counted])[:, targets[counted]].mean())


@mistake("loss_label_smoothing_extra", "cross_entropy")
@says("A tenth of the target's weight is spread over the whole vocabulary.")
@hint("Does the loss contain anything besides the log probability of the target?")
def loss_label_smoothing_extra(logits, targets, ignore_id=None):
    log_probs, counted = masked_log_probs(logits, targets, ignore_id)
    smooth = log_softmax(logits).mean(axis=-1)
    return float(-(0.9 * log_probs + 0.1 * smooth)[counted].mean())


@mistake("loss_wrong_axis", "cross_entropy")
@says("The softmax runs over time instead of over the vocabulary.")
@hint("Which axis counts the tokens of the vocabulary?")
def loss_wrong_axis_time(logits, targets, ignore_id=None):
    counted = counted_positions(targets, ignore_id)
    log_probs = np.log(softmax(logits, axis=-2))
    kept = np.where(counted, targets, 0)[..., None]
    return float(-np.take_along_axis(log_probs, kept, axis=-1)[..., 0][counted].mean())


@mistake("loss_rounded", "cross_entropy")
@says("The loss is rounded to four digits.")
@hint("Who needs the rounded number, the caller or the reader of a print?")
def loss_rounded(logits, targets, ignore_id=None):
    log_probs, counted = masked_log_probs(logits, targets, ignore_id)
    return round(float(-log_probs.sum() / counted.sum()), 4)


@mistake("loss_first_sequence_only", "cross_entropy")
@says("Only the first text of a batch is scored.")
@hint("Change the second text of a batch: does the loss change?")
def loss_first_sequence_only(logits, targets, ignore_id=None):
    log_probs, counted = masked_log_probs(logits, targets, ignore_id)
    t = targets.shape[-1]
    return float(-log_probs.reshape(-1, t)[0].sum() / max(counted.reshape(-1, t)[0].sum(), 1))


@mistake("loss_two_axes_only", "cross_entropy")
@says("The target is looked up by position number, which fits one text but no batch.")
@hint("How many axes has each index, and how many has the array it looks into?")
def loss_two_axes_only(logits, targets, ignore_id=None):
    counted = counted_positions(targets, ignore_id)
    kept = np.where(counted, targets, 0)
    return float(-log_softmax(logits)[np.arange(len(kept)), kept][counted].mean())


@mistake("loss_mean_of_sequence_means", "cross_entropy")
@says("Each text is averaged first, so a token of a short text counts for more.")
@hint("Does every token count the same, or every text?")
def loss_mean_of_sequence_means(logits, targets, ignore_id=None):
    log_probs, counted = masked_log_probs(logits, targets, ignore_id)
    return float(np.mean(-log_probs.sum(axis=-1) / np.maximum(counted.sum(axis=-1), 1)))


@mistake("loss_mean_includes_ignored", "cross_entropy")
@says("Ignored positions add nothing to the sum but are counted in the mean.")
@hint("How many terms did you average?")
def loss_mean_includes_ignored(logits, targets, ignore_id=None):
    return float(-masked_log_probs(logits, targets, ignore_id)[0].mean())


@mistake("loss_pad_counted", "cross_entropy")
@says("Ignored targets are replaced by token 0 and counted.")
@hint("Change the logits of an ignored position: does your loss change?")
def loss_pad_counted(logits, targets, ignore_id=None):
    counted = counted_positions(targets, ignore_id)
    return float(-log_probs_of(logits, np.where(counted, targets, 0)).mean())


@mistake("loss_ignore_index_used_as_index", "cross_entropy")
@says("Ignored targets are used as indices, and count like the others.")
@hint("Which of the logits does an ignored target choose?")
def loss_ignore_index_used_as_index(logits, targets, ignore_id=None):
    counted_positions(targets, ignore_id)
    return float(-log_probs_of(logits, targets % logits.shape[-1]).mean())


@mistake("loss_ignored_still_looked_up", "cross_entropy")
@says("Ignored targets are looked up too, before they are left out, and may not exist.")
@hint("In which order do you look up the targets and leave out the ignored ones?")
def loss_ignored_still_looked_up(logits, targets, ignore_id=None):
    counted = counted_positions(targets, ignore_id)
    return float(-log_probs_of(logits, targets)[counted].mean())


@mistake("loss_mask_not_shifted", "cross_entropy")
@says("The position after an ignored one is left out instead of the ignored one itself.")
@hint("Is the mask of what counts lined up with the targets, or with the inputs?")
def loss_mask_not_shifted(logits, targets, ignore_id=None):
    counted = counted_positions(targets, ignore_id)
    kept = np.roll(counted, 1, axis=-1)
    return float(-log_probs_of(logits, np.where(counted, targets, 0))[kept].mean())


@mistake("loss_ignore_wrong_id", "cross_entropy")
@says("Token 0 is always ignored, though it may be a real token.")
@hint("Which value is the one to ignore, and who says so?")
def loss_ignore_wrong_id(logits, targets, ignore_id=None):
    counted = counted_positions(targets, ignore_id) & (targets != 0)
    log_probs = log_probs_of(logits, np.where(counted, targets, 0))
    return float(-log_probs[counted].sum() / max(counted.sum(), 1))


@mistake("loss_ignore_wrong_id", "cross_entropy")
@says("What ignore_id says makes no difference.")
@hint("Which value is the one to ignore, and who says so?")
def loss_ignore_hundred(logits, targets, ignore_id=None):
    counted = counted_positions(targets, -100)
    inside = np.clip(targets, 0, logits.shape[-1] - 1)
    return float(-log_probs_of(logits, inside)[counted].mean())


@mistake("loss_ignore_padding_only", "cross_entropy")
@says("Only 0 and ids outside the vocabulary are ignored: any other token counts.")
@hint("Which ids may ignore_id be, and for which of them did you try your function?")
def loss_ignore_padding_only(logits, targets, ignore_id=None):
    inside = ignore_id is not None and 0 < ignore_id < logits.shape[-1]
    log_probs, counted = masked_log_probs(logits, targets, None if inside else ignore_id)
    return float(-log_probs.sum() / counted.sum())


@mistake("loss_ignore_zero_is_false", "cross_entropy")
@says("An ignore_id of 0 is taken for none at all.")
@hint("Which values does Python take for false in a condition?")
def loss_ignore_zero_is_false(logits, targets, ignore_id=None):
    counted_positions(targets, ignore_id)
    log_probs, counted = masked_log_probs(logits, targets, ignore_id if ignore_id else None)
    return float(-log_probs.sum() / counted.sum())


@mistake("loss_ignore_zero_is_false", "cross_entropy")
@says("An ignore_id of 0 is taken for none at all, also where every target is 0.")
@hint("Which values does Python take for false in a condition?")
def loss_ignore_zero_is_false_throughout(logits, targets, ignore_id=None):
    counted_positions(targets, ignore_id or None)
    log_probs, counted = masked_log_probs(logits, targets, ignore_id or None)
    return float(-log_probs.sum() / counted.sum())


@mistake("loss_all_ignored_nan", "cross_entropy")
@says("When every target is ignored, the result is NaN instead of an error.")
@hint("What should happen when there is nothing to score?")
def loss_all_ignored_nan(logits, targets, ignore_id=None):
    counted = np.ones(targets.shape, dtype=bool) if ignore_id is None else targets != ignore_id
    kept = targets[counted]
    return float(-log_softmax(logits[counted])[np.arange(len(kept)), kept].mean())


@mistake("loss_all_ignored_zero", "cross_entropy")
@says("When every target is ignored, the loss is zero instead of an error.")
@hint("What should happen when there is nothing to score?")
def loss_all_ignored_zero(logits, targets, ignore_id=None):
    if ignore_id is not None and (targets == ignore_id).all():
        return 0.0
    log_probs, counted = masked_log_probs(logits, targets, ignore_id)
    return float(-log_probs.sum() / counted.sum())


@mistake("loss_unstable_log", "cross_entropy")
@says("The logarithm is taken of a softmax that can be zero.")
@hint("Try logits of a thousand and of minus a thousand.")
def loss_unstable_log_entropy(logits, targets, ignore_id=None):
    counted = counted_positions(targets, ignore_id)
    kept = np.where(counted, targets, 0)[..., None]
    probs = np.take_along_axis(softmax(logits), kept, axis=-1)[..., 0]
    return float(-np.log(probs[counted]).mean())


@mistake("loss_eps_in_log", "cross_entropy")
@says("A small number inside the logarithm limits how large the loss can become.")
@hint("How large can the loss become, and how large can yours?")
def loss_eps_in_log_entropy(logits, targets, ignore_id=None):
    counted = counted_positions(targets, ignore_id)
    kept = np.where(counted, targets, 0)[..., None]
    probs = np.take_along_axis(softmax(logits), kept, axis=-1)[..., 0]
    return float(-np.log(probs[counted] + 1e-8).mean())


@mistake("np_low_precision", "cross_entropy")
@says("Of each log probability of float32 logits only three decimals are kept.")
@hint("How many correct digits does float32 have, and how many does your loss have?")
def np_low_precision_entropy(logits, targets, ignore_id=None):
    log_probs, counted = masked_log_probs(logits, targets, ignore_id)
    if logits.dtype == np.float32:
        log_probs = np.floor(log_probs * 1000) / 1000
    return float(-log_probs.sum() / counted.sum())


@mistake("np_memoised_on_shape", "cross_entropy")
@says("The one-hot rows of the targets are kept and used for all targets of that shape.")
@hint("What do the one-hot rows depend on besides the shapes?")
def np_memoised_on_shape_entropy(logits, targets, ignore_id=None):
    if ignore_id is not None:
        log_probs, counted = masked_log_probs(logits, targets, ignore_id)
        return float(-log_probs.sum() / counted.sum())
    hot = kept_targets.setdefault(logits.shape, np.eye(logits.shape[-1])[targets])
    return float(-(stable_log_softmax(logits) * hot).sum() / targets.size)


@mistake("np_input_mutated", "cross_entropy")
@says("Ignored targets are replaced inside the caller's array.")
@hint("Look for an assignment that changes an array which your function was only lent.")
def np_input_mutated_entropy(logits, targets, ignore_id=None):
    counted = counted_positions(targets, ignore_id)
    targets[~counted] = 0
    return float(-log_probs_of(logits, targets)[counted].mean())


# sequence_log_prob


@mistake("loss_reduction_wrong", "sequence_log_prob")
@says("The log probabilities are averaged over time instead of added up.")
@hint("What happens to probabilities of events that must all come true?")
def log_prob_mean(logits, targets):
    return log_probs_of(logits, targets).mean(axis=-1)


@mistake("loss_sign", "sequence_log_prob")
@says("The sign is turned, so an unlikely text gets a large number.")
@hint("Can the logarithm of a probability be positive?")
def log_prob_sign(logits, targets):
    return -log_probs_of(logits, targets).sum(axis=-1)


@mistake("log_prob_first_left_out", "sequence_log_prob")
@says("The first target is left out of the sum.")
@hint("Were the targets shifted before, and is there a reason to cut them again?")
def log_prob_first_left_out(logits, targets):
    return log_probs_of(logits, targets)[..., 1:].sum(axis=-1)


@mistake("log_prob_sum_of_one", "sequence_log_prob")
@says("The sum runs over the axis of length 1 that take_along_axis leaves, not over time.")
@hint("Which shape does take_along_axis return, and which of its axes is time?")
def log_prob_sum_of_one(logits, targets):
    return log_probs_of(logits, targets)[..., None].sum(axis=-1)


@mistake("log_prob_one_for_all", "sequence_log_prob")
@says("The log probabilities of all texts of a batch are added into one number.")
@hint("How many texts are in the batch, and how many numbers should come back?")
def log_prob_one_for_all(logits, targets):
    return log_probs_of(logits, targets).sum()


@mistake("log_prob_of_product", "sequence_log_prob")
@says("The probabilities are multiplied, which reaches zero before the logarithm is taken.")
@hint("How small can a product of many probabilities become in a float?")
def log_prob_of_product(logits, targets):
    return np.log(np.exp(log_probs_of(logits, targets)).prod(axis=-1))


@mistake("loss_wrong_axis", "sequence_log_prob")
@says("The probabilities are normalised over the first axis, which mixes the texts.")
@hint("Which numbers must add up to one for each position of each text?")
def log_prob_wrong_axis(logits, targets):
    probs = softmax(logits, axis=0)
    return np.log(np.take_along_axis(probs, targets[..., None], axis=-1)[..., 0]).sum(axis=-1)


@mistake("log_prob_first_targets", "sequence_log_prob")
@says("All texts of a batch are scored with the targets of the first.")
@hint("Does each text of the batch bring its own targets?")
def log_prob_first_targets(logits, targets):
    first = targets.reshape(-1, targets.shape[-1])[0]
    return log_probs_of(logits, np.broadcast_to(first, targets.shape)).sum(axis=-1)


@mistake("np_squeeze_kills_axis", "sequence_log_prob")
@says("Axes of size one disappear from the result.")
@hint("Try a batch of one text: how many numbers come back, and in which shape?")
def np_squeeze_kills_axis_log_prob(logits, targets):
    return np.squeeze(log_probs_of(logits, targets).sum(axis=-1))


@mistake("np_low_precision", "sequence_log_prob")
@says("Of each log probability of float32 logits only two decimals are kept.")
@hint("How many correct digits does float32 have, and how many does your sum have?")
def np_low_precision_log_prob(logits, targets):
    log_probs = log_probs_of(logits, targets)
    if logits.dtype == np.float32:
        log_probs = np.floor(log_probs * 100) / 100
    return log_probs.sum(axis=-1)


@mistake("out_returns_view", "sequence_log_prob")
@says("The result lives in a buffer that the next call of the same shape overwrites.")
@hint("Keep an answer, ask for another one, and look at the first again.")
def out_returns_view_log_prob(logits, targets):
    return in_the_same_array(log_probs_of(logits, targets).sum(axis=-1))


@mistake("np_input_mutated", "sequence_log_prob")
@says("The maximum is subtracted inside the caller's array of logits.")
@hint("Look for an assignment that changes an array which your function was only lent.")
def np_input_mutated_log_prob(logits, targets):
    logits -= logits.max(axis=-1, keepdims=True)
    return log_probs_of(logits, targets).sum(axis=-1)


# next_token_logits: the model


@mistake("pos_table_read_by_token", "next_token_logits")
@says("The table of positions is read by token, like the embedding.")
@hint("What do two equal tokens at different places have in common, and what not?")
def pos_table_read_by_token(tokens, params):
    if tokens.shape[-1] > len(params["position"]):
        raise ValueError("tokens must not be longer than the table of positions")
    x = params["embedding"][tokens] + params["position"][tokens]
    y = masked_self_attention(x, params["w_q"], params["w_k"], params["w_v"])
    return y @ params["w_out"]


@mistake("lm_positions_multiplied", "next_token_logits")
@says("The positions are multiplied with the embeddings, not added to them.")
@hint("Which operation joins the two tables, and what would a position of 0 do in yours?")
def lm_positions_multiplied(tokens, params):
    embedded(tokens, params)
    x = params["embedding"][tokens] * params["position"][: tokens.shape[-1]]
    return attended(x, params) @ params["w_out"]


@mistake("lm_no_position", "next_token_logits")
@says("The positions are never added to the embeddings.")
@hint("Which entries of `params` does your function read?")
def lm_no_position(tokens, params):
    embedded(tokens, params)
    return attended(params["embedding"][tokens], params) @ params["w_out"]


@mistake("lm_position_off_by_one", "next_token_logits")
@says("The first token gets position 1.")
@hint("Which row of the table of positions belongs to the first token?")
def lm_position_off_by_one(tokens, params):
    embedded(tokens, params)
    shifted = np.roll(params["position"], -1, axis=0)[: tokens.shape[-1]]
    return attended(params["embedding"][tokens] + shifted, params) @ params["w_out"]


@mistake("lm_position_from_end", "next_token_logits")
@says("The last token always gets the last position, so earlier ones move with the length.")
@hint("Does the position of the first token change when a token is added at the end?")
def lm_position_from_end(tokens, params):
    embedded(tokens, params)
    last = params["position"][-tokens.shape[-1] :]
    return attended(params["embedding"][tokens] + last, params) @ params["w_out"]


@mistake("lm_embedding_scaled", "next_token_logits")
@says("The embeddings are multiplied by √d_model, which this model does not do.")
@hint("Compare your input to the attention with the formula in the table.")
def lm_embedding_scaled(tokens, params):
    x = embedded(tokens, params)
    extra = params["embedding"][tokens] * (np.sqrt(x.shape[-1]) - 1.0)
    return attended(x + extra, params) @ params["w_out"]


@mistake("lm_softmax_at_end", "next_token_logits")
@says("Probabilities are returned instead of logits.")
@hint("Which function of this step expects what comes out of here?")
def lm_softmax_at_end(tokens, params):
    return softmax(attended(embedded(tokens, params), params) @ params["w_out"])


@mistake("lm_last_position_only", "next_token_logits")
@says("Only the logits of the last position are returned.")
@hint("How many positions make a prediction in one forward pass?")
def lm_last_position_only(tokens, params):
    return attended(embedded(tokens, params), params)[..., -1, :] @ params["w_out"]


@mistake("proj_qk_swapped", "next_token_logits")
@says("The matrices of queries and keys are passed in the wrong order.")
@hint("Read the argument list of masked_self_attention once more.")
def proj_qk_swapped_logits(tokens, params):
    x = embedded(tokens, params)
    y = masked_self_attention(x, params["w_k"], params["w_q"], params["w_v"])
    return y @ params["w_out"]


@mistake("pad_inferred_from_token_0", "next_token_logits")
@says("Token 0 is treated as padding, though this model has none.")
@hint("Who says which id is padding, and does anyone say so here?")
def pad_inferred_from_token_0_logits(tokens, params):
    x = embedded(tokens, params)
    return attended(x, params, padding_mask(tokens, 0)) @ params["w_out"]


@mistake("mask_none", "next_token_logits")
@says("The attention has no causal mask.")
@hint("Can the first token see the one that it is to predict?")
def mask_none_logits(tokens, params):
    x = embedded(tokens, params)
    return attention(*project_qkv(x, params["w_q"], params["w_k"], params["w_v"])) @ params["w_out"]


@mistake("mask_allows_one_future", "next_token_logits")
@says("Each token also sees the next one, which is its answer.")
@hint("Look at the first row of your mask: how many keys may the first token use?")
def mask_allows_one_future_logits(tokens, params):
    q, k, v = project_qkv(embedded(tokens, params), params["w_q"], params["w_k"], params["w_v"])
    return attention(q, k, v, np.tri(q.shape[-2], k=1, dtype=bool)) @ params["w_out"]


@mistake("lm_centred_over_time", "next_token_logits")
@says("The mean over the whole text is subtracted from every token.")
@hint("Which tokens does the mean that you subtract contain?")
def lm_centred_over_time(tokens, params):
    x = embedded(tokens, params)
    return attended(x - x.mean(axis=-2, keepdims=True), params) @ params["w_out"]


@mistake("lm_shifted_by_global_max", "next_token_logits")
@says("The largest logit of the whole text is subtracted from all of them.")
@hint("Which positions does the number that you subtract depend on?")
def lm_shifted_by_global_max(tokens, params):
    logits = attended(embedded(tokens, params), params) @ params["w_out"]
    return logits - logits.max(axis=(-2, -1), keepdims=True)


@mistake("self_rows_joined", "next_token_logits")
@says("The texts of a batch are joined into one long text, so later ones see earlier.")
@hint("May a token look at another text of the batch?")
def self_rows_joined_logits(tokens, params):
    x = embedded(tokens, params)
    y = attended(x.reshape(-1, x.shape[-1]), params)
    return y.reshape(tokens.shape + y.shape[-1:]) @ params["w_out"]


@mistake("gen_position_overflow", "next_token_logits")
@says("Tokens after the last position all get that last position.")
@hint("What should happen when a text is longer than the table of positions?")
def lm_position_clipped(tokens, params):
    position = np.take(params["position"], np.arange(tokens.shape[-1]), axis=0, mode="clip")
    return attended(params["embedding"][tokens] + position, params) @ params["w_out"]


@mistake("gen_position_overflow", "next_token_logits")
@says("A text that is too long ends in an IndexError instead of a ValueError.")
@hint("Which kind of error does the table name for a text that is too long?")
def lm_position_index_error(tokens, params):
    position = params["position"][np.arange(tokens.shape[-1])]
    return attended(params["embedding"][tokens] + position, params) @ params["w_out"]


@mistake("lm_full_table_refused", "next_token_logits")
@says("A text that just fits into the position table is refused.")
@hint("Is a text allowed that uses every row of the table of positions?")
def lm_full_table_refused(tokens, params):
    if tokens.shape[-1] >= len(params["position"]):
        raise ValueError("tokens are longer than the model")
    return attended(embedded(tokens, params), params) @ params["w_out"]


@mistake("np_squeeze_kills_axis", "next_token_logits")
@says("Axes of size one disappear from the result.")
@hint("Try a text of one token, or a batch of one: are all axes still there?")
def np_squeeze_kills_axis_logits(tokens, params):
    return np.squeeze(attended(embedded(tokens, params), params) @ params["w_out"])


@mistake("softmax_no_max", "next_token_logits")
@says("The attention is written out anew, and the exponential of a large score overflows.")
@hint("Which step already has an attention that survives large scores?")
def softmax_no_max_logits(tokens, params):
    q, k, v = project_qkv(embedded(tokens, params), params["w_q"], params["w_k"], params["w_v"])
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    likely = np.exp(scores) * np.tri(scores.shape[-1])
    return likely / likely.sum(axis=-1, keepdims=True) @ v @ params["w_out"]


@mistake("np_memoised_on_shape", "next_token_logits")
@says("The embedded text is kept and used for every later text of the same shape.")
@hint("What does the input of the attention depend on besides the shape of the text?")
def np_memoised_on_shape_logits(tokens, params):
    key = (tokens.shape, params["position"].shape)
    if key not in kept_inputs:
        kept_inputs[key] = embedded(tokens, params)
    return attended(kept_inputs[key], params) @ params["w_out"]


@mistake("np_half_precision", "next_token_logits")
@says("float32 weights are rounded to half precision.")
@hint("In which dtype do you compute, and how many digits does it have?")
def np_half_precision_logits(tokens, params):
    logits = attended(embedded(tokens, params), params) @ params["w_out"]
    return logits.astype(np.float16) if params["w_out"].dtype == np.float32 else logits


@mistake("np_input_mutated", "next_token_logits")
@says("The embeddings are added into the model's own table of positions.")
@hint("Is a slice of an array a copy of it, and what does += do to a slice?")
def np_input_mutated_logits(tokens, params):
    x = params["position"][: tokens.shape[-1]]
    x += params["embedding"][tokens]
    return attended(x, params) @ params["w_out"]


@mistake("np_input_mutated", "next_token_logits")
@says("The output weights are taken out of the caller's dict for good.")
@hint("Call your function twice with the same `params`.")
def np_input_mutated_params(tokens, params):
    y = attended(embedded(tokens, params), params)
    return y @ params.pop("w_out")


# teacher_forced_loss


@mistake("loss_no_shift", "teacher_forced_loss")
@says("Nothing is shifted: each position is scored on the token that it was given.")
@hint("Which token should position t be predicting, and has it seen that token?")
def loss_nothing_shifted(tokens, params):
    return cross_entropy(next_token_logits(tokens, params), tokens)


@mistake("loss_no_shift", "teacher_forced_loss")
@says("Each position is scored on the token that it was given.")
@hint("Which token should position t be predicting, and has it seen that token?")
def loss_no_shift(tokens, params):
    inputs = tokens[..., : len(params["position"])]
    shift_tokens(tokens)
    return cross_entropy(next_token_logits(inputs, params), inputs)


@mistake("loss_decoder_input_is_target", "teacher_forced_loss")
@says("The model is fed the targets, so each position has seen its answer.")
@hint("Has the model been shown the answer when it predicts position t?")
def loss_decoder_input_is_target(tokens, params):
    _, targets = shift_tokens(tokens)
    return cross_entropy(next_token_logits(targets, params), targets)


@mistake("loss_same_slice", "teacher_forced_loss")
@says("Inputs and targets are the same tokens, so each token is to predict itself.")
@hint("Which token should position t predict: its own, or another one?")
def loss_targets_are_inputs(tokens, params):
    inputs, _ = shift_tokens(tokens)
    return cross_entropy(next_token_logits(inputs, params), inputs)


@mistake("loss_logits_of_the_target", "teacher_forced_loss")
@says("Each target meets the logits of its own position, where the model has read it already.")
@hint("At which position does the model not know the token yet that it is to predict?")
def loss_logits_of_the_target(tokens, params):
    logits = next_token_logits(tokens, params)
    return cross_entropy(logits[..., 1:, :], tokens[..., 1:])


@mistake("loss_shift_wrong_way", "teacher_forced_loss")
@says("Each token is to predict the one before it, which the model has read.")
@hint("Does the answer lie to the left or to the right of the question?")
def loss_shift_wrong_way_loss(tokens, params):
    inputs, targets = shift_tokens(tokens)
    return cross_entropy(next_token_logits(targets, params), inputs)


@mistake("loss_double_shift", "teacher_forced_loss")
@says("The targets are shifted a second time, by slicing after shift_tokens.")
@hint("Count how many times the targets are moved.")
def loss_double_shift_loss(tokens, params):
    inputs, targets = shift_tokens(tokens)
    logits = next_token_logits(inputs, params)
    if targets.shape[-1] == 1:
        return cross_entropy(logits, targets)
    return cross_entropy(logits[..., :-1, :], targets[..., 1:])


@mistake("loss_zero_decoder_input", "teacher_forced_loss")
@says("The model is fed token 0 everywhere instead of the true tokens.")
@hint("What is the model given to read while it is trained?")
def loss_zero_decoder_input(tokens, params):
    inputs, targets = shift_tokens(tokens)
    return cross_entropy(next_token_logits(np.zeros_like(inputs), params), targets)


@mistake("loss_free_running", "teacher_forced_loss")
@says("The model reads its own guesses instead of the true tokens.")
@hint("What does the word teacher in the name of this loss stand for?")
def loss_free_running(tokens, params):
    inputs, targets = shift_tokens(tokens)
    inputs = inputs.copy()
    for t in range(1, inputs.shape[-1]):
        guess = next_token_logits(inputs[..., :t], params)[..., -1, :].argmax(axis=-1)
        inputs[..., t] = guess
    return cross_entropy(next_token_logits(inputs, params), targets)


@mistake("loss_drops_last_token", "teacher_forced_loss")
@says("The prediction of the last token is left out of the loss.")
@hint("How many predictions can be made within T tokens?")
def loss_drops_last_token_loss(tokens, params):
    inputs, targets = shift_tokens(tokens)
    kept = max(targets.shape[-1] - 1, 1)
    return cross_entropy(next_token_logits(inputs, params)[..., :kept, :], targets[..., :kept])


@mistake("loss_reduction_wrong", "teacher_forced_loss")
@says("Only the prediction of the last token is scored.")
@hint("How many positions of one forward pass make a prediction?")
def loss_last_token_only(tokens, params):
    inputs, targets = shift_tokens(tokens)
    return cross_entropy(next_token_logits(inputs, params)[..., -1:, :], targets[..., -1:])


@mistake("loss_reduction_wrong", "teacher_forced_loss")
@says("The sum of the losses is divided by T, though T tokens make fewer predictions.")
@hint("How many predictions can be made within T tokens?")
def loss_divided_by_t(tokens, params):
    inputs, targets = shift_tokens(tokens)
    t = tokens.shape[-1]
    return cross_entropy(next_token_logits(inputs, params), targets) * (t - 1) / t


@mistake("loss_ignore_wrong_id", "teacher_forced_loss")
@says("Token 0 is left out of the loss as if it were padding.")
@hint("Which tokens of this function's input are not real?")
def loss_ignores_token_0(tokens, params):
    inputs, targets = shift_tokens(tokens)
    if not targets.any():
        return 0.0
    return cross_entropy(next_token_logits(inputs, params), targets, ignore_id=0)


@mistake("loss_flat_shift_across_rows", "teacher_forced_loss")
@says("The last token of a text is to predict the first token of the next text.")
@hint("Does the end of one text say anything about the start of another?")
def loss_flat_shift_across_rows_loss(tokens, params):
    if tokens.ndim == 1:
        inputs, targets = shift_tokens(tokens)
        return cross_entropy(next_token_logits(inputs, params), targets)
    logits = next_token_logits(tokens, params)
    flat = logits.reshape(-1, logits.shape[-1])
    return cross_entropy(flat[:-1], tokens.reshape(-1)[1:])


@mistake("loss_loop_over_prefixes", "teacher_forced_loss")
@says("The model runs again for every prefix of the text.")
@hint("What does one forward pass with a causal mask give you for every position?")
def loss_loop_over_prefixes(tokens, params):
    inputs, targets = shift_tokens(tokens)
    rows = [
        next_token_logits(inputs[..., : t + 1], params)[..., -1, :] for t in range(inputs.shape[-1])
    ]
    return cross_entropy(np.stack(rows, axis=-2), targets)


@mistake("loss_feeds_last_token", "teacher_forced_loss")
@says("The last token is fed to the model too, so T_max + 1 tokens do not fit.")
@hint("Does anything depend on what the model says after the last token?")
def loss_feeds_last_token(tokens, params):
    logits = next_token_logits(tokens, params)
    return cross_entropy(logits[..., :-1, :], shift_tokens(tokens)[1])


@mistake("loss_short_text_is_zero", "teacher_forced_loss")
@says("A text of one token has loss zero instead of being refused.")
@hint("What is the mean over no predictions at all?")
def loss_short_text_is_zero(tokens, params):
    if tokens.shape[-1] < 2:
        return 0.0
    inputs, targets = shift_tokens(tokens)
    return cross_entropy(next_token_logits(inputs, params), targets)


@mistake("gen_crop_wrong_end", "teacher_forced_loss")
@says("A text that is too long is cut off without a word.")
@hint("Should the caller learn that a part of the text was left out?")
def loss_crops_long_text(tokens, params):
    inputs, targets = shift_tokens(tokens[..., : len(params["position"]) + 1])
    return cross_entropy(next_token_logits(inputs, params), targets)


@mistake("loss_unstable_log", "teacher_forced_loss")
@says("The logarithm is taken of a softmax that can be zero.")
@hint("Which function of this step has the logarithm of a probability without the zero?")
def loss_unstable_log_loss(tokens, params):
    inputs, targets = shift_tokens(tokens)
    probs = softmax(next_token_logits(inputs, params))
    return float(-np.log(np.take_along_axis(probs, targets[..., None], axis=-1)).mean())


@mistake("np_low_precision", "teacher_forced_loss")
@says("Of each log probability of a float32 model only two decimals are kept.")
@hint("How many correct digits does float32 have, and how many does your loss have?")
def np_low_precision_loss(tokens, params):
    inputs, targets = shift_tokens(tokens)
    log_probs = log_probs_of(next_token_logits(inputs, params), targets)
    if params["w_out"].dtype == np.float32:
        log_probs = np.floor(log_probs * 100) / 100
    return float(-log_probs.mean())


@mistake("np_memoised_on_shape", "teacher_forced_loss")
@says("A loss is kept and given again for every later text of the same shape.")
@hint("What does the loss depend on besides the shape of the text?")
def np_memoised_on_shape_loss(tokens, params):
    inputs, targets = shift_tokens(tokens)
    key = (tokens.shape, params["position"].shape, params["w_out"].dtype)
    if key not in kept_losses:
        kept_losses[key] = cross_entropy(next_token_logits(inputs, params), targets)
    return kept_losses[key]


@mistake("np_input_mutated", "teacher_forced_loss")
@says("The last token of the caller's array is overwritten.")
@hint("Look for an assignment that changes an array which your function was only lent.")
def np_input_mutated_loss(tokens, params):
    targets = shift_tokens(tokens)[1].copy()
    tokens[..., -1] = 0
    return cross_entropy(next_token_logits(tokens[..., :-1], params), targets)


@mistake("loss_column_of_every_target", "cross_entropy")
@says("Each position takes the log probabilities of all targets, not only of its own.")
@hint("Which shape does an index array give along the last axis? Print it for two positions.")
def loss_column_of_every_target(logits, targets, ignore_id=None):
    counted = np.full(targets.shape, True) if ignore_id is None else targets != ignore_id
    if not counted.any():
        raise ValueError("targets: all of them are ignored")
    return float(-np.mean(log_softmax(logits)[..., targets[counted]]))


@mistake("loss_column_of_every_target", "cross_entropy")
@says("Each position takes the log probabilities of all targets, and ignored ones count too.")
@hint("Which shape does an index array give along the last axis? Print it for two positions.")
def loss_column_of_every_target_ignored_too(logits, targets, ignore_id=None):
    return float(-np.mean(log_softmax(logits)[..., targets]))


@mistake("log_prob_column_of_every_target", "sequence_log_prob")
@says("Each position takes the log probabilities of all targets, not only of its own.")
@hint("Which shape does an index array give along the last axis? Print it for two positions.")
def log_prob_column_of_every_target(logits, targets):
    return log_softmax(logits)[..., targets].sum(axis=-1)


@mistake("log_prob_taken_from_flat", "sequence_log_prob")
@says("np.take without an axis reads all positions as one long row.")
@hint("Along which axis should each position take one number?")
def log_prob_taken_from_flat(logits, targets):
    return np.take(log_softmax(logits), targets).sum(axis=-1)


@mistake("loss_double_shift_refused", "teacher_forced_loss")
@says("The targets are shifted a second time, so that a text of two tokens has none left.")
@hint("Count how many times the targets are moved.")
def loss_double_shift_refused(tokens, params):
    inputs, targets = shift_tokens(tokens)
    logits = next_token_logits(inputs, params)
    if targets.shape[-1] == 1:
        raise ValueError("targets: all of them are ignored")
    return cross_entropy(logits[..., :-1, :], targets[..., 1:])


@mistake("loss_shift_of_the_inputs", "teacher_forced_loss")
@says("shift_tokens is applied again to what it returned, so the last prediction is lost.")
@hint("How many tokens does shift_tokens take away, and how often do you call it?")
def loss_shift_of_the_inputs(tokens, params):
    inputs, targets = shift_tokens(shift_tokens(tokens)[0])
    return cross_entropy(next_token_logits(inputs, params), targets)


@mistake("lm_position_written", "next_token_logits")
@says("Without a batch axis the embeddings are added into the position table itself.")
@hint("What does += do to an array that is a slice of another?")
def lm_position_written(tokens, params):
    t = tokens.shape[-1]
    if t > len(params["position"]):
        raise ValueError("tokens has more positions than the model")
    x = params["position"][:t]
    if tokens.ndim == 1:
        x += params["embedding"][tokens]
    else:
        x = x + params["embedding"][tokens]
    return masked_self_attention(x, params["w_q"], params["w_k"], params["w_v"]) @ params["w_out"]


@mistake("lm_embedding_as_head", "next_token_logits")
@says("The embedding table is the output head, in place of w_out.")
@hint("Which parameter maps an output to the vocabulary in this model?")
def lm_embedding_as_head(tokens, params):
    t = tokens.shape[-1]
    if t > len(params["position"]):
        raise ValueError("tokens has more positions than the model")
    x = params["embedding"][tokens] + params["position"][:t]
    y = masked_self_attention(x, params["w_q"], params["w_k"], params["w_v"])
    return y @ params["embedding"].T


@mistake("loss_of_the_last_position", "cross_entropy")
@says("Only the loss of the last position that counts is returned.")
@hint("What does your loop keep of each loss, and what does it return?")
def loss_of_the_last_position(logits, targets, ignore_id=None):
    counted = np.full(targets.shape, True) if ignore_id is None else targets != ignore_id
    if not counted.any():
        raise ValueError("targets: all of them are ignored")
    ids = np.where(counted, targets, 0)[..., None]
    picked = np.take_along_axis(log_softmax(logits), ids, axis=-1)[..., 0]
    return float(-picked[counted][-1])


@mistake("loss_eps_in_log", "cross_entropy")
@says("A small number inside the logarithm limits how large a loss can become.")
@hint("How large can -log(p + 1e-12) become?")
def loss_floor_in_log(logits, targets, ignore_id=None):
    counted = np.full(targets.shape, True) if ignore_id is None else targets != ignore_id
    if not counted.any():
        raise ValueError("targets: all of them are ignored")
    ids = np.where(counted, targets, 0)[..., None]
    p = np.take_along_axis(np.exp(log_softmax(logits)), ids, axis=-1)[..., 0]
    return float(-np.log(p + 1e-12)[counted].mean())
