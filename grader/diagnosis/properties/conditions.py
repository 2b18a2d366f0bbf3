"""Find the condition that separates a function's right cases from its wrong ones.

Conditions are in `conditions.toml`. One rule judges all of them: it must be unlikely that the wrong
cases all meet the condition by accident.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.checks.compare import WORDS
from grader.checks.tolerances import VERY_LARGE
from grader.diagnosis.properties.case_outcomes import Fact, Tried, whole
from grader.steps.registry import read_toml
from grader.steps.tree import leaves

TABLE: Mapping[str, Mapping[str, Any]] = read_toml(Path(__file__).with_name("conditions.toml"))
AXES = sum("axes" in entry for entry in TABLE.values())
OTHERS = "of any other kind"
SHAPES = "Write the shapes beside every line: which axis does each line, or each loop, run over?"
NEEDED = 2  # cases; no more than these may agree by accident
CHANCE = 0.085  # that wrong cases meet a condition by accident, if one of as many is to be reported
Holds = Callable[[Tried], bool]


@dataclass(frozen=True)
class Condition:
    """A condition, and the cases that meet it. this and other complete `in all 3 cases ...`.

    having: their numbers. tries: how many conditions of its kind are looked at, each of which may
    be met by accident. of_axes: whether it is about leading axes, of which a check may have only
    one kind. both: whether its opposite is a condition, too; otherwise cases that do not meet it
    are the ordinary ones.
    """

    id: str
    this: str
    other: str
    hint: str
    having: frozenset[int]
    tries: int
    of_axes: bool
    both: bool

    def along_with(self, more: "Condition", tries: int) -> "Condition":
        """Return the condition that a case meets if it meets both. tries: how many pairs."""
        return replace(
            self,
            id=f"{self.id}_and_{more.id}",
            this=f"{self.this} and {more.this}",
            other=OTHERS,
            having=self.having & more.having,
            tries=tries,
            of_axes=self.of_axes and more.of_axes,
        )


def lead(tried: Tried) -> tuple[int, ...]:
    """Return the lengths of the leading axes."""
    sizes = tried.sizes
    return tuple(sizes["lead"] if "lead" in sizes else sizes.get("batch", ()))


def length(tried: Tried) -> int:
    """Return how many positions there are."""
    found = [tried.sizes[name] for name in ("t_k", "length", "t", "t_q") if name in tried.sizes]
    return int(tried.sizes.get("stop") or next(iter(found), 0))


def is_very_large(tried: Tried) -> bool:
    """Return whether there are numbers larger than a layer produces."""
    found = leaves(list(tried.arguments.values()))
    arrays = [one for one in found if isinstance(one, np.ndarray) and one.dtype.kind == "f"]
    return any(np.abs(one[np.isfinite(one)]).max(initial=0) > VERY_LARGE for one in arrays)


def _first(tried: Tried) -> NDArray[Any]:
    value = next(iter(tried.arguments.values()), 0)
    return np.asarray(value[0] if isinstance(value, tuple) else value)


def _has_nothing_allowed(tried: Tried) -> bool:
    masks = (tried.arguments.get(name) for name in ("mask", "padding"))
    mask = next((one for one in masks if isinstance(one, np.ndarray)), None)
    return mask is not None and mask.ndim > 0 and not mask.any(axis=-1).all()


def _has_smaller_mask(tried: Tried) -> bool:
    """Return whether the mask has to be repeated along an axis to fit, as padding always has."""
    mask, first = tried.arguments.get("mask"), _first(tried)
    rows = tried.sizes.get("t_q") or (first.shape[-2] if first.ndim > 1 else 1)
    if not isinstance(mask, np.ndarray):
        return False
    return mask.ndim < first.ndim or mask.shape[-2:-1] != (rows,)


def _has_no_room(tried: Tried) -> bool:
    """Return whether a sequence takes at least every position of its model."""
    params, arguments = tried.arguments.get("params"), tried.arguments
    tokens = arguments.get("tokens", arguments.get("prompt"))
    if not isinstance(params, Mapping) or not isinstance(tokens, np.ndarray):
        return False
    if not isinstance(params.get("position"), np.ndarray):
        return False  # positions that are turned have no table, and no end
    total = int(tokens.shape[-1]) + int(arguments.get("n_new", 0))
    return total >= int(params["position"].shape[0])


def _before(tried: Tried) -> int:
    """Return how many tokens came before; where no chunk is meant, start may be a token's name."""
    start = tried.sizes.get("start", 0)
    return start if isinstance(start, int) else 0


def _chunk(tried: Tried) -> int:
    """Return which chunk of a sequence it is, from 0."""
    return int(tried.sizes.get("chunk", 0))


def _new(tried: Tried) -> int:
    """Return how many tokens a chunk has."""
    return int(tried.sizes["stop"]) - _before(tried) if "stop" in tried.sizes else 0


FIXED: Mapping[str, Holds] = {
    "very_large": is_very_large,
    "nothing_allowed": _has_nothing_allowed,
    "batch": lambda one: len(lead(one)) > 0,
    "two_batch_axes": lambda one: len(lead(one)) > 1,
    "several_sequences": lambda one: math.prod(lead(one)) > 1,
    "one_batch_axis": lambda one: len(lead(one)) == 1 and length(one) > 0,
    "axis": lambda one: one.arguments.get("axis", -1) not in (-1, _first(one).ndim - 1),
    "smaller_mask": _has_smaller_mask,
    "later_chunk": lambda one: _chunk(one) > 0,
    "later_token": lambda one: _chunk(one) > 0 and _new(one) == 1,
    "later_tokens": lambda one: _chunk(one) > 0 and _new(one) > 1,
    "third_chunk": lambda one: _chunk(one) > 1,
    "many_blocks": lambda one: int(one.sizes.get("n_layers", 0)) > 2,
    "no_room": _has_no_room,
    "three_axes": lambda one: _first(one).ndim > 2,
    "two_axes": lambda one: _first(one).ndim == 2,
}


def _is_zero(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value == 0


def _number(met: Iterable[bool]) -> frozenset[int]:
    """Return the numbers of the cases that meet something."""
    return frozenset(number for number, holds in enumerate(met) if holds)


class Outcomes:
    """The cases of a function by number: the wrong ones, the right ones.

    telling: the right ones that code which does nothing would get wrong. alike: the cases of the
    checks in which something is wrong.
    """

    def __init__(self, tried: Sequence[Tried]) -> None:
        self.all = whole(tried)
        telling = {one.key for one in tried if one.telling}
        failing = {one.check for one in self.all if not one.right}
        self.right = _number(one.right for one in self.all)
        self.wrong = _number(not one.right for one in self.all)
        self.telling = _number(one.right and one.key in telling for one in self.all)
        self.alike = _number(one.check in failing for one in self.all)

    def condition(
        self, kind: str, met: Iterable[bool], id: str = "", tries: int = 1, **words: Any
    ) -> Condition:
        """Return a condition with the words of the table's entry. met: whether each case does."""
        entry = {"other": OTHERS, "hint": SHAPES, **TABLE[kind]}
        this, other, hint = (entry[name].format(**words) for name in ("this", "other", "hint"))
        axes, both = entry.get("axes", False), entry.get("both", False)
        tries, having = AXES if axes else tries, _number(met)
        return Condition(id or kind, this, other, hint, having, tries, axes, both)

    def chance(self, one: Condition) -> float:
        """Return how likely it is that the wrong cases all meet a condition by accident."""
        others = self.telling - one.having
        # A number of axes may go with anything else that the failing checks ask for.
        alone = one.of_axes and len(others & self.alike) < NEEDED
        if alone or not self.wrong <= one.having:
            return 1.0
        wrong, having = len(self.wrong), len(one.having)
        return one.tries * math.comb(having, wrong) / math.comb(having + len(others), wrong)

    def find_exact(self, conditions: Iterable[Condition]) -> list[Condition]:
        """Return the conditions that leave no right case among several wrong ones."""
        few = min(len(self.wrong), len(self.telling)) <= NEEDED
        return [] if few else [one for one in conditions if one.having == self.wrong]


def _list_plain(outcomes: Outcomes, takes: Sequence[str]) -> list[Condition]:
    """Return conditions, and the opposites of those of which neither side is the ordinary one."""
    names = sorted({name for one in outcomes.all for name in one.arguments})
    options = [name for name in names if name not in takes and name not in ("x", "params")]
    found = []
    for name in names:
        if name != "axis":  # 0 is an axis like others
            met = (_is_zero(one.arguments.get(name)) for one in outcomes.all)
            zero = outcomes.condition("is_zero", met, f"{name}_is_zero", name=name)
            found.append(replace(zero, both=name in options))
    first = next(iter(takes), "")
    for kind, holds in FIXED.items():
        found.append(outcomes.condition(kind, map(holds, outcomes.all), name=first))
    for name in options:
        met = (one.arguments.get(name) is not None for one in outcomes.all)
        found.append(outcomes.condition("with", met, f"with_{name}", name=name))
    every = outcomes.right | outcomes.wrong
    return found + [
        replace(one, id=f"not_{one.id}", this=one.other, other=one.this, having=every - one.having)
        for one in found
        if one.both
    ]


def _list_limits(outcomes: Outcomes) -> Iterator[Condition]:
    """Yield sequences that are longer, or go on after more tokens, than any with a right result."""
    long = "long_text" if any("chunk" in one.sizes for one in outcomes.all) else "long"
    for id, kind, count in (("many_before", "many_before", _before), ("long", long, length)):
        right = [count(one) for one in outcomes.all if one.right]
        wrong = min((count(one) for one in outcomes.all if not one.right), default=0)
        if len(right) > NEEDED and 1 < max(right) < wrong:
            met = (count(one) > max(right) for one in outcomes.all)
            yield outcomes.condition(kind, met, id, wrong=wrong, right=max(right))


def _list_equal_sizes(outcomes: Outcomes) -> Iterator[Condition]:
    """Yield for each pair of sizes that every case has whether they are equal."""
    numbers = [
        {n for n, size in one.sizes.items() if isinstance(size, int)} for one in outcomes.all
    ]
    pairs = list(itertools.combinations(sorted(set.intersection(set(WORDS), *numbers)), 2))
    for a, b in pairs:
        for kind, least in (("equal", 0), ("equal_above_1", 2)):
            met = (one.sizes[a] == one.sizes[b] >= least for one in outcomes.all)
            id, words = kind.replace("equal", f"{a}_is_{b}"), {"one": WORDS[a], "two": WORDS[b]}
            yield outcomes.condition(kind, met, id, 2 * len(pairs), **words)


def circumstance(tried: Sequence[Tried], takes: Sequence[str]) -> Fact | None:
    """Return the condition that best separates the wrong cases from the right ones.

    takes: the function's required arguments.
    """
    outcomes = Outcomes(tried)
    plain, equal = _list_plain(outcomes, takes), outcomes.find_exact(_list_equal_sizes(outcomes))
    best = min([*plain, *_list_limits(outcomes), *equal], key=outcomes.chance)
    if best.having != outcomes.wrong:
        met = [one for one in plain if outcomes.wrong <= one.having]
        pairs = list(itertools.combinations(met, 2))
        both = outcomes.find_exact(one.along_with(two, len(pairs)) for one, two in pairs)
        best = next((one for one in both if outcomes.chance(one) <= CHANCE), best)
    if outcomes.chance(best) > CHANCE:
        return None
    return Fact(best.id, _sentence(outcomes, best), best.hint)


def _sentence(outcomes: Outcomes, condition: Condition) -> str:
    having, wrong = len(condition.having), len(outcomes.wrong)
    raised = sum(outcomes.all[number].error is not None for number in outcomes.wrong)
    what = "Wrong" if not raised else "Wrong or an exception"
    what = "An exception" if raised == wrong else what
    share = f"all {wrong}" if having == wrong else f"{wrong} of {having}"
    how_many = "the one case" if having == wrong == 1 else f"{share} cases"
    others = len(outcomes.right - condition.having)
    return f"{what} in {how_many} {condition.this}; right in all {others} {condition.other}."
