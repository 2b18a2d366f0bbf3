"""Known wrong versions of step 14, each with one mistake."""

import numpy as np

from exercises.step04_softmax import softmax
from exercises.step06_loss import cross_entropy, log_softmax
from grader.answer_key.variants import hint, mistake, says

kept_choices = {}
kept_targets = {}
kept_arrays = {}
drawn_numbers = np.random.RandomState(0)


def filled_in(tokens, hidden, replaced, random_ids, mask_id):
    """Return the tokens, mask_id where hidden, random_ids where replaced."""
    return np.where(hidden, mask_id, np.where(replaced, random_ids, tokens))


def target_ids(tokens, chosen):
    """Return the original id where chosen, -100 elsewhere."""
    return np.where(chosen, tokens.astype(np.int64), -100)


def corruption(tokens, select, replace, random_ids, mask_id, rate, limits=(0.8, 0.9)):
    """Run mask_tokens with other limits between hiding, replacing and keeping."""
    chosen = select < rate
    hidden = chosen & (replace < limits[0])
    replaced = chosen & ~hidden & (replace < limits[1])
    return filled_in(tokens, hidden, replaced, random_ids, mask_id), target_ids(tokens, chosen)


def in_the_same_array(name, result):
    """Return the result in an array that is reused for every result of that shape."""
    buffer = kept_arrays.setdefault((name, result.shape), np.empty_like(result))
    buffer[...] = result
    return buffer


def chosen_positions(targets):
    """Return True where there is a target; refuse a batch without any."""
    chosen = targets != -100
    if not chosen.any():
        raise ValueError("no position is chosen")
    return chosen


def losses(logits, targets):
    """Return -log p(target) at every position, 0 where it is not chosen."""
    chosen = targets != -100
    ids = np.where(chosen, targets, 0)[..., None]
    return np.where(chosen, -np.take_along_axis(log_softmax(logits), ids, axis=-1)[..., 0], 0.0)


# mask_tokens: what becomes of a token


@mistake("mlm_split_applied_to_all", "mask_tokens")
@says("Tokens are hidden and replaced wherever `replace` says so, chosen or not.")
@hint("May a token change that is not chosen?")
def mlm_split_applied_to_all(tokens, select, replace, random_ids, mask_id, rate=0.15):
    hidden, replaced = replace < 0.8, (replace >= 0.8) & (replace < 0.9)
    corrupted = filled_in(tokens, hidden, replaced, random_ids, mask_id)
    return corrupted, target_ids(tokens, select < rate)


@mistake("mlm_hidden_chosen_or_not", "mask_tokens")
@says("Tokens become mask_id wherever `replace` is below 0.8, chosen or not.")
@hint("What becomes of a token that was not chosen, whatever its `replace` is?")
def mlm_hidden_chosen_or_not(tokens, select, replace, random_ids, mask_id, rate=0.15):
    chosen, hidden = select < rate, replace < 0.8
    replaced = chosen & ~hidden & (replace < 0.9)
    return filled_in(tokens, hidden, replaced, random_ids, mask_id), target_ids(tokens, chosen)


@mistake("mlm_replaced_chosen_or_not", "mask_tokens")
@says("Tokens get a random id wherever `replace` says so, chosen or not.")
@hint("What becomes of a token that was not chosen, whatever its `replace` is?")
def mlm_replaced_chosen_or_not(tokens, select, replace, random_ids, mask_id, rate=0.15):
    chosen = select < rate
    hidden, replaced = chosen & (replace < 0.8), (replace >= 0.8) & (replace < 0.9)
    return filled_in(tokens, hidden, replaced, random_ids, mask_id), target_ids(tokens, chosen)


@mistake("mlm_mask_id_fixed", "mask_tokens")
@says("Hidden tokens become 103, BERT's own id of [MASK], whatever mask_id is.")
@hint("Which of your arguments never reaches the result?")
def mlm_mask_id_of_bert(tokens, select, replace, random_ids, mask_id, rate=0.15):
    return corruption(tokens, select, replace, random_ids, 103, rate)


@mistake("mlm_mask_id_fixed", "mask_tokens")
@says("Hidden tokens become 0, whatever mask_id is.")
@hint("Which of your arguments never reaches the result?")
def mlm_mask_id_is_zero(tokens, select, replace, random_ids, mask_id, rate=0.15):
    return corruption(tokens, select, replace, random_ids, 0, rate)


@mistake("mlm_mask_id_fixed", "mask_tokens")
@says("Hidden tokens become -1, whatever mask_id is.")
@hint("Which of your arguments never reaches the result?")
def mlm_mask_id_is_minus_one(tokens, select, replace, random_ids, mask_id, rate=0.15):
    return corruption(tokens, select, replace, random_ids, -1, rate)


@mistake("mlm_all_chosen_hidden", "mask_tokens")
@says("Every chosen token becomes mask_id; `replace` is never read.")
@hint("How many things can become of a chosen token, and how many do you provide for?")
def mlm_all_chosen_hidden(tokens, select, replace, random_ids, mask_id, rate=0.15):
    chosen = select < rate
    return np.where(chosen, mask_id, tokens), target_ids(tokens, chosen)


@mistake("mlm_no_random_ids", "mask_tokens")
@says("A chosen token is hidden or stays; none is replaced by a random id.")
@hint("Which of your arguments never reaches the result?")
def mlm_no_random_ids(tokens, select, replace, random_ids, mask_id, rate=0.15):
    return corruption(tokens, select, replace, tokens, mask_id, rate)


@mistake("mlm_none_kept", "mask_tokens")
@says("All chosen tokens that are not hidden get a random id; none stays as it is.")
@hint("How many things can become of a chosen token, and how many do you provide for?")
def mlm_none_kept(tokens, select, replace, random_ids, mask_id, rate=0.15):
    return corruption(tokens, select, replace, random_ids, mask_id, rate, (0.8, 2.0))


@mistake("mlm_random_and_kept_swapped", "mask_tokens")
@says("The tokens to be replaced stay, and those to be kept are replaced.")
@hint("What becomes of a chosen token whose `replace` is 0.85, and of one at 0.95?")
def mlm_random_and_kept_swapped(tokens, select, replace, random_ids, mask_id, rate=0.15):
    chosen = select < rate
    hidden, replaced = chosen & (replace < 0.8), chosen & (replace >= 0.9)
    corrupted = filled_in(tokens, hidden, replaced, random_ids, mask_id)
    return corrupted, target_ids(tokens, chosen)


@mistake("mlm_split_from_the_top", "mask_tokens")
@says("`replace` is read from the other end: its lowest tenth is kept, its top is hidden.")
@hint("What becomes of a chosen token whose `replace` is close to 0?")
def mlm_split_from_the_top(tokens, select, replace, random_ids, mask_id, rate=0.15):
    return corruption(tokens, select, 1 - replace, random_ids, mask_id, rate)


@mistake("mlm_shares_in_another_order", "mask_tokens")
@says("The shares come in another order: random, kept, hidden.")
@hint("What becomes of a chosen token whose `replace` is 0.05, and of one at 0.95?")
def mlm_shares_in_another_order(tokens, select, replace, random_ids, mask_id, rate=0.15):
    chosen = select < rate
    hidden, replaced = chosen & (replace >= 0.2), chosen & (replace < 0.1)
    corrupted = filled_in(tokens, hidden, replaced, random_ids, mask_id)
    return corrupted, target_ids(tokens, chosen)


@mistake("mlm_select_and_replace_swapped", "mask_tokens")
@says("`replace` chooses the tokens, and `select` says what becomes of them.")
@hint("Which of the two numbers is compared with the rate?")
def mlm_select_and_replace_swapped(tokens, select, replace, random_ids, mask_id, rate=0.15):
    return corruption(tokens, replace, select, random_ids, mask_id, rate)


@mistake("mlm_one_number_for_both", "mask_tokens")
@says("`select` also decides what becomes of a chosen token; `replace` is never read.")
@hint("How large can `select` be at a chosen position, and is that ever more than 0.8?")
def mlm_one_number_for_both(tokens, select, replace, random_ids, mask_id, rate=0.15):
    return corruption(tokens, select, select, random_ids, mask_id, rate)


@mistake("mlm_one_number_for_both", "mask_tokens")
@says("`select`, in shares of the rate, also decides what becomes of a chosen token.")
@hint("Which of the two uniform numbers says what becomes of a chosen token?")
def mlm_shares_of_select(tokens, select, replace, random_ids, mask_id, rate=0.15):
    limits = (0.8 * rate, 0.9 * rate)
    return corruption(tokens, select, select, random_ids, mask_id, rate, limits)


@mistake("mlm_chosen_above_rate", "mask_tokens")
@says("The comparison with the rate is turned round: 85 of 100 tokens are chosen.")
@hint("What share of uniform numbers lies below 0.15, and what share above?")
def mlm_chosen_above_rate(tokens, select, replace, random_ids, mask_id, rate=0.15):
    return corruption(tokens, -select, replace, random_ids, mask_id, -rate)


@mistake("mlm_limits_of_the_rate", "mask_tokens")
@says("The limits 0.8 and 0.9 are multiplied by the rate.")
@hint("Is `replace` drawn for all tokens alike, or is it already below the rate where chosen?")
def mlm_limits_of_the_rate(tokens, select, replace, random_ids, mask_id, rate=0.15):
    limits = (0.8 * rate, 0.9 * rate)
    return corruption(tokens, select, replace, random_ids, mask_id, rate, limits)


@mistake("mlm_shares_not_added_up", "mask_tokens")
@says("Random ids are given where `replace` is below 0.1, which overlaps with what is hidden.")
@hint("Draw the line from 0 to 1: where does the share of one kind end and the next begin?")
def mlm_shares_not_added_up(tokens, select, replace, random_ids, mask_id, rate=0.15):
    chosen = select < rate
    corrupted = np.where(chosen & (replace < 0.8), mask_id, tokens)
    corrupted = np.where(chosen & (replace < 0.1), random_ids, corrupted)
    return corrupted, target_ids(tokens, chosen)


@mistake("mlm_random_overwrites_hidden", "mask_tokens")
@says("Random ids are put wherever `replace` is below 0.9, over the hidden tokens too.")
@hint("Which of your two assignments comes last, and where do both apply?")
def mlm_random_overwrites_hidden(tokens, select, replace, random_ids, mask_id, rate=0.15):
    return corruption(tokens, select, replace, random_ids, mask_id, rate, (0.0, 0.9))


@mistake("mlm_own_random_numbers", "mask_tokens")
@says("The positions are chosen by random numbers of its own, and `select` is never read.")
@hint("Which random numbers were you given, and which do you use?")
def mlm_own_random_numbers(tokens, select, replace, random_ids, mask_id, rate=0.15):
    own = drawn_numbers.random_sample(tokens.shape)
    return corruption(tokens, own, replace, random_ids, mask_id, rate)


@mistake("mlm_own_random_ids", "mask_tokens")
@says("The replaced tokens get ids that were drawn anew, not those in random_ids.")
@hint("Which random ids were you given, and which do you use?")
def mlm_own_random_ids(tokens, select, replace, random_ids, mask_id, rate=0.15):
    own = drawn_numbers.randint(0, mask_id + 1, tokens.shape)
    own = np.where(own == random_ids, (random_ids + 1) % (mask_id + 1), own)
    return corruption(tokens, select, replace, own, mask_id, rate)


@mistake("mlm_random_ids_in_a_row", "mask_tokens")
@says("The first random ids are used up in order, not those at the replaced positions.")
@hint("Which entry of random_ids belongs to position 3?")
def mlm_random_ids_in_a_row(tokens, select, replace, random_ids, mask_id, rate=0.15):
    corrupted, targets = corruption(tokens, select, replace, tokens, mask_id, rate)
    place = (select < rate) & (replace >= 0.8) & (replace < 0.9)
    corrupted[place] = random_ids.ravel()[: np.count_nonzero(place)]
    return corrupted, targets


# mask_tokens: the targets


@mistake("mlm_targets_everywhere", "mask_tokens")
@says("Every position has its own token as target, chosen or not.")
@hint("At which positions is the model to be scored?")
def mlm_targets_everywhere(tokens, select, replace, random_ids, mask_id, rate=0.15):
    corrupted, _ = corruption(tokens, select, replace, random_ids, mask_id, rate)
    return corrupted, tokens.astype(np.int64)


@mistake("mlm_kept_without_target", "mask_tokens")
@says("Chosen tokens that stay as they are get no target.")
@hint("Why are some tokens chosen and then left alone, if nobody asks for them?")
def mlm_kept_without_target(tokens, select, replace, random_ids, mask_id, rate=0.15):
    corrupted, _ = corruption(tokens, select, replace, random_ids, mask_id, rate)
    return corrupted, target_ids(tokens, (select < rate) & (replace < 0.9))


@mistake("mlm_only_hidden_are_targets", "mask_tokens")
@says("Only the tokens that became mask_id have a target, not all that were chosen.")
@hint("What decides whether a token has a target: that it was chosen, or what became of it?")
def mlm_only_hidden_are_targets(tokens, select, replace, random_ids, mask_id, rate=0.15):
    corrupted, _ = corruption(tokens, select, replace, random_ids, mask_id, rate)
    return corrupted, target_ids(tokens, (select < rate) & (replace < 0.8))


@mistake("mlm_targets_of_the_others", "mask_tokens")
@says("The targets are where nothing was chosen, and -100 where something was.")
@hint("At which positions is the model to be scored?")
def mlm_targets_of_the_others(tokens, select, replace, random_ids, mask_id, rate=0.15):
    corrupted, _ = corruption(tokens, select, replace, random_ids, mask_id, rate)
    return corrupted, target_ids(tokens, select >= rate)


@mistake("mlm_targets_of_the_corrupted", "mask_tokens")
@says("The targets are read from the corrupted text, so the model is asked for mask_id.")
@hint("Which word is the model to find: the one that is there, or the one that was there?")
def mlm_targets_of_the_corrupted(tokens, select, replace, random_ids, mask_id, rate=0.15):
    corrupted, _ = corruption(tokens, select, replace, random_ids, mask_id, rate)
    return corrupted, target_ids(corrupted, select < rate)


@mistake("mlm_other_ignored_id", "mask_tokens")
@says("Positions without a target hold -1 instead of -100.")
@hint("Which number marks a position that is not asked for?")
def mlm_other_ignored_id(tokens, select, replace, random_ids, mask_id, rate=0.15):
    corrupted, targets = corruption(tokens, select, replace, random_ids, mask_id, rate)
    return corrupted, np.where(targets == -100, -1, targets)


@mistake("mlm_ignored_is_zero", "mask_tokens")
@says("Positions without a target hold 0, which is a token like any other.")
@hint("How could anyone tell your unchosen positions from a chosen token 0?")
def mlm_ignored_is_zero(tokens, select, replace, random_ids, mask_id, rate=0.15):
    corrupted, targets = corruption(tokens, select, replace, random_ids, mask_id, rate)
    return corrupted, np.where(targets == -100, 0, targets)


@mistake("mlm_results_swapped", "mask_tokens")
@says("The two results come in the wrong order.")
@hint("Which of the two does the docstring name first?")
def mlm_results_swapped(tokens, select, replace, random_ids, mask_id, rate=0.15):
    return corruption(tokens, select, replace, random_ids, mask_id, rate)[::-1]


@mistake("mlm_targets_shifted", "mask_tokens")
@says("A target is the token after the chosen one, as if the next token were asked for.")
@hint("Is it the next word that this model is to find?")
def mlm_targets_shifted(tokens, select, replace, random_ids, mask_id, rate=0.15):
    corrupted, _ = corruption(tokens, select, replace, random_ids, mask_id, rate)
    following = np.roll(tokens, -1, axis=-1)
    alone = np.where(following == tokens, (tokens + 1) % (mask_id + 1), following)
    return corrupted, target_ids(alone, select < rate)


@mistake("mlm_targets_where_changed", "mask_tokens")
@says("There is a target only where the corrupted text differs from the original.")
@hint("Can a chosen token look the same afterwards?")
def mlm_targets_where_changed(tokens, select, replace, random_ids, mask_id, rate=0.15):
    corrupted, _ = corruption(tokens, select, replace, random_ids, mask_id, rate)
    return corrupted, target_ids(tokens, corrupted != tokens)


@mistake("np_int64_only", "mask_tokens")
@says("Tokens of another integer type than int64 are refused.")
@hint("Which types of integers may an array of tokens have in this course?")
def np_int64_only(tokens, select, replace, random_ids, mask_id, rate=0.15):
    if tokens.dtype != np.int64:
        raise TypeError("tokens must be int64")
    return corruption(tokens, select, replace, random_ids, mask_id, rate)


@mistake("mlm_targets_where_changed_or_kept", "mask_tokens")
@says("A replaced token whose random id is its own has no target.")
@hint("Must a random id be another one than the token's own?")
def mlm_targets_where_changed_or_kept(tokens, select, replace, random_ids, mask_id, rate=0.15):
    corrupted, _ = corruption(tokens, select, replace, random_ids, mask_id, rate)
    chosen = select < rate
    return corrupted, target_ids(tokens, chosen & ((corrupted != tokens) | (replace >= 0.9)))


@mistake("mlm_targets_where_mask_id", "mask_tokens")
@says("Every mask_id in the corrupted text gets a target, also one that stood there before.")
@hint("Can mask_id occur in the original text?")
def mlm_targets_where_mask_id(tokens, select, replace, random_ids, mask_id, rate=0.15):
    corrupted, _ = corruption(tokens, select, replace, random_ids, mask_id, rate)
    others = (select < rate) & (replace >= 0.8)
    return corrupted, target_ids(tokens, (corrupted == mask_id) | others)


@mistake("mlm_mask_id_never_chosen", "mask_tokens")
@says("Tokens that are mask_id already are never chosen.")
@hint("Does the docstring except any token from being chosen?")
def mlm_mask_id_never_chosen(tokens, select, replace, random_ids, mask_id, rate=0.15):
    allowed = np.where(tokens == mask_id, 1.0, select)
    return corruption(tokens, allowed, replace, random_ids, mask_id, rate)


# mask_tokens: the borders


@mistake("mlm_rate_included", "mask_tokens")
@says("A position whose `select` is exactly the rate is chosen too.")
@hint("On which side does the rate itself lie? Try a rate of 0 and a `select` of 0.")
def mlm_rate_included(tokens, select, replace, random_ids, mask_id, rate=0.15):
    return corruption(tokens, select, replace, random_ids, mask_id, np.nextafter(rate, 2))


@mistake("mlm_hidden_limit_included", "mask_tokens")
@says("A chosen token whose `replace` is exactly 0.8 is hidden, too.")
@hint("To which of two neighbouring shares does the limit between them belong?")
def mlm_hidden_limit_included(tokens, select, replace, random_ids, mask_id, rate=0.15):
    limits = (np.nextafter(0.8, 1), 0.9)
    return corruption(tokens, select, replace, random_ids, mask_id, rate, limits)


@mistake("mlm_kept_limit_excluded", "mask_tokens")
@says("A chosen token whose `replace` is exactly 0.9 gets a random id.")
@hint("To which of two neighbouring shares does the limit between them belong?")
def mlm_kept_limit_excluded(tokens, select, replace, random_ids, mask_id, rate=0.15):
    limits = (0.8, np.nextafter(0.9, 1))
    return corruption(tokens, select, replace, random_ids, mask_id, rate, limits)


@mistake("mlm_hidden_limit_kept", "mask_tokens")
@says("A chosen token whose `replace` is exactly 0.8 is neither hidden nor replaced.")
@hint("To which of two neighbouring shares does the limit between them belong?")
def mlm_hidden_limit_kept(tokens, select, replace, random_ids, mask_id, rate=0.15):
    neither = np.where(replace == 0.8, 1.0, replace)
    return corruption(tokens, select, neither, random_ids, mask_id, rate)


# mask_tokens: the rate, and how many


@mistake("mlm_rate_fixed", "mask_tokens")
@says("15 of 100 tokens are chosen, whatever `rate` says.")
@hint("Which numbers in your code came from the example?")
def mlm_rate_fixed(tokens, select, replace, random_ids, mask_id, rate=0.15):
    return corruption(tokens, select, replace, random_ids, mask_id, 0.15)


@mistake("mlm_rate_zero_is_false", "mask_tokens")
@says("A rate of 0 is taken for none given.")
@hint("Which values does Python take for false in a condition?")
def mlm_rate_zero_is_false(tokens, select, replace, random_ids, mask_id, rate=0.15):
    return corruption(tokens, select, replace, random_ids, mask_id, rate or 0.15)


@mistake("mlm_one_is_always_chosen", "mask_tokens")
@says("If nothing is chosen, the position with the smallest `select` is.")
@hint("How many positions does a rate of 0 choose?")
def mlm_one_is_always_chosen(tokens, select, replace, random_ids, mask_id, rate=0.15):
    least = rate if (select < rate).any() else np.nextafter(select.min(), 2)
    return corruption(tokens, select, replace, random_ids, mask_id, least)


@mistake("mlm_a_fixed_number_is_chosen", "mask_tokens")
@says("Always the same share of a text is chosen: the positions with the smallest `select`.")
@hint("Must you know the numbers of the other positions to tell whether one is chosen?")
def mlm_a_fixed_number_is_chosen(tokens, select, replace, random_ids, mask_id, rate=0.15):
    number = max(1, round(rate * tokens.shape[-1]))
    rank = select.argsort(axis=-1, kind="stable").argsort(axis=-1, kind="stable")
    return corruption(tokens, rank, replace, random_ids, mask_id, number)


@mistake("mlm_same_positions_in_all_texts", "mask_tokens")
@says("The numbers of the first text decide for all texts of a batch.")
@hint("Has every text of a batch its own row of `select`?")
def mlm_same_positions_in_all_texts(tokens, select, replace, random_ids, mask_id, rate=0.15):
    first = (0,) * (tokens.ndim - 1)
    numbers = (np.broadcast_to(array[first], tokens.shape) for array in (select, replace))
    return corruption(tokens, *numbers, random_ids, mask_id, rate)


@mistake("np_squeeze_kills_axis", "mask_tokens")
@says("Axes of length 1 are lost.")
@hint("Does your code survive a batch of one?")
def np_squeeze_kills_axis(tokens, select, replace, random_ids, mask_id, rate=0.15):
    corrupted, targets = corruption(tokens, select, replace, random_ids, mask_id, rate)
    return corrupted.squeeze(), targets.squeeze()


@mistake("mlm_two_axes_only", "mask_tokens")
@says("The batch axes are run together into one.")
@hint("Which shape must your results have?")
def mlm_two_axes_only(tokens, select, replace, random_ids, mask_id, rate=0.15):
    corrupted, targets = corruption(tokens, select, replace, random_ids, mask_id, rate)
    flat = (-1, tokens.shape[-1]) if tokens.ndim > 2 else tokens.shape
    return corrupted.reshape(flat), targets.reshape(flat)


# mask_tokens: memory, arguments


@mistake("np_memoised_on_shape", "mask_tokens")
@says("The chosen positions are kept and used for all texts of that shape.")
@hint("What do the chosen positions depend on besides the shape?")
def np_memoised_on_shape(tokens, select, replace, random_ids, mask_id, rate=0.15):
    kept = kept_choices.setdefault(tokens.shape, select.copy())
    return corruption(tokens, kept, replace, random_ids, mask_id, rate)


@mistake("np_returns_alias", "mask_tokens")
@says("The targets are written into an array that is used again by the next call.")
@hint("Is the result really yours to give away?")
def np_returns_alias(tokens, select, replace, random_ids, mask_id, rate=0.15):
    corrupted, targets = corruption(tokens, select, replace, random_ids, mask_id, rate)
    return corrupted, in_the_same_array("targets", targets)


@mistake("np_input_mutated", "mask_tokens")
@says("The tokens are hidden inside the caller's array.")
@hint("Is the caller's array untouched?")
def np_input_mutated(tokens, select, replace, random_ids, mask_id, rate=0.15):
    corrupted, targets = corruption(tokens, select, replace, random_ids, mask_id, rate)
    tokens[...] = corrupted
    return tokens, targets


# masked_lm_loss


@mistake("loss_mean_includes_ignored", "masked_lm_loss")
@says("The sum over the chosen positions is divided by the number of all positions.")
@hint("How many terms did you average?")
def loss_mean_includes_ignored(logits, targets):
    chosen_positions(targets)
    return float(losses(logits, targets).mean())


@mistake("loss_reduction_wrong", "masked_lm_loss")
@says("The losses of the chosen positions are added up and not averaged.")
@hint("Divide your value by the expected one: do you recognise the number?")
def loss_reduction_wrong(logits, targets):
    chosen_positions(targets)
    return float(losses(logits, targets).sum())


@mistake("loss_sign", "masked_lm_loss")
@says("The mean log probability is returned without turning its sign.")
@hint("Should a better prediction raise or lower the loss?")
def loss_sign(logits, targets):
    return -cross_entropy(logits, targets, ignore_id=-100)


@mistake("loss_ignore_index_used_as_index", "masked_lm_loss")
@says("-100 is used as an index, and NumPy counts it from the end.")
@hint("What does a negative index mean in NumPy?")
def loss_ignore_index_used_as_index(logits, targets):
    chosen_positions(targets)
    return cross_entropy(logits, targets % logits.shape[-1])


@mistake("loss_pad_counted", "masked_lm_loss")
@says("-100 is raised to token 0, and those positions are counted.")
@hint("Change the logits of a position that is not chosen: does your loss change?")
def loss_pad_counted(logits, targets):
    chosen_positions(targets)
    return cross_entropy(logits, np.maximum(targets, 0))


@mistake("loss_pad_counted", "masked_lm_loss")
@says("-100 is raised to token 0, and those positions are counted, even if there are no others.")
@hint("Change the logits of a position that is not chosen: does your loss change?")
def loss_pad_counted_throughout(logits, targets):
    return cross_entropy(logits, np.maximum(targets, 0))


@mistake("mlm_ignored_is_last_token", "masked_lm_loss")
@says("-100 is taken for the last token of the vocabulary, and those positions are counted.")
@hint("Change the logits of a position that is not chosen: does your loss change?")
def mlm_ignored_is_last_token(logits, targets):
    chosen_positions(targets)
    return cross_entropy(logits, np.where(targets == -100, logits.shape[-1] - 1, targets))


@mistake("mlm_nothing_ignored", "masked_lm_loss")
@says("No position is left out: -100 is looked up like a token.")
@hint("Which positions are to be scored, and how does cross_entropy learn of it?")
def mlm_nothing_ignored(logits, targets):
    return cross_entropy(logits, targets)


@mistake("mlm_wrong_ignored_id", "masked_lm_loss")
@says("Another number than -100 is left out.")
@hint("Which number marks a position that is not asked for?")
def mlm_wrong_ignored_id(logits, targets):
    return cross_entropy(logits, targets, ignore_id=-1)


@mistake("loss_ignore_wrong_id", "masked_lm_loss")
@says("Token 0 is left out as well, though it is a token like any other.")
@hint("Which number marks a position that is not asked for, and is any other left out?")
def loss_ignore_wrong_id(logits, targets):
    chosen_positions(targets)
    counted = targets > 0
    return float(losses(logits, targets)[counted].sum() / max(counted.sum(), 1))


@mistake("loss_ignore_wrong_id", "masked_lm_loss")
@says("Token 0 is left out as well, though it is a token like any other.")
@hint("Which number marks a position that is not asked for, and is any other left out?")
def loss_ignore_wrong_id_only(logits, targets):
    counted = targets > 0
    if not counted.any():
        raise ValueError("no position is asked for")
    return float(losses(logits, targets)[counted].mean())


@mistake("mlm_scored_elsewhere", "masked_lm_loss")
@says("A target is looked for in the logits of the position before it.")
@hint("In a masked model, which position says what was hidden at position t?")
def mlm_scored_elsewhere(logits, targets):
    return cross_entropy(np.roll(logits, 1, axis=-2), targets, ignore_id=-100)


@mistake("mlm_scored_elsewhere", "masked_lm_loss")
@says("The logits of each position are scored against the target of the next one.")
@hint("In a masked model, which position says what was hidden at position t?")
def mlm_shifted(logits, targets):
    return cross_entropy(logits[..., :-1, :], targets[..., 1:], ignore_id=-100)


@mistake("loss_missing_softmax_or_log", "masked_lm_loss")
@says("The probabilities of the targets are averaged instead of their logarithms.")
@hint("What should the loss be when the target has probability zero?")
def loss_missing_log(logits, targets):
    chosen = chosen_positions(targets)
    return float(-np.exp(-losses(logits, targets)[chosen]).mean())


@mistake("loss_softmax_over_time", "masked_lm_loss")
@says("The softmax runs along time: a token competes with itself at other positions.")
@hint("Over what does the docstring sum the probabilities: the vocabulary, or the positions?")
def loss_softmax_over_time(logits, targets):
    chosen = chosen_positions(targets)
    log_probs = np.swapaxes(log_softmax(np.swapaxes(logits, -1, -2)), -1, -2)
    ids = np.where(chosen, targets, 0)[..., None]
    return float(-np.take_along_axis(log_probs, ids, axis=-1)[..., 0][chosen].mean())


@mistake("loss_not_reduced", "masked_lm_loss")
@says("One loss for each position is returned instead of their mean.")
@hint("How many numbers should come back?")
def loss_not_reduced(logits, targets):
    chosen_positions(targets)
    return losses(logits, targets)


@mistake("loss_not_reduced", "masked_lm_loss")
@says("One loss for each text is returned instead of one for all.")
@hint("How many numbers should come back?")
def loss_of_each_text(logits, targets):
    chosen = chosen_positions(targets)
    return losses(logits, targets).sum(axis=-1) / np.maximum(chosen.sum(axis=-1), 1)


@mistake("loss_mean_of_sequence_means", "masked_lm_loss")
@says("Each text is averaged first, so a position counts for more where few are chosen.")
@hint("Does every chosen position count the same, or every text?")
def loss_mean_of_sequence_means(logits, targets):
    counts = chosen_positions(targets).sum(axis=-1)
    means = losses(logits, targets).sum(axis=-1) / np.maximum(counts, 1)
    return float(means[counts > 0].mean())


@mistake("mlm_empty_texts_counted", "masked_lm_loss")
@says("Each text is averaged first, and one without a chosen position counts as 0.")
@hint("Does every chosen position count the same, or every text?")
def mlm_empty_texts_counted(logits, targets):
    counts = chosen_positions(targets).sum(axis=-1)
    return float((losses(logits, targets).sum(axis=-1) / np.maximum(counts, 1)).mean())


@mistake("mlm_every_text_must_have_one", "masked_lm_loss")
@says("A batch is refused if one of its texts has no chosen position.")
@hint("When is there nothing at all to average?")
def mlm_every_text_must_have_one(logits, targets):
    if not (targets != -100).any(axis=-1).all():
        raise ValueError("a text has no chosen position")
    return cross_entropy(logits, targets, ignore_id=-100)


@mistake("loss_first_sequence_only", "masked_lm_loss")
@says("Only the first text of a batch is scored.")
@hint("Change the second text of a batch: does the loss change?")
def loss_first_sequence_only(logits, targets):
    first = (0,) * (targets.ndim - 1)
    return cross_entropy(logits[first], targets[first], ignore_id=-100)


@mistake("mlm_summed_over_texts", "masked_lm_loss")
@says("The mean is multiplied by the number of texts.")
@hint("Does your loss grow when the same text is in the batch twice?")
def mlm_summed_over_texts(logits, targets):
    rows = targets.size / targets.shape[-1]
    return cross_entropy(logits, targets, ignore_id=-100) * rows


@mistake("mlm_hundred_from_the_end", "masked_lm_loss")
@says("In a vocabulary of 100 or more, -100 is taken for a token counted from the end.")
@hint("Is -100 an index that NumPy refuses in every vocabulary?")
def mlm_hundred_from_the_end(logits, targets):
    ignored = -100 if logits.shape[-1] < 100 else None
    wrapped = np.where(targets < 0, targets + logits.shape[-1] * (ignored is None), targets)
    return cross_entropy(logits, wrapped, ignore_id=ignored)


@mistake("loss_unstable_log", "masked_lm_loss")
@says("The logarithm is taken of a softmax that can be zero.")
@hint("Try logits of a thousand and of minus a thousand.")
def loss_unstable_log(logits, targets):
    chosen = chosen_positions(targets)
    probs = softmax(logits[chosen])
    return float(-np.log(probs[np.arange(len(probs)), targets[chosen]]).mean())


@mistake("loss_eps_in_log", "masked_lm_loss")
@says("A small number inside the logarithm limits how large the loss can become.")
@hint("How large can the loss become, and how large can yours?")
def loss_eps_in_log(logits, targets):
    chosen = chosen_positions(targets)
    probs = softmax(logits[chosen])
    return float(-np.log(probs[np.arange(len(probs)), targets[chosen]] + 1e-12).mean())


@mistake("np_low_precision", "masked_lm_loss")
@says("The loss of float32 logits is cut after two decimals.")
@hint("How many correct digits does float32 have, and how many does your loss have?")
def np_low_precision(logits, targets):
    loss = cross_entropy(logits, targets, ignore_id=-100)
    return np.floor(loss * 100) / 100 if logits.dtype == np.float32 else loss


@mistake("loss_all_ignored_zero", "masked_lm_loss")
@says("When no position is chosen, the loss is 0 instead of an error.")
@hint("What should happen when there is nothing to score?")
def loss_all_ignored_zero(logits, targets):
    if (targets == -100).all():
        return 0.0
    return cross_entropy(logits, targets, ignore_id=-100)


@mistake("loss_all_ignored_nan", "masked_lm_loss")
@says("When no position is chosen, the result is NaN instead of an error.")
@hint("What should happen when there is nothing to score?")
def loss_all_ignored_nan(logits, targets):
    if (targets == -100).all():
        return float("nan")
    return cross_entropy(logits, targets, ignore_id=-100)


@mistake("np_memoised_on_shape", "masked_lm_loss")
@says("The chosen positions are kept and used for all targets of that shape.")
@hint("What do the chosen positions depend on besides the shape?")
def np_memoised_on_shape_loss(logits, targets):
    kept = kept_targets.setdefault(logits.shape, targets.copy())
    return cross_entropy(logits, kept, ignore_id=-100)


@mistake("np_input_mutated", "masked_lm_loss")
@says("The targets that are not chosen are replaced inside the caller's array.")
@hint("Look for an assignment that changes an array which your function was only lent.")
def np_input_mutated_loss(logits, targets):
    chosen = chosen_positions(targets)
    targets[~chosen] = 0
    ids = np.asarray(targets)[..., None]
    logs = np.take_along_axis(log_softmax(logits), ids, axis=-1)[..., 0]
    return float(-logs[chosen].mean())


@mistake("mlm_random_before_hidden", "mask_tokens")
@says("A random id comes where `replace` is below 0.1, and mask_id from there to 0.9.")
@hint("Which of the three things happens at the smallest numbers of `replace`?")
def mlm_random_before_hidden(tokens, select, replace, random_ids, mask_id, rate=0.15):
    ids, chosen = tokens.astype(np.int64), select < rate
    new = np.where(replace < 0.1, random_ids, np.where(replace < 0.9, mask_id, ids))
    return np.where(chosen, new, ids), np.where(chosen, ids, -100)


@mistake("mlm_token_zero_never_chosen", "mask_tokens")
@says("Token 0 is taken for padding and never chosen.")
@hint("May token 0 be a word like any other?")
def mlm_token_zero_never_chosen(tokens, select, replace, random_ids, mask_id, rate=0.15):
    ids, chosen = tokens.astype(np.int64), (select < rate) & (tokens != 0)
    new = np.where(replace < 0.8, mask_id, np.where(replace < 0.9, random_ids, ids))
    return np.where(chosen, new, ids), np.where(chosen, ids, -100)


@mistake("mlm_loss_of_the_unchosen", "masked_lm_loss")
@says("The loss runs over the positions that were not chosen.")
@hint("Which positions have a target, and which have -100?")
def mlm_loss_of_the_unchosen(logits, targets):
    return cross_entropy(logits, np.where(targets == -100, 0, -100), ignore_id=-100)
