"""Show the verdicts of `check` in pytest: `pytest tests/visible --submission DIR`.

The conftest.py of each suite uses this plugin. A step is judged once, when the first of its checks
is run. Then every check passes, fails or is skipped as the judge found. Only pytest's public
interface is used.
"""

import contextlib
from pathlib import Path

import pytest

from grader.engine.failures import UNTOLD
from grader.engine.grading import fresh_seed, make_grader
from grader.intake.submission import read_folder
from grader.isolation import Process, start_host
from grader.report.records import CheckVerdict, Status
from grader.steps.paths import EXERCISES
from grader.steps.registry import load


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options, once for both suites."""
    with contextlib.suppress(ValueError):  # the other suite's conftest.py has added them
        group = parser.getgroup("nopeek")
        group.addoption("--submission", type=Path, default=EXERCISES, help="A folder of steps.")
        group.addoption("--seed", type=int, help="Seed of the hidden inputs; random by default.")


@pytest.fixture(scope="module")
def verdicts(request: pytest.FixtureRequest) -> dict[str, CheckVerdict]:
    """Judge the step of this module's checks; return the verdicts by check."""
    registry = load()
    step = registry.find(request.path.stem.removeprefix("test_"))
    suite, seed = request.path.parent.name, request.config.getoption("--seed")
    submission = read_folder(request.config.getoption("--submission"), registry)
    with start_host(Process(), registry.limits) as host:
        grader = make_grader(registry, host, suite, fresh_seed() if seed is None else seed, [step])
        (judged,) = grader.grade(submission, [step]).steps
        return {verdict.check: verdict for verdict in judged.checks}


@pytest.fixture(autouse=True)
def verdict(verdicts: dict[str, CheckVerdict], request: pytest.FixtureRequest) -> CheckVerdict:
    """Return the verdict on the running check."""
    return verdicts[request.node.name.removeprefix("test_")]


@pytest.fixture
def student() -> None:
    """Stand in for the submission: the judge runs the check with its own."""


@pytest.fixture
def given() -> None:
    """Stand in for the suite's inputs: the judge runs the check with its own."""


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Show the judge's verdict instead of calling the check once more."""
    found = pyfuncitem.funcargs.get("verdict")
    if not isinstance(found, CheckVerdict):
        return None  # a test of something else
    if found.status in UNTOLD:
        pytest.skip(found.message or found.status.value)
    if found.status is not Status.PASSED:
        pytest.fail(f"{found.title}\n{found.message}", pytrace=False)
    return True
