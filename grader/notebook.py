"""Let a notebook's cells call `check`, `hint`, `quiz`, `review`, `status`, `write` and others.

A separate process judges the notebook as `make check` judges a file. Only the text of the cells
counts, whatever a cell does to its kernel.

No name here is one of IPython's magics, so that each is a NameError before the import, for example
after a restart. `save()` would be IPython's own `%save`.
"""

import contextlib
import sys
from typing import Any

from grader.notebooks.display import Shown
from grader.notebooks.session import History, JudgeError, KernelJudge, forget_exercises
from grader.steps.commands import spell_command
from grader.steps.paths import EXERCISES, HOME

__all__ = [
    *("case", "check", "hint", "lesson", "load_work", "quiz", "recap", "review", "save_work"),
    *("status", "write"),
]

INTERRUPTED = "interrupted; the next call starts a new judge, which takes a second or two."
NO_KERNEL = (
    f"works in a notebook: start one with `{spell_command('lab')}`. "
    f"For files there is `{spell_command('check')}`."
)


class NotebookError(Exception):
    """Carry one clear sentence, to be shown instead of a result."""

    def _render_traceback_(self) -> list[str]:
        """Return the line that Jupyter shows instead of a traceback."""
        return [f"nopeek: {self}"]


class _Kernel:
    """Keep the history of a kernel, and its judge."""

    def __init__(self, shell: Any) -> None:
        self.shell = shell
        self.lesson = ""
        self.history = History(shell)
        forget_exercises(shell)
        self.judge = KernelJudge(EXERCISES)
        self.judge.start()  # now, so that it is warm at the first question


def _kernel(call: str) -> _Kernel:
    if _here is None:
        raise NotebookError(f"{call}() {NO_KERNEL}")
    return _here


def _name_of(about: object, call: str) -> str:
    """Return the name of a function or a step, given in any form."""
    if about is None:
        return ""
    name = about if isinstance(about, (str, int)) else getattr(about, "__name__", None)
    if isinstance(name, bool) or not isinstance(name, (str, int)) or name == "":
        raise NotebookError(
            f'{call}() takes a function, its name or a step: {call}("linear"), {call}(3).'
        )
    return str(name)


def _ask_judge(do: str, about: object, **more: str) -> Shown:
    """Return the judge's answer. Raise NotebookError if none comes or it is interrupted."""
    kernel, history = _kernel(do), _kernel(do).history
    request: dict[str, Any] = {"do": do, "about": _name_of(about, do), "lesson": kernel.lesson}
    request |= {**more, "runs": history.runs(), "deleted": sorted(history.deleted)}
    try:
        answer = kernel.judge.ask(request)
    except JudgeError as error:
        raise NotebookError(str(error)) from None
    except KeyboardInterrupt:
        raise NotebookError(INTERRUPTED) from None
    return Shown(answer.pop("html"), answer.pop("text"), **answer)


def lesson(step: str | int) -> None:
    """Tell nopeek which step this notebook is about."""
    name = _name_of(step, "lesson")
    with contextlib.suppress(ImportError):  # Python 3.10 reads no TOML by itself
        from grader.notebooks.quiz_display import check_lesson

        try:
            check_lesson(name)
        except ValueError as error:
            raise NotebookError(str(error)) from None
    _kernel("lesson").lesson = name


def check(about: object = None) -> Shown:
    """Judge the functions in the notebook.

    about: a function or its name, to judge only that function; or a step, `3` or `"step03"`; by
    default the notebook's own step.
    """
    return _ask_judge("check", about)


def hint(step: object = None, order: str = "") -> Shown:
    """Return the next hint for the step, one level at a time.

    order: answers a hint that asks for the order of a function's lines.
    """
    return _ask_judge("hint", step, order=order)


def case(step: object = None) -> Shown:
    """Put the first failing case of the step into variables: its arguments, and `expected`.

    Only visible checks are shown. The functions are those in your cells.
    """
    shown = _ask_judge("case", step)
    space: dict[str, Any] = {}
    exec(shown.data["code"], space)  # our own judge's: literals only
    found = {name: value for name, value in space.items() if name not in ("np", "__builtins__")}
    _kernel("case").shell.user_ns.update(found)
    return shown


def quiz(about: str | int | None = None, answer: object = None) -> Shown:
    """Ask about a lesson, or answer a question: `quiz()`, then `quiz("3b", 12)`.

    about: a question, or a step for all its questions; by default the notebook's own step.
    """
    try:
        from grader.notebooks.quiz_display import answer_quiz
    except ImportError as error:  # Python 3.10 reads no TOML by itself
        raise NotebookError(f"this kernel lacks {error.name}, which the questions need") from None

    own = _here.lesson if _here is not None else ""
    name = _name_of(about, "quiz") if about is not None else own
    if not name:
        raise NotebookError('which lesson? quiz(3) asks about step 3, quiz("3b", 12) answers 3b.')
    try:
        return answer_quiz(name, answer, EXERCISES)
    except ValueError as error:
        raise NotebookError(str(error)) from None


def review() -> Shown | None:
    """Ask about steps that you have finished: a step that just passed, or one whose time it is."""
    from grader.notebooks.quiz_display import ask_now

    kernel = getattr(_here.shell, "kernel", None) if _here is not None else None
    return ask_now(EXERCISES, has_input=getattr(kernel, "_allow_stdin", False))


def write(prompt: str | None = None) -> Shown:
    """Let your functions of steps 1 to 8 write a story: `write("the owl")`."""
    return _ask_judge("write", prompt)


def status() -> Shown:
    """Return all steps, and how far each is."""
    return _ask_judge("status", None)


def recap(part: str | int | None = None) -> Shown:
    """Look back on a part: `recap("part1")`, that of step 3, `recap(3)`, or the last finished."""
    return _ask_judge("recap", part)


def save_work(step: object = None) -> Shown:
    """Write the notebook's functions to `exercises/`, and keep any old file beside it."""
    return _ask_judge("save_work", step)


def load_work(step: object = None) -> Shown:
    """Fetch the functions in `exercises/` into a new cell below."""
    shown = _ask_judge("load_work", step)
    _kernel("load_work").shell.set_next_input(shown.data["cell"])
    return shown


if str(HOME) not in sys.path:
    sys.path.insert(0, str(HOME))
_here: _Kernel | None = None
with contextlib.suppress(ImportError):
    from IPython import get_ipython

    if (_shell := get_ipython()) is not None:
        _here = _Kernel(_shell)
