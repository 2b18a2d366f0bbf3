"""Test `dev check`: it finds nothing in the kit, and every kind of gap in a copy of a step."""

import re
import shutil
from dataclasses import replace

import pytest
from click.testing import CliRunner

from grader.authoring import findings, step_files
from grader.cli.authoring.authors import dev
from grader.steps.registry import KitError, load
from tests.conftest import ROOT, STEPS

STEP = STEPS[1]


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.id)
def test_nothing_is_missing_in_a_step(steps, step):
    assert findings.find_in_step(steps, step) == []


def test_steps_agree_with_each_other(steps):
    assert findings.find_in_kit(steps) == []


def test_command_checks_all_steps():
    done = CliRunner().invoke(dev, ["check"])
    assert (done.output, done.exit_code) == ("Nothing is missing.\n", 0)


FOLDERS = ("SOLUTIONS", "DATA", "VISIBLE", "HIDDEN", "MISTAKES", "FAIR", "QUESTIONS", "REFERENCE")
FILES = ("BOTTOM", "KEYS", "STUDENT", "PREFACE_TEXT")


@pytest.fixture
def kit(tmp_path, monkeypatch):
    """A copy of one step's files, which may be changed: change(path, old, new) -> findings."""
    needed = [*step_files.written_files(STEP.id).values(), *step_files.shared_files()]
    needed += [*step_files.DATA.glob("*.toml"), step_files.REFERENCE / "caught_by.toml"]
    part = [step for step in STEPS if step.part == STEP.part]
    needed += [step_files.SOLUTIONS / step.filename for step in part]
    for path in needed:
        copy = tmp_path / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, copy)
    for name in (*FOLDERS, *FILES):
        old = getattr(step_files, name)
        monkeypatch.setattr(step_files, name, tmp_path / old.relative_to(ROOT))
    monkeypatch.setattr(step_files, "ROOT", tmp_path)

    def change(path="", old="", new=""):
        if path:
            text = (tmp_path / path).read_text(encoding="utf-8")
            assert old in text
            (tmp_path / path).write_text(text.replace(old, new, 1), encoding="utf-8")
        registry = load(tmp_path / "grader/steps/data")
        return findings.find_in_step(registry, registry.find(STEP.id))

    return change


def test_copy_is_whole(kit):
    assert kit() == []


TOML = f"grader/steps/data/{STEP.id}.toml"
VISIBLE, HIDDEN = f"tests/visible/test_{STEP.id}.py", f"tests/hidden/test_{STEP.id}.py"
SOLUTION, MISTAKES = f"solutions/{STEP.id}.py", f"grader/answer_key/mistakes/{STEP.id}.py"
CAUGHT_BY = "grader/answer_key/caught_by.toml"
FAIR, QUESTIONS = f"tests/corpora/fair/{STEP.id}.py", f"grader/steps/questions/{STEP.id}.toml"
KEYS, BOTTOM = "tests/integration/test_quiz.py", "grader/steps/bottom_hints.toml"
STUDENT, PREFACE = "docs/student.md", "docs/lessons/step00_whole_picture.md"


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
        (VISIBLE, "column j is asked.", "column j", "one sentence of at most"),
        (HIDDEN, '"scores_agree":', '"scores_right":', "EDGES names scores_right"),
        (HIDDEN, "import *", "import PLAIN", "should import everything"),
        (CAUGHT_BY, "\nscores_agree = ", "\nagree = ", "is caught by agree"),
        (CAUGHT_BY, "score_no_scale ", "", "score_no_scale is caught by no check"),
        (MISTAKES, '"attention_scores"', '"scores"', "replaces scores"),
        (TOML, "scores_rows =", "new = 1.0, scores_rows =", "no known mistake is caught by new"),
        (MISTAKES, '@says("The', '@says(f"The', f"mistakes/{STEP.id}.py:22: a decorator's"),
        (MISTAKES, '@hint("', '@hint("" and "', "`'' and "),
        (MISTAKES, "# the scale", "# TODO", f"mistakes/{STEP.id}.py:18 still says TODO"),
        (SOLUTION, "After this you can", "You can", "lists 0 points under `**After this you can"),
        (SOLUTION, "**Try first", "**Try", "the text before attention_scores should end with"),
        (SOLUTION, "## By hand", "## Here", "has no section `## By hand`"),
        (SOLUTION, "checks it", "is about it", "should leave one number to the reader"),
        (
            SOLUTION,
            "The example of `attention_scores`",
            "The example of `f`",
            "`## By hand` names f",
        ),
        (SOLUTION, "[2 scores]", "2 scores", "does not name step 2 in Part I"),
        ("solutions/step05_output.py", "2 scores, ", "", "step05_output.py: the map below"),
        (SOLUTION, "\n# ## In short", "\n# more" * 600 + "\n#\n# ## In short", "words of prose"),
        (QUESTIONS, 'id = "2a"', 'id = "2x"', "called 2x, 2b"),
        (QUESTIONS, 'kind = "number"', 'kind = "numbers"', "its kind should be one of"),
        (QUESTIONS, "why =", "because =", "lacks `why`"),
        (QUESTIONS, 'kind = "shape"', 'kind = "number"', "has an answer that cannot be read"),
        (BOTTOM, "[attention_scores]", "[scores]", "[attention_scores] should have `tool`"),
        (STUDENT, "| `attention_scores` |", "| `scores` |", "no row `| 2 | `attention_scores` |"),
        (STUDENT, "(steps 1 to 8)", "(steps 1 to 7)", "say that Part I has steps 1 to 8"),
        (PREFACE, "| 1 and 2 |", "| 1 |", "no row of its table covers step 2"),
        (SOLUTION, "def attention_scores(", "def (", f"{STEP.id}.py:"),
        (VISIBLE, "def test_", "def ", "has no function test_"),
        (VISIBLE, "\ntest_scores_repeat", "\ntest_again", "has no function test_scores_repeat"),
        (VISIBLE, "def test_", "def: test_", "cannot be read: "),
        (MISTAKES, "\ndef ", "\ndef: ", f"mistakes/{STEP.id}.py:"),
        (QUESTIONS, "[[question]]", "[question", "questions/step02_scores.toml cannot be read"),
    ],
)
def test_gap_is_one_sentence_with_its_file(kit, path, old, new, found):
    sentences = kit(path, old, new)
    assert any(found in sentence for sentence in sentences), sentences
    assert all(sentence.endswith(".") for sentence in sentences)


@pytest.mark.parametrize(
    ("path", "named", "line", "told"),
    [
        (MISTAKES, r"(?m)^@\w+\((?:.|\n)*?^def (\w+)\(", "def {}(", "functions are"),
        (FAIR, r"(?m)^@\w+\((?:.|\n)*?^def (\w+)\(", "def {}(", "functions are"),
        (FAIR, r'(?m)^@fair\("(\w+)"', '@fair("{}"', "variants of a function are"),
    ],
)
def test_two_of_one_name_are_found(kit, tmp_path, path, named, line, told):
    first, second, *_ = re.findall(named, (tmp_path / path).read_text("utf-8"))
    found = kit(path, line.format(second), line.format(first))
    assert f"{path}: two {told} called {first}." in found


@pytest.mark.parametrize("path", ["grader/answer_key/reference.py", KEYS, BOTTOM, STUDENT, PREFACE])
def test_todo_in_a_file_of_all_steps_is_found(kit, tmp_path, steps, path):
    with (tmp_path / path).open("a", encoding="utf-8") as file:
        file.write("# TODO\n")
    (sentence,) = findings.find_in_kit(steps)
    assert sentence.startswith(f"{path}:")
    assert sentence.endswith(" still says TODO.")


def test_missing_file_is_named(kit, tmp_path):
    (tmp_path / HIDDEN).unlink()
    found = kit()
    assert found == [f"{HIDDEN} is missing: the sizes of the hidden checks."]


def test_step_file_that_lacks_a_key_is_named(kit):
    with pytest.raises(KitError, match=rf"{STEP.id}.toml lacks 'title'"):
        kit(TOML, "title =", "name =")


def test_steps_that_call_one_size_differently_are_named(steps):
    first = replace(STEPS[0], sizes={**STEPS[0].sizes, "d_k": "d"})
    (sentence, *_) = findings.find_in_kit(replace(steps, steps=(first, *STEPS[1:])))
    assert sentence.endswith("calls the size d_k d_k, others d.")
