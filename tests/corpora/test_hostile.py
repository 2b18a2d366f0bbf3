"""Hostile submissions in a batch: no points, no harm, nothing left, nothing learned.

Every attack of `hostile/` is graded between honest submissions, in the sandboxes of a class's
judge, while a worker of a neighbour is alive.
"""

import contextlib
import functools
import io
import json
import os
import re
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pytest

from grader.checks.suites import Live
from grader.classroom.judge import Sandboxes
from grader.engine import grading
from grader.intake.submission import Submission, read_folder
from grader.isolation import margins, start_host, survey
from grader.isolation.client import Program, Worker
from grader.isolation.probe import isolation_for_grading
from grader.report.html.page import page
from grader.report.records import Status
from grader.report.text.terminal import Printer
from grader.steps import registry
from grader.steps.inputs import map_arrays
from tests.conftest import ROOT
from tests.corpora import hostile
from tests.corpora.hostile.reads import told
from tests.support import processes
from tests.support.sampling import sample, ways
from tests.support.stubs import solution_lines

pytestmark = pytest.mark.skipif(not processes.LINUX, reason="attacks on what Linux has")
ISOLATIONS = ("process", "process+", "bubblewrap")
REGISTRY = registry.load()
HASTE = replace(REGISTRY.limits, call_seconds=0.25)  # for attacks that take what they get
SEED = 0x5EED_0F_A_C1A55  # as secret as any: no digits of it may be seen
RIGHT = read_folder(ROOT / "solutions", REGISTRY)
COMPILED = told(compile(RIGHT.sources["step02_scores"], "", "exec"))[:40]
SECRET_LINES = set().union({COMPILED}, *map(solution_lines, RIGHT.sources))
HONEST = [REGISTRY.find("step02_scores"), REGISTRY.find("step04_softmax")]


def text_of(attack):
    """Return what is handed in, the same in every run."""
    return attack.source.replace(hostile.MARK, "")


def isolations(attack):
    """Return the isolations under which to try an attack, of those that keep it in."""
    kept_in = [name for name in ISOLATIONS if attack.kept_in_by(name)]
    return ways("attacks under another isolation", kept_in, text_of(attack))


TRIED = {one: isolations(one) for one in sample("attacks", hostile.attacks(), text_of)}
EVERY = 20  # so many attacks are graded between honest submissions
SHARED = [Path.cwd(), Path(tempfile.gettempdir()), Path("/dev/shm"), Path("/var/tmp"), Path("/run")]
KIT = [ROOT, ROOT / "grader", ROOT / "tests" / "hidden", ROOT / "tests" / "visible"]


@dataclass
class Outcome:
    """What became of one attack, and of the machine."""

    report: object = None
    visible: str = ""
    left: list = field(default_factory=list)
    neighbour: bool = True
    stopped: Exception | None = None


@dataclass
class Batch:
    """What became of them all."""

    outcomes: dict = field(default_factory=dict)
    honest: list = field(default_factory=list)
    digits: set = field(default_factory=set)
    descriptors: int = 0


def in_a_terminal(report):
    """What a terminal shows of it."""
    out = io.StringIO()
    printer = Printer(out)
    for step in report.steps:
        printer.step_row(step)
        if step.status in (Status.FAILED, Status.ERROR):
            printer.step(step)
    return out.getvalue()


def shown(report):
    """Everything of a report that reaches its student."""
    messages = [check.message for step in report.steps for check in step.checks]
    html = page(report).replace(report.sha256, "")
    return "\n".join([html, in_a_terminal(report), *messages])


def telling(digits):
    """The first seven digits of a number, if they tell it from others, as 1000000 does not."""
    first = digits.lstrip("0")[:7]
    return {first} if len(first) == 7 and len(set(first)) > 3 else set()


def first_digits(text):
    """The first digits of every long number in a text, wherever its point is."""
    runs = re.findall(r"\d{7,}", re.sub(r"(?<=\d)\.(?=\d)", "", text))
    return set().union(*map(telling, runs))


@contextlib.contextmanager
def secrets_noted(digits):
    """The first numbers of every hidden input and of every right result get into `digits`."""

    def note(array):
        if array.dtype.kind == "f":
            for number in np.abs(array.ravel()[:20]):
                digits.update(telling(f"{number:.9f}".replace(".", "")))
        return array

    def case(self, *args, case=Live.case, **options):
        made = case(self, *args, **options)
        map_arrays(made.arguments, note)
        return made

    def expect(self, *args, expect=Live.expect):
        value = expect(self, *args)
        map_arrays(value, note)
        return value

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Live, "case", case)
        patch.setattr(Live, "expect", expect)
        patch.setenv(hostile.SECRET, hostile.SECRET)
        yield


class Neighbour:
    """Another student's worker, which lives while the attacks are graded."""

    def __init__(self, isolation):
        self.host = start_host(isolation, REGISTRY.limits)
        self.worker = Worker(self.host, time.monotonic() + 3600)
        step = "step02_scores"
        self.worker.load(Program(step, {step: (RIGHT.sources[step], "x.py")}))

    def answers(self):
        """Whether it answers, and rightly."""
        q, k = np.eye(3), np.arange(12.0).reshape(4, 3)
        got = self.worker.call("attention_scores", [q, k], {}).value
        return np.allclose(got, q @ k.T / 3**0.5, rtol=1e-12)

    def close(self):
        """Ends it."""
        self.worker.close()
        self.host.close()


def marked():
    """The paths in shared places that carry the attacks' mark."""
    return [
        str(path)
        for place in [*SHARED, *KIT, Path.home()]
        if place.is_dir()
        for path in place.iterdir()
        if hostile.MARK in path.name
    ]


def stands(host):
    """The processes of a host, and the names in its folder, while no worker runs."""
    tree = {host.process.pid, *processes.descendants(host.process.pid)}
    return tree, {path.name for path in host.folder.iterdir()}


class Places:
    """Where attacks are graded, one after the other, as a judge does it; and what they leave.

    Under an isolation that keeps its promises, that is a sandbox in which others came before.
    """

    def __init__(self, sandboxes):
        self.sandboxes = sandboxes
        self.before = set(processes.descendants(os.getpid()))

    def grade(self, bench, shown_to, submission, step, limits):
        """The report, and what is left of the submission."""
        with self.sandboxes.next() as host:
            Worker(host, time.monotonic() + 60).close()  # it stands when the first one has ended
            standing, bench.host, host.limits = stands(host), host, limits
            report = grading.Grader(shown_to, bench, SEED).grade(submission, [step])
        return report, self.left_behind(host, standing)

    def left_behind(self, host, standing):
        """What of an attack is still there: processes, files, its folder if it has no successor."""
        if host is self.sandboxes.host:
            processes.soon(lambda: stands(host) == standing)
            tree, names = stands(host)
            left = [f"process {pid}" for pid in tree - standing[0]]
            left += [f"file {name}" for name in names - standing[1]]
        else:
            processes.soon(lambda: not processes.belonging(host.folder))
            left = [f"process {pid} of its folder" for pid in processes.belonging(host.folder)]
            left += [str(host.folder)] if host.folder.exists() else []
        survey.stop()  # the judge's own
        processes.soon(lambda: self.strays() == set())
        return left + [f"process {pid} of nobody" for pid in self.strays()] + marked()

    def strays(self):
        """The processes that came since and that no sandbox knows."""
        known = self.sandboxes.host, self.sandboxes.spare, self.sandboxes.trusted
        found = set(processes.descendants(os.getpid())) - self.before
        return found.difference(*(stands(host)[0] for host in known))


def shortened(attack):
    """The registry with fewer checks in the step attacked: three of the function, one of others."""
    step = replace(
        attack.step,
        functions=tuple(
            replace(function, checks=function.checks[: 3 if function.name == attack.target else 1])
            for function in attack.step.functions
        ),
    )
    others = (step if other.id == step.id else other for other in REGISTRY.steps)
    return replace(REGISTRY, steps=tuple(others)), step


def tried(bench, attack, places, neighbour):
    """The outcome of one attack."""
    fewer, step = shortened(attack)
    limits = HASTE if "timeout" in attack.status else REGISTRY.limits
    try:
        report, left = places.grade(bench, fewer, attack.submission, step, limits)
    except Exception as error:  # this attack would have stopped the batch: its own tests say so
        return Outcome(stopped=error)
    return Outcome(report, shown(report), left, neighbour.answers())


def honestly(bench, places):
    """The scores of honest submissions, and what they should be."""
    honest = Submission("honest", {step.id: RIGHT.sources[step.id] for step in HONEST})
    for step in HONEST:
        report, _ = places.grade(bench, REGISTRY, honest, step, REGISTRY.limits)
        yield report.score, report.max_score


def in_a_batch(attacks, suite, isolation, batch):
    """Grades attacks between two honest submissions."""
    steps = {attack.step.id: attack.step for attack in attacks} | {s.id: s for s in HONEST}
    in_order = sorted(steps.values(), key=lambda step: step.id)
    with (
        contextlib.closing(Neighbour(isolation)) as neighbour,
        Sandboxes(isolation, REGISTRY.limits) as sandboxes,
    ):
        places = Places(sandboxes)
        grader = grading.make_grader(REGISTRY, neighbour.host, suite, SEED, in_order)
        batch.honest += honestly(grader.bench, places)
        for attack in attacks:
            batch.outcomes[attack.name] = tried(grader.bench, attack, places, neighbour)
        batch.honest += honestly(grader.bench, places)


def batches(name):
    """The attacks that this isolation keeps in, by suite, a few at a time."""
    for suite in ("hidden", "visible"):
        chosen = [one for one, names in TRIED.items() if one.suite == suite and name in names]
        yield from (chosen[first : first + EVERY] for first in range(0, len(chosen), EVERY))


BATCHES = [(name, attacks) for name in ISOLATIONS for attacks in batches(name)]


@functools.cache
def graded_batch(number):
    """What became of the attacks of that batch, graded once."""
    name, attacks = BATCHES[number]
    batch, before = Batch(), processes.descriptors()
    with secrets_noted(batch.digits), pytest.MonkeyPatch.context() as patch:
        patch.setattr(margins, "PATIENCE", 0.25)
        isolation = isolation_for_grading(name, REGISTRY.limits)
        in_a_batch(attacks, attacks[0].suite, isolation, batch)
    batch.descriptors = processes.descriptors() - before
    return batch


CASES = [
    pytest.param(number, attack, id=f"{name}-{attack.kind}-{attack.name}")
    for number, (name, attacks) in enumerate(BATCHES)
    for attack in attacks
]
CONTROLS = "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u202a-\u202e\u2066-\u2069\ufeff]"


def gets_its_status_and_no_points(report, attack, name):
    own = [check for check in report.steps[0].checks if check.function == attack.target]
    checks = own or report.steps[0].checks  # new_cache has no check of its own
    # In a sandbox most of it cannot even be begun: then the attack has an error instead.
    statuses = attack.status if name == "process" else (*attack.status, "error")
    assert checks[0].status.value in statuses, checks[0].message
    if attack.earns == "own" and checks[0].status is Status.PASSED:
        assert report.score == report.max_score
    else:
        assert report.score == 0
        assert all(check.status is not Status.PASSED for check in report.steps[0].checks)


def tells_nothing_hidden(visible, attack, digits):
    assert hostile.SECRET not in visible
    assert str(SEED) not in visible
    assert str(ROOT) not in visible
    if attack.kind == "carries":
        for word in ("carried_out", "7351", "7352", "351"):
            assert word not in re.sub(r"&[#\w]+;", "", visible)
    if attack.suite == "hidden":
        assert first_digits(visible) & digits == set()
        secret = (line for line in SECRET_LINES if line not in attack.source)
        assert [line for line in secret if line in visible] == []


def cannot_mark_up_a_page_or_command_a_terminal(report):
    html, text = page(report), in_a_terminal(report)
    assert not re.search(r"<script>alert|<img src=x|</code></pre><script", html)
    assert "1337" not in html  # 7 times 191, computed by no template
    assert not re.search(CONTROLS, html + text)
    (html + text).encode("utf-8")
    json.dumps(report.to_dict(), allow_nan=False).encode("utf-8")


def is_not_taken_for_a_known_mistake(report, attack):
    """An answer in words of its own is nobody's mistake."""
    if attack.kind in ("ends", "forges", "exhausts") or "handle" in attack.name:
        causes = [c.diagnosis for c in report.steps[0].checks if c.diagnosis is not None]
        assert [cause.misconception for cause in causes if cause.known] == []


@pytest.mark.batch
@pytest.mark.parametrize(("number", "attack"), CASES)
def test_attack_earns_nothing_and_harms_nobody(number, attack):
    batch = graded_batch(number)
    outcome = batch.outcomes[attack.name]
    assert outcome.stopped is None
    gets_its_status_and_no_points(outcome.report, attack, BATCHES[number][0])
    assert outcome.left == []
    assert outcome.neighbour
    tells_nothing_hidden(outcome.visible, attack, batch.digits)
    cannot_mark_up_a_page_or_command_a_terminal(outcome.report)
    is_not_taken_for_a_known_mistake(outcome.report, attack)


@pytest.mark.batch
@pytest.mark.parametrize("number", range(len(BATCHES)))
def test_honest_submissions_beside_attacks_keep_full_marks_and_nothing_stays_open(number):
    batch = graded_batch(number)
    assert len(batch.honest) == 2 * len(HONEST)
    assert [got for got, most in batch.honest if got != most] == []
    assert batch.descriptors <= 1  # one that listing them opens


def test_attacks_are_many_and_of_every_class():
    kinds = Counter(attack.kind for attack in hostile.attacks())
    assert sum(kinds.values()) >= 60
    assert min(kinds.values()) >= 4
    names = [attack.name for attack in hostile.attacks()]
    assert len(set(names)) == len(names)
    assert all(attack.says for attack in hostile.attacks())
    assert {attack.suite for attack in hostile.attacks()} == {"hidden", "visible"}
    assert all(attack.kept_in_by(ISOLATIONS[-1]) for attack in hostile.attacks())
