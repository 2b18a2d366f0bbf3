"""Find which check catches each known mistake, and store it."""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from grader.answer_key.variants import CAUGHT_BY, MISTAKES, read
from grader.authoring.proof import Finding, prove
from grader.engine.grading import make_grader
from grader.isolation import Process, start_host
from grader.report.files import write_whole
from grader.steps.registry import Registry, Step

SUITES, SEED = ("visible", "hidden"), 1
HEAD = "# Which check catches each known mistake. `make build` writes this file."
WIDTH = 100


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
                name = findings[0].variant.name
                known[name] = choose_check(findings, set(known.values()))
    return known


def _write_step(step: Step, checks: Mapping[str, str]) -> Iterator[str]:
    yield f"\n[{step.id}]"
    for check in step.checks:
        names = " ".join(name for name, caught_by in checks.items() if caught_by == check.id)
        if names:
            entry = f'{check.id} = """{names}"""'
            yield textwrap.fill(entry, WIDTH, subsequent_indent="  ")


def write_caught_by(registry: Registry) -> str:
    """Return the file's text for the mistakes as they are now."""
    checks = {step: find_checks(registry, step) for step in registry.steps}
    lines = (line for step, found in checks.items() for line in _write_step(step, found))
    return "\n".join([HEAD, *lines]) + "\n"


def build_caught_by(registry: Registry) -> list[Path]:
    """Store which check catches each mistake, for those that are new."""
    path, text = MISTAKES.parent / CAUGHT_BY, write_caught_by(registry)
    if path.exists() and path.read_text(encoding="utf-8") == text:
        return []
    write_whole(path, [text])
    return [path]
