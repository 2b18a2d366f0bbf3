"""Grade one submission: each step on the kit's earlier steps, and on the student's own."""

import functools
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from grader.checks.suites import Live, Stored
from grader.diagnosis.calls import Log
from grader.diagnosis.library import Library
from grader.engine import messages
from grader.engine.bench import Attempt, Bench, Trial
from grader.engine.earlier_steps import find_below, find_imported
from grader.intake.submission import Submission
from grader.isolation import Host, Process
from grader.isolation.client import Program, Source, compile_source
from grader.isolation.survey import is_unfinished
from grader.report.records import CheckVerdict, Report, Status, StepVerdict
from grader.steps.registry import Check, Registry, Step
from grader.steps.stubs import solutions, stub_of

# Seconds that each submission gets for trials on the student's own steps, beside its own time.
TRIALS = 120.0


def fresh_seed() -> int:
    """Return a number that names hidden inputs on one's own machine, to ask for the same again."""
    return secrets.randbits(53)


def fresh_key() -> str:
    """Return a key of hidden inputs for one attempt, which nobody keeps."""
    return secrets.token_hex(32)


class Grader:
    """Grades submissions, one after another, on one bench.

    thorough: also find causes, draw maps of influence, and say whether each step works on the
    student's own earlier ones. slow: the submission's steps in which a call never ended. trials:
    the seconds that are left for trials on the student's own steps.
    """

    def __init__(
        self, registry: Registry, bench: Bench, seed: int, *, thorough: bool = True
    ) -> None:
        self.registry = registry
        self.bench = bench
        self.seed = seed
        self.thorough = thorough
        self.right = solutions(registry)
        self.library = Library(bench.host, registry, self.right)
        self.slow: set[str] = set()
        self.trials = TRIALS

    def grade(
        self,
        submission: Submission,
        steps: Sequence[Step],
        on_step: Callable[[StepVerdict], None] = lambda verdict: None,
        *,
        in_pairs: bool = False,
        known: Sequence[StepVerdict] = (),
    ) -> Report:
        """Return the report on these steps. Call on_step with each verdict, in order.

        in_pairs: judge two steps at a time, if each has inputs of its own. known: verdicts on other
        steps.
        """
        self.slow.clear()
        self.trials = TRIALS
        self.bench.host.margins.renew()
        verdicts: list[StepVerdict] = []
        for verdict in self._each(submission, steps, in_pairs):
            verdicts.append(self._doubt_earlier_steps(submission, verdict, [*known, *verdicts]))
            on_step(verdicts[-1])
        return self.report(submission, verdicts)

    def report(self, submission: Submission, verdicts: Sequence[StepVerdict]) -> Report:
        """Return the report that consists of these verdicts."""
        return Report(
            submission.id,
            submission.sha256,
            self.bench.suite,
            self.seed,
            self.bench.host.isolation.name,
            tuple(verdicts),
            self.bench.host.isolation.held,
        )

    def _each(
        self, submission: Submission, steps: Sequence[Step], in_pairs: bool
    ) -> Iterator[StepVerdict]:
        """Yield the steps' verdicts, in their order."""
        judge = functools.partial(self.step, submission)
        if not in_pairs:
            yield from map(judge, steps)
            return
        pool = ThreadPoolExecutor(2)  # while one waits for its worker, the other judges
        try:
            yield from pool.map(judge, steps)
        except BaseException:
            self.bench.host.abort()
            raise
        finally:
            pool.shutdown(cancel_futures=True)

    def step(self, submission: Submission, step: Step) -> StepVerdict:
        """Return the verdict on one step."""
        if step.id in submission.refused:
            unread = self._report_unjudged(step, Status.ERROR, submission.refused[step.id])
            return replace(unread, gradable=False)
        if step.id not in submission.sources:
            return self._report_unjudged(
                step, Status.NOT_ATTEMPTED, f"There is no {step.filename} in the submission."
            )
        if time.monotonic() > self.bench.host.deadline:
            most = self.bench.host.limits.submission_seconds
            message = f"The steps before this one took all of the {most:g} s there are."
            return self._report_unjudged(step, Status.ERROR, message)
        trials = self._try(submission, step)
        seen = {note for one in trials.values() for note in one.outside}
        outside = messages.list_outside(seen, submission.texts())
        return replace(self._report(submission, step, trials), outside=outside)

    def _try(self, submission: Submission, step: Step) -> dict[bool, Trial]:
        """Return the trials of a step, on the student's own earlier steps (True) or on the kit's.

        A step may lean on the student's own cache, keywords and helpers, which the kit's steps do
        not know: a loop that ends when the student's cache is full may never end with the kit's.
        """
        trials: dict[bool, Trial] = {}
        for on_own in self._order_trials(submission, step):
            right = self.find_missing(submission) if on_own else self.right
            run = self._try_beside if on_own else self.bench.run
            trials[on_own] = run(self.attempt(submission, step, right), step.checks)
            if trials[on_own].passed:
                break
        return trials

    def _report(
        self, submission: Submission, step: Step, trials: Mapping[bool, Trial]
    ) -> StepVerdict:
        """Return the verdict of the trial that earns more, first of the one on the kit's steps."""
        kit, own = trials.get(False), trials.get(True)
        best = max(filter(None, (kit, own)), key=lambda trial: trial.points)
        if best.timed_out:
            self.slow.add(step.id)
        if best.failure is not None:
            limits, visible = self.bench.host.limits, self.bench.shows
            message = messages.explain_not_loaded(
                best.failure, best.attempt.source, step, limits, visible
            )
            return self._report_unjudged(step, Status.ERROR, message)
        if not self.thorough:
            return _verdict(step, best.verdicts, None, "")
        verdicts = self._explain(best, with_map=True)
        if best is not own:
            works, message, blamed = self._on_own_steps(submission, step, best, own)
            return replace(_verdict(step, verdicts, works, message), blamed=blamed)
        message = ""  # as for a step that passes there at once
        if kit is not None and not best.passed:
            message = (
                "It counts as it works on top of your own earlier steps. "
                f"On top of the kit's it would earn {kit.points:g} of {step.max_points:g} points."
            )
        return _verdict(step, verdicts, self._has_all(submission, step) or None, message)

    def _order_trials(self, submission: Submission, step: Step) -> Sequence[bool]:
        """Return whether to try a step on the student's own earlier steps, on the kit's, or both.

        Right code passes on one's own, and is tried once. If one of these is missing or never ends,
        the kit's come first.
        """
        untouched = submission.sources[step.id] == stub_of(step)
        if untouched or step.id not in self.right:
            return [False]
        if not find_imported(submission, step, self.registry) & {*submission.sources}:
            return [False]
        slow = self._find_slow_below(submission, step)
        at_once = self.thorough and self._has_all(submission, step) and not slow
        return [True, False] if at_once else [False, True]

    def _has_all(self, submission: Submission, step: Step) -> bool:
        """Return whether all earlier steps were handed in that a step imports, also indirectly."""
        below = {one.id for one in find_below(submission, step, self.registry)}
        return below <= submission.sources.keys()

    def _try_beside(self, attempt: Attempt, checks: Sequence[Check]) -> Trial:
        """Run checks on the student's own earlier steps.

        If not all of them pass, the submission gets the time back, up to a limit for all trials.
        """
        start, hosts = time.monotonic(), {self.bench.host, self.library.host}
        patience = min(self.bench.host.limits.step_seconds, self.trials / 2)
        for host in hosts:
            host.deadline += patience
        trial = self.bench.run(attempt, checks, patience)
        used = 0.0 if trial.passed else min(time.monotonic() - start, patience)
        self.trials -= used
        for host in hosts:
            host.deadline -= patience - used
        return trial

    def find_missing(self, submission: Submission) -> dict[str, str]:
        """Return the kit's solutions of the steps that the student has not handed in."""
        return {name: text for name, text in self.right.items() if name not in submission.sources}

    def _find_slow_below(self, submission: Submission, step: Step) -> list[Step]:
        """Return the earlier steps that a step stands on and that were too slow."""
        if not self.slow:
            return []
        return [one for one in find_below(submission, step, self.registry) if one.id in self.slow]

    def find_causes(self, submission: Submission, step: Step) -> tuple[Sequence[CheckVerdict], Log]:
        """Return the verdicts on a step, with causes only, and its calls.

        There are no causes if the grader is not thorough. Raise CallFailed if the step cannot be
        loaded.
        """
        trial = self.bench.run(self.attempt(submission, step, self.right), step.checks)
        if trial.failure is not None:
            raise trial.failure
        return self._explain(trial) if self.thorough else trial.verdicts, trial.log

    def _explain(self, trial: Trial, *, with_map: bool = False) -> Sequence[CheckVerdict]:
        """Return a trial's verdicts, with causes where something failed."""
        if trial.passed or trial.attempt.untouched:
            return trial.verdicts
        from grader.engine.causes import with_causes, with_maps  # right code needs none of it

        return with_causes(trial, self.library, with_maps(trial) if with_map else trial.verdicts)

    def attempt(self, submission: Submission, step: Step, right: Mapping[str, str]) -> Attempt:
        """Return the step's code among earlier steps; `right` holds the right ones among them."""
        texts = submission.texts()
        sources: dict[str, Source] = {**texts}
        own: dict[str, tuple[str, str, list[str]]] = {}
        for earlier in self.registry.before(step):
            if earlier.id in right:
                if earlier.id in texts:
                    names = [one.name for one in earlier.functions]
                    own[earlier.id] = (*texts[earlier.id], names)
                sources[earlier.id] = compile_source(right[earlier.id], f"<{earlier.id}>")
        source = submission.sources[step.id]
        program = Program(step.id, sources, own)
        return Attempt(step, program, source, untouched=source == stub_of(step))

    def _on_own_steps(
        self, submission: Submission, step: Step, kit: Trial, own: Trial | None
    ) -> tuple[bool | None, str, tuple[str, ...]]:
        """Return whether what is right on the kit's steps also works on the student's own.

        Also return a sentence about it, and the earlier steps that are to blame.
        """
        passed = {verdict.check for verdict in kit.verdicts if verdict.status is Status.PASSED}
        values = [check for check in step.checks if not check.needs and check.id in passed]
        if not values or step.id not in self.right:
            return None, "", ()  # nothing passed, or it stood on the student's own steps already
        if not find_imported(submission, step, self.registry):
            return True, "", ()  # it imports nothing of theirs
        if slow := self._find_slow_below(submission, step):
            not_tried = "It was not tried on top of your own earlier steps: step "
            message = f"{not_tried}{slow[0].number}, {slow[0].title}, is too slow."
            return False, message, (slow[0].id,)
        if own is None or own.late or not self._has_all(submission, step):
            return None, "", ()
        if not (broken := _list_broken(own, values)):
            return True, "", ()
        if (blamed := self._find_blamed(submission, step, values)) is None:
            return None, "", ()
        names = None if own.failure else list(dict.fromkeys(one.function for one in broken))
        message = messages.explain_not_on_own(names, blamed)
        return False, message, tuple(earlier.id for earlier in blamed)

    def _find_blamed(
        self, submission: Submission, step: Step, checks: Sequence[Check]
    ) -> list[Step] | None:
        """Return the student's earlier steps that break it when each is tried among right ones.

        No points depend on these trials: return None if half the time for trials is spent.
        """
        uses, blamed = find_imported(submission, step, self.registry), []
        for earlier in self.registry.before(step):
            if earlier.id not in uses & self.right.keys():
                continue
            if self.trials <= TRIALS / 2:
                return None
            right = {name: text for name, text in self.right.items() if name != earlier.id}
            trial = self._try_beside(self.attempt(submission, step, right), checks)
            if trial.late:
                return None
            if _list_broken(trial, checks):
                blamed.append(earlier)
            if trial.timed_out:
                self.slow.add(earlier.id)
        return blamed

    def _doubt_earlier_steps(
        self, submission: Submission, verdict: StepVerdict, before: Sequence[StepVerdict]
    ) -> StepVerdict:
        """Return the verdict, with a note on earlier steps that may have caused the failure."""
        source = submission.sources.get(verdict.step, "")
        broken = [
            one for one in before if one.status is not Status.PASSED and one.step not in self.right
        ]
        if verdict.message or not source or not broken:
            return verdict
        step = self.registry.find(verdict.step)
        used = find_imported(submission, step, self.registry)
        wrong = [one.title for one in broken if one.step in used]
        if not wrong:
            return verdict
        failed = verdict.status not in (Status.PASSED, Status.NOT_ATTEMPTED)
        if not failed and is_unfinished(source, step):
            return verdict
        return replace(verdict, message=messages.stands_on(wrong))

    def _report_unjudged(self, step: Step, status: Status, message: str) -> StepVerdict:
        """Return the verdict on a step whose code could not run; all checks share the reason."""
        verdicts = [self.bench.verdict(check, status, message) for check in step.checks]
        return replace(_verdict(step, verdicts, None, message), status=status)


def _list_broken(trial: Trial, checks: Sequence[Check]) -> list[Check]:
    """Return which of these checks do not pass in a trial; all of them if nothing can be loaded."""
    passed = {one.check for one in trial.verdicts if one.status is Status.PASSED}
    return [check for check in checks if check.id not in passed]


def _verdict(
    step: Step, verdicts: Sequence[CheckVerdict], own: bool | None, message: str
) -> StepVerdict:
    statuses = {verdict.status for verdict in verdicts}
    alike = statuses in ({Status.PASSED}, {Status.NOT_ATTEMPTED})
    status = statuses.pop() if alike else Status.FAILED
    points = sum(verdict.points for verdict in verdicts), step.max_points
    return StepVerdict(step.id, step.title, status, *points, tuple(verdicts), own, message)


def make_grader(
    registry: Registry,
    host: Host,
    suite: str,
    seed: int,
    steps: Sequence[Step],
    *,
    key: str = "",
    full: bool = False,
    thorough: bool = True,
) -> Grader:
    """Return a grader that has loaded the suite's checks of these steps.

    seed: what the report says. Hidden inputs follow from the key, or from the seed without one.
    full: show hidden failures as visible ones. Raise KitError if the checks cannot be loaded.
    """
    if suite == "visible" and host.isolation.name == Process.name:  # one's own machine
        host.audit = True
    live = None if suite == "visible" else Live(key or seed)
    bench = Bench(host, lambda step: live or Stored(step.id), suite)
    bench.shows |= full
    bench.load(steps)
    return Grader(registry, bench, seed, thorough=thorough)
