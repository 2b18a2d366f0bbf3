"""The ends of the scale: solutions earn everything, stubs and useless functions nothing."""

import numpy as np
import pytest

from grader.answer_key.variants import FAIR, read
from grader.authoring.build import judge_reference
from grader.checks import compare
from grader.checks.laws import cases
from grader.checks.suites import Live
from grader.engine.grading import make_grader
from grader.intake.submission import Submission, read_folder
from grader.isolation import Host, Process
from grader.report.records import Status
from grader.steps.stubs import solution_of
from tests.conftest import ROOT, SEED, STEPS, with_needed
from tests.support.stubs import write_stubs

SUITES = ("visible", "hidden")


@pytest.mark.parametrize("suite", SUITES)
def test_solutions_earn_everything(grade, suite):
    report = grade(ROOT / "solutions", suite)
    checks = [check for step in report.steps for check in step.checks]
    assert [(c.check, c.message) for c in checks if c.status is not Status.PASSED] == []
    assert report.score == report.max_score == sum(step.max_points for step in STEPS)
    assert all(step.on_own_steps for step in report.steps)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(5))
def test_solutions_earn_everything_under_any_seed(grade, seed):
    assert grade(ROOT / "solutions", "hidden", seed=seed).passed


@pytest.mark.parametrize("suite", SUITES)
def test_stubs_are_not_attempted(grade, suite, tmp_path):
    report = grade(write_stubs(tmp_path / "stubs"), suite)
    assert report.score == 0
    assert {step.status for step in report.steps} == {Status.NOT_ATTEMPTED}
    statuses = {check.status for step in report.steps for check in step.checks}
    assert statuses == {Status.NOT_ATTEMPTED}


def test_spawned_workers_give_the_same_report(grade, steps):
    submission = read_folder(ROOT / "solutions", steps)
    chosen = steps.steps[:3]
    with Host(Process(), steps.limits) as host:
        spawned = make_grader(steps, host, "visible", 0, chosen).grade(submission, chosen)
    assert spawned == grade(ROOT / "solutions", "visible", chosen, seed=0)


USELESS = {
    "returns zeros": "np.zeros(getattr(args[0], 'shape', ()))",
    "returns its first argument": "args[0]",
    "returns its last argument": "args[-1]",
    "returns None": "None",
    "returns zero": "0.0",
    "returns a tuple of its arguments": "tuple(args)",
    "always raises ValueError": "(_ for _ in ()).throw(ValueError('no'))",
    "always raises something else": "1 / 0",
}


def useless(step, expression):
    """A step file in which every function does that."""
    functions = "\n".join(
        f"def {function.name}(*args, **kwargs):\n    return {expression}\n"
        for function in step.functions
    )
    return f"import numpy as np\n\n{functions}"


@pytest.mark.parametrize("suite", SUITES)
@pytest.mark.parametrize("expression", USELESS.values(), ids=USELESS.keys())
def test_useless_functions_earn_nothing(steps, host, expression, suite):
    """Causes take most of the time, so they are looked for in one of these programs only."""
    sources = {step.id: useless(step, expression) for step in STEPS}
    thorough = (expression, suite) == ("args[0]", "hidden")
    grader = make_grader(steps, host, suite, SEED, STEPS, thorough=thorough)
    report = grader.grade(Submission("useless", sources), STEPS)
    assert [c.check for step in report.steps for c in step.checks if c.points] == []


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.id)
def test_reference_keeps_every_law(steps, step):
    verdicts = judge_reference(steps, step, Live(SEED), "hidden")
    assert [(v.check, v.message) for v in verdicts if v.status is not Status.PASSED] == []


def test_same_seed_gives_the_same_report(grade):
    submission = Submission("half", {STEPS[1].id: useless(STEPS[1], "args[0]")})
    first, again, other = (grade(submission, "hidden", seed=seed).to_dict() for seed in (3, 3, 4))
    assert first == again
    assert first["seed"] != other["seed"]


# Of 400 to 1,000 seeds, those with which a solution used most of a tolerance.
NEAREST = [
    ("step04_softmax", "softmax_blocked", 56),
    ("step11_block", "block_float32", 726),
    ("step12_decoder", "decoder_float32", 244),
    ("step13_decoder_cache", "step_float32", 114),
    ("step16_attention_gradient", "self_back_float32", 371),
    ("step17_block_gradient", "gelu_back_float32", 325),
    ("step18_decoder_gradient", "gradients_float32", 158),
    ("step19_training", "train_clipped", 774),
    ("step21_grouped_heads", "groups_float32", 339),
    ("step25_llama", "llama_step_float32", 349),
]
MOST_USED = 0.2


@pytest.fixture
def used(monkeypatch):
    """The share of the tolerance that each comparison of floats has used."""
    shares, wrong_cells = [], compare.wrong_cells

    def noted(expected, got, tolerance):
        if expected.dtype.kind == "f" and expected.size:
            allowed = tolerance.atol + tolerance.rtol * np.abs(expected)
            shares.append(float((np.abs(got - expected) / allowed).max()))
        return wrong_cells(expected, got, tolerance)

    for module in (compare, cases):
        monkeypatch.setattr(module, "wrong_cells", noted)
    return shares


@pytest.mark.long
def test_angles_without_whole_turns_pass_under_every_seed(grade, steps):
    """2π is rounded, so 160,000 turns less are another angle by 4e-11."""
    step = steps.find("step20_positions").narrow_to({"rotate_far"})
    (variant,) = (one for one in read(FAIR, step) if one.name == "rotate_by_shears")
    for seed in range(100):
        assert grade(variant.submission, "hidden", (step,), seed).passed, seed


@pytest.mark.parametrize(("name", "check", "seed"), NEAREST)
def test_rounding_uses_little_of_a_tolerance(grade, steps, used, name, check, seed):
    whole = steps.find(name)
    step = whole.narrow_to(with_needed(whole, check))
    report = grade(Submission("right", {name: solution_of(step)}), "hidden", (step,), seed)
    assert report.passed
    assert 0 < max(used) < MOST_USED
