"""The maps of one's own functions: what they show, and what is said where there is none."""

import pytest
from click.testing import CliRunner

from grader.cli.main import cli
from grader.demos.leak_maps import FINE, list_mapped, measure_own
from grader.intake.submission import Submission
from grader.report.influences import of_kind
from grader.steps import registry
from grader.steps.stubs import stub_of
from tests.conftest import ROOT, SOLUTIONS

MAPPED = list_mapped(registry.load())


@pytest.fixture
def measure(host, steps):
    """measure(step, source): the maps of the step with that code, by function."""

    def measure(step, source=None):
        own = Submission("mine/", SOLUTIONS | {step.id: source or SOLUTIONS[step.id]})
        return {one.function: one for one in measure_own(host, steps, own, step)}

    return measure


@pytest.mark.parametrize("step", MAPPED, ids=lambda step: step.id)
def test_right_functions_see_what_they_should(measure, step):
    maps = measure(step)
    assert maps
    assert {one.says for one in maps.values()} == {FINE}


def test_map_of_attention_is_one_that_hides_something(measure, steps):
    found = measure(steps.find("5"))["attention"].map
    assert not all(map(all, found.allowed))


def test_leak_is_in_the_map_and_in_words(measure, steps):
    step = steps.find("25")
    leaky = "\n\ndef causal_mask(t_q, t_k=None):\n    return np.ones((t_q, t_k or t_q), bool)\n"
    found = measure(step, SOLUTIONS[step.id] + leaky)["llama_logits"]
    assert of_kind(found.map, "leak")
    assert not found.says


def test_function_that_is_not_written_says_so(measure, steps):
    step = steps.find("12")
    found = measure(step, stub_of(step))["decoder_logits"]
    assert found.map is None
    assert "still to be written" in found.says


def test_option_that_the_function_lacks_does_not_take_its_map_away(measure, steps):
    step = steps.find("5")
    plain = "\n\ndef masked_self_attention(x, w_q, w_k, w_v):\n    return x @ w_v\n"
    assert measure(step, SOLUTIONS[step.id] + plain)["masked_self_attention"].map


@pytest.mark.parametrize("step", ["2", "part1", "99"])
def test_step_without_a_map_is_refused_in_one_sentence(step):
    done = CliRunner().invoke(cli, ["leakmap", step])
    assert done.exit_code == 2
    assert "Traceback" not in done.output


def test_page_shows_the_map_of_every_function(tmp_path):
    page = tmp_path / "own.html"
    solved = str(ROOT / "solutions")
    done = CliRunner().invoke(cli, ["leakmap", "5", "--submission", solved, "--html", str(page)])
    assert done.exit_code == 0, done.output
    text = page.read_text(encoding="utf-8")
    for name in ("attention_output", "attention", "masked_self_attention"):
        assert f"<code>{name}</code>" in text
    assert text.count("<svg") == 3
    assert "<script" not in text
