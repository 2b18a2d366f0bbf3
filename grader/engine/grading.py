"""Grade one submission: each step by itself, then on the student's own earlier steps."""

from __future__ import annotations

import contextlib
import copy
import functools
import math
import re
import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from grader.checks.suites import Given, Live, Stored
from grader.diagnosis.calls import Log
from grader.diagnosis.library import Library
from grader.diagnosis.lookup import Answers
from grader.engine import messages
from grader.engine.bench import TRIALS, Attempt, Bench, without_frames
from grader.engine.causes import Causes
from grader.engine.earlier_steps import find_below, find_imported, imports_modules
from grader.engine.influence_maps import with_maps
from grader.engine.kept_scripts import KeptScripts
from grader.engine.parallel import in_threads, in_two
from grader.intake.submission import Submission
from grader.isolation import Host, Process, start_host
from grader.isolation.client import CallFailed, Program, TimedOut
from grader.report.records import (
    CheckVerdict,
    Report,
    Status,
    StepVerdict,
    step_from_dict,
)
from grader.steps.registry import Check, Registry, Step
from grader.steps.stubs import is_unfinished, solutions, stub_of


def fresh_seed() -> int:
    """Return a number that names hidden inputs on one's own machine, to ask for the same again."""
    return secrets.randbits(53)


def fresh_key() -> str:
    """Return a key of hidden inputs for one attempt, which nobody keeps."""
    return secrets.token_hex(32)


@dataclass(frozen=True)
class _Trial:
    """A step's results on some earlier steps. failure: why it cannot be loaded."""

    attempt: Attempt
    verdicts: Sequence[CheckVerdict] = ()
    log: Log = field(default_factory=Log)
    failure: CallFailed | None = None

    @property
    def points(self) -> float:
        """Return the points that the step earns there."""
        return sum(verdict.points for verdict in self.verdicts)

    @property
    def timed_out(self) -> bool:
        """Return whether the step, or a call of it, timed out."""
        return _hangs(self.verdicts) or isinstance(self.failure, TimedOut)


class Grader:
    """Grades submissions, one after another, on one bench.

    thorough: also find causes, draw maps of influence, and try each step on the student's own
    earlier ones.
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
        self.answers = Answers()
        self.passed: set[str] = set()
        """The steps that some submission has passed."""
        self.sound: set[str] = set()
        """The submission's steps that pass."""
        self.slow: set[str] = set()
        """The submission's steps that were too slow: each would be so again."""
        self.hanging: set[str] = set()
        """The same of steps that were only tried, below others or because nobody asked for them."""
        self.stuck: set[tuple[str, str]] = set()
        """The steps and functions of checks that hang on the kit's steps and on the student's."""
        self.unasked: dict[str, StepVerdict] = {}
        """The verdicts on the submission's steps that nobody has asked for."""
        self.named: dict[str, frozenset[str]] = {}
        """The kit's functions that the code of each of the submission's steps names."""

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

        in_pairs: judge two steps at a time, each in a process with a host of its own, if several
        need more than a look. known: verdicts on other steps.
        """
        for kept in (self.slow, self.sound, self.hanging, self.stuck, self.unasked, self.named):
            kept.clear()
        self.bench.host.margins.renew()
        return self.report(submission, self._grade(submission, steps, on_step, in_pairs, known))

    def _grade(
        self,
        submission: Submission,
        steps: Sequence[Step],
        on_step: Callable[[StepVerdict], None],
        in_pairs: bool,
        known: Sequence[StepVerdict],
    ) -> Sequence[StepVerdict]:
        found: dict[int, StepVerdict] = {}
        verdicts: list[StepVerdict] = []

        def take(*, alone: bool) -> None:
            """Take the verdicts whose turn it is. alone: nothing else runs on the host now."""
            while (number := len(verdicts)) in found:
                verdict, before = found[number], [*known, *verdicts]
                own = self._list_own_below(submission, steps[number], verdict)
                passed = {one.step for one in before if one.status is Status.PASSED}
                if any(one.id not in passed for one in own):
                    if not alone:
                        return
                    verdict = self._judge_on_right_own(
                        submission, steps[number], verdict, own, before
                    )
                verdicts.append(self._doubt_earlier_steps(submission, verdict, before))
                on_step(verdicts[-1])

        for number, verdict in self._each(submission, steps, in_pairs):
            found[number] = verdict
            take(alone=not in_pairs)
        take(alone=True)
        return verdicts

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
    ) -> Iterator[tuple[int, StepVerdict]]:
        """Yield the steps' numbers and verdicts, in any order."""
        if not in_pairs:
            for number, step in enumerate(steps):
                yield number, self.step(submission, step)
            return
        left = []
        lanes = [
            functools.partial(self._find_beside, submission, steps, self.bench.beside())
            for _ in range(2)
        ]
        for number, verdict in in_threads(len(steps), lanes):
            if verdict is None:
                left.append(number)
            else:
                yield number, verdict
        left.sort()
        if len(left) < 2:
            yield from ((number, self._judge(submission, steps[number])) for number in left)
            return

        def judge(number: int) -> dict[str, Any]:
            return asdict(self._judge(submission, steps[left[number]]))

        def other(number: int) -> dict[str, Any]:
            second.audit = self.bench.host.audit
            self.bench.host = self.library.host = second
            return judge(number)

        with start_host(self.bench.host.isolation, self.bench.host.limits) as second:
            for number, verdict in in_two(len(left), judge, other):
                yield left[number], step_from_dict(verdict)

    def _find_beside(
        self, submission: Submission, steps: Sequence[Step], bench: Bench, number: int
    ) -> StepVerdict | None:
        """Return the verdict on a step if it is quickly found, on a bench beside this one."""
        grader = copy.copy(self)
        grader.bench = bench
        return grader._find_quickly(submission, steps[number])

    def step(self, submission: Submission, step: Step) -> StepVerdict:
        """Return the verdict on one step."""
        verdict = self._find_quickly(submission, step) or self._judge(submission, step)
        if verdict.status is Status.PASSED:
            self.sound.add(step.id)
        return verdict

    def _find_quickly(self, submission: Submission, step: Step) -> StepVerdict | None:
        """Return the verdict on a step that was not written, cannot be read, or passes at once."""
        if step.id in submission.refused:
            unread = self._report_unjudged(step, Status.ERROR, submission.refused[step.id])
            return replace(unread, gradable=False)
        if step.id not in submission.sources:
            return self._report_unjudged(
                step, Status.NOT_ATTEMPTED, f"There is no {step.filename} in the submission."
            )
        if time.monotonic() > self.bench.host.deadline:
            message = messages.explain_no_time_left(self.bench.host.limits)
            return self._report_unjudged(step, Status.ERROR, message)
        if self._attempt(submission, step, {}).untouched:
            return self._judge(submission, step)  # which runs nothing
        verdict = self._pass_at_once(submission, step)
        return verdict and self._with_notes(submission, verdict)

    def _with_notes(self, submission: Submission, verdict: StepVerdict) -> StepVerdict:
        """Return a verdict with what was noted since the last one."""
        if not (seen := self.bench.host.audit):
            return verdict
        self.bench.host.audit = set()
        return replace(verdict, outside=messages.list_outside(seen, submission.texts()))

    def _judge(self, submission: Submission, step: Step) -> StepVerdict:
        """Return the verdict on a step whose checks are run call by call."""
        verdict = self._with_notes(submission, self._judge_by_calls(submission, step))
        if verdict.status is Status.PASSED:
            self._write_scripts(submission, step)
            self.bench.keep(step)
        return verdict

    def _write_scripts(self, submission: Submission, step: Step) -> None:
        """Write the scripts of a passed step's checks, if somebody will use them.

        They are used if they are kept in a folder, or if a second submission has passed the step.
        They come from the kit's own code, because what one submission answers must not reach
        another. A bundle has no such code, but all code there is by one author.
        """
        if self.bench.has_scripts(step) or not (self.bench.kept_scripts or step.id in self.passed):
            self.passed.add(step.id)
            return
        start = time.monotonic()
        if step.id in self.right:
            attempt = self._attempt(Submission("kit", self.right), step, {})
            self.bench.write_scripts(attempt, self.library.host)
        elif self.bench.kept_scripts:
            self.bench.write_scripts(self._attempt(submission, step, {}), self.bench.host)
        self.bench.host.deadline += time.monotonic() - start

    def _judge_by_calls(self, submission: Submission, step: Step) -> StepVerdict:
        right = self._try_step(submission, step, self.right)
        trial = self._better(submission, right)
        if trial.timed_out:
            self.slow.add(step.id)
        if trial.failure is not None:
            limits, visible = self.bench.host.limits, self.bench.shows
            source = trial.attempt.source
            message = messages.explain_not_loaded(
                trial.failure, source, step, limits, visible, submission.texts()
            )
            return self._report_unjudged(step, Status.ERROR, message)
        if not self.thorough:
            return self._on_kit_steps(submission, step, trial.verdicts)
        verdicts = self._add_causes(trial.verdicts, trial.attempt, trial.log)
        if trial is not right:
            message = ""  # as for a step that passes there at once
            if any(verdict.status is not Status.PASSED for verdict in verdicts):
                message = messages.explain_counted_on_own(right.points, step.max_points)
            has_all = find_imported(submission, step, self.registry) <= {*submission.sources}
            return _verdict(step, verdicts, True if has_all else None, message)
        return self._on_kit_steps(submission, step, verdicts)

    def _on_kit_steps(
        self, submission: Submission, step: Step, verdicts: Sequence[CheckVerdict]
    ) -> StepVerdict:
        """Return the verdict on a step whose points are those on the kit's earlier steps."""
        if not self.thorough:
            return _verdict(step, verdicts, None, "")
        own, message, blamed = self._on_own_steps(submission, step, verdicts)
        return replace(_verdict(step, verdicts, own, message), blamed=blamed)

    def _pass_at_once(self, submission: Submission, step: Step) -> StepVerdict | None:
        """Return the verdict on a step that passes everything, asked with the checks' scripts.

        A step that passes on the student's own earlier steps has passed, so those come first.
        """
        passed = [self.bench.verdict(check, Status.PASSED, "") for check in step.checks]
        uses = find_imported(submission, step, self.registry)
        slow = self._find_slow_below(submission, step)
        if self.thorough and uses <= {*submission.sources} and not slow:
            own = True if step.id in self.right else None
            if self._passes_on(submission, step, {}):
                return _verdict(step, passed, own, "")
            if self.bench.too_slow or uses <= self.sound:
                return None  # right earlier steps would change nothing
        if self._passes_on(submission, step, self.right):
            return self._on_kit_steps(submission, step, passed)
        return None

    def _passes_on(self, submission: Submission, step: Step, right: Mapping[str, str]) -> bool:
        """Return whether a step passes at once on such earlier steps."""
        passes = self.bench.passes_all(self._attempt(submission, step, right))
        self.bench.keep(step)
        return passes

    def _try_step(self, submission: Submission, step: Step, right: Mapping[str, str]) -> _Trial:
        """Run the checks of a step among earlier steps; `right` holds the right ones among them."""
        attempt = self._attempt(submission, step, right)
        try:
            with self.bench.on(attempt):
                verdicts, log = self.bench.run(step.checks), self.bench.log
                if self.thorough:
                    verdicts = with_maps(self.bench, verdicts)
                return _Trial(attempt, verdicts, log)
        except CallFailed as failure:
            return _Trial(attempt, failure=without_frames(failure))

    def _better(self, submission: Submission, right: _Trial) -> _Trial:
        """Return the better trial: on the kit's earlier steps, or on the student's own.

        The kit's steps replace those that the student has not handed in.
        """
        step = right.attempt.step
        uses = find_imported(submission, step, self.registry)
        if step.id not in self.right or not uses & {*submission.sources}:
            return right
        missing = self.find_missing(submission)
        own = self._try_failed(submission, step, right.verdicts, missing, right.timed_out)
        return own if own is not None and own.points > right.points else right

    def _try_failed(
        self,
        submission: Submission,
        step: Step,
        verdicts: Sequence[CheckVerdict],
        right: Mapping[str, str],
        slow: bool,
    ) -> _Trial | None:
        """Return the trial on other earlier steps, if a check that failed passes there.

        A step may depend on the student's own cache, keywords and helpers, which the kit's steps do
        not know: a loop that ends when the student's cache is full may never end with the kit's.
        verdicts: those of the first trial. right: earlier steps to use in place of the student's.
        slow: do not take the time from the submission if it helps nothing.
        """
        start = time.monotonic()
        below = [one for one in self._find_slow_below(submission, step) if one.id not in right]
        points = {verdict.check: verdict.points for verdict in verdicts}
        hurried = self.bench.trials <= TRIALS / 2  # the other half is not for what hangs again
        failed = [
            check
            for check in step.checks
            if not points.get(check.id)
            and (not check.needs or points.get(check.needs))
            and not (hurried and (step.id, check.function) in self.stuck)
        ]
        if not failed or {verdict.status for verdict in verdicts} == {Status.NOT_ATTEMPTED}:
            return None
        hanging = {one.check for one in verdicts if one.status is Status.TIMEOUT}
        failed.sort(key=lambda check: check.id in hanging)  # the quick ones first
        attempt, patience = self._attempt(submission, step, right), self._patience
        with self._on_trial(patience) if below else contextlib.nullcontext():
            passes, hung = self._passes_any(attempt, failed)
        if passes:
            return self._try_step(submission, step, right)
        again = {check.function for check in failed if check.id in hanging} & hung
        self.stuck.update((step.id, function) for function in again)
        if slow and not below:
            self.bench.give_back(start)
        return None

    def _passes_any(self, attempt: Attempt, checks: Sequence[Check]) -> tuple[bool, set[str]]:
        """Return whether an attempt passes one of these checks, and which functions hang.

        Most attempts pass none. If a function hangs, its other checks would wait as long.
        """
        hung: set[str] = set()
        try:
            with self.bench.on(attempt):
                for check in checks:
                    if check.function not in hung:
                        (verdict,) = self.bench.run([check])
                        if verdict.status is Status.PASSED:
                            return True, hung
                        if verdict.status is Status.TIMEOUT:
                            hung.add(check.function)
        except CallFailed:
            pass
        return False, hung

    def _list_own_below(
        self, submission: Submission, step: Step, verdict: StepVerdict
    ) -> list[Step]:
        """Return the student's steps that a failed step uses, if other steps may earn it more."""
        if verdict.status in (Status.PASSED, Status.NOT_ATTEMPTED) or step.id not in self.right:
            return []
        if not verdict.gradable or time.monotonic() > self.bench.host.deadline:
            return []
        below = find_below(submission, step, self.registry)
        return [one for one in below if one.id in submission.sources and one.id in self.right]

    @property
    def _patience(self) -> float:
        """Return the seconds that a trial may take, so that some are left to later steps."""
        return min(self.bench.host.limits.step_seconds, self.bench.trials / 2)

    @contextlib.contextmanager
    def _on_trial(self, seconds: float, *, hasty: bool = False) -> Iterator[float]:
        """Limit the time of the block, and take it from no step. Yield when it ends."""
        start, trusted = time.monotonic(), self.library.host
        nested = self.bench.until < math.inf
        with self.bench.on_trial(seconds, hasty=hasty) as until:
            yield until
        if not nested and trusted is not self.bench.host:
            trusted.deadline += min(time.monotonic(), until) - start

    def _judge_unasked(
        self, submission: Submission, unasked: Sequence[Step], known: Sequence[StepVerdict]
    ) -> Sequence[StepVerdict]:
        """Return verdicts on earlier steps that nobody has asked for, as if they had been.

        Each is judged once, and only up to a call that takes too long: it does not pass then.
        """
        quick = copy.copy(self)
        quick.thorough, quick.sound, quick.slow = False, set(), {*self.slow, *self.hanging}
        new = [one for one in unasked if one.id not in self.unasked]
        self.bench.load(new)
        for one in new:
            before = [*known, *self.unasked.values()]
            with self._on_trial(self._patience, hasty=True) as until:
                (verdict,) = quick._grade(submission, [one], lambda verdict: None, False, before)
            self.unasked[one.id] = verdict
            slow = one.id in quick.slow or _hangs(verdict.checks)
            if slow and time.monotonic() < until:  # else the trial was too short to tell
                self.hanging.add(one.id)
        return [self.unasked[one.id] for one in unasked]

    def _judge_on_right_own(
        self,
        submission: Submission,
        step: Step,
        verdict: StepVerdict,
        own: Sequence[Step],
        before: Sequence[StepVerdict],
    ) -> StepVerdict:
        """Return the better verdict: this one, or one with the kit's steps in place of wrong ones.

        A step may rely on one of the student's earlier steps, and fail there because of another.
        An earlier step is right here if the functions of it that are used pass.
        """
        if self.bench.trials < self.bench.host.limits.call_seconds:
            return verdict
        known = {one.step for one in before}
        unasked = [one for one in own if one.id not in known]
        more = self._judge_unasked(submission, unasked, before)
        wrong = {one.step: self._list_wrong(one) for one in [*before, *more]}
        used = {one.id: self._find_named(submission, one) for one in [*own, step]}
        others = [
            one
            for one in own
            if any(above != one.id and wrong[one.id] & names for above, names in used.items())
        ]
        if not 0 < len(others) < len(own):  # these have been tried
            return verdict
        right = self.find_missing(submission) | {one.id: self.right[one.id] for one in others}
        with self._on_trial(self.bench.trials / 2):  # and leave some to later steps
            trial = self._try_failed(submission, step, verdict.checks, right, slow=True)
        if trial is None or trial.points <= verdict.points:
            return verdict
        if not self.thorough:
            return _verdict(step, trial.verdicts, None, "")
        verdicts = self._add_causes(trial.verdicts, trial.attempt, trial.log)
        titles = [one.title for one in others]
        message = messages.explain_counted_on_right_own(titles, verdict.points)
        return _verdict(step, verdicts, False, message)

    def _list_wrong(self, verdict: StepVerdict) -> set[str]:
        """Return the functions of a step that do not pass all of their checks."""
        passed = {one.check for one in verdict.checks if one.status is Status.PASSED}
        checks = self.registry.find(verdict.step).checks
        return {check.function for check in checks if check.id not in passed}

    def _find_named(self, submission: Submission, step: Step) -> frozenset[str]:
        """Return the kit's functions that the code of a step names, outside of comments."""
        if step.id not in self.named:
            words = re.findall(r"\w+", submission.reachable(step.id))
            self.named[step.id] = frozenset(self.registry.homes.keys() & words)
        return self.named[step.id]

    def find_missing(self, submission: Submission) -> dict[str, str]:
        """Return the kit's solutions of the steps that the student has not handed in."""
        return {name: text for name, text in self.right.items() if name not in submission.sources}

    def _find_slow_below(self, submission: Submission, step: Step) -> list[Step]:
        """Return the earlier steps that a step stands on and that were too slow."""
        if not (slow := self.slow | self.hanging):
            return []
        return [one for one in find_below(submission, step, self.registry) if one.id in slow]

    def find_causes(
        self, submission: Submission, step: Step, right: Mapping[str, str] | None = None
    ) -> tuple[list[CheckVerdict], Log]:
        """Return the verdicts on a loadable step, with causes only, and its calls.

        There are no causes if the grader is not thorough. right: earlier steps to use in place of
        the kit's.
        """
        attempt = self._attempt(submission, step, self.right if right is None else right)
        with self.bench.on(attempt):
            verdicts, log = self.bench.run(step.checks), self.bench.log
        return self._add_causes(verdicts, attempt, log) if self.thorough else verdicts, log

    def _add_causes(
        self, verdicts: Sequence[CheckVerdict], attempt: Attempt, log: Log
    ) -> list[CheckVerdict]:
        return Causes(self.bench, self.library, self.answers).add_to(verdicts, attempt, log)

    @contextlib.contextmanager
    def on_bench(
        self, submission: Submission, step: Step, right: Mapping[str, str]
    ) -> Iterator[Bench]:
        """Load a step among such earlier steps for the duration of the block.

        Raise CallFailed if it cannot be loaded.
        """
        with self.bench.on(self._attempt(submission, step, right)):
            yield self.bench

    def _attempt(self, submission: Submission, step: Step, right: Mapping[str, str]) -> Attempt:
        """Return the step's code among earlier steps; `right` holds the right ones among them."""
        sources = submission.texts()
        own: dict[str, tuple[str, str]] = {}
        functions: dict[str, tuple[str, ...]] = {}
        for earlier in self.registry.before(step):
            if earlier.id in right:
                if earlier.id in sources:
                    own[earlier.id] = sources[earlier.id]
                    functions[earlier.id] = tuple(one.name for one in earlier.functions)
                sources[earlier.id] = (right[earlier.id], f"<{earlier.id}>")
        program = Program(step.id, sources, own, functions)
        source = submission.sources[step.id]
        return Attempt(step, program, source, is_unfinished(source) and source == stub_of(step))

    def _on_own_steps(
        self, submission: Submission, step: Step, verdicts: Sequence[CheckVerdict]
    ) -> tuple[bool | None, str, tuple[str, ...]]:
        """Return whether a right step also works on the student's own earlier steps.

        Also return a sentence about it, and the earlier steps that are to blame.
        """
        passed = {verdict.check for verdict in verdicts if verdict.status is Status.PASSED}
        values = [check for check in step.checks if not check.needs and check.id in passed]
        if not values or step.id not in self.right:
            return None, "", ()  # nothing passed, or it stood on the student's own steps already
        if not self.registry.before(step) or not imports_modules(submission.reachable(step.id)):
            return True, "", ()  # it cannot import anything of theirs
        uses = find_imported(submission, step, self.registry)
        if uses and not uses & {*submission.sources, *submission.refused}:
            return None, "", ()  # the step was handed in alone
        if slow := self._find_slow_below(submission, step):
            return False, messages.explain_slow_below(slow[0]), (slow[0].id,)
        if self.bench.trials <= TRIALS / 2:
            return None, "", ()  # the other half is for trials on which points depend
        with self._on_trial(self.bench.trials - TRIALS / 2) as until:
            broken = self._find_broken(submission, step, values, {})
            blamed = [] if broken == [] else self._find_blamed(submission, step, values, uses)
        if time.monotonic() > until:
            return None, "", ()
        if broken == []:
            return True, "", ()
        names = None if broken is None else list(dict.fromkeys(c.function for c in broken))
        message = messages.explain_not_on_own(names, blamed, {*submission.sources})
        return False, message, tuple(earlier.id for earlier in blamed)

    def _find_broken(
        self, submission: Submission, step: Step, checks: Sequence[Check], right: Mapping[str, str]
    ) -> list[CheckVerdict] | None:
        """Return the checks that fail on such earlier steps; None if the step cannot be loaded."""
        try:
            with self.bench.on(self._attempt(submission, step, right)):
                again = self.bench.run(checks)
        except CallFailed:
            return None
        return [verdict for verdict in again if verdict.status is not Status.PASSED]

    def _find_blamed(
        self, submission: Submission, step: Step, checks: Sequence[Check], uses: set[str]
    ) -> list[Step]:
        """Return the student's earlier steps that break it when each is tried among right ones."""
        blamed = []
        for earlier in self.registry.before(step):
            if earlier.id in uses and earlier.id in self.right:
                right = {name: text for name, text in self.right.items() if name != earlier.id}
                broken = self._find_broken(submission, step, checks, right)
                if broken != []:
                    blamed.append(earlier)
                late = time.monotonic() > self.bench.until  # then all calls take too long
                if not late and _hangs(broken or ()):
                    self.hanging.add(earlier.id)
        return blamed

    def _doubt_earlier_steps(
        self, submission: Submission, verdict: StepVerdict, before: Sequence[StepVerdict]
    ) -> StepVerdict:
        """Return the verdict, with a note on earlier steps that may have caused the failure."""
        source = submission.sources.get(verdict.step, "")
        step = self.registry.find(verdict.step)
        used = find_imported(submission, step, self.registry) - self.right.keys() if source else ()
        wrong = [
            one.title for one in before if one.step in used and one.status is not Status.PASSED
        ]
        if verdict.message or not wrong:
            return verdict
        failed = verdict.status not in (Status.PASSED, Status.NOT_ATTEMPTED)
        if not failed and is_unfinished(source):
            return verdict
        return replace(verdict, message=messages.stands_on(wrong))

    def _report_unjudged(self, step: Step, status: Status, message: str) -> StepVerdict:
        """Return the verdict on a step whose code could not run; all checks share the reason."""
        verdicts = [self.bench.verdict(check, status, message) for check in step.checks]
        return StepVerdict(
            step.id, step.title, status, 0.0, step.max_points, tuple(verdicts), None, message
        )


def _hangs(verdicts: Iterable[CheckVerdict]) -> bool:
    """Return whether a call took too long."""
    return any(verdict.status is Status.TIMEOUT for verdict in verdicts)


def _verdict(
    step: Step, verdicts: Sequence[CheckVerdict], own: bool | None, message: str
) -> StepVerdict:
    statuses = {verdict.status for verdict in verdicts}
    if statuses == {Status.PASSED}:
        status = Status.PASSED
    elif statuses == {Status.NOT_ATTEMPTED}:
        status = Status.NOT_ATTEMPTED
    else:
        status = Status.FAILED
    points = sum(verdict.points for verdict in verdicts)
    return StepVerdict(
        step.id, step.title, status, points, step.max_points, tuple(verdicts), own, message
    )


def choose_inputs(suite: str, root: int | str) -> Callable[[Step], Given]:
    """Return the maker of a suite's inputs for a step. root: what hidden inputs depend on."""
    if suite == "visible":
        return lambda step: Stored(step.id)
    live = Live(root)
    return lambda step: live


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
    given: Callable[[Step], Given] | None = None,
    kept: Path | None = None,
) -> Grader:
    """Return a grader that has loaded the suite's checks of these steps.

    seed: what the report says. Hidden inputs follow from the key, or from the seed without one.
    full: show hidden failures as visible ones.
    given: inputs to use in place of the suite's own. kept: a folder for what the visible checks
    ask, so that the next command knows it. Raise KitError if the checks cannot be loaded.
    """
    if suite == "visible" and host.isolation.name == Process.name:  # one's own machine
        host.audit = set()
    bench = Bench(host, given or choose_inputs(suite, key or seed), suite)
    bench.shows |= full
    if kept is not None and suite == "visible":
        bench.kept_scripts = KeptScripts(kept)
    bench.load(steps)
    return Grader(registry, bench, seed, thorough=thorough)
