"""Programs that were written without knowing the checks: how the judge does on the unknown."""

import json
from dataclasses import replace

import pytest

from grader.engine.grading import make_grader
from grader.intake.submission import read_folder
from grader.isolation import Process, start_host
from grader.report.records import Status
from tests.conftest import ROOT, SEED, STEPS
from tests.support.sampling import sample, ways

UNSEEN = ROOT / "tests" / "corpora" / "unseen"
CAUSES = json.loads((UNSEEN / "causes.json").read_text(encoding="utf-8"))
SAID = json.loads((UNSEEN / "said.json").read_text(encoding="utf-8"))
SUITES = ("visible", "hidden")
# They draw a few tokens at random. So does the known mistake, which is named if these are the same.
BY_CHANCE = {"s08_draws_u_itself": "gen_u_made_up", "s13_generate_draws_u": "gen_u_made_up"}


def function_of(name):
    """The function that the wrong program of that name gets wrong: the first word of its why."""
    why = (UNSEEN / "wrong" / name / "why.txt").read_text(encoding="utf-8")
    return why.split()[0]


def folders(kind):
    return sorted(path for path in (UNSEEN / kind).iterdir() if path.is_dir())


def judged(steps, grader, paths, only=STEPS):
    """The verdicts on all of these steps that the folders have, by folder."""
    read = {path.name: read_folder(path, steps) for path in paths}
    return {
        name: [grader.step(one, step) for step in only if step.id in one.sources]
        for name, one in read.items()
    }


def text_of(path):
    return "".join(one.read_text("utf-8", "replace") for one in sorted(path.glob("*.py")))


def sampled(kind):
    """The folders that are judged; a program of one step counts as that step's."""

    def step_of(path):
        first, *others = sorted(path.glob("step*.py"))
        return "" if others else first.stem

    return sample(f"{kind} programs", folders(kind), text_of, step_of)


RIGHT, LAZY, CHOSEN = map(sampled, ("right", "lazy", "wrong"))
JUDGED = [
    pytest.param(path, suite, id=f"{path.name}-{suite}")
    for path in RIGHT
    for suite in ways("right programs in another suite", SUITES, text_of(path))
]
WRONG = {step: [path for path in CHOSEN if (path / step.filename).is_file()] for step in STEPS}
FEW = 10
A_FEW = [
    pytest.param(step, paths[first : first + FEW], id=f"{step.id}-{paths[first].name}")
    for step, paths in WRONG.items()
    for first in range(0, len(paths), FEW)
]


@pytest.fixture(scope="module")
def graders(steps, host):
    """One for each suite, as for a class: it makes the inputs and the right results once."""
    return {s: make_grader(steps, host, s, SEED, STEPS, thorough=False) for s in SUITES}


@pytest.mark.parametrize(("path", "suite"), JUDGED)
def test_right_program_passes(steps, graders, path, suite):
    program = read_folder(path, steps)
    found = [graders[suite].step(program, step) for step in STEPS if step.id in program.sources]
    checks = [check for step in found for check in step.checks]
    assert [(c.check, c.message) for c in checks if c.status is not Status.PASSED] == []
    assert checks


def test_programs_are_many():
    assert len(folders("right")) >= 140
    assert sum(map(len, WRONG.values())) == len(CHOSEN)
    assert len(folders("wrong")) >= 690


def accepted(verdicts):
    return [n for n, found in verdicts.items() if all(s.status is Status.PASSED for s in found)]


def accepted_by_hidden(steps, grader, step, paths):
    """Most fail one of the checks that need no other: only the rest is put to all of them."""
    first = step.narrow_to({check.id for check in step.checks if check.needs is None})
    left = accepted(judged(steps, grader, paths, [first]))
    rest = [path for path in paths if path.name in left]
    return accepted(judged(steps, grader, rest))


@pytest.mark.parametrize(("step", "paths"), A_FEW)
def test_wrong_programs_fail_and_what_is_said_of_them_was_read(
    steps, grader_of, graders, step, paths
):
    """Each cause and each sentence was read beside its program."""
    assert accepted_by_hidden(steps, graders["hidden"], step, paths) == []
    verdicts = judged(steps, grader_of("visible", step, thorough=True), paths)
    assert accepted(verdicts) == []
    given, said = {}, {}
    for name, (verdict,) in verdicts.items():
        function = function_of(name)
        mine = [c.diagnosis for c in verdict.checks if c.diagnosis and c.function == function]
        causes = [found.misconception for found in mine if found.known]
        if causes and BY_CHANCE.get(name) != causes[0]:
            given[name] = causes[0]
        for found in mine:
            if not found.known:
                said[name] = {"property": found.misconception, "says": found.says}
    read = {name: cause["recognised"] for name, cause in CAUSES.items() if name in verdicts}
    assert given == read, "read these, and note in causes.json whether they are right"
    known = {name: SAID[name] for name in SAID if name in verdicts}
    assert said == known, "read these, and note them in said.json if they are true"


def test_causes_that_were_read_are_right():
    """All that were given: the test above holds them against causes.json."""
    assert sum(cause["right"] for cause in CAUSES.values()) >= 0.98 * len(CAUSES)
    assert len(CAUSES) >= 0.6 * len(folders("wrong"))
    assert set(SAID).isdisjoint(CAUSES)


@pytest.mark.parametrize("path", LAZY, ids=lambda path: path.name)
def test_lazy_programs_do_not_get_through(steps, path):
    limits = replace(steps.limits, call_seconds=0.5)
    with start_host(Process(), limits) as host:
        grader = make_grader(steps, host, "visible", SEED, STEPS, thorough=False)
        (found,) = judged(steps, grader, [path]).values()
    earned = sum(step.points for step in found)
    assert earned <= 0.25 * sum(step.max_points for step in STEPS)
    assert not any(step.status is Status.PASSED for step in found)
