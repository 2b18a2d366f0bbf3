"""Test `dev check`: it finds nothing in the kit, and every kind of gap in a copy of a step."""

import shutil
from dataclasses import replace

import pytest
from click.testing import CliRunner

from grader.authoring import step_findings
from grader.cli.authoring.dev import dev
from grader.steps.registry import KitError, load
from tests.conftest import ROOT, STEPS

STEP = STEPS[1]


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.id)
def test_nothing_is_missing_in_a_step(steps, step):
    assert step_findings.find_in_step(steps, step) == []


def test_steps_agree_with_each_other(steps):
    assert step_findings.find_in_kit(steps) == []


def test_command_checks_all_steps():
    done = CliRunner().invoke(dev, ["check"])
    assert (done.output, done.exit_code) == ("Nothing is missing.\n", 0)


@pytest.fixture
def kit(tmp_path, monkeypatch):
    """A copy of one step's files, which may be changed: change(path, old, new) -> findings."""
    for path in step_findings.written_files(STEP.id).values():
        copy = tmp_path / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, copy)
    shutil.copy(ROOT / "grader/steps/data/kit.toml", tmp_path / "grader/steps/data/kit.toml")
    for name in ("SOLUTIONS", "DATA", "VISIBLE", "HIDDEN", "MISTAKES", "FAIR"):
        old = getattr(step_findings, name)
        monkeypatch.setattr(step_findings, name, tmp_path / old.relative_to(ROOT))
    monkeypatch.setattr(step_findings, "ROOT", tmp_path)
    monkeypatch.setattr(step_findings, "_in_reference", lambda step: [])
    monkeypatch.setattr(step_findings, "_in_built", lambda step: [])
    monkeypatch.setattr(step_findings, "_in_influence_inputs", lambda step: [])

    def change(path, old, new):
        text = (tmp_path / path).read_text(encoding="utf-8")
        assert old in text
        (tmp_path / path).write_text(text.replace(old, new, 1), encoding="utf-8")
        registry = load(tmp_path / "grader/steps/data")
        return step_findings.find_in_step(registry, registry.steps[0])

    return change


TOML = f"grader/steps/data/{STEP.id}.toml"
VISIBLE, HIDDEN = f"tests/visible/test_{STEP.id}.py", f"tests/hidden/test_{STEP.id}.py"
SOLUTION, MISTAKES = f"solutions/{STEP.id}.py", f"grader/answer_key/mistakes/{STEP.id}.py"


@pytest.mark.parametrize(
    ("path", "old", "new", "found"),
    [
        (TOML, "part = 1", "part = 9", "there is no part 9"),
        (TOML, "scores_rows =", "scores_lines =", "has no function test_scores_lines"),
        (TOML, "scores_rows =", "scores_lines =", "gives no points to scores_rows"),
        (TOML, "scores_rows = 1.0", "scores_rows = 0.0", "scores_rows is worth no points"),
        (TOML, "[[function]]", "[hints_for]\nother = []\n[[function]]", "hints_for names other"),
        (TOML, 'd_k = "d_k"', 'd = "d"', "last_axis names d_k"),
        (TOML, 'takes = ["q", "k"]', 'takes = ["k", "q"]', "attention_scores takes q, k"),
        (SOLUTION, "Step 2 — ", "Step 3 — ", "should begin with"),
        (SOLUTION, "### BEGIN SOLUTION", "", "attention_scores has no `### BEGIN SOLUTION`"),
        (SOLUTION, "def attention_scores(", "def scores(", "has no function attention_scores"),
        (VISIBLE, "not depend on the other sequences.", "not depend", "one sentence of at most"),
        (HIDDEN, '"scores_agree":', '"scores_right":', "EDGES names scores_right"),
        (HIDDEN, "import *", "import PLAIN", "should import everything"),
        (MISTAKES, 'caught_by="scores_agree"', 'caught_by="agree"', "is caught by agree"),
        (MISTAKES, '"attention_scores"', '"scores"', "replaces scores"),
        (TOML, "scores_rows =", "new = 1.0, scores_rows =", "no known mistake is caught by new"),
        (MISTAKES, 'says="The', 'says=f"The', f"{STEP.id}.py:25: a decorator's values are plain"),
        (MISTAKES, 'hint="', 'hint="" and "', "`'' and "),
        (MISTAKES, "# the scale", "# TODO", f"mistakes/{STEP.id}.py:18 still says TODO"),
    ],
)
def test_gap_is_one_sentence_with_its_file(kit, path, old, new, found):
    sentences = kit(path, old, new)
    assert any(found in sentence for sentence in sentences), sentences
    assert all(sentence.endswith(".") for sentence in sentences)


def test_missing_file_is_named(kit, tmp_path):
    (tmp_path / HIDDEN).unlink()
    found = kit(TOML, "part = 1", "part = 1")
    assert found == [f"{HIDDEN} is missing: the sizes of the hidden checks."]


def test_step_file_that_lacks_a_key_is_named(kit):
    with pytest.raises(KitError, match=rf"{STEP.id}.toml lacks 'title'"):
        kit(TOML, "title =", "name =")


def test_steps_that_call_one_size_differently_are_named(steps):
    first = replace(STEPS[0], sizes={**STEPS[0].sizes, "d_k": "d"})
    (sentence, *_) = step_findings.find_in_kit(replace(steps, steps=(first, *STEPS[1:])))
    assert sentence.endswith("calls the size d_k d_k, others d.")
