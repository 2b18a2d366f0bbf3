"""An untouched stub is judged without a process, and a save leads to no needless judging."""

from dataclasses import replace

import pytest

from grader.cli.watching import FolderWatch
from grader.engine.grading import make_grader
from grader.intake.submission import Submission
from grader.isolation.hosts import ForkingHost
from grader.report.records import Status
from grader.report.text.terminal import Printer
from tests.conftest import STEPS
from tests.support.stubs import solution_text, stub_text, write_solutions, write_stubs

STUBS = {step.id: stub_text(step.id) for step in STEPS}
CACHES = [step for step in STEPS if any(f.name.startswith("new_") for f in step.functions)]


def without_messages(step):
    """Code that runs tells which function a check needs first, and a stub which one is checked."""
    return replace(step, checks=tuple(replace(check, message="") for check in step.checks))


@pytest.mark.parametrize(("suite", "chosen"), [("visible", STEPS), ("hidden", CACHES)])
def test_stub_gets_the_verdict_that_its_code_would_get(grade, suite, chosen, monkeypatch):
    run = {name: f"{text}# another file\n" for name, text in STUBS.items()}
    told = grade(Submission("learner", run), suite, tuple(chosen)).steps
    monkeypatch.setattr(ForkingHost, "start", None)
    found = grade(Submission("learner", STUBS), suite, tuple(chosen)).steps
    assert [*map(without_messages, found)] == [*map(without_messages, told)]
    for check in (check for step in found for check in step.checks):
        assert check.message == f"{check.function} is not written yet."
    assert {step.status for step in told} == {Status.NOT_ATTEMPTED}


def test_stub_needs_no_worker_and_any_change_does(grade, monkeypatch):
    monkeypatch.setattr(ForkingHost, "start", lambda host: pytest.fail("a worker was started"))
    step = STEPS[1]
    grade(Submission("learner", STUBS), "visible", (step,))
    changed = {**STUBS, step.id: STUBS[step.id].replace("NotImplementedError()", "ValueError()")}
    with pytest.raises(pytest.fail.Exception, match="a worker was started"):
        grade(Submission("learner", changed), "visible", (step,))


@pytest.fixture
def watch(tmp_path, steps, host):
    """A watched folder of stubs with right steps 1 to 6, all judged; `watch.judged` lists more."""
    folder = write_solutions(write_stubs(tmp_path / "mine"), STEPS[:6])
    watch = FolderWatch(make_grader(steps, host, "visible", 0, STEPS), folder, Printer())
    watch._judge(STEPS)
    watch.judged, judge = [], watch.grader.step

    def noted(submission, one):
        watch.judged.append(one.number)
        return judge(submission, one)

    watch.grader.step = noted
    return watch


def saved(watch, number, wrong=""):
    """The verdict on a step that is saved: the solution, and what is wrong below it."""
    path = watch.folder / STEPS[number - 1].filename
    path.write_text(solution_text(path.stem) + wrong, encoding="utf-8")
    watch.judged.clear()
    watch.saved([path])
    return watch.known[path.stem]


def test_save_judges_again_what_stands_on_it_directly_or_not(watch):
    assert saved(watch, 4).status is Status.PASSED
    assert watch.judged[0] == 4
    assert {5, 6} < set(watch.judged)  # step 6 imports step 5, which imports step 4
    assert not {1, 2, 3} & set(watch.judged)


def test_save_that_fails_judges_nothing_else(watch):
    wrong = "\ndef softmax(scores, axis=-1):\n    return scores\n"
    assert saved(watch, 4, wrong).status is Status.FAILED
    assert watch.judged == [4]


def test_step_that_was_to_blame_is_forgiven_when_it_is_right(watch):
    """Step 5 works on the kit's step 3, and not on the learner's."""
    wrong = "\ndef causal_mask(t_q, t_k=None):\n    return np.ones((t_q, t_k or t_q), bool)\n"
    saved(watch, 3, wrong)
    saved(watch, 5)
    assert watch.known["step05_output"].blamed == ("step03_mask",)
    saved(watch, 3)
    assert watch.known["step05_output"].on_own_steps is True


def test_all_are_judged_again_if_one_is_too_slow(watch):
    first, *rest = watch.known["step02_scores"].checks
    checks = (replace(first, status=Status.TIMEOUT), *rest)
    watch.known["step02_scores"] = replace(watch.known["step02_scores"], checks=checks)
    saved(watch, 4)
    assert sorted(watch.judged) == [step.number for step in STEPS]
