"""Run the judge behind a notebook: a process of its own that lives as long as its kernel.

Each line of input is a request in JSON: the wanted action, the step, and everything that the kernel
has executed. Each line of output is an answer. The process ends with its input, which ends with the
kernel, however that happens.

A kernel sees texts, in most front ends with the id of the cell. A cell counts with its last text;
without ids, each text is a cell of its own. The cells come in the order of their last executions.
"""

import contextlib
import copy
import difflib
import io
import json
import os
import re
import sys
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from grader.demos.part_ends import choose_part, show_end
from grader.demos.submission_worker import NotReady
from grader.demos.writer import PROMPT, say_moral, tell
from grader.engine import grading
from grader.engine.failing_case import find_failing_case, write_variables
from grader.engine.grading import Grader
from grader.intake import notebooks
from grader.intake.notebooks import Notebook, RawCell
from grader.intake.submission import Submission, SubmissionError, read_folder
from grader.isolation import Process, start_host
from grader.isolation.client import CallFailed, Program, Worker
from grader.isolation.survey import survey
from grader.learner import hints
from grader.learner.asking import Asking
from grader.learner.journal import Journal
from grader.notebooks import saving
from grader.notebooks.cards import drawn_card, has_one_reason, step_card, steps_card, words_card
from grader.notebooks.display import Shown
from grader.notebooks.saving import ProgressFile
from grader.report.problem import Problem
from grader.report.records import Status, StepVerdict, say_outside
from grader.report.text.terminal import Printer
from grader.steps import stubs
from grader.steps.registry import Registry, Step, load

BROKEN = "{where}: this is not valid Python. Fix it, run the cell, and check again."
NO_STEP = "Which step? Run the cells that define its functions first, or name it: {call}(3)."
ASKS = "`review()` asks two questions about it: a prediction, and a sentence of your own."
CLOSE = 0.8  # how alike two names must be, of 1
STUB = "def {name}(*args, **options):\n    raise NotImplementedError()\n"


@dataclass(frozen=True)
class Run:
    """One execution: its number, the cell's id or "", and its text."""

    number: int
    cell: str
    text: str


def standing(runs: Iterable[Run], deleted: Collection[str] = ()) -> list[Run]:
    """Return the notebook's cells in the order of their last executions.

    A line that only asks for a check does not count: each check would read a new notebook.
    deleted: the ids of deleted cells.
    """
    asks = re.compile(r"(check\(.*)?\s*")
    written = [run for run in runs if not asks.fullmatch(run.text)]
    latest = {run.cell or f"text {run.text}": run for run in written}
    kept = [run for run in latest.values() if run.cell not in deleted]
    return sorted(kept, key=lambda run: run.number)


def latest_step(runs: Sequence[Run], registry: Registry) -> Step | None:
    """Return the step of the function that was defined last."""
    for run in reversed(runs):
        found = survey(run.text).bindings
        own = [one.name for one in found if one.kind not in ("import", "module")]
        made = [name for name in own if name in registry.homes]
        if made:
            return registry.homes[made[-1]]
    return None


def raw_cells(runs: Sequence[Run], step: Step | None) -> Iterator[RawCell]:
    """Yield cells as if read from a notebook, above them stubs for the step's functions.

    A stub never replaces a function that is written.
    """
    for function in step.functions if step else ():
        yield RawCell(0, True, False, "", STUB.format(name=function.name))
    for run in runs:
        yield RawCell(run.number, True, False, "", run.text)


def read_files(folder: Path, registry: Registry) -> Submission:
    """Return the exercises; nothing if somebody has only notebooks."""
    if not folder.exists():
        return Submission(f"{folder.name}/", {})
    return read_folder(folder, registry)


class CellRequest:
    """A request, with everything that is needed to answer it."""

    def __init__(self, request: Mapping[str, Any], registry: Registry, folder: Path) -> None:
        runs = [Run(*run) for run in request["runs"]]
        self.registry = registry
        self.folder = folder
        self.runs = standing(runs, request["deleted"])
        self.call, self.about = request["do"], request["about"]
        self.order = request.get("order", "")
        self.function, self.step = "", None
        if self.call not in ("recap", "write"):  # which are about a part
            self.function, self.step = self._about(self.about, request["lesson"])

    def _about(self, about: str, lesson: str) -> tuple[str, Step | None]:
        """Return the function that was named, and the step.

        Raise Problem if there is none of that name.
        """
        if about in self.registry.homes:
            return about, self.registry.homes[about]
        if not about and not lesson:
            return "", latest_step(self.runs, self.registry)
        name = about or lesson
        try:
            return "", self.registry.find(name)
        except ValueError:
            close = difflib.get_close_matches(name, self.registry.homes, 1, CLOSE)
            numbers = f"name a function, or a step by its number, {self.registry.numbers}."
            how = f"is {close[0]!r} meant?" if close else numbers
            raise Problem(f"There is no step or function {name!r}: {how}") from None

    @property
    def one(self) -> Step:
        """Return the step. Raise Problem if the name is ambiguous."""
        if self.step is None:
            raise Problem(NO_STEP.format(call=self.call))
        return self.step

    def read(self, step: Step | None = None) -> Notebook:
        """Return what the cells are as a notebook. step: one whose functions are to be there."""
        return notebooks.of_cells(raw_cells(self.runs, step), "", self.registry)

    def submission(self, book: Notebook | None = None) -> Submission:
        """Return the exercises with the notebook's functions in their place."""
        files = read_files(self.folder, self.registry)
        book = book or self.read(self.step)
        mine = self.step.id if self.step else ""
        kept = {*book.written, mine}
        sources = {id: text for id, text in book.sources.items() if id in kept}
        refused = {id: text for id, text in files.refused.items() if id not in sources}
        return replace(
            files, sources={**files.sources, **sources}, refused=refused, warnings=book.warnings
        )


class Judge:
    """Answers requests, one after another."""

    def __init__(self, grader: Grader, folder: Path) -> None:
        self.grader = grader
        self.folder = folder
        self.progress = ProgressFile(folder)
        self.journal = Journal(folder)

    def answer(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return the answer: what to show, or the problem in one sentence."""
        try:
            asked = CellRequest(request, self.grader.registry, self.folder)
            shown: Shown = getattr(self, asked.call)(asked)
        except Problem as problem:
            return {"problem": problem.message}
        except SubmissionError as error:
            return {"problem": f"This notebook cannot be judged: {error}."}
        except OSError as error:
            return {"problem": f"{error.strerror or error}: {error.filename or self.folder}"}
        return {"html": shown.html, "text": shown.text, **shown.data}

    def _judge(
        self, asked: CellRequest, function: str = "", *, noted: bool = True
    ) -> tuple[StepVerdict, tuple[str, ...], list[str]]:
        """Return the verdict on the step or on only that function, the notes, and the news.

        The news say what the learner can do if the step passes for the first time.
        """
        step = asked.one.narrow(function) if function else asked.one
        book = asked.read(asked.one)
        for one in step.functions:
            if one.name in book.left_out and function in ("", one.name):
                raise Problem(BROKEN.format(where=book.left_out[one.name]))
        submission = asked.submission(book)
        verdict = self.grader.grade(submission, [step]).steps[0]
        news: list[str] = []
        if verdict.status is not Status.NOT_ATTEMPTED:
            with contextlib.suppress(OSError):  # the notes are kept there
                self.folder.mkdir(exist_ok=True)
        if noted and not function:
            self.progress.note_checked(verdict)
            if self.journal.note([verdict], time.time()):
                if abilities := stubs.find_abilities(stubs.stub_of(step)):
                    news.append("\n- ".join(["You can now", *abilities]))
                news += [ASKS] if self.journal.asks else []
            elif said := Asking(self.folder, asked.registry).remind("review()"):
                news = [said]
        return verdict, submission.warnings, news

    def check(self, asked: CellRequest) -> Shown:
        """Return the verdict on the step, or on the function that was named."""
        function = asked.function
        if function and not asked.one.function(function).checks:
            others = ", ".join(f.name for f in asked.one.functions if f.checks)
            return words_card(f"{function} is judged together with {others}.")
        verdict, notes, news = self._judge(asked, function)
        hints.note_shown(verdict, self.folder)
        says = [*news, *self._next(asked, verdict), *filter(None, [say_outside([verdict])])]
        told = () if verdict.status is Status.PASSED else notes[:5]
        return step_card(verdict, function, says, told)

    def judge(self, asked: CellRequest) -> Shown:
        """Return the verdict on a function of an assignment, where nothing else can be called."""
        verdict, _, _ = self._judge(asked, asked.function)
        return step_card(verdict, asked.function, (), ())

    def _next(self, asked: CellRequest, verdict: StepVerdict) -> list[str]:
        """Return the next thing to do, in a sentence."""
        statuses = {check.status for check in verdict.checks}
        if statuses == {Status.NOT_ATTEMPTED}:
            if asked.function:
                return [f"Write {asked.function} in its cell, run that, then check again."]
            return ["Write the functions in their cells, run these, then check again."]
        if statuses - {Status.PASSED, Status.NOT_ATTEMPTED}:
            return [] if has_one_reason(verdict) else ["hint() gives a hint."]
        if asked.function or verdict.status is not Status.PASSED:
            return []
        said = [f"All of it passes. save_work() writes it to exercises/{asked.one.filename}."]
        if ended := self.journal.find_ended(asked.registry, [asked.one.id]):
            said.append(f"{ended.name}, {ended.title}, is finished: recap() looks back on it.")
        return said

    def hint(self, asked: CellRequest) -> Shown:
        """Return the next hint for the step."""
        verdict, _, _ = self._judge(asked, noted=False)
        if verdict.status is Status.PASSED:
            return words_card("There is nothing to fix: everything in this step passes.")
        if asked.order:
            puzzle = hints.find_puzzle(verdict)
            return words_card(puzzle.mark(asked.order)[1] if puzzle else "Ask for hints first.")
        given = hints.give(asked.one, verdict, self.folder)
        more = "That was the last one." if given.number == given.count else "hint() gives the next."
        if given.is_puzzle:
            more = f'hint({asked.one.number}, "a b c") checks your order. {more}'
        return words_card(given.heading, "\n".join([given.told, *given.code]), more)

    def case(self, asked: CellRequest) -> Shown:
        """Return the first failing case as a text, and the lines that put it into variables."""
        step, submission = asked.one, asked.submission()
        step = step.narrow(asked.function) if asked.function else step
        found = None
        with contextlib.suppress(CallFailed):
            if step.id in submission.sources:
                found = find_failing_case(self.grader, submission, step)
        if found is None:
            why = "has no failing case that can be repeated here: see check()."
            return words_card(f"Step {step.number} {why}", code="")
        code, names, call = write_variables(found)
        held = f"These variables now hold the case: {', '.join(names)}."
        return words_card(
            f"The check: {found.verdict.title}",
            f"It says: {found.verdict.message}",
            held if names else "The call takes no arrays.",
            f"Now run: {call}",
            "Your result and `expected` differ." if "expected" in names else "",
            code=code,
        )

    def status(self, asked: CellRequest) -> Shown:
        """Return all steps, as last checked in their notebooks, or as their files are now."""
        files = read_files(self.folder, self.grader.registry)
        steps, told = [], []
        for step in self.grader.registry.steps:
            verdict = self.progress.last(step, self.folder / step.filename)
            told.append("as last checked in its notebook" if verdict else "")
            steps.append(verdict or self.grader.grade(files, [step]).steps[0])
        points, of = sum(s.points for s in steps), sum(s.max_points for s in steps)
        return steps_card(steps, told, [f"{points:g} of {of:g} points"])

    def recap(self, asked: CellRequest) -> Shown:
        """Return the end of a part, with the map of the functions as they are now."""
        registry = asked.registry
        part = choose_part(registry, self.journal, asked.about, "status()")
        out = io.StringIO()
        printer = Printer(out)
        printer.plain = False
        host, submission = self.grader.bench.host, asked.submission()
        show_end(host, registry, part, self.journal, submission, printer, in_notebook=True)
        return drawn_card(out.getvalue().strip("\n"))

    def write(self, asked: CellRequest) -> Shown:
        """Return the stories that the functions write, as they are now."""
        host, prompt = self.grader.bench.host, asked.about or PROMPT
        try:
            told = tell(host, asked.registry, asked.submission(), prompt)
        except NotReady as error:  # no error: the other cells of a lesson still run
            return words_card(str(error))
        said = [text for head, story in told.items() for text in (f"{head}:", story)]
        return words_card(*said, say_moral())

    def save_work(self, asked: CellRequest) -> Shown:
        """Write the notebook's functions into the exercises."""
        step = asked.one
        path = self.folder / step.filename
        if step.id not in asked.read().written:
            return words_card(f"No function of step {step.number} is written yet: not saved.")
        old = path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
        stub = stubs.stub_of(step)
        work = "" if old == stub else old
        text = self._write_file(asked, stub)
        if text == old:
            return words_card(f"exercises/{step.filename} already holds exactly this.")
        less = self._say_less(asked, text, work)
        kept = None
        if work and (less or not self.progress.is_ours(step, old)):
            kept = stubs.keep_aside(path)
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        self.progress.note_saved(step, text)
        aside = f" The old file is kept as {kept.name}." if kept else ""
        return words_card(f"Written to exercises/{step.filename}.{aside}", less)

    def _write_file(self, asked: CellRequest, stub: str) -> str:
        """Return the exercise file of the cells, without what does not run in a worker."""
        step, book = asked.one, asked.read()
        host, submission = self.grader.bench.host, asked.submission(book)
        worker = Worker(host, time.monotonic() + host.limits.step_seconds)
        with contextlib.closing(worker), contextlib.suppress(CallFailed):
            worker.load(Program(step.id, submission.texts()))
        mine = [one for one in worker.skipped if one.file == f"exercises/{step.filename}"]
        return saving.file_of(book.sources[step.id], mine, step, stub)

    def _say_less(self, asked: CellRequest, text: str, old: str) -> str:
        """Return what the learner reads if a file earns less than the old one; "" otherwise."""
        files = read_files(self.folder, asked.registry)
        quick = copy.copy(self.grader)
        quick.thorough = False

        def earn(source: str) -> StepVerdict:
            tried = replace(files, sources={**files.sources, asked.one.id: source}, refused={})
            return quick.grade(tried, [asked.one]).steps[0]

        now = earn(text) if old else None
        if now is None or now.status is Status.PASSED or (was := earn(old).points) <= now.points:
            return ""
        failed = next(one for one in now.checks if one.status is not Status.PASSED)
        why = failed.message.splitlines()[0] if failed.message else ""
        told = f"The file earns {now.points:g} points, the old file {was:g}. {why}".rstrip()
        return f"{told} It holds the cells that you have run: run all of them, and save again."

    def load_work(self, asked: CellRequest) -> Shown:
        """Return the code of the step's file, as the text of a new cell."""
        step = asked.one
        source = read_files(self.folder, asked.registry).sources.get(step.id, "")
        if not source:
            raise Problem(f"There is no exercises/{step.filename} that can be read.")
        told = f"The code of exercises/{step.filename} is in the cell below: run that cell."
        return words_card(told, cell=saving.cell_of(source))


def main(folder: Path) -> None:
    """Serve one kernel on standard input and output."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # no other output may look like an answer
    registry = load()
    with start_host(Process(), registry.limits) as workers:
        judge = Judge(grading.make_grader(registry, workers, "visible", 0, registry.steps), folder)
        answers.write("ready\n")
        answers.flush()
        for line in sys.stdin:
            answers.write(json.dumps(judge.answer(json.loads(line))) + "\n")
            answers.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
