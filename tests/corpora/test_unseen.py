"""Programs that were written without knowing the checks: how the judge does on the unknown."""

import json
from dataclasses import replace

import pytest

from grader.engine.grading import make_grader
from grader.intake.submission import read_folder
from grader.isolation import Process, start_host
from grader.report.records import Status
from tests.conftest import ROOT, SEED, STEPS

UNSEEN = ROOT / "tests" / "corpora" / "unseen"
CAUSES = json.loads((UNSEEN / "causes.json").read_text(encoding="utf-8"))
SAID = json.loads((UNSEEN / "said.json").read_text(encoding="utf-8"))
SUITES = ("visible", "hidden")


def function_of(name):
    """The function that the wrong program of that name gets wrong: the first word of its why."""
    why = (UNSEEN / "wrong" / name / "why.txt").read_text(encoding="utf-8")
    return why.split()[0]


def folders(kind):
    return sorted(path for path in (UNSEEN / kind).iterdir() if path.is_dir())


def judged(steps, host, suite, paths, thorough=False):
    """The verdicts on all steps that the folders have, by folder."""
    read = {path.name: read_folder(path, steps) for path in paths}

    def work(grader):
        return {
            name: [grader.step(one, step) for step in STEPS if step.id in one.sources]
            for name, one in read.items()
        }

    return work(make_grader(steps, host, suite, SEED, STEPS, thorough=thorough))


@pytest.mark.parametrize("suite", SUITES)
def test_right_programs_pass(steps, host, suite):
    verdicts = judged(steps, host, suite, folders("right"))
    bad = {
        name: [
            (check.check, check.message)
            for step in found
            for check in step.checks
            if check.status is not Status.PASSED
        ]
        for name, found in verdicts.items()
    }
    assert {name: checks for name, checks in bad.items() if checks} == {}
    assert len(verdicts) >= 120


@pytest.fixture(scope="module")
def wrong_verdicts(steps, host):
    """The visible suite's verdicts on the wrong programs, with causes."""
    return judged(steps, host, "visible", folders("wrong"), thorough=True)


def accepted(verdicts):
    return [n for n, found in verdicts.items() if all(s.status is Status.PASSED for s in found)]


def test_wrong_programs_fail(wrong_verdicts):
    assert accepted(wrong_verdicts) == []
    assert len(wrong_verdicts) >= 370


def test_wrong_programs_fail_the_hidden_checks(steps, host):
    assert accepted(judged(steps, host, "hidden", folders("wrong"))) == []


def test_causes_are_right_where_one_is_given(wrong_verdicts):
    given = {}
    for name, (verdict,) in wrong_verdicts.items():
        function = function_of(name)
        found = [
            c.diagnosis
            for c in verdict.checks
            if c.diagnosis and c.diagnosis.known and c.function == function
        ]
        if found:
            given[name] = found[0].misconception
    read = {name: cause["recognised"] for name, cause in CAUSES.items()}
    unread = {name: cause for name, cause in given.items() if read.get(name) != cause}
    assert unread == {}, "read these, and note in causes.json whether they are right"
    right = sum(CAUSES[name]["right"] for name in given)
    assert right >= 0.98 * len(given)
    assert len(given) >= 0.6 * len(wrong_verdicts)


def test_what_is_said_where_no_cause_is_given_was_read(wrong_verdicts):
    """Each of these sentences was read beside its program and is true of it."""
    said = {}
    for name, (verdict,) in wrong_verdicts.items():
        function = function_of(name)
        for check in verdict.checks:
            found = check.diagnosis
            if found and not found.known and check.function == function:
                said[name] = {"property": found.misconception, "says": found.says}
    assert said == SAID, "read these, and note them in said.json if they are true"
    assert set(said).isdisjoint(CAUSES)


@pytest.mark.parametrize("path", folders("lazy"), ids=lambda path: path.name)
def test_lazy_programs_do_not_get_through(steps, path):
    limits = replace(steps.limits, call_seconds=0.5)
    with start_host(Process(), limits) as host:
        (found,) = judged(steps, host, "visible", [path]).values()
    earned = sum(step.points for step in found)
    assert earned <= 0.25 * sum(step.max_points for step in STEPS)
    assert not any(step.status is Status.PASSED for step in found)
