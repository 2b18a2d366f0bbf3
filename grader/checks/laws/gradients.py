"""State laws about gradients: linear in d_out, summed over a batch, zero at hidden positions."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.checks.compare import Broken, as_array, largest, matches, show_array
from grader.checks.laws.cases import (
    Answered,
    Case,
    Function,
    comparing_answers,
    name_of,
    names_of,
    noting,
    show_case,
    values_are_right,
)
from grader.checks.tolerances import EXACT, Tolerance
from grader.steps.tree import map_leaves, pairs

NOTHING_THERE = Tolerance(0.0, 1e-12)
Bools = NDArray[np.bool_]


def combine(how: Callable[..., Any], *nests: Any) -> Any:
    """Return a function of the arrays at each place of nests of the same form.

    Raise Broken if they differ in keys, lengths or shapes.
    """
    first = nests[0]
    arrays = [[as_array(leaf) for _, _, leaf in pairs(first, nest)] for nest in nests]
    forms = [[None if array is None else array.shape for array in one] for one in arrays]
    if None in forms[0] or any(form != forms[0] for form in forms):
        raise Broken("The results of two calls have other keys, lengths or shapes.")
    places = zip(*arrays, strict=True)
    return map_leaves(first, lambda leaf: how(*next(places)))


def _same(
    function: Function, case: Case, expected: Any, got: Any, told: str, tolerance: Tolerance
) -> None:
    """Raise Broken, with these first words, unless two results are the same."""
    expected = tuple(expected) if isinstance(expected, list) and names_of(function) else expected
    tolerance = case.within(tolerance).for_size(largest(expected))
    with noting(f"{told} "), comparing_answers(function, case, expected):
        matches(expected, got, tolerance, name=name_of(function), names=names_of(function))


def is_linear_in(function: Function, cases: Sequence[Case], argument: str) -> None:
    """Demand that twice a slope plus another gives twice its gradient plus the other's."""
    for case in cases:
        slope, other = case.arguments[argument], case.others([argument], "linear", 1.0)[argument]
        alone, summed = ({**case.arguments, argument: one} for one in (other, 2 * slope + other))
        first, second, both = (function(**one) for one in (case.arguments, alone, summed))
        expected = combine(lambda a, b: 2 * a + b, first, second)
        told = f"The result is not linear in {argument}: for 2a + b it is not 2 f(a) + f(b)."
        _same(function, case, expected, both, told, EXACT)
        changed = [Answered(alone, second), Answered(summed, both)]
        values_are_right(function, case, Answered(case.arguments, first), changed)


def batch_adds_up(
    function: Function,
    cases: Sequence[Case],
    *,
    batched: Sequence[str],
    own: Sequence[str],
    mean: bool = False,
) -> None:
    """Demand that weights get the sum of the gradients of each sequence alone.

    batched: the arguments whose first axis counts the sequences. own: the results that have an
    entry for each sequence. mean: the function is about a mean loss, so the other results are
    means.
    """

    def together(*parts: Any) -> Any:
        return sum(parts) / (len(parts) if mean else 1)

    for case in cases:
        whole = function(**case.arguments)
        count = case.arguments[batched[0]].shape[0]
        rows = [
            case.arguments | {name: case.arguments[name][row : row + 1] for name in batched}
            for row in range(count)
        ]
        alone = [function(**arguments) for arguments in rows]
        names = names_of(function)
        if not all(isinstance(one, (tuple, list)) and len(one) == len(names) for one in alone):
            raise Broken(f"{name_of(function)} does not return {len(names)} results.")
        expected = tuple(
            np.concatenate([np.asarray(one[number]) for one in alone])
            if name in own
            else combine(together, *(one[number] for one in alone))
            for number, name in enumerate(names)
        )
        what = "the mean" if mean else "the sum"
        told = f"The gradients for a batch are not {what} of those for its sequences alone."
        _same(function, case, expected, whole, told, EXACT)
        changed = list(map(Answered, rows, alone))
        values_are_right(function, case, Answered(case.arguments, whole), changed)


def is_zero_where(
    function: Function,
    case: Case,
    arguments: dict[str, Any],
    pick: Callable[[Any], Any],
    where: Bools,
    told: str,
) -> Answered:
    """Return the answer if the part that `pick` finds is 0, to 1e-12, at these positions (axis -2).

    Zeros everywhere have no gradient anywhere, so the law must look at the answers' values too.
    """
    value = function(**arguments)
    array = as_array(pick(value))
    if array is None or array.ndim < 2 or array.shape[:-1][-where.ndim :] != where.shape:
        raise Broken(f"{name_of(function)} does not return one gradient for each position.")
    sizes = np.abs(array.astype(float)).max(axis=-1)
    limit = case.within(NOTHING_THERE).for_size(largest(array)).atol
    bad = where & ~(sizes <= limit)
    if bad.any():
        first = int(np.argwhere(np.atleast_1d(bad))[0][-1])
        size = np.fmax.reduce(sizes[..., first], axis=None)
        more = f" At position {first} it is {size:.3g}."
        marks = np.broadcast_to(bad[..., None], array.shape)
        evidence = show_case(function, arguments, show_array("got", array, marks))
        raise Broken(told, told + more, evidence)
    return Answered(arguments, value)


def _part(function: Function, name: str) -> Callable[[Any], Any]:
    """Return the result of that name, or None if there is none."""
    names = names_of(function)

    def pick(value: Any) -> Any:
        several = isinstance(value, (tuple, list)) and len(value) == len(names)
        return value[names.index(name)] if several else None

    return pick


def _are_zero_at(
    function: Function, case: Case, parts: Sequence[str], losses: Sequence[tuple[Bools, Bools, str]]
) -> None:
    """Demand that each loss has no gradient at some positions, in these results.

    losses: for each the outputs that it leaves out, the positions, and a sentence.
    """
    asked = []
    for out, where, told in losses:
        d_out = np.where(out[..., None], 0, case.arguments["d_out"])
        arguments = {**case.arguments, "d_out": d_out}
        for part in parts:
            pick, sentence = _part(function, part), f"{told}, in {part}."
            asked.append(is_zero_where(function, case, arguments, pick, where, sentence))
    values_are_right(function, case, asked[0], asked[1:])


def no_gradient_from_the_future(function: Function, cases: Sequence[Case]) -> None:
    """Demand, for every t, that a loss up to t has no gradient at any later position."""
    told = "A loss on positions up to {} has a gradient at later positions"
    for case in cases:
        shape = case.arguments["d_out"].shape[:-1]
        cuts = [np.broadcast_to(np.arange(shape[-1]) > t, shape) for t in range(shape[-1] - 1)]
        losses = [(later, later, told.format(t)) for t, later in enumerate(cuts)]
        _are_zero_at(function, case, ["d_x"], losses)


def no_gradient_through_padding(function: Function, cases: Sequence[Case], *, mask: str) -> None:
    """Demand that a loss on the other positions has no gradient at a padded one.

    mask: the argument with the keys that may be seen; its last row marks the padding.
    """
    told = "A loss on the real tokens has a gradient at padded positions"
    for case in cases:
        real = case.arguments[mask][..., -1, :]
        padded = np.broadcast_to(~real, case.arguments["d_out"].shape[:-1])
        _are_zero_at(function, case, ["d_x"], [(padded, padded, told)])


def hidden_keys_get_nothing(function: Function, cases: Sequence[Case]) -> None:
    """Demand that a loss on one query has no gradient at a key that is hidden from it."""
    told = "A loss on query {} has a gradient at keys that are hidden from it"
    for case in cases:
        shape, t_k = case.arguments["d_out"].shape[:-1], case.arguments["k"].shape[-2]
        hidden = ~np.broadcast_to(case.arguments["mask"], (*shape, t_k))
        queries = np.arange(shape[-1])
        losses = [(queries != one, hidden[..., one, :], told.format(one)) for one in queries]
        _are_zero_at(function, case, ["d_k", "d_v"], losses)
