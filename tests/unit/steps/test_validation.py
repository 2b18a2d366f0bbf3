"""An edited registry: what is wrong with it is one sentence."""

import re

import pytest

from grader.steps import registry
from grader.steps.registry import KitError, load
from grader.steps.validation import missing_checks, problem_with
from tests.conftest import ROOT, STEPS


def entry(**more):
    function = {"name": "f", "takes": [], "returns": [], "checks": {"f_agrees": 1.0}}
    return {"title": "T", "part": 1, "source": "s", "hints": [], "function": [function], **more}


def test_whole_entry_is_fine():
    assert problem_with(entry()) == ""


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"title": 3}, "`title` must be a text"),
        ({"part": "1"}, "`part` must be a whole number"),
        ({"function": "f"}, "`function` must be a list"),
        ({"function": [{"name": 3}]}, "every [[function]] needs a `name`"),
        ({"function": [{"name": "f", "checks": 3}]}, "the checks of f must be a table"),
        ({"function": [{"name": "f", "checks": {"a": -1}}]}, "the points of a must be a number"),
        ({"function": [{"name": "f", "checks": {"a": "2"}}]}, "the points of a must be a number"),
        ({"function": [{"name": "f", "checks": {"a": True}}]}, "the points of a must be a number"),
        (
            {"function": [{"name": "f", "checks": {"a": float("nan")}}]},
            "the points of a must be a number",
        ),
    ],
)
def test_wrong_entry_is_told(changed, problem):
    assert problem_with(entry(**changed)).startswith(problem)


def test_wrong_file_is_named(tmp_path):
    for path in registry.DATA.glob("*.toml"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    path = tmp_path / "step02_scores.toml"
    text = re.sub("^title = .*", "title = 3", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    path.write_text(text, encoding="utf-8")
    with pytest.raises(KitError, match=r"^step02_scores.toml: `title` must be a text$"):
        load(tmp_path)
    (tmp_path / "step02_scores.toml").write_text("title = \n")
    with pytest.raises(KitError, match=r"^step02_scores.toml cannot be read: "):
        load(tmp_path)


def test_every_check_of_the_kit_is_there(steps):
    assert missing_checks(steps, ROOT / "tests") == []


def test_check_that_is_not_there_is_told(steps, tmp_path):
    (tmp_path / "visible").mkdir()
    for step in STEPS:
        name = f"test_{step.id}.py"
        text = (ROOT / "tests" / "visible" / name).read_text(encoding="utf-8")
        changed = text.replace("def test_scores_agree(", "def test_scores_agrees(")
        (tmp_path / "visible" / name).write_text(changed, encoding="utf-8")
    assert missing_checks(steps, tmp_path) == [
        "step02_scores.toml: there is no check scores_agree: is scores_agrees meant?"
    ]
