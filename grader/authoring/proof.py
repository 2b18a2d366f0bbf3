"""Prove that the checks work: every known mistake is rejected, every fair variant accepted.

Which check catches each mistake is found here, and stored in `caught_by.toml`.
"""

import textwrap
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.answer_key.variants import CAUGHT_BY, MISTAKES, Variant, read
from grader.engine.grading import Grader, make_grader
from grader.isolation import Process, start_host
from grader.report.records import CheckVerdict, Status, StepVerdict
from grader.steps.registry import Registry, Step

SUITES, SEED = ("visible", "hidden"), 1  # which catch a mistake
FILE_HEADER = "# Which check catches each known mistake. `make build` writes this file."
WIDTH = 100
HEADER = f" {'step':<20} {'mistakes rejected':>18} {'fair variants accepted':>24}"


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
