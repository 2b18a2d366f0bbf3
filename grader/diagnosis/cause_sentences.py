"""Put the cause of a wrong result into sentences.

The words of a known mistake stand beside it. Those of patterns are in `properties/`.
"""

from collections.abc import Sequence
from dataclasses import replace

from grader.diagnosis.library import Suspect
from grader.report.records import Diagnosis
from grader.steps.registry import Step

GUESSED = 4  # pairs of mistakes that fit alike
TWO = "At least two things differ"
SEE = (
    "Find where its work is done here: is it called, with which arguments, and is its result used?"
)


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
