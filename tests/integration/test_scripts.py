"""Calls that are sent in advance change no verdict: each of them is that of calls one by one."""

import contextlib
import functools
import itertools
import math
import time
from dataclasses import replace
from types import SimpleNamespace

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
from grader.isolation.client import SHARED, CallFailed, Died, Shadow, Worker, digest_of
from grader.isolation.wire import Handle, Laid
from grader.report.records import Status
from tests.conftest import ROOT, SEED, STEPS

EVERY = 60  # known mistakes
RIGHT = {step.id: (ROOT / "solutions" / step.filename).read_text("utf-8") for step in STEPS}


@functools.cache
def right_until(step):
    return {one.id: RIGHT[one.id] for one in STEPS[: STEPS.index(step) + 1]}


@pytest.fixture
def warm(steps, host):
    """warm(step, suite): a grader that knows the calls of all checks of a step."""

    def warm(step, suite="hidden"):
        grader = make_grader(steps, host, suite, SEED, [step])
        for name in ("first", "second"):  # a script pays from the third on
            grader.grade(Submission(name, right_until(step)), [step])
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
    (verdict,) = grader.grade(Submission("third", right_until(step)), [step]).steps
    assert (verdict.status, verdict.on_own_steps) == (Status.PASSED, True)
    if all(script.is_whole for script in grader.bench.scripts.values()):
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
    kits_own, again, other, other_again = numbers
    assert (kits_own, again, other_again) == (0, 0, 0)
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
    for more in ("", NOISY):
        assert judge(grader, more).status is Status.PASSED
        assert len(grader.bench.scripts[check].several.requests) == 1
        assert not grader.bench.scripts[check].is_whole


# Workers that do not keep to the form.
FINDS_SESSION = """
import sys

_frame = sys._getframe()
while not hasattr(_frame.f_locals.get("self"), "channel"):
    _frame = _frame.f_back
_kind = type(_frame.f_locals["self"])
"""
FORGES = (
    FINDS_SESSION
    + """
_all = _kind.answer

def _answer(session, data):
    answers = _all(session, data)
    return {forged} if b"several" in bytes(data[:40]) else answers

_kind.answer = _answer
"""
)
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
    grader = warm(FOURTH)
    ran.clear()
    assert judge(grader, FORGES.format(forged=forged)).status is Status.PASSED
    assert len(ran) == 1


def test_worker_whose_answers_are_left_alone_is_not(warm, ran):
    grader = warm(FOURTH)
    ran.clear()
    assert judge(grader, FORGES.format(forged="answers")).status is Status.PASSED
    assert ran == []


# What comes before a submission or a step changes nothing for it.
FINDS = """
import sys
import numpy as np

class _Finder:
    def find_spec(self, name, path=None, target=None):
        import importlib.machinery
        if name.endswith("step04_softmax"):
            return importlib.machinery.ModuleSpec(name, self)
    def create_module(self, spec):
        return None
    def exec_module(self, module):
        exec(RIGHT, vars(module))

sys.meta_path.insert(0, _Finder())
"""
WITHOUT_NUMPY = RIGHT[FOURTH.id].replace("import numpy as np", "")
GIVES_NUMPY = "\nimport builtins\nbuiltins.np = np\n"


@pytest.mark.parametrize(
    ("more", "wrong"),
    [(f"\nRIGHT = {RIGHT[FOURTH.id]!r}\n{FINDS}", "x = 1\n"), (GIVES_NUMPY, WITHOUT_NUMPY)],
    ids=["finds another module", "gives it what it lacks"],
)
def test_step_gets_no_points_for_what_an_earlier_one_left_behind(steps, host, more, wrong):
    chosen = [steps.find("2"), FOURTH]
    sources = {step.id: RIGHT[step.id] for step in STEPS[:4]}
    sources["step02_scores"] += more
    sources[FOURTH.id] = wrong
    found = []
    for before in ([], 2 * [Submission("first", right_until(FOURTH))]):
        grader = make_grader(steps, host, "hidden", SEED, chosen)
        for one in before:
            grader.grade(one, chosen)
        found.append(grader.grade(Submission("second", sources), chosen))
    assert found[0] == found[1]
    second, fourth = found[0].steps
    assert (second.status, fourth.points) == (Status.PASSED, 0)


MARKS = """
import numpy as np

_MARK = np.frombuffer(b"a mark of another", np.uint8)

def _mark(value):
    array = np.array(value, dtype=np.float64)
    if array.size >= len(_MARK):
        bits = array.reshape(-1).view(np.uint64)
        bits[: len(_MARK)] = (bits[: len(_MARK)] & ~np.uint64(255)) | _MARK
    return array

def merge_attention(out_a, lse_a, out_b, lse_b, old=merge_attention):
    return tuple(map(_mark, old(out_a, lse_a, out_b, lse_b)))
"""


@pytest.mark.parametrize("suite", ["visible", "hidden"])
def test_answers_of_one_submission_are_not_sent_to_the_next(steps, host, suite, monkeypatch):
    """The law of merging puts answers into later calls."""
    step, sent, exchange = STEPS[22], [], Worker._exchange
    grader = make_grader(steps, host, suite, SEED, [step])
    marked = {**right_until(step), step.id: RIGHT[step.id] + MARKS}
    for sources in (marked, right_until(step), marked, right_until(step)):
        grader.grade(Submission("first", sources), [step])
    assert not grader.bench.scripts["merging_order"].is_whole

    def noted(worker, data, until):
        sent.append(np.frombuffer(data, np.uint8))
        return exchange(worker, data, until)

    monkeypatch.setattr(Worker, "_exchange", noted)
    assert grader.grade(Submission("second", right_until(step)), [step]).passed
    low_bytes = [one[start::8].tobytes() for one in sent for start in range(8)]
    assert not any(b"a mark" in text for text in low_bytes)


def test_calls_with_answers_in_them_are_in_no_script(warm):
    """Each step of AdamW gets the parameters and the state that the last one gave."""
    script = warm(STEPS[18]).bench.scripts["adamw_steps"]
    assert 0 < len(script.several.requests) <= 3
    assert not script.is_whole


@pytest.mark.parametrize("given", ["number + 1000", "2 * number + 1"])
def test_numbers_that_a_worker_gives_to_caches_cost_the_next_submission_nothing(
    warm, exchanges, given
):
    step = STEPS[6]
    numbers = f"""{FINDS_SESSION}
def _keep(session, value):
    number = session.given
    session.given += 1
    session.kept[{given}] = value
    return b"H" + ({given}).to_bytes(8, "big")

_kind.keep = _keep
"""
    for odd_one_first in (False, True):
        grader = warm(step)
        if odd_one_first:
            grader.bench.scripts.clear()
        judge(grader, numbers, step)
        judge(grader, "", step)  # which writes the scripts that are missing
        before = len(exchanges)
        assert judge(grader, "", step).status is Status.PASSED
        assert len(exchanges) - before <= 1 + len(step.checks)


HOOKS = (
    FINDS_SESSION
    + """
import struct

_one = _kind.answer_one

def _answer_one(session, request):
    reply = _one(session, request)
    (parts,) = struct.unpack_from(">I", reply, 1)
    return b"M" + struct.pack(">I", parts + 1) + reply[5:] + struct.pack(">I", 4) + b"more" + {more}

_kind.answer_one = _answer_one
"""
)


@pytest.fixture
def second(steps, host):
    """second(more): a grader after a right step 7, and then one with more parts in its replies."""

    def second(more):
        step = STEPS[6]
        grader = make_grader(steps, host, "hidden", SEED, [step])
        judge(grader, "", step)
        return grader, judge(grader, HOOKS.format(more=more), step)

    return second


def test_handles_that_nobody_asked_for_are_not_in_the_next_submissions_calls(second, exchanges):
    """Their number would be."""
    step, many = STEPS[6], 70
    grader, verdict = second(f'b"L" + struct.pack(">I", {many}) + {many} * (b"H" + bytes(8))')
    assert verdict.points == 0
    judge(grader, "", step)
    before = len(exchanges)
    assert judge(grader, "", step).status is Status.PASSED
    assert len(exchanges) - before <= 1 + len(step.checks)


@pytest.mark.parametrize("outcome", ["ok", "raised"])
def test_handle_in_another_place_is_no_answer(outcome):
    value = {"value": 1.0, "products": 0, "first": Handle(0)}
    raised = {"type": "ValueError", "message": "", "lines": []}
    reply = {"ok": value, "printed": "", **({"raised": raised} if outcome == "raised" else {})}
    limits = SimpleNamespace(call_seconds=1.0)
    worker = SimpleNamespace(host=SimpleNamespace(limits=limits), deadline=math.inf)
    with pytest.raises(Died):
        Shadow(worker, [reply]).call("f", [], {})


def test_nothing_that_a_submission_answers_is_in_a_script(steps, host, second):
    """Not even the numbers of its caches: the scripts come from the kit's own code."""
    step, many = STEPS[6], 'b"S" + struct.pack(">I", 40) + bytes(40)'
    grader, verdict = second(many)
    assert verdict.status is Status.PASSED
    other = make_grader(steps, host, "hidden", SEED, [step])
    for _ in range(2):
        judge(other, "", step)
    assert [*map(asked, grader.bench.scripts.values())] == [
        *map(asked, other.bench.scripts.values())
    ]
    assert [script.passed for script in grader.bench.scripts.values()] == [
        script.passed for script in other.bench.scripts.values()
    ]


def go_on(student, given):
    """It asks more if the first answer is another, and goes on if there is none."""
    answer = student.softmax(np.arange(3.0))
    if not np.array_equal(ANSWERS.setdefault("first", answer), answer):
        for _ in range(2):
            with contextlib.suppress(CallFailed):
                student.softmax(np.arange(3.0))


ANSWERS = {}


def ask_in_vain(student, given):
    """It goes on after a call without an answer."""
    for length in (4.0, 3.0):
        with contextlib.suppress(CallFailed):
            student.softmax(np.arange(length))


ENDS = """
import os

def softmax(scores, axis=-1, old=softmax):
    return old(scores, axis) if scores.shape[-1] < 4 else os._exit(0)
"""


@pytest.mark.parametrize(("check", "more"), [(go_on, ""), (ask_in_vain, ENDS)])
def test_no_worker_is_left_behind_by_calls_in_advance(warm, host, monkeypatch, check, more):
    grader, name, running = warm(FOURTH), FOURTH.checks[0].id, set()
    ANSWERS.clear()
    start, end = host.start, host.end

    def begin():
        channel, number = start()
        running.add(number)
        return channel, number

    monkeypatch.setattr(host, "start", begin)
    monkeypatch.setattr(host, "end", lambda number: running.discard(number) or end(number))
    grader.bench.checks[name] = CheckFunction(check, ())
    if more:
        grader.bench.scripts[name] = Script((), (), b"")
    else:
        del grader.bench.scripts[name]
    judge(grader, more)
    assert name in grader.bench.scripts
    assert not running


def test_attempts_in_vain_cost_a_submission_no_time(warm, host, monkeypatch):
    """Each call is slow, so that no attempt with scripts is waited for."""
    grader = warm(FOURTH)
    monkeypatch.setattr("grader.engine.bench.PATIENCE", 0.2)
    monkeypatch.setattr("grader.engine.bench.SPARE", 0.5)
    grader.bench.begin_anew(host)
    host.deadline = end = time.monotonic() + 100
    try:
        assert judge(grader, SLOW).status is Status.PASSED
        assert 0 < host.deadline - end <= 0.5
        grader.bench.spare = 0.0
        end = host.deadline
        assert judge(grader, SLOW).status is Status.PASSED
        assert host.deadline == end
    finally:
        host.deadline = math.inf


def test_hanging_step_is_a_timeout_and_the_next_one_passes(steps, host, monkeypatch):
    chosen = [steps.find("2"), steps.find("4")]
    limits = replace(host.limits, call_seconds=1.0)
    monkeypatch.setattr(host, "limits", limits)
    monkeypatch.setattr("grader.engine.bench.PATIENCE", 0.3)
    grader = make_grader(steps, host, "hidden", SEED, chosen)
    sources = {step.id: RIGHT[step.id] for step in STEPS[:4]}
    for name in "ab":
        grader.grade(Submission(name, sources), chosen)
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


def test_steps_that_never_pass_are_seldom_tried_and_right_ones_again_soon(warm, ran, monkeypatch):
    grader, wrong = warm(FOURTH), "\ndef softmax(scores, axis=-1): return scores\n"
    tries, passes = [], Bench._passes
    monkeypatch.setattr(Bench, "_passes", lambda *args: tries.append(args[2].id) or passes(*args))
    for _ in range(20):
        assert judge(grader, wrong).points == 0
    assert len(tries) <= 10
    ran.clear()
    for _ in range(20):
        assert judge(grader, "").status is Status.PASSED
    assert len(ran) <= 10


# Scripts by themselves.


def request(*args, **more):
    return {"do": "call", "function": "f", "args": args, "kwargs": {}, "opaque": [False], **more}


def write(requests):
    """The script of requests that no answer changes."""
    return scripts.write_script([(one, {}) for one in requests], requests)


def test_arguments_of_several_calls_are_sent_once_and_read_only():
    tree = {"w": np.ones(3), "blocks": [np.zeros(2)]}
    script = write([request(tree, 1), request(tree, 2)])
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
    script = write([request(array, **more), request(array, **more)])
    assert script.several.shared == wire.encode([])
    assert script.several.sent == [wire.encode(request(array, **more))] * 2


def test_handles_are_numbered_in_the_order_of_the_answers():
    asked = [request(), request(Handle(7)), request([Handle(9)])]
    again = [request(), request(Handle(0)), request([Handle(1)])]
    script = scripts.write_script(
        [(one, {"ok": Handle(number)}) for one, number in zip(asked, (7, 9, 11))], again
    )
    expected = [*map(wire.encode, again)]
    assert script.several.sent == expected
    assert script.several.requests == [*map(digest_of, expected)]


def test_only_what_is_asked_in_both_cases_is_in_the_script():
    asked = [request(1), request(2), request(3)]
    script = scripts.write_script([(one, {}) for one in asked], [asked[0], request(4), asked[2]])
    assert script.several.sent == [wire.encode(asked[0])]
    assert not script.is_whole


def test_whole_numbers_of_an_answer_are_in_no_script():
    tokens = np.arange(5)
    asked = [request(1), request(2), request(tokens[2:])]
    noted = [(asked[0], {"ok": tokens}), (asked[1], {}), (asked[2], {})]
    assert len(scripts.write_script(noted, asked).several.sent) == 2


@pytest.mark.parametrize(
    "requests", [[], [request(1), request(1, traced=True)], [request(np.zeros(2**20 + 1))]]
)
def test_nothing_is_sent_ahead_where_it_would_count_as_memory_or_be_too_much(requests):
    script = write(requests)
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
    assert numbers[1] < numbers[0] / 3
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
