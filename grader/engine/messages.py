"""Write messages for calls without a value. They may quote the student's code, but no inputs."""

import difflib
import sys
from collections.abc import Collection, Mapping, Sequence

from grader.diagnosis.exceptions import SANDBOX, Lengths, explain
from grader.diagnosis.slips import find_stub_left
from grader.isolation.client import CallFailed, Died, Outside, Raised, TimedOut
from grader.isolation.survey import (
    find_left_open,
    find_spot,
    from_notebook,
    lines_of,
    place,
    survey,
)
from grader.report.records import Status, number_in
from grader.steps.registry import Limits, Step

OWN = "an exception of its own"
PYTHON = f"Python {sys.version_info.major}.{sys.version_info.minor}"
MAX_PLACED = 2000  # lines: of a longer source the hidden suite names none, so it tells 11 bits
MAX_SIMILAR = 500
CRYPTIC = ("gufunc signature", "[original->remapped]")
NOT_COUNTED = "Not counted yet: first {} must return the right values."


def list_outside(
    seen: Collection[Outside], texts: Mapping[str, tuple[str, str]]
) -> tuple[str, ...]:
    """Return what was noted, such as `step 2 uses a file (line 12)`, each kind once for a file.

    texts: as `Submission.texts` has them.
    """
    sources = {file: source for source, file in texts.values()}
    first = {(does, file): line for does, file, line in sorted(seen, reverse=True)}
    told = []
    for (does, file), line in sorted(first.items()):
        name = file.removeprefix("exercises/")
        name = f"step {number}" if (number := number_in(name)) else name
        where, _ = place(sources.get(file, ""), line, "")
        told += [f"{name} {does} ({where.lstrip(', ')})"] if where else []
    return tuple(told)


def missing(name: str, step: Step, source: str) -> str:
    """Return the message for a function that the file or notebook does not define."""
    where, line = find_left_open(source, name)
    if where:
        return f"{name} is left out, because a line is not valid Python ({where}: `{line[:100]}`)."
    wanted = {function.name for function in step.functions}
    made = (one.name for one in survey(source).bindings if one.kind != "module")
    others = [one for one in dict.fromkeys(made) if one[0] not in "_*" and one not in wanted]
    close = difflib.get_close_matches(name, others[:MAX_SIMILAR], n=1, cutoff=0.6)
    guess = f" Did you mean {close[0]!r}?" if close else ""
    return f"{step.filename} has no function {name!r}.{guess}"


def explain_timeout(
    failure: TimedOut, function: str, limits: Limits, source: str, step: Step
) -> str:
    """Return the message for a call or a whole step that took too long."""
    where = find_loop(source, failure.lines, step.filename)
    if failure.whole_step:
        return (
            f"The checks of this step took more than {limits.step_seconds:g} s together, or all "
            f"steps more than {limits.submission_seconds:g} s.{where}"
        )
    return (
        f"{function} had not returned after {failure.seconds:g} s.{where} "
        "Is there a loop that never ends, or far too much work?"
    )


def find_loop(source: str, lines: Sequence[int], filename: str) -> str:
    """Return a sentence on the loop around the last of these lines, or else on the line itself."""
    stuck = lines[-1] if lines else 0
    loops = [first for first, last in survey(source).loops if first <= stuck <= last]
    number = max(loops, default=0)
    where, line = place(source, number or stuck, filename)
    if not where:
        return ""
    inside = "inside the loop" if number else "at"
    return f" It was {inside} `{line.strip()[:80]}` ({where})."


def _place(
    raised: Raised, source: str, step: Step, visible: bool = True, caller: str | None = None
) -> str:
    """Return the line that raised, and in the visible suite also the one that called it.

    caller: the function that may have called the one that raised; "" for the left margin.
    """
    may_say = raised.lines and (visible or len(lines_of(source)) <= MAX_PLACED)
    where, line = place(source, raised.lines[-1] if may_say else 0, step.filename)
    if not where:
        return ""
    told = f": `{line[:100]}`" if line else ""
    if visible and caller is not None:
        told += _find_call(raised, caller, source, step)
    return f" ({where}{told})"


def _find_call(raised: Raised, caller: str, source: str, step: Step) -> str:
    """Return a clause on the line in which the caller called the function that raised, or ""."""
    if _function_around(source, raised.lines[-1]) in (caller, ""):
        return ""
    calls = [n for n in raised.lines[:-1] if _function_around(source, n) == caller]
    where, text = place(source, calls[-1], step.filename) if calls else ("", "")
    there, line = find_spot(source, calls[-1] if calls else 0, step.filename)
    if there == find_spot(source, raised.lines[-1], step.filename)[0]:
        where = f"line {line}"
    return f", called from {where}: `{text[:100]}`, which may be wrong" if text else ""


def _function_around(source: str, number: int) -> str:
    """Return the name of the function around a line, or "" if it is outside of all functions."""
    around = survey(source).around(number)
    return around.name if around else ""


def _quote(failure: Raised, visible: bool) -> str:
    """Return the exception's text, with Python's own guess at the name that was meant."""
    name, text = failure.suggests, failure.text
    guess = f". Did you mean {name!r}?" if name.isidentifier() and name not in text else ""
    return f": {text[:300]}{guess}" if visible and text else ""


def explain_raised(
    failure: Raised, function: str, source: str, step: Step, visible: bool, explanation: str = ""
) -> tuple[Status, str]:
    """Return the message for an exception; show the exception's text only if inputs are shown.

    explanation: a sentence that explains the text and replaces NumPy's own notation.
    """
    if "NotImplementedError" in failure.kinds:
        lines = failure.lines
        name = (_function_around(source, lines[-1]) if lines else "") or function
        known = name in {one.name for one in step.functions}
        if lines and known and (slip := find_stub_left(source, name, lines)):
            return Status.ERROR, slip
        return Status.NOT_ATTEMPTED, f"{name if known else function} is not written yet."
    if "MemoryError" in failure.kinds:
        return Status.MEMORY, f"{function} asked for more memory than a call may use."
    where = _place(failure, source, step, visible, function)
    if "SystemExit" in failure.kinds:
        return Status.ERROR, f"{function} called exit().{where}"
    cryptic = bool(explanation) and any(notation in failure.text for notation in CRYPTIC)
    text = "" if cryptic else _quote(failure, visible)
    said = f" {explanation}" if explanation else ""
    return Status.ERROR, f"{function} raised {failure.known or OWN}{text}{where}.{said}"


BIRTHS = {
    "subtract": "infinity minus infinity has no value",
    "multiply": "0 times infinity has no value",
    "divide": "0 / 0 and infinity / infinity have no value",
    "matmul": "0 times infinity has no value",
    "exp": "the exponential of a large number is infinite",
}


def birth_of_nan(failure: Raised, source: str, step: Step) -> str:
    """Return the operation that made the first bad number behind a NaN in the result."""
    operation = failure.text.rpartition(" ")[2]
    why = f" ({BIRTHS[operation]})" if operation in BIRTHS else ""
    return f" It starts with this: {failure.text}{why}{_place(failure, source, step)}."


def explain_not_loaded(
    failure: CallFailed, source: str, step: Step, limits: Limits, visible: bool
) -> str:
    """Return the message for a file or notebook that could not be imported.

    The exception may quote the right earlier steps that were loaded with it. So its text is shown
    only in the visible suite.
    """
    file = "the code in the notebook" if from_notebook(source) else step.filename
    at_first = file[0].upper() + file[1:] if from_notebook(source) else file
    match failure:
        case Raised():
            place = _place(failure, source, step, visible, "")
            text = _quote(failure, visible)
            if "ImportError" in failure.kinds and not visible:
                text = (
                    ": a step may import NumPy, the standard library, and files beside it: step 1 "
                    "as `exercises.step01_projections`"
                )
            if "SyntaxError" in failure.kinds and not failure.lines:
                return f"{at_first} imports a file that is not valid {PYTHON}{text}"
            if "SyntaxError" in failure.kinds:
                return f"{at_first} is not valid {PYTHON}{text}{place}"
            if "SystemExit" in failure.kinds:
                return f"{at_first} calls exit() when it is imported.{place}"
            refused = SANDBOX if "PermissionError" in failure.kinds else ""
            why = explain(failure, Lengths((), (), visible)) or refused
            said = f". {why}" if why else ""
            return f"Importing {file} raised {failure.known or OWN}{text}{place}{said}"
        case TimedOut():
            return (
                f"Importing {file} took more than {limits.call_seconds:g} s: "
                "does it run something long outside of its functions?"
                f"{find_loop(source, failure.lines, step.filename)}"
            )
        case Died():
            return f"The process ended while {file} was being imported."
    return f"{at_first} could not be imported."


def explain_not_on_own(functions: Sequence[str] | None, blamed: Sequence[Step]) -> str:
    """Return that a right step fails on the student's earlier ones, and which one is to blame.

    functions: those that fail there; None if the step cannot be imported.
    """
    first = "It cannot be imported on top of your own earlier steps"
    if functions is not None:
        first = f"It does not work yet on top of your own earlier steps: {', '.join(functions)}"
    titles = [f"{one.number}, {one.title}" for one in blamed]
    if not titles:
        return f"{first}."
    if len(titles) == 1:
        return f"{first}. Your step {titles[0]}, is to blame: with the kit's it works."
    listed = f"{'; '.join(titles[:-1])}; and {titles[-1]}"
    return f"{first}. Your steps {listed} are to blame, each of them."


def stands_on(titles: Sequence[str]) -> str:
    """Return a note for a failed step that ran on the student's own earlier steps."""
    named = " and ".join(filter(None, [", ".join(titles[:-1]), titles[-1]]))
    return (
        f"It was judged on top of your own earlier steps, of which {named} "
        f"{'is' if len(titles) == 1 else 'are'} not right yet: begin there."
    )
