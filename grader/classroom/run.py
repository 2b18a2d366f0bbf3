"""Grade a class: every entry is read, judged at most once, and marked in the gradebook.

One thread of one process writes the gradebook. Any executor does the judging: threads that own
judge processes here, or the workers of a cluster. A run can be stopped at any moment, and continues
from there when it is started again.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from dataclasses import dataclass, replace
from typing import Any

from grader.classroom import hidden_inputs
from grader.classroom.gradebook import Gradebook, key_of
from grader.classroom.judge import Exam, JudgeRefuses, Outcome, grade_submission
from grader.classroom.marking import Rules
from grader.intake import entries as intake
from grader.intake.submission import Submission, SubmissionError
from grader.report.records import Graded, Who
from grader.steps.registry import Registry

GONE = "it was there in the last grading, and is missing now"
NOTHING = "nothing was handed in"
LOST = "It could not be judged: {}."


@dataclass
class Progress:
    """How far a run is. judged counts submissions graded now, kept those known before."""

    judged: int = 0
    kept: int = 0
    refused: int = 0

    @property
    def done(self) -> int:
        """Return how many students have their mark."""
        return self.judged + self.kept + self.refused


class GradingRun:
    """One run of grading over the entries of a class.

    secret: of the hidden inputs. The exam names the round of new work; other work keeps its own.
    """

    def __init__(
        self,
        registry: Registry,
        book: Gradebook,
        exam: Exam,
        assignment: Mapping[str, Any] | None = None,
        secret: bytes | None = None,
    ) -> None:
        self.registry = registry
        self.book = book
        self.exam = exam
        self.secret = secret
        self.number = book.begin(exam, assignment, hidden_inputs.prove(secret) if secret else "")
        self.waiting: dict[str, list[Graded]] = {}
        self.judged: set[str] = set()  # the keys that this run has found the results of
        self.unread: dict[str, tuple[str, ...]] = {}  # files of students that may be work
        self.progress = Progress()

    def grade(
        self,
        entries: Sequence[intake.Entry],
        executor: Executor,
        in_flight: int,
        on_progress: Callable[[Progress], None] = lambda progress: None,
        absent: Sequence[Graded] = (),
    ) -> Progress:
        """Mark every entry. in_flight: how many submissions may be under way at once.

        absent: marks of students who have handed in nothing.
        """
        under_way: dict[Future[Outcome], str] = {}
        for key, exam, submission in self._report_unjudged(entries):
            under_way[executor.submit(grade_submission, exam, submission)] = key
            while len(under_way) >= in_flight:
                self._take(under_way)
                on_progress(self.progress)
            on_progress(self.progress)
        while under_way:
            self._take(under_way)
            on_progress(self.progress)
        for mark in absent:
            self.book.mark(self.number, mark)
        everybody = [*(entry.student for entry in entries), *(mark.student for mark in absent)]
        self.book.finish(self.number, everybody)
        return self.progress

    def _report_unjudged(
        self, entries: Sequence[intake.Entry]
    ) -> Iterator[tuple[str, Exam, Submission]]:
        """Yield each distinct submission without a known result once, and mark all others."""
        for entry in entries:
            mark = Graded(entry.student, None, attempts=entry.attempts, who=entry.who)
            try:
                submission = intake.read(entry, self.registry)
            except SubmissionError as error:
                self.book.mark(self.number, replace(mark, reason=str(error)))
                self.progress.refused += 1
                continue
            if submission.unread:
                self.unread[entry.student] = submission.unread
            exam = self._exam_of(submission)
            key = key_of(exam, submission)
            mark = replace(mark, warnings=submission.warnings, round=exam.seed)
            mark = replace(mark, sha256=submission.sha256, key=key)
            self.book.keep(submission)
            if self.book.has(key):
                self.book.mark(self.number, mark)
                is_new = key in self.judged  # the same work as another student's
                self.progress.judged += is_new
                self.progress.kept += not is_new
            elif key in self.waiting:
                self.waiting[key].append(mark)
            else:
                self.waiting[key] = [mark]
                yield key, exam, submission

    def _exam_of(self, submission: Submission) -> Exam:
        """Return the exam in the round of the work, which is this run's if the work is new."""
        if self.secret is None:
            return self.exam
        own = self.book.round_of(submission.sha256)
        seed = self.exam.seed if own is None else own
        return replace(self.exam, seed=seed, key=hidden_inputs.derive_key(self.secret, seed))

    def _take(self, under_way: dict[Future[Outcome], str]) -> None:
        """Wait for results, and mark the students they belong to."""
        for future in wait(under_way, return_when=FIRST_COMPLETED).done:
            key = under_way.pop(future)
            outcome = _outcome(future)
            if outcome.json is not None:
                self.book.record(key, outcome)
                self.judged.add(key)
            for mark in self.waiting.pop(key):
                if outcome.json is None:
                    mark = replace(mark, key=None, reason=outcome.reason, warnings=())
                    self.progress.refused += 1
                else:
                    self.progress.judged += 1
                self.book.mark(self.number, mark)


def _outcome(future: Future[Outcome]) -> Outcome:
    """Return the future's result, so that one failed submission does not stop the others."""
    try:
        return future.result()
    except JudgeRefuses:
        raise  # it would refuse all other submissions too
    except Exception as error:
        return Outcome(None, LOST.format(f"{type(error).__name__}: {error}"), 0.0)


def list_absent(book: Gradebook, entries: Sequence[intake.Entry], rules: Rules) -> list[Graded]:
    """Return everybody who is on the class list, or was in the last run, without work.

    A student who is here under another name, or in a team, is not gone: an extension or a change by
    hand would be for two students, so for nobody. Call this before the next run begins.
    """
    last = book.last_if_any()
    before = book.people(last) if last else ()
    here = [Graded(one.student, None, who=one.who) for one in entries]
    names = {one.student for one in here}
    answer = rules.settle(here).answer
    present = {place for places in answer.owners.values() for place in places}
    gone = [
        _absent(one.student, one.who, GONE)
        for one in before
        if one.student not in names and one.who.absent in ("", GONE)
        if answer.find_person(one) not in present
    ]
    missing = rules.settle([*here, *gone]).answer.list_absent()
    return [*gone, *(_absent(person.id, person.who, NOTHING) for person in missing)]


def _absent(student: str, who: Who, why: str) -> Graded:
    return Graded(student, None, f"{why}.", who=replace(who, absent=why))
