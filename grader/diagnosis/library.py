"""List what may be wrong in a function: known mistakes, alone or in pairs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import CodeType
from typing import TYPE_CHECKING

from grader.isolation import Host
from grader.steps.registry import Registry, Step

if TYPE_CHECKING:
    from grader.answer_key.variants import Variant


@dataclass(frozen=True)
class Suspect:
    """A mistake, or two at once, that may give the results of the student's code."""

    variants: "tuple[Variant, ...]"

    @property
    def replacements(self) -> dict[str, str]:
        """Return which code replaces which function."""
        return {old: new for one in self.variants for old, new in one.replacements.items()}


def _read_mistakes(step: Step) -> "tuple[Variant, ...]":
    """Return the known mistakes of a step; none in a student's bundle, which has no reader."""
    from grader.answer_key.variants import MISTAKES, read

    return read(MISTAKES, step)


class Library:
    """The known mistakes of a step and of the steps before it, and right solutions."""

    def __init__(self, host: Host, registry: Registry, right: Mapping[str, str]) -> None:
        self.host = host
        self.registry = registry
        self.right = {name: (source, f"<{name}>") for name, source in right.items()}

    def suspects(
        self, step: Step, function: str, named: Sequence[Suspect] = ()
    ) -> Iterator[list[Suspect]]:
        """Yield single mistakes for a function, most likely first: its own, or a part's.

        named: the causes found in other functions of the step. A function that calls one of these
        is likely to be wrong because of it. So they come even before the function's own mistakes,
        and one mistake then explains both functions.
        """
        own = [Suspect((one,)) for one in _read_mistakes(step) if function in one.replacements]
        used = find_used(self.right[step.id][0], function)
        yield [*(one for one in named if used & set(one.replacements)), *own]
        parts = self._parts(step, used)
        # Apart: of a step that uses many others there are so many that time may run out.
        yield [one for one in parts if one.variants[0].step == step.id]
        yield [one for one in parts if one.variants[0].step != step.id]

    def plain(self, step: Step, function: str) -> list[Suspect]:
        """Return the mistakes of which two at once are likely: of parts, wrong on simple cases."""
        return [
            one
            for one in self._parts(step, find_used(self.right[step.id][0], function))
            if len(one.replacements) == 1 and one.variants[0].caught_by == self._first_check(one)
        ]

    def _first_check(self, suspect: Suspect) -> str:
        """Return the check of plain values of the function with this mistake."""
        (one,) = suspect.variants
        return self.registry.find(one.step).function(one.replaces).checks[0].id

    def _parts(self, step: Step, names: frozenset[str]) -> list[Suspect]:
        """Return the known mistakes of these functions, in any step."""
        # All functions of the step, also where it was narrowed to one of them.
        steps = [*self.registry.before(step), self.registry.find(step.id)]
        owners = {f.name: owner for owner in steps for f in owner.functions if f.name in names}
        return [
            Suspect((one,))
            for name, owner in owners.items()
            for one in _read_mistakes(owner)
            if one.replaces == name
        ]

    def text(self, step: Step, suspects: Sequence[Suspect]) -> str:
        """Return the solution, followed by the variants under their own names."""
        known = {variant.name: variant for suspect in suspects for variant in suspect.variants}
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
