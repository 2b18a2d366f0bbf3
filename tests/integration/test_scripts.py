"""Calls that are sent in advance change no verdict: each of them is that of calls one by one."""

import functools
import itertools
from dataclasses import replace

import numpy as np
import pytest

from grader.answer_key.variants import FAIR, MISTAKES, read
from grader.checks.functions import CheckFunction
from grader.engine import scripts
from grader.engine.bench import Bench
from grader.engine.grading import make_grader
from grader.engine.kept_scripts import KeptScripts
from grader.engine.scripts import Script
from grader.intake.submission import Submission
from grader.isolation import wire
from grader.isolation.client import SHARED, Worker, digest_of
from grader.isolation.wire import Handle, Laid
from grader.report.records import Status
from tests.conftest import ROOT, SEED, STEPS

EVERY = 40  # known mistakes
RIGHT = {step.id: (ROOT / "solutions" / step.filename).read_text("utf-8") for step in STEPS}


@functools.cache
def right_until(step):
    return {one.id: RIGHT[one.id] for one in STEPS[: STEPS.index(step) + 1]}


@pytest.fixture
def warm(steps, host):
    """warm(step, suite): a grader that knows the calls of all checks of a step."""

    def warm(step, suite="hidden"):
        grader = make_grader(steps, host, suite, SEED, [step])
        grader.grade(Submission("first", right_until(step)), [step])
        assert grader.bench.scripts.keys() == {check.id for check in step.checks}
        return grader

    return warm


def cold(steps, host, step, suite="hidden"):
    return make_grader(steps, host, suite, SEED, [step])


@pytest.fixture
def exchanges(monkeypatch):
    """How many messages were sent to workers."""
    sent, exchange = [], Worker._exchange

    def counted(worker, data, until):
        sent.append(len(data))
        return exchange(worker, data, until)

    monkeypatch.setattr(Worker, "_exchange", counted)
    return sent


@pytest.fixture
def ran(monkeypatch):
    """The runs of a step's checks one by one."""
    runs, run = [], Bench.run

    def noted(bench, checks):
        runs.append(checks)
        return run(bench, checks)

    monkeypatch.setattr(Bench, "run", noted)
    return runs


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.id)
def test_right_code_is_asked_with_a_few_messages(warm, exchanges, step):
    grader = warm(step)
    traced = [name for name, script in grader.bench.scripts.items() if not script.several.requests]
    before = len(exchanges)
    (verdict,) = grader.grade(Submission("second", right_until(step)), [step]).steps
    assert (verdict.status, verdict.on_own_steps) == (Status.PASSED, True)
    if not traced:
        assert len(exchanges) - before <= 1 + len(step.checks)
    assert len(traced) <= 2


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.id)
def test_programs_get_the_same_report_with_scripts_and_without(steps, host, warm, step):
    """A grader without scripts is a new one for each program."""
    grader = warm(step)
    mistakes = itertools.islice(read(MISTAKES, step), 0, None, EVERY)
    for number, variant in enumerate([*mistakes, *read(FAIR, step)[:1]]):
        sources = {**right_until(step), variant.step: variant.source}
        submission = Submission(f"s{number}", sources)
        with_scripts = grader.grade(submission, [step])
        if with_scripts.steps[0].status is not Status.PASSED:
            known = cold(steps, host, step)
            known.bench.givens = grader.bench.givens
            assert with_scripts == known.grade(submission, [step]), variant.name


WRITES = """
def softmax(scores, axis=-1, old=softmax):
    result = old(scores, axis)
    try:
        scores += 1
    except ValueError:
        pass
    return result
"""
REMEMBERS = """
_seen = []

def softmax(scores, axis=-1, old=softmax):
    _seen.append(scores)
    return old(scores, axis)
"""
SLOW = """
import time

def softmax(scores, axis=-1, old=softmax):
    time.sleep(0.02)
    return old(scores, axis)
"""
NOISY = """
def softmax(scores, axis=-1, old=softmax):
    return old(scores, axis) * (1 + 1e-14)
"""
FOURTH = STEPS[3]


def judge(grader, more, step=FOURTH):
    sources = {**right_until(step), step.id: RIGHT[step.id] + more}
    return grader.grade(Submission("more", sources), [step]).steps[0]


@pytest.mark.parametrize("suite", ["visible", "hidden"])
def test_function_that_writes_into_arguments_when_it_can_is_found_out(warm, suite):
    verdict = judge(warm(FOURTH, suite), WRITES)
    failed = [check.check for check in verdict.checks if check.status is not Status.PASSED]
    assert failed == ["softmax_arguments"]


def test_function_that_keeps_its_arguments_passes(warm):
    assert judge(warm(FOURTH), REMEMBERS).status is Status.PASSED


def test_function_that_is_slower_than_the_patience_passes(warm, monkeypatch):
    grader = warm(FOURTH)
    monkeypatch.setattr("grader.engine.bench.PATIENCE", 0.05)
    assert judge(grader, SLOW).status is Status.PASSED


def test_answers_that_passed_are_known_again_and_others_are_looked_at(warm, monkeypatch):
    grader, looked, run = warm(FOURTH), [], Bench._failure

    def look(bench, check):
        looked.append(check)
        return run(bench, check)

    monkeypatch.setattr(Bench, "_failure", look)
    numbers = []
    for more in ("", "\n# the same answers\n", NOISY, NOISY):
        before = len(looked)
        assert judge(grader, more).status is Status.PASSED
        numbers.append(len(looked) - before)
    first, again, other, other_again = numbers
    assert (first, again, other_again) == (len(FOURTH.checks), 0, 0)
    assert other > 0


# A check whose second call depends on the answer to the first.


def ask_about_an_answer(student, given):
    """It gives the same twice."""
    once = student.softmax(np.arange(3.0))
    twice = student.softmax(once)
    assert np.allclose(twice.sum(), 1)


def test_calls_that_depend_on_answers_are_made_one_by_one(warm):
    grader, check = warm(FOURTH), FOURTH.checks[0].id
    grader.bench.scripts.clear()
    grader.bench.checks[check] = CheckFunction(ask_about_an_answer, ())
    assert judge(grader, "").status is Status.PASSED
    assert len(grader.bench.scripts[check].several.requests) == 2
    for _ in range(2):
        assert judge(grader, NOISY).status is Status.PASSED
        assert len(grader.bench.scripts[check].several.requests) == 1
        assert not grader.bench.scripts[check].is_whole


# Workers that do not keep to the form.
FORGES = """
import sys

_frame = sys._getframe()
while not hasattr(_frame.f_locals.get("self"), "channel"):
    _frame = _frame.f_back
_kind = type(_frame.f_locals["self"])
_all = _kind.answer

def _answer(session, data):
    answers = _all(session, data)
    return {forged} if b"several" in bytes(data[:40]) else answers

_kind.answer = _answer
"""
FORGED = {
    "too few": "answers[:-20]",
    "too many": 'answers + b"N"',
    "nothing": 'b""',
    "one of another kind": 'b"N"',
    "a handle": 'b"H" + bytes(8)',
    "endless": "answers + bytes(2**20)",
}


@pytest.mark.parametrize("forged", FORGED.values(), ids=FORGED)
def test_worker_that_answers_in_another_form_is_asked_one_by_one(warm, ran, forged):
    verdict = judge(warm(FOURTH), FORGES.format(forged=forged))
    assert (verdict.status, len(ran)) == (Status.PASSED, 2)


def test_worker_whose_answers_are_left_alone_is_not(warm, ran):
    verdict = judge(warm(FOURTH), FORGES.format(forged="answers"))
    assert (verdict.status, len(ran)) == (Status.PASSED, 1)


def test_step_that_changes_others_in_the_same_worker_costs_them_nothing(warm, steps, host):
    """The last step of the worker breaks NumPy for all that come later."""
    chosen = [steps.find("2"), steps.find("4"), steps.find("5")]
    grader = make_grader(steps, host, "hidden", SEED, chosen)
    sources = {step.id: RIGHT[step.id] for step in STEPS[:5]}
    grader.grade(Submission("first", sources), chosen)
    breaks = "\nimport numpy as _np\n_np.exp = _np.einsum = _np.matmul = lambda *_: 0\n"
    sources["step02_scores"] += breaks
    verdicts = grader.grade(Submission("second", sources), chosen).steps
    assert [verdict.status for verdict in verdicts] == [Status.PASSED] * 3


def test_hanging_step_is_a_timeout_and_the_next_one_passes(steps, host, monkeypatch):
    chosen = [steps.find("2"), steps.find("4")]
    limits = replace(host.limits, call_seconds=1.0)
    monkeypatch.setattr(host, "limits", limits)
    monkeypatch.setattr("grader.engine.bench.PATIENCE", 0.3)
    grader = make_grader(steps, host, "hidden", SEED, chosen)
    sources = {step.id: RIGHT[step.id] for step in STEPS[:4]}
    grader.grade(Submission("first", sources), chosen)
    hangs = "\ndef attention_scores(q, k):\n    while True: pass\n"
    sources["step02_scores"] += hangs
    second, fourth = grader.grade(Submission("second", sources), chosen).steps
    assert {check.status for check in second.checks} == {Status.TIMEOUT}
    assert fourth.status is Status.PASSED


def test_slow_step_is_not_waited_for_twice(warm, monkeypatch):
    fifth, asked = STEPS[4], []
    grader, passes = warm(fifth), Bench.passes_all
    monkeypatch.setattr("grader.engine.bench.PATIENCE", 0.05)

    def noted(bench, attempt):
        asked.append(attempt)
        return passes(bench, attempt)

    monkeypatch.setattr(Bench, "passes_all", noted)
    slow = "import time\ndef attention_output(weights, v):\n    time.sleep(0.1)\n"
    assert judge(grader, f"\n{slow}    return weights @ v\n", fifth).status is Status.PASSED
    assert len(asked) == 1


# Scripts by themselves.


def request(*args, **more):
    return {"do": "call", "function": "f", "args": args, "kwargs": {}, "opaque": [False], **more}


def test_arguments_of_several_calls_are_sent_once_and_read_only():
    tree = {"w": np.ones(3), "blocks": [np.zeros(2)]}
    script = scripts.write_script([request(tree, 1), request(tree, 2)], 0)
    read_only = {
        "w": Laid(tree["w"], writable=False),
        "blocks": [Laid(tree["blocks"][0], "C", False)],
    }
    assert script.several.shared == wire.encode([read_only])
    assert script.several.requests == [digest_of(wire.encode(request(tree, n))) for n in (1, 2)]
    assert script.several.sent == [wire.encode(request(Handle(SHARED), n)) for n in (1, 2)]


@pytest.mark.parametrize(
    "more", [{"arguments": True}, {"then": [(), {}]}], ids=["kept", "refilled"]
)
def test_arguments_that_are_looked_at_or_refilled_are_not_shared(more):
    array = np.ones(3)
    script = scripts.write_script([request(array, **more), request(array, **more)], 0)
    assert script.several.shared == wire.encode([])
    assert script.several.sent == [wire.encode(request(array, **more))] * 2


def test_handles_are_numbered_from_the_first_of_the_check():
    script = scripts.write_script([request(Handle(7)), request([Handle(8)])], 7)
    expected = [wire.encode(request(Handle(0))), wire.encode(request([Handle(1)]))]
    assert script.several.sent == expected
    assert script.several.requests == [*map(digest_of, expected)]


@pytest.mark.parametrize(
    "requests", [[], [request(1), request(1, traced=True)], [request(np.zeros(2**20 + 1))]]
)
def test_nothing_is_sent_ahead_where_it_would_count_as_memory_or_be_too_much(requests):
    script = scripts.write_script(requests, 0)
    assert not script.several.requests
    assert not script.is_whole
    assert not script.remember(b"")
    assert not script.knows(b"")


# Kept for the next command.


@pytest.fixture
def kept(tmp_path):
    return KeptScripts(tmp_path / "calls")


def asked(script):
    several = script.several
    return (*map(list, (several.requests, several.sent)), several.shared, script.is_whole)


def test_next_command_has_the_scripts_and_the_answers_that_passed(warm, kept):
    grader = warm(FOURTH, "visible")
    grader.bench.kept_scripts = kept
    judge(grader, "")
    for name, script in KeptScripts(kept.folder).read(FOURTH.id).items():
        assert asked(script) == asked(grader.bench.scripts[name])
        assert script.passed == grader.bench.scripts[name].passed
        assert script.passed


@pytest.mark.parametrize("step", [STEPS[6], STEPS[22]], ids=lambda step: step.id)
def test_right_code_is_asked_with_a_few_messages_from_the_next_command_on(
    steps, host, exchanges, tmp_path, step
):
    numbers = []
    for name in "abc":
        before = len(exchanges)
        grader = make_grader(steps, host, "visible", 0, [step], kept=tmp_path / "calls")
        assert grader.grade(Submission(name, right_until(step)), [step]).passed
        numbers.append(len(exchanges) - before)
    assert numbers[1] < numbers[0] / 4
    assert numbers[2] == numbers[1]


def test_nothing_is_kept_of_hidden_checks(steps, host, tmp_path):
    grader = make_grader(steps, host, "hidden", SEED, [FOURTH], kept=tmp_path / "calls")
    grader.grade(Submission("a", right_until(FOURTH)), [FOURTH])
    assert [*tmp_path.iterdir()] == []


def test_scripts_of_another_kit_do_not_count(kept, monkeypatch, tmp_path):
    script = Script([b"a"], [b"b"], b"c")
    kept.write("step", {"check": script})
    assert asked(kept.read("step")["check"]) == asked(script)
    changed = tmp_path / "rooms" / "checks"
    changed.mkdir(parents=True)
    monkeypatch.setattr("grader.engine.kept_scripts.list_places", lambda: [changed])
    assert KeptScripts(kept.folder).read("step") == {}


DAMAGED = {
    "empty": lambda data: b"",
    "cut": lambda data: data[:-3],
    "another": lambda data: data[:32],
}


@pytest.mark.parametrize("damage", DAMAGED.values(), ids=DAMAGED)
def test_damaged_file_is_ignored(kept, damage):
    kept.write("step", {"check": Script([b"a"], [b"b"], b"c")})
    path = kept.folder / "step"
    path.write_bytes(damage(path.read_bytes()))
    assert kept.read("step") == {}


def test_folder_that_cannot_be_written_is_ignored(tmp_path):
    (tmp_path / "calls").write_text("a file")
    KeptScripts(tmp_path / "calls").write("step", {})
    KeptScripts(tmp_path / "nowhere" / "calls").write("step", {})
    assert KeptScripts(tmp_path / "calls").read("step") == {}
