"""Judge ahead: while nbgrader does its bookkeeping for one submission, the next ones are judged.

A few threads own the judges, because a judge ends with the thread that started it. The submission
that nbgrader asks for comes first. A result from judging ahead counts only for the same exam and
the same submission: the same sources, round, isolation and kit.
"""

from __future__ import annotations

import atexit
import itertools
import os
import queue
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from grader.classroom import judge
from grader.classroom.judge import Exam, Outcome
from grader.intake.submission import Submission

Reading = Callable[[], tuple[Exam, Submission]]
"""Reads a submission as it is now; any exception if that cannot be done."""
Judged = tuple[Exam, Submission, Outcome]

AT_ONCE, LATER = 0, 1
FOR_EACH = 25  # submissions that are worth the start of one more judge
MOST = 4
END_SECONDS = 5.0


def _spare_cores() -> int:
    """Return the cores that nbgrader leaves; it uses one."""
    there = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return max(1, (there or 1) - 1)


class Ahead:
    """The judges of this process, and results that nobody has requested yet."""

    def __init__(self) -> None:
        self.waiting: queue.PriorityQueue[tuple[int, int, Future[Any], Callable[[], Any]]]
        self.waiting = queue.PriorityQueue()
        self.numbers = itertools.count()
        self.threads: list[threading.Thread] = []
        self.found: dict[Path, Future[Judged]] = {}

    def warm_up(self) -> None:
        """Let a judge load what it needs before the first request."""
        self._do(AT_ONCE, judge.warm_up)

    def start(self, exam: Exam) -> None:
        """Start a judge. Raise JudgeRefuses, with the reason, if none can judge here."""
        self._do(AT_ONCE, lambda: judge.start(exam)).result()

    def begin(self, readings: Mapping[Path, Reading]) -> None:
        """Start judging these in order, as many as possible before each is requested."""
        self.drop()
        self._hire(min(1 + len(readings) // FOR_EACH, MOST, _spare_cores()))
        for path, reading in readings.items():
            self.found[path] = self._do(LATER, _judging(reading))

    def outcome(self, path: Path, exam: Exam, submission: Submission) -> Outcome:
        """Return a judge's result for a submission.

        Raise JudgeRefuses, with the reason, if none can judge.
        """
        early = self.found.pop(path, None)
        if early is not None and not early.cancel() and early.exception() is None:
            for_exam, of, outcome = early.result()
            if outcome.json is not None and (for_exam, of) == (exam, submission):
                return outcome
        asked: Future[Outcome] = self._do(AT_ONCE, lambda: judge.grade_submission(exam, submission))
        return asked.result()

    def drop(self) -> None:
        """Forget started work that nobody will request."""
        for early in self.found.values():
            early.cancel()
        self.found.clear()

    def end(self) -> None:
        """End the judges, and wait until they are gone."""
        self.drop()
        judge.stop()
        for _ in self.threads:
            self._put(AT_ONCE, Future(), _quit)
        for thread in self.threads:
            thread.join(END_SECONDS)

    def _do(self, priority: int, work: Callable[[], Any]) -> Future[Any]:
        self._hire(1)
        future: Future[Any] = Future()
        self._put(priority, future, work)
        return future

    def _put(self, priority: int, future: Future[Any], work: Callable[[], Any]) -> None:
        self.waiting.put((priority, next(self.numbers), future, work))

    def _hire(self, count: int) -> None:
        """Start threads until there are that many."""
        if not self.threads:
            atexit.register(self.end)
        while len(self.threads) < count:
            self.threads.append(threading.Thread(target=self._serve, daemon=True))
            self.threads[-1].start()

    def _serve(self) -> None:
        while True:
            _, _, future, work = self.waiting.get()
            if work is _quit:
                return
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(work())
            except BaseException as error:  # the caller gets the error, and this thread continues
                future.set_exception(error)


def _quit() -> None:
    """End a thread."""


def _judging(reading: Reading) -> Callable[[], Judged]:
    def work() -> Judged:
        exam, submission = reading()
        return exam, submission, judge.grade_submission(exam, submission)

    return work
