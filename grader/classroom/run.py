"""Grade a class: every entry is read, judged at most once, and marked in the gradebook.

One thread of one process writes the gradebook. Any executor does the judging: threads that own
judge processes here, or the workers of a cluster. A run can be stopped at any moment, and continues
from there when it is started again.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from dataclasses import replace
from typing import Any

from grader.classroom import hidden_inputs
from grader.classroom.gradebook import Gradebook, key_of
from grader.classroom.judge import Exam, JudgeRefuses, Outcome, grade_submission
from grader.classroom.marking import Rules
from grader.intake import entries as intake
from grader.intake.submission import Submission, SubmissionError
from grader.report.records import Graded, Who
from grader.steps.registry import load

GONE = "it was there in the last grading, and is missing now"
NOTHING = "nothing was handed in"


class GradingRun:
    """One run of grading over the entries of a class.

    secret: of the hidden inputs. The exam names the round of new work; other work keeps its own.
    progress: how many submissions were `judged` now, `kept` from before, or `refused`.
    """

    def __init__(
        self,
        book: Gradebook,
        exam: Exam,
        assignment: Mapping[str, Any] | None = None,
        secret: bytes | None = None,
    ) -> None:
        self.book = book
        self.exam = exam
        self.secret = secret
        self.number = book.begin(exam, assignment, hidden_inputs.prove(secret) if secret else "")
        self.waiting: dict[str, list[Graded]] = {}
        self.judged: set[str] = set()  # the keys that this run has found the results of
        self.unread: dict[str, tuple[str, ...]] = {}  # files of students that may be work
        self.progress: Counter[str] = Counter()

    def grade(
        self,
        entries: Sequence[intake.Entry],
        executor: Executor,
        in_flight: int,
        on_progress: Callable[[], None] = lambda: None,
        absent: Sequence[Graded] = (),
    ) -> None:
        """Mark every entry. in_flight: how many submissions may be under way at once.

        absent: marks of students who have handed in nothing.
        """
        under_way: dict[Future[Outcome], str] = {}
        for key, exam, submission in self._report_unjudged(entries):
            under_way[executor.submit(grade_submission, exam, submission)] = key
            while len(under_way) >= in_flight:
                self._take(under_way)
            on_progress()
        while under_way:
            self._take(under_way)
            on_progress()
        for mark in absent:
            self.book.mark(self.number, mark)
        self.book.finish(self.number)

    def _report_unjudged(
        self, entries: Sequence[intake.Entry]
    ) -> Iterator[tuple[str, Exam, Submission]]:
        """Yield each distinct submission without a known result once, and mark all others."""
        for entry in entries:
            mark = Graded(entry.student, None, attempts=entry.attempts, who=entry.who)
            try:
                submission = intake.read(entry, load())
            except SubmissionError as error:
                self.book.mark(self.number, replace(mark, reason=str(error)))
                self.progress["refused"] += 1
                continue
            if submission.unread:
                self.unread[entry.student] = submission.unread
            exam = self.exam
            if self.secret is not None:
                own = self.book.round_of(submission.sha256)  # other work enters this run's round
                seed = exam.seed if own is None else own
                exam = replace(exam, seed=seed, key=hidden_inputs.derive_key(self.secret, seed))
            key = key_of(exam, submission)
            mark = replace(mark, warnings=submission.warnings, round=exam.seed)
            mark = replace(mark, sha256=submission.sha256, key=key)
            self.book.keep(submission)
            if self.book.has(key):
                self.book.mark(self.number, mark)
                # The same work as another student's may be known since this run.
                self.progress["judged" if key in self.judged else "kept"] += 1
            elif key in self.waiting:
                self.waiting[key].append(mark)
            else:
                self.waiting[key] = [mark]
                yield key, exam, submission

    def _take(self, under_way: dict[Future[Outcome], str]) -> None:
        """Wait for results, and mark the students they belong to."""
        for future in wait(under_way, return_when=FIRST_COMPLETED).done:
            key = under_way.pop(future)
            try:
                outcome = future.result()
            except JudgeRefuses:
                raise  # it would refuse all other submissions too
            except Exception as error:  # which does not stop the others
                told = f"{type(error).__name__}: {error}"
                outcome = Outcome(None, f"It could not be judged: {told}.", 0.0)
            if outcome.json is not None:
                self.book.record(key, outcome)
                self.judged.add(key)
            for mark in self.waiting.pop(key):
                if outcome.json is None:
                    mark = replace(mark, key=None, reason=outcome.reason, warnings=())
                self.progress["refused" if outcome.json is None else "judged"] += 1
                self.book.mark(self.number, mark)


def list_absent(book: Gradebook, entries: Sequence[intake.Entry], rules: Rules) -> list[Graded]:
    """Return everybody who is on the class list, or was in the last run, without work.

    A student who is here under another name, or in a team, is not gone: an extension or a change by
    hand would be for two students, so for nobody. Call this before the next run begins.
    """
    here = [Graded(one.student, None, who=one.who) for one in entries]
    names = {one.student for one in here}
    answer = rules.settle(here).answer
    present = {place for places in answer.owners.values() for place in places}
    gone = [
        _absent(one.student, one.who, GONE)
        for one in (book.people() if book.last() else ())
        if one.student not in names and one.who.absent in ("", GONE)
        if answer.find_person(one) not in present
    ]
    missing = rules.settle([*here, *gone]).answer.list_absent()
    return [*gone, *(_absent(person.id, person.who, NOTHING) for person in missing)]


def _absent(student: str, who: Who, why: str) -> Graded:
    return Graded(student, None, f"{why}.", who=replace(who, absent=why))
