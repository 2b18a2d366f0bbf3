"""List what may be wrong in a function, known mistakes alone or in pairs, and put it in words.

The words themselves stand beside each known mistake. Those of patterns are in `properties/`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from types import CodeType
from typing import TYPE_CHECKING

from grader.isolation import Host
from grader.report.records import Diagnosis
from grader.steps.registry import Registry, Step

if TYPE_CHECKING:
    from grader.answer_key.variants import Variant

GUESSED = 4  # pairs of mistakes that fit alike
TWO = "At least two things differ"
SEE = (
    "Find where its work is done here: is it called, with which arguments, and is its result used?"
)


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


def name_cause(cause: Suspect, step: Step) -> Diagnosis:
    """Return the name for the report on a step, with the place of an earlier step's mistake."""
    first = cause.variants[0]
    known = Diagnosis(first.id, first.hint, first.says)
    if len(cause.variants) > 1:
        ids = " + ".join(variant.id for variant in cause.variants)
        says = " ".join(variant.says for variant in cause.variants)
        hint = " ".join(variant.hint for variant in cause.variants)
        known = Diagnosis(ids, hint, f"{TWO}. {says}")
    return name_replaced(known, tuple(cause.replacements), step)


def name_replaced(cause: Diagnosis, replaced: Sequence[str], step: Step) -> Diagnosis:
    """Return a cause that says in which function it would be, if no function of the step has it.

    The function of an earlier step is right. But the step's own code may call it with wrong
    arguments, leave out the call, or do its work itself.
    """
    own = {function.name for function in step.functions}
    if len(replaced) != 1 or own & set(replaced):
        return cause
    where = f"The results are those that a wrong {replaced[0]} would give: {cause.says}"
    return replace(cause, says=f"{where} {SEE}")


def _say_or(fits: Sequence[Suspect], step: Step) -> Diagnosis:
    """Return the name of the first cause, and the words of another one that fits as well."""
    first = name_cause(fits[0], step)
    others = (name_cause(one, step) for one in fits[1:] if len(one.variants) == 1)
    other = next((one.says for one in others if one.misconception != first.misconception), "")
    own = {function.name for function in step.functions}
    if not other or len(fits[0].variants) > 1 or not own & set(fits[0].replacements):
        return first
    return replace(first, says=f"{first.says} Or, with the same results: {other}")


def name_shared(fits: Sequence[Suspect], step: Step, named: list[Suspect]) -> Diagnosis | None:
    """Return the name of the first cause that fits; if many pairs share one mistake, only that one.

    If very many mistakes fit beside it, their effect cannot be seen, and each would be a guess.
    """
    pairs = {frozenset(v.id for v in cause.variants) for cause in fits}
    shared = frozenset.intersection(*pairs)
    if len(pairs) < GUESSED or len(shared) != 1:
        named.append(fits[0])
        return _say_or(fits, step)
    one = next(v for v in fits[0].variants if v.id in shared)
    says = f"{TWO}, and this is one of them. {one.says}"
    return Diagnosis(one.id, one.hint, says)
