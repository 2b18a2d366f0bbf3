"""Find likenesses of a wrong result and the right one: swapped axes, a factor, a shift, ...

Each function returns whether a pair has the property, or None if it would have it in any case.
"""

from __future__ import annotations

import itertools

import numpy as np

from grader.diagnosis.properties.pairs import Floats, Pair


def is_swapped(pair: Pair) -> bool | None:
    """Return whether the last two axes are swapped."""
    if pair.got.ndim < 2:
        return False
    return pair.alike(np.swapaxes(pair.got, -1, -2), pair.expected)


def other_axes(pair: Pair) -> bool | None:
    """Return whether the axes are in another order."""
    orders = itertools.permutations(range(pair.got.ndim)) if 2 < pair.got.ndim < 5 else ()
    return any(pair.alike(pair.got.transpose(order), pair.expected) for order in orders)


def is_reshaped(pair: Pair) -> bool | None:
    """Return whether only the shape is wrong."""
    if pair.same_shape or pair.got.size != pair.expected.size:
        return False
    return pair.alike(pair.got.reshape(pair.expected.shape), pair.expected)


def is_repeated(pair: Pair) -> bool | None:
    """Return whether it is the right result with more leading axes."""
    try:
        wider = np.broadcast_to(pair.expected, pair.got.shape)
    except ValueError:
        return False
    return pair.got.ndim > pair.expected.ndim and pair.alike(wider, pair.got)


def part(pair: Pair, axis: int, *, end: bool, more: bool) -> bool | None:
    """Return whether one of the two is the beginning, or the end, of the other along an axis."""
    long, short = (pair.got, pair.expected) if more else (pair.expected, pair.got)
    if long.ndim != short.ndim or long.ndim < -axis or long.shape[axis] <= short.shape[axis]:
        return False
    n = short.shape[axis]
    places = np.arange(long.shape[axis])[-n:] if end else np.arange(n)
    return pair.alike(np.take(long, places, axis), short)


def nan(pair: Pair) -> bool | None:
    """Return whether all wrong numbers are NaN."""
    return pair.same_shape and bool(np.isnan(pair.got[pair.wrong]).all())


def infinite(pair: Pair) -> bool | None:
    """Return whether all wrong numbers are infinite."""
    return pair.same_shape and bool(np.isinf(pair.got[pair.wrong]).all())


def is_negated(pair: Pair) -> bool | None:
    """Return whether all numbers have the opposite sign."""
    return not pair.discrete and pair.alike(-pair.expected, pair.got)


def is_exponential(pair: Pair) -> bool | None:
    """Return whether every number is the exponential of the right one."""
    return not pair.discrete and pair.alike(np.exp(pair.expected), pair.got)


def is_log(pair: Pair) -> bool | None:
    """Return whether every number is the log of the right one."""
    return not pair.discrete and pair.alike(np.log(pair.expected), pair.got)


def one_hot(pair: Pair) -> bool | None:
    """Return whether each row has a single 1 among zeros, and the right rows do not."""
    if pair.discrete or not pair.same_shape or pair.got.ndim < 1 or pair.got.shape[-1] < 2:
        return False
    ones = (pair.got == 1).sum(axis=-1) == 1
    zeros = (pair.got == 0).sum(axis=-1) == pair.got.shape[-1] - 1
    single = ((pair.expected != 0).sum(axis=-1) < 2).any()
    return bool((ones & zeros).all() and not single)


def opposite(pair: Pair) -> bool | None:
    """Return whether every True should be False, and every False True."""
    return pair.kind == "b" and pair.alike(1 - pair.expected, pair.got)


def sign(pair: Pair) -> bool | None:
    """Return whether only signs are wrong."""
    return not pair.discrete and pair.alike(np.abs(pair.expected), np.abs(pair.got))


def other_sign(pair: Pair) -> bool | None:
    """Return whether every number that should be positive is negative, and the reverse."""
    if not pair.same_shape or pair.discrete or not np.isfinite(pair.got).all():
        return False
    return bool((np.sign(pair.got) * np.sign(pair.expected) == -1).all())


def is_flipped(pair: Pair, axis: int) -> bool | None:
    """Return whether it runs backwards along an axis."""
    if pair.got.ndim < -axis or pair.got.shape[axis] < 2:
        return False
    return pair.alike(np.flip(pair.got, axis), pair.expected)


def is_shifted(pair: Pair, axis: int, *, late: bool) -> bool | None:
    """Return whether each position holds its neighbour's value."""
    if not pair.same_shape or pair.got.ndim < -axis:
        return False
    one, other = (pair.got, pair.expected) if late else (pair.expected, pair.got)
    places = np.arange(pair.got.shape[axis])
    shifted = pair.alike(np.take(one, places[1:], axis), np.take(other, places[:-1], axis))
    return shifted and (len(places) > 2 or None)


def is_permuted(pair: Pair) -> bool | None:
    """Return whether the right numbers are at other places."""
    if pair.discrete or pair.got.size != pair.expected.size or pair.got.size < 3:
        return False
    return pair.alike(np.sort(pair.got.ravel()), np.sort(pair.expected.ravel()))


def equal_rows(pair: Pair) -> bool | None:
    """Return whether all rows are equal although they should differ."""
    if pair.got.ndim < 2 or pair.got.shape[-2] < 2 or not pair.same_shape:
        return False
    same = pair.alike(pair.got, np.broadcast_to(pair.got[..., :1, :], pair.got.shape))
    first = np.broadcast_to(pair.expected[..., :1, :], pair.expected.shape)
    return (same and not pair.alike(pair.expected, first)) or (None if same else False)


def symmetric(pair: Pair) -> bool | None:
    """Return whether it equals its transpose although it should not."""
    square = pair.got.ndim >= 2 and pair.got.shape[-1] == pair.got.shape[-2] > 1
    if not square or not pair.alike(pair.got, np.swapaxes(pair.got, -1, -2)):
        return False
    return not pair.alike(pair.expected, np.swapaxes(pair.expected, -1, -2)) or None


def _sums(array: Floats, axis: int) -> bool:
    """Return whether it holds weights that sum to 1 along an axis of more than one."""
    if array.ndim < -axis or array.shape[axis] < 2 or not (array >= 0).all():
        return False
    return bool(np.allclose(array.sum(axis=axis), 1, atol=1e-5))


def _axis(pair: Pair) -> int:
    axis = pair.tried.arguments.get("axis", -1)
    return int(axis) if int(axis) < 0 else int(axis) - pair.expected.ndim


def other_sums(pair: Pair) -> bool | None:
    """Return whether it sums to 1 along another axis only."""
    right = _axis(pair)
    if pair.got.ndim < 2 or not pair.same_shape or not _sums(pair.expected, right):
        return False
    if _sums(pair.got, right):
        return False
    return any(_sums(pair.got, axis) for axis in range(-pair.got.ndim, 0) if axis != right)


def one_sum(pair: Pair) -> bool | None:
    """Return whether all numbers together sum to 1."""
    if pair.got.ndim < 2 or not pair.same_shape or not _sums(pair.expected, _axis(pair)):
        return False
    return bool((pair.got >= 0).all() and np.isclose(pair.got.sum(), 1))


def is_not_normalised(pair: Pair) -> bool | None:
    """Return whether some weights do not sum to 1."""
    right = _axis(pair)
    if not pair.same_shape or not _sums(pair.expected, right) or not (pair.got >= 0).all():
        return False
    return bool((np.abs(pair.got.sum(axis=right) - 1) > 1e-6).any())


def along(pair: Pair, axis: int, *, factor: bool) -> bool | None:
    """Return whether each slice along the axis is off by one number of its own."""
    if not pair.same_shape or pair.discrete or pair.got.ndim < 1:
        return False
    if pair.got.ndim < -axis:
        return False
    if not np.isfinite(pair.got).all() or not np.isfinite(pair.expected).all():
        return False
    if not factor:
        off = pair.got - pair.expected
        mean = off.mean(axis, keepdims=True)
        same = pair.alike(off, np.broadcast_to(mean, off.shape))
        varies = pair.got.shape[axis] > 1 and not np.allclose(mean, mean.flat[0])
        return same and (varies or None)
    first = np.abs(pair.expected).argmax(axis)[..., None]
    one, other = (np.moveaxis(a, axis, -1) for a in (pair.expected, pair.got))
    if not np.abs(one).max(axis=-1).all():
        return False
    scale = np.take_along_axis(other, first, -1) / np.take_along_axis(one, first, -1)
    if not scale.all():
        return False  # what is 0 is gone, whatever it was multiplied by
    varies = pair.got.shape[axis] > 1 and not np.allclose(scale, scale.flat[0])
    return pair.alike(one * scale, other) and (varies or None)


def unit_rows(pair: Pair) -> bool | None:
    """Return whether each row is the right one, divided by its length."""
    if pair.discrete or not pair.same_shape or pair.got.ndim < 1:
        return False
    length = np.linalg.norm(pair.expected, axis=-1, keepdims=True)
    return pair.alike(pair.expected / length, pair.got) and (pair.got.shape[-1] > 1 or None)


def centred_rows(pair: Pair) -> bool | None:
    """Return whether each row is the right one without its mean."""
    if pair.discrete or not pair.same_shape or pair.got.ndim < 1:
        return False
    mean = pair.expected.mean(axis=-1, keepdims=True)
    return pair.alike(pair.expected - mean, pair.got) and (pair.got.shape[-1] > 1 or None)


def zero(pair: Pair) -> bool | None:
    """Return whether all wrong numbers are 0."""
    return pair.same_shape and not pair.discrete and not pair.got[pair.wrong].any()


def smaller(pair: Pair, sign: int) -> bool | None:
    """Return whether all wrong numbers are too large (sign 1), or too small (sign -1)."""
    if not pair.same_shape or pair.discrete or np.isnan(pair.got).any():
        return False
    wrong = pair.wrong
    return bool((sign * pair.got[wrong] > sign * pair.expected[wrong]).all())


def not_zero(pair: Pair) -> bool | None:
    """Return whether some number is not 0 although all should be."""
    return pair.same_shape and not pair.discrete and not pair.expected.any()


def one_value(pair: Pair) -> bool | None:
    """Return whether the wrong numbers all have one size although the right ones have several."""
    if not pair.same_shape:
        return False
    wrong, right = np.abs(pair.got[pair.wrong]), np.abs(pair.expected[pair.wrong])
    if not np.isfinite(wrong).all() or wrong.max() != wrong.min():
        return False
    return bool(right.size > 1 and right.max() != right.min()) or None


def shape_is_swapped(pair: Pair) -> bool | None:
    """Return whether the shape is right except that its last two axes are swapped."""
    if pair.expected.ndim < 2 or pair.got.ndim < 2:
        return False
    *lead, rows, columns = pair.expected.shape
    return pair.got.shape == (*lead, columns, rows) and (rows != columns or None)
