"""Prove that the checks work, and count how many causes of failures are named rightly.

Every known mistake is rejected, and every fair variant accepted. Which check catches each mistake
is found here, and stored in `caught_by.toml`.

The diagnosis is tested on programs whose mistake is known. A cause is right if it has the mistake's
own name. Two mistakes with different names are alike if they give the same answers to a whole suite
of fresh inputs. This is tried, not assumed.
"""

import itertools
import json
import textwrap
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from grader.answer_key.variants import CAUGHT_BY, FAIR, MISTAKES, Variant, read
from grader.authoring.pools import start_pool
from grader.checks.suites import Live
from grader.diagnosis.calls import has_read_only
from grader.diagnosis.cause_sentences import name_cause
from grader.diagnosis.library import Suspect
from grader.diagnosis.search import WRITES, Replay
from grader.engine.grading import Grader, make_grader
from grader.intake.submission import read_folder
from grader.isolation import Host, Process, start_host
from grader.isolation.client import Raised
from grader.report.records import CheckVerdict, Diagnosis, Status, StepVerdict
from grader.steps.paths import ROOT
from grader.steps.registry import Registry, Step, load

SUITES, SEED = ("visible", "hidden"), 1  # which catch a mistake
FILE_HEADER = "# Which check catches each known mistake. `make build` writes this file."
WIDTH = 100
HEADER = f" {'step':<20} {'mistakes rejected':>18} {'fair variants accepted':>24}"
UNSEEN = ROOT / "tests" / "corpora" / "unseen"
PROMISE = 0.98
CHUNK = 15
COLUMNS = ("programs", "caught", "named", "right", "alike", "wrong", "silent")
CAUSES_HEADER = f" {'':<19}" + "".join(f"{name:>8}" for name in COLUMNS)
LEGEND = (
    "caught: failed a check. named: got a cause. right: the mistake's own name. alike: the name of "
    "one that answers a whole suite of fresh inputs in the same way. A fair variant must be "
    "neither rejected nor named."
)


def list_failed(checks: Iterable[CheckVerdict]) -> tuple[str, ...]:
    """Return the checks that rejected a program, in order."""
    passed = (Status.PASSED, Status.SKIPPED)
    return tuple(check.check for check in checks if check.status not in passed)


@dataclass(frozen=True)
class Finding:
    """The outcome for a variant."""

    variant: Variant
    verdict: StepVerdict

    @property
    def failed(self) -> tuple[str, ...]:
        """Return the checks that rejected it, in order."""
        return list_failed(self.verdict.checks)

    @property
    def ok(self) -> bool:
        """Return whether a mistake gets nothing for the check that should catch it.

        A law may be skipped, because the values are wrong: random inputs do not show every leak. A
        fair variant fails no check.
        """
        if self.variant.kind == "fair":
            return self.verdict.status is Status.PASSED
        paid = {c.check for c in self.verdict.checks if c.status is Status.PASSED}
        return bool(self.failed) and self.variant.caught_by not in paid


def prove(grader: Grader, step: Step, variants: Iterable[Variant]) -> list[Finding]:
    """Grade variants of a step, with a grader that is not thorough."""
    return [Finding(variant, grader.step(variant.submission, step)) for variant in variants]


def line(finding: Finding) -> str:
    """Return a variant with the wrong outcome, and the checks that rejected it."""
    variant, by = finding.variant, ", ".join(finding.failed) or "no check"
    who = f" x {variant.step[:6]}  {variant.kind:<7}  {variant.name}"
    if variant.kind == "fair":
        return f"{who}: rejected by {by} {finding.verdict.message}"
    return f"{who} ({variant.id}): {by}; it should be {variant.caught_by}"


def row(step: Step, findings: Sequence[Finding]) -> str:
    """Return a step's line in the table: how many of each kind had the right outcome."""
    counts = []
    for kind in ("mistake", "fair"):
        mine = [finding.ok for finding in findings if finding.variant.kind == kind]
        counts.append(f"{sum(mine)} of {len(mine)}")
    return f" {step.id:<22}{counts[0]:>17} {counts[1]:>24}"


def choose_check(findings: Sequence[Finding], named: Collection[str]) -> str:
    """Return the first check that rejects a mistake in every suite, or an empty text.

    One that no other mistake is caught by goes first. named: the checks of the others.
    """
    first, *others = (finding.failed for finding in findings)
    common = [check for check in first if all(check in failed for failed in others)]
    return min(common, key=lambda check: check in named, default="")


def find_checks(registry: Registry, step: Step) -> dict[str, str]:
    """Return which check catches each mistake; only those without a known one are judged."""
    known = {mistake.name: mistake.caught_by for mistake in read(MISTAKES, step)}
    new = [mistake for mistake in read(MISTAKES, step) if not mistake.caught_by]
    if new:
        with start_host(Process(), registry.limits) as host:
            graders = [
                make_grader(registry, host, suite, SEED, [step], thorough=False) for suite in SUITES
            ]
            for findings in zip(*(prove(grader, step, new) for grader in graders)):
                known[findings[0].variant.name] = choose_check(findings, set(known.values()))
    return known


def caught_by(registry: Registry) -> dict[Path, str]:
    """Return the file of which check catches each mistake, for the mistakes as they are now."""
    lines = [FILE_HEADER]
    for step in registry.steps:
        lines.append(f"\n[{step.id}]")
        checks = find_checks(registry, step)
        for check in step.checks:
            names = " ".join(name for name, caught_by in checks.items() if caught_by == check.id)
            if names:
                entry = f'{check.id} = """{names}"""'
                lines.append(textwrap.fill(entry, WIDTH, subsequent_indent="  "))
    return {MISTAKES.parent / CAUGHT_BY: "\n".join(lines) + "\n"}


class Naming(Enum):
    """How correct the causes are that nopeek gave for one program."""

    RIGHT = "right"
    ALIKE = "alike"
    WRONG = "wrong"
    UNREAD = "unread"
    SILENT = "silent"


@dataclass(frozen=True)
class Diagnosed:
    """The outcome for one program. named: the causes' ids, wrong ones marked with `!`."""

    step: str
    kind: str
    name: str
    id: str
    failed: tuple[str, ...]
    named: tuple[str, ...]
    naming: Naming


def outcomes(
    registry: Registry,
    host: Host,
    step: Step,
    folder: Path,
    suite: str,
    seed: int,
    names: Collection[str],
) -> list[Diagnosed]:
    """Return the outcomes of a step's variants in that folder that have these names."""
    variants = [one for one in read(folder, step) if one.name in names]
    grader = make_grader(registry, host, suite, seed, [step])
    judged = [(v, grader.find_causes(v.submission, step)[0]) for v in variants]
    grader.thorough = False
    grader.bench.make_given = lambda step: Live(seed + 1)
    grader.bench.givens.clear()
    return [_examine(grader, step, *one) for one in judged]


def _examine(
    grader: Grader, step: Step, variant: Variant, checks: Sequence[CheckVerdict]
) -> Diagnosed:
    """Return how correct the named causes are. The grader has fresh inputs."""
    failed = list_failed(checks)
    causes = {
        check.function: check.diagnosis
        for check in reversed(checks)
        if check.diagnosis and check.check in failed and check.diagnosis.known
    }
    kinds = {name: _compare(grader, step, variant, name, causes[name]) for name in causes}
    marks = [causes[name].misconception + "!" * (kinds[name] is Naming.WRONG) for name in causes]
    order = (Naming.WRONG, Naming.ALIKE, Naming.RIGHT)
    naming = next((kind for kind in order if kind in kinds.values()), Naming.SILENT)
    kind, name, id = variant.kind, variant.name, variant.id
    return Diagnosed(step.id, kind, name, id, failed, tuple(marks), naming)


def _compare(
    grader: Grader, step: Step, variant: Variant, function: str, cause: Diagnosis
) -> Naming:
    """Return how correct a cause is, by its name or by the calls in the same checks on new inputs.

    A function that writes must fail on read-only arrays, and only there.
    """
    if variant.kind == "fair" or cause.misconception == variant.id:
        return Naming.WRONG if variant.kind == "fair" else Naming.RIGHT
    calls = grader.find_causes(variant.submission, step)[1].calls
    if cause == WRITES:
        refused = [
            call
            for call in calls
            if isinstance(call.outcome, Raised) and "read-only" in call.outcome.text
        ]
        return Naming.ALIKE if refused and all(map(has_read_only, refused)) else Naming.WRONG
    steps = [*grader.registry.before(step), step]
    known = [Suspect((v,)) for step in steps for v in read(MISTAKES, step)]
    names = [name_cause(one, step) for one in known]
    named = [  # the words of another one that fits may follow
        one
        for one, name in zip(known, names)
        if name.misconception == cause.misconception and cause.says.startswith(name.says)
    ]
    with Replay(grader.library, step, calls) as replay:
        return Naming.ALIKE if replay.explaining(function, named) else Naming.WRONG


def judge_unseen(registry: Registry, host: Host, step: Step) -> list[Diagnosed]:
    """Return the outcomes of a step's unseen programs, or [] if it has none.

    If a program has a cause, a reader has judged that cause.
    """
    paths = sorted(UNSEEN.glob(f"wrong/*/{step.filename}"))
    if not paths:
        return []
    causes = json.loads((UNSEEN / "causes.json").read_text(encoding="utf-8"))
    grader = make_grader(registry, host, "visible", 0, [step])
    found = []
    for folder in (path.parent for path in paths):
        checks, _ = grader.find_causes(read_folder(folder, registry), step)
        function = (folder / "why.txt").read_text(encoding="utf-8").split()[0]
        given = [c.diagnosis for c in checks if c.diagnosis and c.function == function]
        named = tuple(d.misconception for d in given if d.known)[:1]
        read, naming = causes.get(folder.name, {}), Naming.SILENT
        if named:
            judged = Naming.RIGHT if read.get("right") else Naming.WRONG
            naming = judged if named == (read.get("recognised"),) else Naming.UNREAD
        failed = list_failed(checks)
        found.append(Diagnosed(step.id, "unseen", folder.name, "", failed, named, naming))
    return found


@dataclass(frozen=True)
class Figures:
    """The outcomes for some programs of one kind."""

    title: str
    outcomes: tuple[Diagnosed, ...]

    def count(self, *namings: Naming) -> int:
        """Return the number of outcomes with that naming."""
        return sum(outcome.naming in namings for outcome in self.outcomes)

    @property
    def rejected(self) -> int:
        """Return how many failed a check."""
        return sum(bool(outcome.failed) for outcome in self.outcomes)

    @property
    def named(self) -> int:
        """Return how many got a cause."""
        return len(self.outcomes) - self.count(Naming.SILENT)

    @property
    def row(self) -> str:
        """Return a line of the table."""
        right, alike, silent = map(self.count, (Naming.RIGHT, Naming.ALIKE, Naming.SILENT))
        wrong = self.count(Naming.WRONG, Naming.UNREAD)
        numbers = (len(self.outcomes), self.rejected, self.named, right, alike, wrong, silent)
        return f" {self.title:<19}" + "".join(f"{number:>8}" for number in numbers)

    @property
    def kept(self) -> bool:
        """Return whether all were rejected, nearly all causes right, and fair ones left alone."""
        if any(outcome.kind == "fair" for outcome in self.outcomes):
            return not self.rejected and not self.named
        right = self.count(Naming.RIGHT, Naming.ALIKE)
        return self.rejected == len(self.outcomes) and right >= PROMISE * self.named


def explain_outcome(outcome: Diagnosed) -> str | None:
    """Return a hint for an instructor who adds a mistake, or None."""
    who = f"{outcome.step[:6]}  {outcome.kind} {outcome.name}"
    named = ", ".join(name.rstrip("!") for name in outcome.named)
    if outcome.kind == "fair":
        if not outcome.failed and not outcome.named:
            return None
        failed = ", ".join(outcome.failed) or "no check"
        return f" x {who}: rejected by {failed}; named {named or 'nothing'}"
    if not outcome.failed:
        return f" x {who}: no check rejects it"
    if outcome.naming is Naming.UNREAD:
        return f" x {who}: named {named}: read it, and note in causes.json whether it is right"
    if outcome.naming is Naming.WRONG:
        return f" x {who}{f' ({outcome.id})' * bool(outcome.id)}: named {named}"
    if outcome.naming is Naming.SILENT and outcome.kind == "mistake":
        return f" - {who} ({outcome.id}): no cause"
    return None


def _work(step: Step, folder: Path, suite: str, seed: int, first: int) -> list[Diagnosed]:
    """Judge some of a step's variants, or its unseen programs, in a separate process."""
    registry = load()
    with start_host(Process(), registry.limits) as host:
        if folder == UNSEEN:
            return judge_unseen(registry, host, step)
        names = [one.name for one in read(folder, step)][first : first + CHUNK]
        return outcomes(registry, host, step, folder, suite, seed, names)


def all_figures(steps: Sequence[Step], suite: str, seed: int) -> Iterator[Figures]:
    """Yield the figures of each step's mistakes, all mistakes, fair variants and unseen programs.

    They are found in several processes.
    """
    with start_pool() as pool:

        def find(folder: Path, *steps: Step) -> tuple[Diagnosed, ...]:
            starts = [
                (step, first)
                for step in steps
                for first in range(0, 1 if folder == UNSEEN else len(read(folder, step)), CHUNK)
            ]
            tasks = [pool.submit(_work, step, folder, suite, seed, first) for step, first in starts]
            return tuple(itertools.chain.from_iterable(task.result() for task in tasks))

        found = []
        for step in steps:
            found.append(Figures(step.id, find(MISTAKES, step)))
            yield found[-1]
        yield Figures("all mistakes", tuple(one for some in found for one in some.outcomes))
        yield Figures("fair variants", find(FAIR, *steps))
        if strange := find(UNSEEN, *steps):
            yield Figures("unseen programs", strange)
