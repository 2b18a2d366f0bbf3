"""Recognise slips of the pen that hide a finished function: a stub below it, or other parameters.

A finding follows from the source alone, not from what its code does. So the hidden
suite shows it, too.
"""

from collections.abc import Callable, Sequence

from grader.isolation.survey import from_notebook, lines_of, place, survey
from grader.steps.registry import Step


def find_stub_left(source: str, name: str, raised: Sequence[int]) -> str:
    """Return a sentence on a stub, or its last line, that stands below a written function.

    raised: the lines in which NotImplementedError was raised, the last one in the function.
    """
    where = _placer(source)
    made = [one for one in survey(source).functions if one.name == name]
    written = [one for one in made if one.written]
    if written and made[-1] is not written[-1]:
        return (
            f"{name} is defined twice: the stub ({where(made[-1].first)}) replaces your function "
            f"({where(written[-1].first)}). Delete the stub."
        )
    if not made or not made[-1].first < raised[-1] <= made[-1].last:
        return ""
    if not made[-1].begun:
        return ""
    return (
        f"{name} still ends in the stub's `raise NotImplementedError()` ({where(raised[-1])}), "
        "below your own lines: delete it."
    )


def find_other_form(source: str, step: Step, name: str) -> str:
    """Return a sentence on a function that is defined twice, or takes its parameters otherwise."""
    made = [one for one in survey(source).functions if one.name == name]
    asked, where = step.function(name).takes, _placer(source)
    if not made:
        return ""
    lines = lines_of(source)
    plain = [one for one in made if one.written and lines[one.first - 1][:1].strip()]
    if len(plain) > 1 and plain[-1] is made[-1] and not from_notebook(source):
        both = " and ".join(where(one.first) for one in plain[-2:])
        return f" {name} is defined twice ({both}): the last one counts."
    takes = made[-1].parameters[: len(asked)]
    if takes == asked or sorted(takes) != sorted(asked):
        return ""
    return (
        f" {name} takes {', '.join(takes)} in this order ({where(made[-1].first)}); "
        f"the arguments come as {', '.join(asked)}."
    )


def _placer(source: str) -> Callable[[int], str]:
    return lambda line: place(source, line, "")[0].lstrip(", ")
