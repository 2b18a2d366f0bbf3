"""The command `watch`: judge each saved file, show what changed, and answer a few letters.

The files are looked at again and again: file events get lost on network drives, in WSL and in
containers, and a look at a dozen files takes less than a tenth of a millisecond.
"""

import contextlib
import os
import select
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter
from pathlib import Path

import click

from grader.cli.hinting import NOTHING_TO_FIX, show_hint
from grader.cli.hosts import open_host
from grader.cli.options import submission_option
from grader.cli.paths import name_other, read_submission, show_path, spell_missing
from grader.cli.telling import remind, show_passed
from grader.engine.earlier_steps import find_dependents
from grader.engine.grading import Grader, make_grader
from grader.learner import hints
from grader.learner.journal import Journal
from grader.report.problem import Problem
from grader.report.records import Report, Status, StepVerdict, find_first_undone
from grader.report.text import terminal
from grader.report.text.terminal import Overview, Printer
from grader.steps.commands import spell_command
from grader.steps.registry import Step, load

KEYS = {"h": "hint", "l": "list", "n": "next", "q": "quit"}
STANDING = attrgetter("status", "points", "on_own_steps")  # of a verdict
INTERVAL = 0.005  # seconds between two looks
GONE = 1.0  # seconds without a file, after which its editor is not just writing it anew
Mark = tuple[int, int, int] | None


@click.command()
@submission_option
def watch(submission: Path) -> None:
    """Check on every save: first the saved step, then the rest if it passes.

    Letters ask for more: h for a hint, l for the list of steps, n for the next file, q to end.
    """
    registry = load()
    if not submission.is_dir():
        raise Problem(f"there is no folder {submission}: name one with step files to watch")
    with open_host(registry) as host:
        printer, grader = Printer(), make_grader(registry, host, "visible", 0, registry.steps)
        with contextlib.suppress(KeyboardInterrupt):
            FolderWatch(grader, submission, printer).go_on()
        printer.line("\nNo longer watching.")


def mark(path: Path) -> Mark:
    """Return a value that changes when a file is saved, in whatever way the editor does it."""
    try:
        found = path.stat()
    except OSError:
        return None
    if not found.st_size:  # an editor or a copy has emptied the file, and not written it yet
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def can_type() -> bool:
    """Return whether somebody can type letters here: not into a file, and not on Windows."""
    return os.name != "nt" and sys.stdin is not None and sys.stdin.isatty()


def wait_for_key() -> str:
    """Return the first letter of a line that is typed before the next look, else ""."""
    if not can_type():
        time.sleep(INTERVAL)
        return ""
    ready, _, _ = select.select([sys.stdin], [], [], INTERVAL)
    typed = os.read(sys.stdin.fileno(), 1000) if ready else b"\n"
    if not typed:  # the terminal is gone
        raise KeyboardInterrupt
    return typed[:1].decode(errors="replace").strip().lower()


def events(marks: dict[Path, Mark], wait: Callable[[], str]) -> Iterator[list[Path] | str]:
    """Yield the files that were saved or are gone since those marks were taken.

    Yield also the keys that `wait` returns.
    """
    since: dict[Path, float] = {}
    while True:
        if key := wait():
            yield key
        now, new = time.monotonic(), {path: mark(path) for path in marks}
        since = {path: since.get(path, now) for path in marks if marks[path] and not new[path]}
        gone = [path for path, at in since.items() if now - at > GONE and not path.exists()]
        saved = [path for path in marks if new[path] and new[path] != marks[path]]
        if changed := saved + gone:
            marks.update({path: new[path] for path in changed})
            yield changed


class FolderWatch:
    """Watches a folder of step files, and remembers how far each step is."""

    def __init__(self, grader: Grader, folder: Path, printer: Printer) -> None:
        self.grader = grader
        self.folder = folder
        self.printer = printer
        self.steps = grader.registry.steps
        self.known: dict[str, StepVerdict] = {}  # in order, from the first judging on
        self.parts = grader.registry.group_by_part(self.steps)

    def go_on(self) -> None:
        """Show the state, then answer saves and keys forever, or until `q`."""
        paths = (self.folder / step.filename for step in self.steps)
        marks = {path: mark(path) for path in paths}
        self._judge(self.steps)
        self.show_list()
        self._say_next()
        self._invite()
        for happened in events(marks, wait_for_key):
            if happened == "q":
                return
            if isinstance(happened, list):
                self.saved(happened)
            elif happened in KEYS:
                self._rule(KEYS[happened])
                {"h": self.hint, "l": self.show_list, "n": self._say_next}[happened]()
            else:
                continue
            self._invite()

    def saved(self, changed: Sequence[Path]) -> None:
        """Judge the saved steps and, if these pass, those that import them."""
        steps = [step for step in self.steps if self.folder / step.filename in changed]
        self._rule(", ".join(step.filename for step in steps))
        points = sum(verdict.points for verdict in self.known.values())
        found = self._judge(steps, self.printer.step_row)
        if all(step.status is Status.PASSED for step in found.steps):
            others = self._find_others(steps)
            earlier = dict(self.known)
            for verdict in self._judge(others).steps:
                if STANDING(verdict) != STANDING(earlier[verdict.step]):
                    self.printer.step_row(verdict)
            undone = sum(one.status is not Status.PASSED for one in self.known.values())
            left = f"{undone} to do" if undone else "all pass"
            self.printer.row(f"   all {len(self.steps)} steps judged: {left}")
        self._say_points(points)
        todo = find_first_undone(found.steps) or find_first_undone(self.known.values())
        if todo is None or todo.status is Status.NOT_ATTEMPTED:
            self._say_next()
        else:
            self.printer.step(todo)
            hints.note_shown(todo, self.folder)
        self._note(found)

    def _find_others(self, steps: Sequence[Step]) -> list[Step]:
        """Return the steps whose verdicts may change with these; all if one is too slow.

        A step's verdict names a slow step that it imports only if that one was judged before it.
        """
        others = [step for step in self.steps if step not in steps]
        checks = [check for step in others for check in self.known[step.id].checks]
        if any(check.status is Status.TIMEOUT for check in checks):
            return others
        submission = read_submission(self.folder, self.grader.registry)
        return find_dependents(submission, steps, self.grader.registry)

    def show_list(self) -> None:
        """Print how far every step is, as of its last check."""
        overview = Overview(self.printer, self.parts)
        for verdict in self.known.values():
            overview(verdict)
        self.printer.total(self.known.values(), self.parts)

    def hint(self) -> None:
        """Print the next hint for the first step that is not done."""
        todo = find_first_undone(self.known.values())
        if todo is None:
            self.printer.line(NOTHING_TO_FIX)
            return
        step = self.grader.registry.find(todo.step)
        show_hint(self.printer, hints.give(step, todo, self.folder))

    def _judge(
        self, steps: Sequence[Step], show: Callable[[StepVerdict], None] = lambda verdict: None
    ) -> Report:
        """Judge steps and remember the verdicts. show: called with each new verdict."""
        submission = read_submission(self.folder, self.grader.registry)

        def follow(verdict: StepVerdict) -> None:
            self.known[verdict.step] = verdict
            show(verdict)
            self.printer.busy("judging")

        self.printer.busy("judging")
        judged = {step.id for step in steps}
        known = [verdict for name, verdict in self.known.items() if name not in judged]
        found = self.grader.grade(submission, steps, follow, known=known)
        self.printer.rest()
        return found

    def _rule(self, what: str) -> None:
        """Draw a line above this run, with the time and the subject."""
        text = f"--- {time.strftime('%H:%M:%S')}  {what} "
        self.printer.line()
        self.printer.row(text.ljust(min(72, self.printer.width - 1), "-"), "dim")
        self.printer.rows.clear()

    def _say_points(self, before: float) -> None:
        """Print the points, and the change since the last run."""
        points = sum(verdict.points for verdict in self.known.values())
        change = round(points - before, 6)
        gained = f"{change:+g} points: " if change else ""
        style = "green" if change > 0 else "red" if change < 0 else ""
        here, of, where = terminal.count_points(self.known.values(), self.parts)
        self.printer.row(f"   {gained}{here:g} of {of:g}{where}", style)

    def _say_next(self) -> None:
        """Print which file comes next."""
        todo = find_first_undone(self.known.values())
        if todo is None:
            self.printer.line("Everything passes.")
            return
        file, registry = self.folder / f"{todo.step}.py", self.grader.registry
        if file.exists():
            is_new = todo.status is Status.NOT_ATTEMPTED
            way = f"{'fill in' if is_new else 'fix'} {show_path(file)}"
        else:
            way = spell_missing(self.folder, registry.find(todo.step), registry)
        self.printer.line(f"Next: {way}")

    def _note(self, found: Report) -> None:
        """Keep the learner's journal, and show the end of a part."""
        if name_other(self.folder):
            return
        journal, saved = Journal(self.folder), [one.step for one in found.steps]
        news = journal.note([*self.known.values()], time.time())
        news = [step for step in news if step in saved]
        if show_passed(self.printer, self.grader.registry, news) and journal.asks:
            self.printer.line(f"`{spell_command('review')}` asks two questions about it.")
        if ended := journal.find_ended(self.grader.registry, saved):
            said = spell_command("recap")
            self.printer.line(f"\n{ended.name}, {ended.title}, is finished: `{said}` looks back.")

    def _invite(self) -> None:
        """Print the keys and commands that are available now, and once a day what is due."""
        if not name_other(self.folder):
            remind(self.grader.registry, self.printer)
        keys = ", ".join(f"{key} ({word})" for key, word in KEYS.items())
        ways = f"save a file, or type {keys} and Enter" if can_type() else "save a file"
        self.printer.line(f"\nwatching {show_path(self.folder)}: {ways}. Ctrl-C ends it.", "dim")
