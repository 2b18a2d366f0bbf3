"""Define conditions that a case may meet: a batch axis, a mask, huge numbers, a later chunk."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.checks.compare import WORDS
from grader.checks.tolerances import VERY_LARGE
from grader.diagnosis.properties.case_outcomes import Tried
from grader.steps.tree import leaves

FAR = 2  # times as long as any case that is right
MASKS = ("mask", "padding")


@dataclass(frozen=True)
class Condition:
    """A condition that a case may meet. this and other complete `in all 3 cases ...`.

    chancy: one of many of its kind, so more cases are needed before it means anything. both:
    whether it also means something if only the cases without it are wrong; otherwise these are the
    easy ones. mostly: whether it means nothing if more than a few of the cases that meet it are
    right. absent: whether the condition is that something is missing, which is the ordinary case.
    far: whether a single wrong case means something, because it is far from all right ones.
    of_axes: whether it is about leading axes, of which a check may have only one kind.
    """

    id: str
    this: str
    other: str
    hint: str
    holds: Callable[[Tried], bool]
    chancy: bool = False
    both: bool = False
    mostly: bool = False
    absent: bool = False
    far: bool = False
    of_axes: bool = False

    @property
    def opposite(self) -> Condition:
        """Return the condition that a case meets if it does not meet this one."""
        return replace(
            self,
            id=f"not_{self.id}",
            this=self.other,
            other=self.this,
            holds=lambda tried: not self.holds(tried),
            absent=True,
        )

    def along_with(self, more: Condition) -> Condition:
        """Return the condition that a case meets if it meets both."""
        return Condition(
            f"{self.id}_and_{more.id}",
            f"{self.this} and {more.this}",
            OTHERS,
            self.hint,
            lambda tried: self.holds(tried) and more.holds(tried),
            chancy=True,
            of_axes=self.of_axes,
        )


def lead(tried: Tried) -> tuple[int, ...]:
    """Return the lengths of the leading axes."""
    sizes = tried.sizes
    return tuple(sizes["lead"] if "lead" in sizes else sizes.get("batch", ()))


def length(tried: Tried) -> int:
    """Return how many positions there are."""
    found = [tried.sizes[name] for name in ("t_k", "length", "t", "t_q") if name in tried.sizes]
    return int(tried.sizes.get("stop") or next(iter(found), 0))


def _arrays(tried: Tried) -> Iterator[NDArray[Any]]:
    found = leaves(list(tried.arguments.values()))
    return (leaf for leaf in found if isinstance(leaf, np.ndarray))


def is_very_large(tried: Tried) -> bool:
    """Return whether there are numbers larger than a layer produces."""
    numbers = [array[np.isfinite(array)] for array in _arrays(tried) if array.dtype.kind == "f"]
    return any(np.abs(array).max() > VERY_LARGE for array in numbers if array.size)


def _first(tried: Tried) -> NDArray[Any]:
    value = next(iter(tried.arguments.values()), 0)
    return np.asarray(value[0] if isinstance(value, tuple) else value)


def _mask(tried: Tried) -> NDArray[Any] | None:
    masks = (tried.arguments.get(name) for name in MASKS)
    return next((mask for mask in masks if isinstance(mask, np.ndarray)), None)


def _has_nothing_allowed(tried: Tried) -> bool:
    mask = _mask(tried)
    return mask is not None and mask.ndim > 0 and not mask.any(axis=-1).all()


def _smaller_mask(tried: Tried) -> bool:
    """Return whether the mask has to be repeated along an axis to fit."""
    mask, first = _mask(tried), _first(tried)
    if first.dtype.kind in "iu":
        first = first[..., None]  # tokens, which are embedded before they are masked
    rows = tried.sizes.get("t_q") or (first.shape[-2] if first.ndim > 1 else 1)
    return mask is not None and (mask.ndim < first.ndim or mask.shape[-2:-1] != (rows,))


def _axis_not_last(tried: Tried) -> bool:
    axis = tried.arguments.get("axis", -1)
    return axis not in (-1, _first(tried).ndim - 1)


def _no_room(tried: Tried) -> bool:
    """Return whether a sequence takes at least every position of its model."""
    params, arguments = tried.arguments.get("params"), tried.arguments
    tokens = arguments.get("tokens", arguments.get("prompt"))
    if not isinstance(params, Mapping) or not isinstance(tokens, np.ndarray):
        return False
    if not isinstance(params.get("position"), np.ndarray):
        return False  # positions that are turned have no table, and no end
    total = int(tokens.shape[-1]) + int(arguments.get("n_new", 0))
    return total >= int(params["position"].shape[0])


def _chunk(tried: Tried) -> int:
    if "stop" not in tried.sizes:
        return 0  # no chunk is meant
    return int(tried.sizes["stop"] - tried.sizes.get("start", 0))


def _later(tried: Tried) -> bool:
    return int(tried.sizes.get("chunk", 0)) > 0


def _after_two_chunks(tried: Tried) -> bool:
    return int(tried.sizes.get("chunk", 0)) > 1


def _many_blocks(tried: Tried) -> bool:
    return int(tried.sizes.get("n_layers", 0)) > 2


def _is_zero(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value == 0


OTHERS = "of any other kind"
SHAPES = "Write the shapes beside every line: which axis does each line, or each loop, run over?"
SLICES = "Write down the shape of every array at every line, for one case of each kind."
SIZE = "Which operation loses something when its numbers become very large?"
MEMORY = "What does the function keep for later, and is it still right after so many tokens?"
CACHE = "What does the cache hold when the second chunk comes? Compare with one pass, row by row."
NEWEST = "Compare with the same row of one pass over everything: its scores, its keys, its weights."
BLOCKED = "What comes out of a row in which everything is blocked, and what should?"
REPEATED = "Which axes of the mask have to be repeated, and who does that: you or NumPy?"
LONG = "What is done once for each position, and what is counted or summed over all of them?"
NAMED = "Which lines use axis, and which have an axis of their own?"
AXES = "Does every maximum and every sum use the axis that was asked for, and keep its place?"
ROOM = "How many positions are needed for this text, and is the limit itself allowed?"
STACK = "Work through two blocks by hand: what does the second read, and what else is it given?"


def _leading(count: int) -> Callable[[Tried], bool]:
    """Return the condition that there are at least so many leading axes."""
    return lambda one: len(lead(one)) >= count


FIXED = [
    Condition("very_large", "with very large numbers", "with ordinary ones", SIZE, is_very_large),
    Condition(
        "nothing_allowed",
        "with a query that may attend to nothing",
        "where each may attend to something",
        BLOCKED,
        _has_nothing_allowed,
    ),
    Condition(
        "batch", "with a batch axis", "without a batch axis", SHAPES, _leading(1), of_axes=True
    ),
    Condition(
        "two_batch_axes",
        "with more than one batch axis",
        "with one batch axis or none",
        SHAPES,
        _leading(2),
        of_axes=True,
    ),
    Condition(
        "several_sequences",
        "with more than one sequence",
        "with a single sequence",
        SHAPES,
        lambda one: int(np.prod(lead(one))) > 1,
        of_axes=True,
    ),
    Condition(
        "one_batch_axis",
        "with exactly one batch axis",
        "with none or several batch axes",
        SHAPES,
        lambda one: len(lead(one)) == 1 and length(one) > 0,
        of_axes=True,
        mostly=True,
    ),
    Condition(
        "axis", "with an axis that is not the last", "along the last axis", AXES, _axis_not_last
    ),
    Condition(
        "smaller_mask",
        "with a mask that is smaller than the scores",
        "with another mask, or none",
        REPEATED,
        _smaller_mask,
    ),
    Condition(
        "later_chunk", "after the first chunk", "in the first chunk", CACHE, _later, both=True
    ),
    Condition(
        "later_token",
        "with a single new token after others",
        OTHERS,
        NEWEST,
        lambda one: _later(one) and _chunk(one) == 1,
    ),
    Condition(
        "later_tokens",
        "with several new tokens after others",
        OTHERS,
        NEWEST,
        lambda one: _later(one) and _chunk(one) > 1,
    ),
    Condition(
        "third_chunk", "after the second chunk", "in the first two chunks", CACHE, _after_two_chunks
    ),
    Condition(
        "many_blocks", "with more than two blocks", "with one block or two", STACK, _many_blocks
    ),
    Condition("no_room", "whose sequence uses every position", "with room left", ROOM, _no_room),
]


def fixed_conditions(tried: Sequence[Tried]) -> list[Condition]:
    """Return the conditions that mean something here: no mask is small if none is larger."""
    masks = [_mask(one) for one in tried if not _smaller_mask(one)]
    larger = any(mask is not None and mask.shape[-2:-1] > (1,) for mask in masks)
    return [one for one in FIXED if larger or one.id != "smaller_mask"]


def optional(names: Sequence[str]) -> Iterator[Condition]:
    """Yield for each optional argument whether it is given."""
    for name in names:
        yield Condition(
            f"with_{name}",
            f"with {name}",
            f"without {name}",
            f"Follow {name} through your function: what is done when it is there, and when not?",
            lambda one, name=name: one.arguments.get(name) is not None,  # type: ignore[misc]
            both=True,
        )


def ranks(name: str) -> Iterator[Condition]:
    """Yield how many axes the first argument has. name: the name of the argument."""
    counts: list[tuple[str, str, str, Callable[[int], bool]]] = [
        ("three_axes", "more than two axes", "one axis or two", lambda n: n > 2),
        ("two_axes", "two axes", "one axis or more than two", lambda n: n == 2),
    ]
    for id, this, other, fits in counts:
        yield Condition(
            id,
            f"where {name} has {this}",
            f"where {name} has {other}",
            SHAPES,
            lambda one, fits=fits: fits(_first(one).ndim),  # type: ignore[misc]
            of_axes=True,
            mostly=True,
        )


def zero(names: Sequence[str], takes: Sequence[str]) -> Iterator[Condition]:
    """Yield for each number argument whether it is 0. takes: the required arguments."""
    for name in names:
        yield Condition(
            f"{name}_is_zero",
            f"where {name} is 0",
            f"where {name} is not 0",
            NAMED
            if name == "axis"
            else f"Is there a line that treats {name} = 0 as no {name} at all, or divides by it?",
            lambda one, name=name: _is_zero(one.arguments.get(name)),  # type: ignore[misc]
            # Along another axis than 0 says less than along one that is not the last.
            both=name not in takes and name != "axis",
        )


def too_much(tried: Sequence[Tried]) -> Iterator[Condition]:
    """Yield sequences that are longer, or go on after more tokens, than any with a right result."""
    growing = MEMORY if any("chunk" in one.sizes for one in tried) else LONG
    for id, this, other, hint, count in (
        ("long", "with {} positions or more", "with at most {}", growing, length),
        ("many_before", "after {} tokens or more", "after at most {}", MEMORY, _before),
    ):
        right = max((count(one) for one in tried if one.right), default=0)
        wrong = min((count(one) for one in tried if not one.right), default=0)
        if 1 < right < wrong:
            yield Condition(
                id,
                this.format(wrong),
                other.format(right),
                hint,
                lambda one, count=count, right=right: count(one) > right,  # type: ignore[misc]
                chancy=True,
                far=wrong >= FAR * right,
            )


def _before(tried: Tried) -> int:
    """Return how many tokens came before; where no chunk is meant, start may be a token's name."""
    start = tried.sizes.get("start", 0)
    return start if isinstance(start, int) else 0


def relate_sizes(names: Sequence[str]) -> Iterator[Condition]:
    """Yield for each pair of sizes whether they are equal."""
    for a, b in itertools.combinations(names, 2):
        equal, one, other = f"{a}_is_{b}", WORDS[a], WORDS[b]
        for id, this, others, least in (
            (equal, f"where {one} = {other}", f"where {one} ≠ {other}", 0),
            (f"{equal}_above_1", f"where {one} = {other} > 1", OTHERS, 2),
        ):
            yield Condition(
                id,
                this,
                others,
                SLICES,
                lambda one, a=a, b=b, n=least: one.sizes[a] == one.sizes[b] >= n,  # type: ignore[misc]
                chancy=True,
            )
