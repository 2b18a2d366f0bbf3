"""The plugin for pytest: under plain pytest the suites give the verdicts of the judge."""

import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import pytest

from grader.answer_key.variants import MISTAKES, read
from grader.intake.submission import Submission
from grader.report.records import Status
from tests.conftest import ROOT, SEED, SOLUTIONS, STEPS
from tests.support.stubs import stub_text

STEP = STEPS[3]
SHOWN = {Status.PASSED: "passed", Status.SKIPPED: "skipped", Status.NOT_ATTEMPTED: "skipped"}


def outcome_of(case):
    """Return pytest's outcome of a test case, from its XML."""
    kinds = {child.tag for child in case}
    return next((k for k in ("failure", "error", "skipped") if k in kinds), "passed")


def under_pytest(folder, suite):
    """The outcome of each check of the step, from a pytest of its own, and what it printed."""
    report = folder / "report.xml"
    command = [sys.executable, "-m", "pytest", f"tests/{suite}/test_{STEP.id}.py", "-q"]
    command += ["--submission", str(folder), "--seed", str(SEED), f"--junitxml={report}"]
    # Without the plugins of others that happen to be installed; they take half a second.
    env = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    cases = ElementTree.parse(report).iter("testcase")
    return {case.get("name").removeprefix("test_"): outcome_of(case) for case in cases}, done.stdout


def sources():
    """A right step, the untouched stub, and two known mistakes; one fails a law, one the values."""
    known = read(MISTAKES, STEP)
    yield "right", SOLUTIONS[STEP.id]
    yield "stub", stub_text(STEP.id)
    yield "wrong", known[0].source
    yield "breaks a law", next(m for m in known if m.caught_by == STEP.checks[-1].id).source


@pytest.mark.parametrize("suite", ["visible", "hidden"])
@pytest.mark.parametrize(("name", "source"), list(sources()), ids=lambda value: value[:12])
def test_plugin_gives_the_verdicts_of_the_judge(grade, tmp_path, suite, name, source):
    (tmp_path / STEP.filename).write_text(source, encoding="utf-8")
    found, text = under_pytest(tmp_path, suite)
    submission = Submission("one", {STEP.id: source})
    (verdict,) = grade(submission, suite, (STEP,)).steps
    expected = {check.check: SHOWN.get(check.status, "failure") for check in verdict.checks}
    assert found == expected
    failed = [check.title for check in verdict.checks if check.status is Status.FAILED]
    assert [title for title in failed if title not in text] == []
