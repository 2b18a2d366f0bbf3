"""Find the earlier steps that a student's step stands on."""

from collections.abc import Sequence

from grader.intake.submission import Submission
from grader.isolation.survey import survey
from grader.isolation.worker.cells import is_notebook
from grader.steps.registry import Registry, Step


def find_imported(submission: Submission, step: Step, registry: Registry) -> set[str]:
    """Return the earlier steps that a step imports, also through the student's modules.

    If it names none, but imports by names that it puts together, these may be any.
    """
    source = submission.reachable(step.id)
    earlier = {one.id for one in registry.before(step)}
    if is_notebook(submission.sources.get(step.id, "")):
        return earlier & _find_used(submission.sources[step.id], step, registry)
    named = {name for name in earlier if name in source}
    by_any_name = "import_module" in source or "__import__" in source
    return named or (earlier & {*submission.sources} if by_any_name else set())


def _find_used(source: str, step: Step, registry: Registry) -> set[str]:
    """Return the steps whose functions a step in a notebook leads to, by names or imports."""
    homes = {name: home.id for name, home in registry.homes.items()}
    homes |= {f"exercises.{one.id}": one.id for one in registry.steps}
    known = survey(source)
    used = {name for function in step.functions for name in known.uses(function.name)}
    return {homes[name] for name in used & homes.keys()}


def find_below(submission: Submission, step: Step, registry: Registry) -> list[Step]:
    """Return the earlier steps that a step imports, directly or through the student's own."""
    earlier, found = registry.before(step), find_imported(submission, step, registry)
    for one in reversed(earlier):
        if one.id in found and one.id in submission.sources:
            found |= find_imported(submission, one, registry)
    return [one for one in earlier if one.id in found]


def find_dependents(
    submission: Submission, changed: Sequence[Step], registry: Registry
) -> list[Step]:
    """Return the other steps that import one of these, directly or through each other."""
    reached = {step.id for step in changed}
    found = []
    for step in registry.steps:
        if step in changed or step.id not in submission.sources:
            continue
        if find_imported(submission, step, registry) & reached:
            reached.add(step.id)
            found.append(step)
    return found
