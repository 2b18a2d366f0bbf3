"""List what may be wrong in a function: known mistakes, alone or in pairs."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import CodeType
from typing import TYPE_CHECKING

from grader.isolation import Host
from grader.steps.registry import Registry, Step

if TYPE_CHECKING:
    from grader.answer_key.variants import Variant

MAX_PAIRS = 6000


@dataclass(frozen=True)
class Cause:
    """Mistakes that together give the same results as the student's code."""

    variants: tuple[Variant, ...]

    @property
    def places(self) -> dict[str, str]:
        """Return which code replaces which function."""
        return {name: other for variant in self.variants for name, other in variant.places.items()}


def _read_mistakes(step: Step) -> tuple[Variant, ...]:
    """Return the known mistakes of a step; none in a student's bundle, which has no reader."""
    from grader.answer_key.variants import MISTAKES, read

    return read(MISTAKES, step)


class Library:
    """The known mistakes of a step and of the steps before it, and right solutions."""

    def __init__(self, host: Host, registry: Registry, right: Mapping[str, str]) -> None:
        self.host = host
        self.registry = registry
        self.right = {name: (source, f"<{name}>") for name, source in right.items()}

    def causes(
        self, step: Step, function: str, named: Sequence[Cause] = (), *, pairs: bool = True
    ) -> Iterator[list[Cause]]:
        """Yield possible causes for a function, most likely first: itself, a part, two parts.

        named: the causes found in other functions of the step. A function that calls one of these
        is likely to be wrong because of it. So they come even before the function's own mistakes,
        and one mistake then explains both functions.
        """
        own = [Cause((one,)) for one in _read_mistakes(step) if function in one.places]
        used = find_used(self.right[step.id][0], function)
        yield [*(one for one in named if used & set(one.places)), *own]
        parts = self._parts(step, used)
        alone = [Cause((one,)) for part in parts for one in part]
        # Apart: of a step that uses many others there are so many that time may run out.
        yield [one for one in alone if one.variants[0].step == step.id]
        yield [one for one in alone if one.variants[0].step != step.id]
        if pairs:
            yield self._pair(parts)

    def _pair(self, parts: Sequence[Sequence[Variant]]) -> list[Cause]:
        """Return two mistakes at once, in two of these functions."""
        plain = [[variant for variant in part if self._plain(variant)] for part in parts]
        pairs = (
            Cause((one, other))
            for first, second in itertools.combinations(plain, 2)
            for one, other in itertools.product(first, second)
        )
        return list(itertools.islice(pairs, MAX_PAIRS))

    def _plain(self, variant: Variant) -> bool:
        """Return whether a function is wrong on simple cases, which makes two mistakes unlikely."""
        function = self.registry.find(variant.step).function(variant.replaces)
        return len(variant.places) == 1 and variant.caught_by == function.checks[0].id

    def _parts(self, step: Step, names: frozenset[str]) -> list[list[Variant]]:
        """Return the known mistakes of these functions, in any step."""
        # All functions of the step, also where it was narrowed to one of them.
        steps = [*self.registry.before(step), self.registry.find(step.id)]
        owners = {f.name: owner for owner in steps for f in owner.functions if f.name in names}
        return [
            [v for v in _read_mistakes(owner) if v.replaces == name]
            for name, owner in owners.items()
        ]

    def text(self, step: Step, causes: Sequence[Cause]) -> str:
        """Return the solution, followed by the variants under their own names."""
        known = {variant.name: variant for cause in causes for variant in cause.variants}
        preludes = dict.fromkeys(variant.prelude for variant in known.values())
        imports = [f"from exercises.{e.id} import *" for e in self.registry.before(step)]
        bodies = [variant.body for variant in known.values()]
        return "\n\n".join([*imports, self.right[step.id][0], *preludes, *bodies])


@lru_cache(maxsize=64)
def find_used(source: str, function: str) -> frozenset[str]:
    """Return the names that a function of the kit uses, directly or indirectly."""
    parts = compile(source, "<kit>", "exec").co_consts
    bodies = {code.co_name: code for code in parts if isinstance(code, CodeType)}
    found, waiting = set[str](), [function]
    while waiting:
        names = _list_names(bodies[waiting.pop()])
        waiting += (names & bodies.keys()) - found
        found |= names
    return frozenset(found - {function})


def _list_names(code: CodeType) -> set[str]:
    """Return the names of others that a function uses, also inside its own functions."""
    inner = (one for one in code.co_consts if isinstance(one, CodeType))
    return set(code.co_names).union(*map(_list_names, inner))
