"""Share the registry, one host of workers, and grading in one line among the tests."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from grader.engine import grading
from grader.intake.submission import Submission, read_folder
from grader.isolation import Host, Process, start_host
from grader.report.records import Report
from grader.steps import paths, registry
from grader.steps.registry import Registry, Step

ROOT = paths.ROOT
STEPS = registry.load().steps
SEED = 20_201


@pytest.fixture(scope="session")
def steps() -> Registry:
    return registry.load()


@pytest.fixture(scope="session")
def host() -> Iterator[Host]:
    with start_host(Process(), registry.load().limits) as host:
        yield host


Grade = Callable[..., Report]


@pytest.fixture
def grade(host: Host, steps: Registry) -> Grade:
    """grade(submission or folder, suite, steps): the report."""

    def grade(
        submission: Submission | Path,
        suite: str = "visible",
        only: tuple[Step, ...] | None = None,
        seed: int = SEED,
    ) -> Report:
        if isinstance(submission, Path):
            submission = read_folder(submission, steps)
        chosen = only or steps.steps
        report: Report = grading.make_grader(steps, host, suite, seed, chosen).grade(
            submission, chosen
        )
        return report

    return grade
