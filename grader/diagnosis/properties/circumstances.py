"""Find the condition that separates a function's right cases from its wrong ones."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from grader.checks.compare import WORDS
from grader.diagnosis.properties.case_outcomes import Fact, Tried, whole
from grader.diagnosis.properties.conditions import (
    Condition,
    fixed_conditions,
    optional,
    ranks,
    relate_sizes,
    too_much,
    zero,
)

MOST = 0.8  # of the cases with so many axes: that half of them are wrong is chance
NEEDED = 2  # cases on either side; one more of what may well be chance
CHANCE = 0.05  # that the ordinary cases alone are wrong, but not all of them


@dataclass(frozen=True)
class Parted:
    """The numbers of the right and the wrong cases, and of the right ones that mean something.

    alike: the cases of the checks in which something is wrong.
    """

    right: frozenset[int]
    wrong: frozenset[int]
    telling: frozenset[int]
    alike: frozenset[int]


@dataclass(frozen=True)
class Division:
    """A condition, and the numbers of the cases that meet it."""

    condition: Condition
    having: frozenset[int]

    def divides(self, cases: Parted) -> bool:
        """Return whether every wrong case meets the condition, and few others do."""
        wrong, chancy = cases.wrong, self.condition.chancy
        others = (cases.right & cases.telling) - self.having
        needed = NEEDED + chancy
        if not wrong <= self.having or len(others) < needed:
            return False
        if len(wrong) < (1 if self.condition.far else needed):
            return False
        if self.condition.of_axes and len(others & cases.alike) < NEEDED:
            return False  # it may be anything else that those checks ask for
        if self.condition.absent and self.chance(len(wrong), len(others)) > CHANCE:
            return False
        many = 2 * len(self.having) > len(cases.right) + len(wrong)
        if self.condition.mostly:
            return len(wrong) >= MOST * len(self.having)
        share = 1.0 if chancy else 0.5 if many else 0.25
        return len(wrong) >= share * len(self.having)

    def chance(self, wrong: int, others: int) -> float:
        """Return the chance that so many wrong cases all meet the condition by accident.

        0 if every case that meets it is wrong.
        """
        having = len(self.having)
        drawn = math.comb(having, wrong) / math.comb(having + others, wrong)
        return 0.0 if having == wrong else drawn


def circumstance(tried: Sequence[Tried], takes: Sequence[str]) -> Fact | None:
    """Return the condition that best separates the wrong cases from the right ones.

    takes: the function's required arguments.
    """
    cases, tried = _part_by_outcome(tried), whole(tried)
    single = [_division(tried, one) for one in _candidates(tried, takes)]
    best = _best(single, cases)
    if best is None or len(best.having) > len(cases.wrong):
        best = _best(_both(single, cases.wrong), cases) or best
    if best is None:
        return None
    says = _sentence(tried, best, cases)
    return Fact(best.condition.id, says, best.condition.hint)


def _part_by_outcome(tried: Sequence[Tried]) -> Parted:
    telling = {one.key for one in tried if one.telling}
    every = list(enumerate(whole(tried)))
    failing = {one.check for _, one in every if not one.right}
    return Parted(
        frozenset(number for number, one in every if one.right),
        frozenset(number for number, one in every if not one.right),
        frozenset(number for number, one in every if one.key in telling),
        frozenset(number for number, one in every if one.check in failing),
    )


def _candidates(tried: Sequence[Tried], takes: Sequence[str]) -> list[Condition]:
    names = sorted({name for one in tried for name in one.arguments})
    options = [name for name in names if name not in takes and name not in ("x", "params")]
    plain = [*zero(names, takes), *fixed_conditions(tried), *optional(options)]
    plain += [one for name in takes[:1] for one in ranks(name)]
    plain += [one.opposite for one in plain if one.both or one.of_axes]
    return [*plain, *too_much(tried), *relate_sizes(_sizes_of_all(tried))]


def _sizes_of_all(tried: Sequence[Tried]) -> list[str]:
    """Return the sizes that every case has."""
    numbers = [{n for n, v in one.sizes.items() if isinstance(v, int)} for one in tried]
    return sorted(set.intersection(set(WORDS), *numbers))


def _division(tried: Sequence[Tried], condition: Condition) -> Division:
    having = (number for number, one in enumerate(tried) if condition.holds(one))
    return Division(condition, frozenset(having))


def _both(single: Sequence[Division], wrong: frozenset[int]) -> Iterator[Division]:
    """Yield pairs of conditions that every wrong case meets."""
    plain = [one for one in single if not one.condition.chancy and wrong <= one.having]
    for one, other in itertools.combinations(plain, 2):
        yield Division(one.condition.along_with(other.condition), one.having & other.having)


def _best(found: Iterable[Division], cases: Parted) -> Division | None:
    """Return the condition that the fewest right cases meet; numbers of axes come last."""
    dividing = [one for one in found if one.divides(cases)]

    def rank(one: Division) -> tuple[bool, int]:
        return one.condition.mostly and one.having != cases.wrong, len(one.having)

    return min(dividing, key=rank, default=None)


def _sentence(tried: Sequence[Tried], division: Division, cases: Parted) -> str:
    right, wrong = cases.right, cases.wrong
    raised = sum(tried[number].error is not None for number in wrong)
    what = "Wrong" if not raised else "Wrong or an exception"
    what = "An exception" if raised == len(wrong) else what
    every = len(division.having) == len(wrong)
    share = f"all {len(wrong)}" if every else f"{len(wrong)} of {len(division.having)}"
    how_many = "the one case" if every and len(wrong) == 1 else f"{share} cases"
    others = len(right - division.having)
    this, other = division.condition.this, division.condition.other
    return f"{what} in {how_many} {this}; right in all {others} {other}."
