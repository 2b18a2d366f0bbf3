"""Known wrong versions of step 20, each with one mistake."""

import numpy as np

from grader.answer_key.variants import hint, mistake, says

angles_of_shape = {}


def halves(x):
    """Return the first features of all pairs, and the second ones."""
    return np.split(x, 2, axis=-1)


# the angles


@mistake("rotary_base_positive", "rotary_angles")
@says("The base has a positive exponent, so later pairs turn faster instead of slower.")
@hint("Which pair turns fastest, the first or the last?")
def angles_growing(positions, d_head, base=10000.0):
    if d_head % 2:
        raise ValueError("d_head is odd")
    return np.asarray(positions)[..., None] * base ** (np.arange(0, d_head, 2) / d_head)


@mistake("rotary_first_row_only", "rotary_angles")
@says("Every sequence gets the angles of the first one.")
@hint("In packed texts the positions of two rows differ: do your angles?")
def angles_of_first_row(positions, d_head, base=10000.0):
    if d_head % 2:
        raise ValueError("d_head is odd")
    row = positions.reshape(-1, positions.shape[-1])[0]
    angles = np.outer(row, base ** (-np.arange(0, d_head, 2) / d_head))
    return np.broadcast_to(angles, (*positions.shape, d_head // 2)).copy()


@mistake("rotary_positions_counted", "rotary_angles")
@says("Positions are counted on from the first one, whatever the others are.")
@hint("Which angles should the positions 0, 1, 0, 1 get?")
def angles_from_first_position(positions, d_head, base=10000.0):
    if d_head % 2:
        raise ValueError("d_head is odd")
    run = positions[..., :1] + np.arange(positions.shape[-1])
    return run[..., None] * base ** (-np.arange(0, d_head, 2) / d_head)


@mistake("rotary_exponent_not_doubled", "rotary_angles")
@says("The exponent is i / d_head, half of what it should be.")
@hint("What exponent has the last pair, and how far is it from -1?")
def angles_exponent_halved(positions, d_head, base=10000.0):
    if d_head % 2:
        raise ValueError("d_head is odd")
    return np.asarray(positions)[..., None] * base ** (-np.arange(d_head // 2) / d_head)


@mistake("rotary_one_angle_per_feature", "rotary_angles")
@says("There is an angle for each feature, not for each pair of features.")
@hint("How many pairs does a head of d_head features have?")
def angles_for_every_feature(positions, d_head, base=10000.0):
    if d_head % 2:
        raise ValueError("d_head is odd")
    speeds = base ** (-np.arange(0, d_head, 2) / d_head)
    return np.asarray(positions)[..., None] * np.concatenate([speeds, speeds])


@mistake("rotary_positions_from_one", "rotary_angles")
@says("Positions are counted from 1, so position 0 is turned too.")
@hint("By which angle is the token at position 0 turned?")
def angles_from_one(positions, d_head, base=10000.0):
    if d_head % 2:
        raise ValueError("d_head is odd")
    return (np.asarray(positions)[..., None] + 1) * base ** (-np.arange(0, d_head, 2) / d_head)


@mistake("rotary_positions_ignored", "rotary_angles")
@says("Angles are made for 0, 1, 2, ... whatever the positions are.")
@hint("What are the angles of a token at position 7 that comes alone?")
def angles_of_row_numbers(positions, d_head, base=10000.0):
    if d_head % 2:
        raise ValueError("d_head is odd")
    counted = np.broadcast_to(np.arange(np.shape(positions)[-1]), np.shape(positions))
    return counted[..., None] * base ** (-np.arange(0, d_head, 2) / d_head)


@mistake("rotary_base_ignored", "rotary_angles")
@says("The base is 10000, whatever the argument says.")
@hint("Where does your function read `base`?")
def angles_fixed_base(positions, d_head, base=10000.0):
    if d_head % 2:
        raise ValueError("d_head is odd")
    return np.asarray(positions)[..., None] * 10000.0 ** (-np.arange(0, d_head, 2) / d_head)


@mistake("rotary_single_precision", "rotary_angles")
@says("Angles are computed in float32, and are wrong at far positions.")
@hint("How many digits of an angle near a million does float32 hold?")
def angles_float32(positions, d_head, base=10000.0):
    if d_head % 2:
        raise ValueError("d_head is odd")
    speeds = base ** (-np.arange(0, d_head, 2) / d_head)
    angles = np.asarray(positions)[..., None].astype(np.float32) * speeds.astype(np.float32)
    near = np.abs(np.asarray(positions)[..., None]) < 1000
    return np.where(near, np.asarray(positions)[..., None] * speeds, angles.astype(np.float64))


@mistake("rotary_speeds_single_precision", "rotary_angles")
@says("The speeds are computed in float32.")
@hint("In which dtype are your speeds, and by what are their errors multiplied?")
def angles_float32_speeds(positions, d_head, base=10000.0):
    if d_head % 2:
        raise ValueError("d_head is odd")
    speeds = np.float32(base) ** (-np.arange(0, d_head, 2, dtype=np.float32) / np.float32(d_head))
    return np.asarray(positions)[..., None] * speeds.astype(np.float64)


@mistake("rotary_wrapped_early", "rotary_angles")
@says("Angles are reduced to a single turn: they should be position times speed.")
@hint("Is the angle asked for, or its remainder after full turns?")
def angles_modulo_turns(positions, d_head, base=10000.0):
    if d_head % 2:
        raise ValueError("d_head is odd")
    angles = np.asarray(positions)[..., None] * base ** (-np.arange(0, d_head, 2) / d_head)
    return np.where(angles > 1000, np.mod(angles, 2 * np.pi), angles)


@mistake("rotary_no_batch", "rotary_angles")
@says("Only a single row of positions works: batch axes are flattened.")
@hint("What shape should the angles of positions (2, 3) have?")
def angles_outer(positions, d_head, base=10000.0):
    if d_head % 2:
        raise ValueError("d_head is odd")
    return np.outer(positions, base ** (-np.arange(0, d_head, 2) / d_head))


@mistake("rotary_angles_table_ends", "rotary_angles")
@says("Angles come from a table that ends, and later positions get its last row.")
@hint("What becomes of a position beyond the end of your table?")
def angles_from_table(positions, d_head, base=10000.0):
    if d_head % 2:
        raise ValueError("d_head is odd")
    table = np.arange(2048)[:, None] * base ** (-np.arange(0, d_head, 2) / d_head)
    return table[np.minimum(positions, 2047)]


@mistake("rotary_odd_accepted", "rotary_angles")
@says("An odd d_head is accepted, and one feature has no partner.")
@hint("With d_head = 5, which feature is the partner of the last one?")
def angles_odd(positions, d_head, base=10000.0):
    return np.asarray(positions)[..., None] * base ** (-np.arange(0, d_head - 1, 2) / d_head)


@mistake("np_memoised_on_shape", "rotary_angles")
@says("Angles are remembered by shape alone, so other positions get the old angles.")
@hint("What does the value that you remember depend on?")
def angles_memoised(positions, d_head, base=10000.0):
    if d_head % 2:
        raise ValueError("d_head is odd")
    positions = np.asarray(positions)
    key = (positions.shape, d_head, base)
    if key not in angles_of_shape:
        angles_of_shape[key] = positions[..., None] * base ** (-np.arange(0, d_head, 2) / d_head)
    return angles_of_shape[key].copy()


@mistake("np_input_mutated", "rotary_angles")
@says("The caller's positions get one more axis.")
@hint("What does an assignment to .shape do to an array that your function was only lent?")
def angles_reshape_positions(positions, d_head, base=10000.0):
    if d_head % 2:
        raise ValueError("d_head is odd")
    positions.shape = (*positions.shape, 1)
    return positions * base ** (-np.arange(0, d_head, 2) / d_head)


# the rotation


@mistake("rotary_neighbours_paired", "rotate")
@says("Neighbours 2i and 2i + 1 are pairs; here i and i + d_head/2 are.")
@hint("Which feature is the partner of feature 0?")
def rotate_neighbours(x, angles):
    a, b = x[..., 0::2], x[..., 1::2]
    cos, sin = np.cos(angles), np.sin(angles)
    turned = np.stack([a * cos - b * sin, a * sin + b * cos], axis=-1)
    return turned.reshape(x.shape)


@mistake("rotary_other_way", "rotate")
@says("Features are turned by minus the angle.")
@hint("Where does (1, 0) go after a quarter turn?")
def rotate_backwards(x, angles):
    a, b = halves(x)
    cos, sin = np.cos(angles), np.sin(angles)
    return np.concatenate([a * cos + b * sin, b * cos - a * sin], axis=-1)


@mistake("rotary_sign_missing", "rotate")
@says("The minus of the first line is missing, so lengths change.")
@hint("Does your rotation keep the length of (1, 1)?")
def rotate_plus_plus(x, angles):
    a, b = halves(x)
    cos, sin = np.cos(angles), np.sin(angles)
    return np.concatenate([a * cos + b * sin, a * sin + b * cos], axis=-1)


@mistake("rotary_second_from_new_first", "rotate")
@says("The second feature is computed from the new first one.")
@hint("Which a is in your second line: the old one or the new one?")
def rotate_in_sequence(x, angles):
    a, b = halves(x)
    cos, sin = np.cos(angles), np.sin(angles)
    a = a * cos - b * sin
    b = a * sin + b * cos
    return np.concatenate([a, b], axis=-1)


@mistake("rotary_sin_cos_swapped", "rotate")
@says("Sine and cosine are swapped, so an angle of 0 turns by a quarter.")
@hint("What should an angle of 0 do?")
def rotate_swapped(x, angles):
    a, b = halves(x)
    cos, sin = np.sin(angles), np.cos(angles)
    return np.concatenate([a * cos - b * sin, a * sin + b * cos], axis=-1)


@mistake("rotary_first_half_only", "rotate")
@says("Only the first feature of each pair is turned.")
@hint("How many of the two features of a pair change?")
def rotate_first_only(x, angles):
    a, b = halves(x)
    return np.concatenate([a * np.cos(angles) - b * np.sin(angles), b], axis=-1)


@mistake("rotary_halves_swapped", "rotate")
@says("The two halves of the result are in the wrong order.")
@hint("Which half of the result holds the first features of the pairs?")
def rotate_halves_swapped(x, angles):
    a, b = halves(x)
    cos, sin = np.cos(angles), np.sin(angles)
    return np.concatenate([a * sin + b * cos, a * cos - b * sin], axis=-1)


@mistake("rotary_interleaved_result", "rotate")
@says("Pairs are taken from the two halves, and put back as neighbours.")
@hint("At which place is feature i + d_head/2 afterwards?")
def rotate_result_interleaved(x, angles):
    a, b = halves(x)
    cos, sin = np.cos(angles), np.sin(angles)
    return np.stack([a * cos - b * sin, a * sin + b * cos], axis=-1).reshape(x.shape)


@mistake("rotary_degrees", "rotate")
@says("The angles are taken for degrees.")
@hint("In which unit does NumPy's cosine take its argument?")
def rotate_degrees(x, angles):
    a, b = halves(x)
    cos, sin = np.cos(np.deg2rad(angles)), np.sin(np.deg2rad(angles))
    return np.concatenate([a * cos - b * sin, a * sin + b * cos], axis=-1)


@mistake("rotary_angle_of_first_position", "rotate")
@says("All positions are turned by the angles of the first one.")
@hint("Which axis of the angles is time?")
def rotate_by_first(x, angles):
    a, b = halves(x)
    first = angles[..., :1, :]
    cos, sin = np.cos(first), np.sin(first)
    return np.concatenate([a * cos - b * sin, a * sin + b * cos], axis=-1)


@mistake("rotary_angles_shifted", "rotate")
@says("Each position is turned by the angle of the next one.")
@hint("Which row of the angles belongs to row t of x?")
def rotate_by_next(x, angles):
    a, b = halves(x)
    following = np.roll(angles, -1, axis=-2)
    cos, sin = np.cos(following), np.sin(following)
    return np.concatenate([a * cos - b * sin, a * sin + b * cos], axis=-1)


@mistake("rotary_single_precision_turn", "rotate")
@says("Angles are rounded to float32 before the cosine is taken.")
@hint("What is left of an angle near a million in float32?")
def rotate_float32_angles(x, angles):
    a, b = halves(x)
    rounded = np.where(np.abs(angles) > 1000, angles.astype(np.float32), angles)
    cos, sin = np.cos(rounded), np.sin(rounded)
    return np.concatenate([a * cos - b * sin, a * sin + b * cos], axis=-1)


@mistake("rotary_normalised", "rotate")
@says("Each vector is scaled to length 1 besides being turned.")
@hint("Does a rotation change the length of a vector?")
def rotate_unit(x, angles):
    a, b = halves(x)
    cos, sin = np.cos(angles), np.sin(angles)
    turned = np.concatenate([a * cos - b * sin, a * sin + b * cos], axis=-1)
    return turned / np.linalg.norm(turned, axis=-1, keepdims=True)


@mistake("rotary_head_axis_assumed", "rotate")
@says("Angles with batch axes are given a head axis that x need not have.")
@hint("Does x always have a head axis between batch and time?")
def rotate_extra_axis(x, angles):
    a, b = halves(x)
    if np.ndim(angles) > 2:
        angles = np.expand_dims(angles, -3)
    cos, sin = np.cos(angles), np.sin(angles)
    return np.concatenate([a * cos - b * sin, a * sin + b * cos], axis=-1)


@mistake("rotary_one_row_ignored", "rotate")
@says("Angles without an axis for the positions are not applied.")
@hint("Which shapes can be broadcast to (T, d_head / 2)?")
def rotate_one_row_ignored(x, angles):
    a, b = halves(x)
    cos, sin = (np.cos(angles), np.sin(angles)) if np.ndim(angles) > 1 else (1.0, 0.0)
    return np.concatenate([a * cos - b * sin, a * sin + b * cos], axis=-1)


@mistake("mutates_argument", "rotate")
@says("The features are turned in the array that was passed in.")
@hint("To whom does the array belong that you write into?")
def rotate_in_place(x, angles):
    half = x.shape[-1] // 2
    a, b = x[..., :half].copy(), x[..., half:].copy()
    cos, sin = np.cos(angles), np.sin(angles)
    x[..., :half] = a * cos - b * sin
    x[..., half:] = a * sin + b * cos
    return x.copy()


@mistake("rotary_full_turn_rounded", "rotate")
@says("Full turns are taken off the angles, and a full turn is taken for 6.28.")
@hint("By how much is your angle wrong after a hundred full turns?")
def rotate_rounded_turns(x, angles):
    a, b = halves(x)
    cos, sin = np.cos(angles % 6.28), np.sin(angles % 6.28)
    return np.concatenate([a * cos - b * sin, a * sin + b * cos], axis=-1)


@mistake("rotary_features_clipped", "rotate")
@says("Features are cut off at ±100.")
@hint("Does a rotation of a long vector keep its length?")
def rotate_cut(x, angles):
    a, b = halves(np.clip(x, -100, 100))
    cos, sin = np.cos(angles), np.sin(angles)
    return np.concatenate([a * cos - b * sin, a * sin + b * cos], axis=-1)


@mistake("np_half_precision", "rotate")
@says("Sine and cosine for float32 features are kept in half precision.")
@hint("In which dtype do you keep sine and cosine, and how many digits does it have?")
def rotate_in_half(x, angles):
    a, b = halves(x)
    cos, sin = np.cos(angles), np.sin(angles)
    if x.dtype == np.float32:
        cos, sin = (part.astype(np.float16).astype(np.float32) for part in (cos, sin))
    return np.concatenate([a * cos - b * sin, a * sin + b * cos], axis=-1)


@mistake("np_memoised_on_shape", "rotate")
@says("The angles of the first call are kept for every later call of the same shape.")
@hint("Can two arrays of angles have the same shape and differ?")
def rotate_memoised(x, angles):
    a, b = halves(x)
    angles = angles_of_shape.setdefault(angles.shape, angles.copy())
    cos, sin = np.cos(angles), np.sin(angles)
    return np.concatenate([a * cos - b * sin, a * sin + b * cos], axis=-1)


@mistake("out_returns_view", "rotate")
@says("The result lives in a buffer that the next call of the same shape overwrites.")
@hint("Keep an answer, ask for another one, and look at the first again.")
def rotate_same_buffer(x, angles):
    a, b = halves(x)
    cos, sin = np.cos(angles), np.sin(angles)
    buffer = angles_of_shape.setdefault((x.shape, x.dtype), np.empty_like(x))
    buffer[...] = np.concatenate([a * cos - b * sin, a * sin + b * cos], axis=-1)
    return buffer


# alibi


@mistake("alibi_slopes_from_zero", "alibi_slopes")
@says("Heads are counted from 0 in the exponent, so the first slope is 1.")
@hint("Which slope should the last head have?")
def slopes_from_zero(n_heads):
    if n_heads < 1 or n_heads & (n_heads - 1):
        raise ValueError("n_heads is not a power of two")
    return 2.0 ** (-8 * np.arange(n_heads) / n_heads)


@mistake("alibi_slopes_ignore_heads", "alibi_slopes")
@says("The slopes are 1/2, 1/4, 1/8, ... for any number of heads.")
@hint("With 4 heads the first slope is a quarter: how does it depend on n_heads?")
def slopes_halving(n_heads):
    if n_heads < 1 or n_heads & (n_heads - 1):
        raise ValueError("n_heads is not a power of two")
    return 2.0 ** -np.arange(1.0, n_heads + 1)


@mistake("alibi_slopes_reversed", "alibi_slopes")
@says("The slopes are in the reverse order.")
@hint("Which head should see nearest: the first or the last?")
def slopes_reversed(n_heads):
    if n_heads < 1 or n_heads & (n_heads - 1):
        raise ValueError("n_heads is not a power of two")
    return 2.0 ** (-8 * np.arange(n_heads, 0, -1) / n_heads)


@mistake("alibi_any_number_of_heads", "alibi_slopes")
@says("A number of heads that is not a power of two is accepted.")
@hint("For which numbers of heads does the formula hold?")
def slopes_any(n_heads):
    if n_heads < 1:
        raise ValueError("n_heads is below 1")
    return 2.0 ** (-8 * np.arange(1, n_heads + 1) / n_heads)


@mistake("alibi_zero_heads", "alibi_slopes")
@says("0 passes the test for a power of two.")
@hint("What does your test say about 0?")
def slopes_zero(n_heads):
    if n_heads & (n_heads - 1):
        raise ValueError("n_heads is not a power of two")
    return 2.0 ** (-8 * np.arange(1, n_heads + 1) / max(1, n_heads))


@mistake("alibi_sign", "alibi_bias")
@says("Distance is rewarded, not punished: the minus is missing.")
@hint("Should a far key get a higher score or a lower one?")
def bias_positive(n_heads, t_q, t_k=None):
    return -right_bias(n_heads, t_q, t_k)


def right_bias(n_heads, t_q, t_k):
    """Return the bias as it should be."""
    t_k = t_q if t_k is None else t_k
    if t_k < t_q:
        raise ValueError("t_k is less than t_q")
    distance = np.abs(np.arange(t_k - t_q, t_k)[:, None] - np.arange(t_k))
    return alibi_slopes(n_heads)[:, None, None] * -distance


@mistake("alibi_top_left", "alibi_bias")
@says("The queries are taken for the first positions, not the last.")
@hint("With 2 queries and 4 keys, at which position is the first query?")
def bias_top_left(n_heads, t_q, t_k=None):
    t_k = t_q if t_k is None else t_k
    if t_k < t_q:
        raise ValueError("t_k is less than t_q")
    distance = np.abs(np.arange(t_q)[:, None] - np.arange(t_k))
    return alibi_slopes(n_heads)[:, None, None] * -distance


@mistake("alibi_future_rewarded", "alibi_bias")
@says("The distance has a sign, so keys of the future get a bonus.")
@hint("How far is a key two positions later?")
def bias_signed(n_heads, t_q, t_k=None):
    t_k = t_q if t_k is None else t_k
    if t_k < t_q:
        raise ValueError("t_k is less than t_q")
    distance = np.arange(t_k - t_q, t_k)[:, None] - np.arange(t_k)
    return alibi_slopes(n_heads)[:, None, None] * -distance


@mistake("alibi_future_flat", "alibi_bias")
@says("Keys of the future have no penalty at all: their distance counts as 0.")
@hint("What is the bias on the other side of the diagonal?")
def bias_clipped(n_heads, t_q, t_k=None):
    t_k = t_q if t_k is None else t_k
    if t_k < t_q:
        raise ValueError("t_k is less than t_q")
    distance = np.maximum(np.arange(t_k - t_q, t_k)[:, None] - np.arange(t_k), 0)
    return alibi_slopes(n_heads)[:, None, None] * -distance


@mistake("alibi_masks_too", "alibi_bias")
@says("The future is set to -inf: the bias does the mask's work, and is not finite.")
@hint("Whose task is it to hide the future?")
def bias_with_mask(n_heads, t_q, t_k=None):
    bias = right_bias(n_heads, t_q, t_k)
    _, rows, columns = bias.shape
    return np.where(np.tri(rows, columns, columns - rows, dtype=bool), bias, -np.inf)


@mistake("alibi_key_position_only", "alibi_bias")
@says("The bias grows with the key's position, not with its distance from the query.")
@hint("Do all rows of your bias look alike?")
def bias_by_key(n_heads, t_q, t_k=None):
    t_k = t_q if t_k is None else t_k
    if t_k < t_q:
        raise ValueError("t_k is less than t_q")
    distance = np.broadcast_to(np.arange(t_k), (t_q, t_k))
    return alibi_slopes(n_heads)[:, None, None] * -distance


@mistake("alibi_heads_last", "alibi_bias")
@says("The heads are the last axis of the bias, not the first.")
@hint("Which axis of the scores holds the heads?")
def bias_heads_last(n_heads, t_q, t_k=None):
    return np.moveaxis(right_bias(n_heads, t_q, t_k), 0, -1)


@mistake("alibi_too_few_keys", "alibi_bias")
@says("Fewer keys than queries are accepted, and some queries are at negative positions.")
@hint("At which positions would 3 queries be among 2 keys?")
def bias_any_rectangle(n_heads, t_q, t_k=None):
    t_k = t_q if t_k is None else t_k
    distance = np.abs(np.arange(t_k - t_q, t_k)[:, None] - np.arange(t_k))
    return alibi_slopes(n_heads)[:, None, None] * -distance


@mistake("np_memoised_too_little", "alibi_bias")
@says("A bias is remembered by heads and keys alone, so fewer queries get too many rows.")
@hint("On what does the value that you remember depend besides the number of keys?")
def bias_memoised(n_heads, t_q, t_k=None):
    key = (n_heads, t_q if t_k is None else t_k)
    if key not in angles_of_shape:
        angles_of_shape[key] = right_bias(n_heads, t_q, t_k)
    return angles_of_shape[key].copy()


@mistake("rotary_from_the_first", "rotary_angles")
@says("The first position is subtracted from all, so every text begins at 0.")
@hint("What is the angle of a token at position 7 that comes alone?")
def rotary_from_the_first(positions, d_head, base=10000.0):
    if d_head % 2:
        raise ValueError("d_head must be even")
    speeds = base ** (-np.arange(0, d_head, 2) / d_head)
    positions = np.asarray(positions)
    return (positions - positions[..., :1])[..., None] * speeds


@mistake("rotary_from_the_smallest", "rotary_angles")
@says("The smallest position is subtracted from all.")
@hint("What is the angle of a token at position 7 that comes alone?")
def rotary_from_the_smallest(positions, d_head, base=10000.0):
    if d_head % 2:
        raise ValueError("d_head must be even")
    speeds = base ** (-np.arange(0, d_head, 2) / d_head)
    positions = np.asarray(positions)
    return (positions - positions.min())[..., None] * speeds
