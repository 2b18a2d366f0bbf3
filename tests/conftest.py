"""Share the registry, one host of workers, and grading in one line among the tests.

Unless everything is asked for, the tests marked `long` are left out, and said so at the end.
"""

import gc
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from grader.engine import grading
from grader.intake.submission import Submission, read_folder
from grader.isolation import Host, Process, start_host
from grader.report.records import Report, StepVerdict
from grader.steps import paths, registry, stubs
from grader.steps.registry import Registry, Step
from tests.support import sampling

ROOT = paths.ROOT
STEPS = registry.load().steps
SOLUTIONS = stubs.solutions(registry.load())  # the text of each step, by its id
SEED = 20_201
# Of these tests, which are repeated with other data, the first case is run.
REPEATED = (
    *("tests/integration", "tests/end_to_end", "tests/corpora/test_oracle.py"),
    "tests/unit/authoring/test_step_findings.py",
    *("tests/unit/classroom/test_run.py", "tests/unit/intake/test_slow_sources.py"),
)
# A plain function, a cache, gradients: a test of several rooms runs for these and changed steps.
TYPICAL = {"step02_scores", "step07_kv_cache", "step18_decoder_gradient"}


def with_needed(step: Step, check: str | None) -> set[str]:
    """The ids of a check of a step and of all checks that must pass for it to count."""
    needs, found = {one.id: one.needs for one in step.checks}, set[str]()
    while check is not None:
        found.add(check)
        check = needs[check]
    return found


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
        return grading.make_grader(steps, host, suite, seed, chosen).grade(submission, chosen)

    return grade


@pytest.fixture
def judge(grade: Grade, steps: Registry) -> Callable[..., StepVerdict]:
    """judge(step, source, suite, modules=...): the verdict on one step.

    source: the text of the step, or the texts of several steps by their ids.
    """

    def judge(
        name: str, source: str | dict[str, str], suite: str = "visible", **more: object
    ) -> StepVerdict:
        step = steps.find(name)
        sources = {step.id: source} if isinstance(source, str) else source
        return grade(Submission("mine", sources, **more), suite, (step,)).steps[0]

    return judge


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect long tests and repetitions, unless all are asked for or their files are named."""
    named = any("::" in argument or argument.endswith(".py") for argument in config.args)
    if sampling.ALL or named:
        return
    long = {item for item in items if item.get_closest_marker("long")}
    again = set(_list_repetitions(item for item in items if item not in long))
    sampling.left_out.update({"long tests": len(long), "repetitions": len(again)})
    config.hook.pytest_deselected(items=[*long, *again])
    items[:] = [item for item in items if item not in long | again]


def _list_repetitions(items: Iterable[pytest.Item]) -> Iterator[pytest.Item]:
    """Yield tests of several rooms that are repeated for other steps, or with other data."""
    met = set[str]()
    for item in items:
        if not item.nodeid.startswith(REPEATED):
            continue
        step = getattr(getattr(item, "callspec", None), "params", {}).get("step")
        if isinstance(step, Step):
            if step.id not in TYPICAL | sampling.changed_steps():
                yield item
            continue
        name = item.nodeid.partition("[")[0]
        if name in met:
            yield item
        met.add(name)


def pytest_collection_finish() -> None:
    """Spare the garbage collector all that the tests' modules hold until the end."""
    gc.collect()
    gc.freeze()


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Tell the process that prints what this one has left out."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["left_out"] = dict(sampling.left_out)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what was left out."""
    if said := sampling.say_left_out(sampling.left_out):
        terminalreporter.write_line(said)


class Told:
    """Tell a failure at once, and hear what the processes of xdist have left out: all the same."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        terminal = self.config.pluginmanager.get_plugin("terminalreporter")
        if report.failed and terminal is not None:
            terminal.write_line(f"\nFAILED {report.nodeid}", red=True)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: object) -> None:
        found = getattr(node, "workeroutput", {}).get("left_out", {})
        for kind, count in found.items():
            sampling.left_out[kind] = max(sampling.left_out[kind], count)


def pytest_configure(config: pytest.Config) -> None:
    """Register what needs a plugin of its own."""
    config.pluginmanager.register(Told(config))
