"""The registry: how steps are found, and that it agrees with the checks that there are."""

from dataclasses import replace

import pytest

from grader.steps.registry import DATA, KitError, Part, load
from tests.conftest import STEPS


@pytest.mark.parametrize("name", ["3", "03", "step3", "step03", "step03_mask", "step03_mask.py"])
def test_find_takes_every_way_to_name_a_step(steps, name):
    assert steps.find(name).id == "step03_mask"


@pytest.mark.parametrize("name", ["0", "99", "mask", "", "step", "3.5", "-3"])
def test_find_says_which_steps_there_are(steps, name):
    with pytest.raises(ValueError, match=r"there is no step .*name one of 1 to \d+"):
        steps.find(name)


def test_chosen_takes_a_whole_part(steps):
    assert [step.number for step in steps.choose("part1")] == list(range(1, 9))
    assert steps.choose("part2") == tuple(s for s in steps.steps if s.part == 2)
    assert steps.choose("3") == (steps.find("3"),)


def test_part_without_steps_has_no_title(steps):
    """As in a bundle of Part I alone."""
    first = steps.choose("part1")
    alone = replace(steps, steps=first)
    assert list(alone.group_by_part(first).values()) == [[step.id for step in first]]


def test_only_whole_parts_have_titles(steps):
    title, *_ = steps.group_by_part(steps.steps[1:])
    assert title == f"Part II: {steps.parts[1].title}"


@pytest.mark.parametrize(
    ("chosen", "words"),
    [
        ((0, 1, 2), "1 to 3"),
        ((0, 2, 4), "1, 3, 5"),
        ((0, 1, -2, -1), f"1 to 2, {STEPS[-2].number} to {STEPS[-1].number}"),
    ],
)
def test_numbers_are_told_in_runs(steps, chosen, words):
    assert replace(steps, steps=tuple(steps.steps[i] for i in chosen)).numbers == words


@pytest.mark.parametrize("name", ["part99", "part", "part0"])
def test_chosen_says_which_steps_there_are(steps, name):
    with pytest.raises(
        ValueError, match=r"there is no step 'part.*name one of 1 to \d+,.* part1, part2, .*or"
    ):
        steps.choose(name)


def test_every_step_is_in_a_part(steps):
    assert [step for part in steps.parts for step in steps.of(part)] == list(steps.steps)


def test_hints_for_a_check_go_before_those_for_its_function(tmp_path):
    (tmp_path / "kit.toml").write_text(
        """
        [[part]]
        number = 1
        title = "p"
        [limits]
        call_seconds = 1.0
        step_seconds = 1.0
        memory_mib = 1
        """,
        encoding="utf-8",
    )
    (tmp_path / "step01_one.toml").write_text(
        """
        title = "t"
        part = 1
        source = "s"
        hints = ["of the step"]
        [hints_for]
        f = ["of f"]
        b = ["of b"]
        [[function]]
        name = "f"
        takes = []
        returns = []
        checks = { a = 1.0, b = 1.0 }
        [[function]]
        name = "g"
        takes = []
        returns = []
        checks = { c = 1.0 }
        """,
        encoding="utf-8",
    )
    (step,) = load(tmp_path).steps
    assert step.id == "step01_one"
    assert [check.hints for check in step.checks] == [("of f",), ("of b",), ()]


def test_parts_have_roman_numbers_beyond_three():
    names = [Part(number, "title").name for number in (1, 3, 4, 6)]
    assert names == ["Part I", "Part III", "Part IV", "Part VI"]


def test_first_check_of_a_function_is_what_the_others_need(steps):
    for step in STEPS:
        for function in step.functions:
            first, *others = [*function.checks, None]
            assert first is None or first.needs is None
            assert all(check.needs == first.id for check in others if check)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("title =", "name =", "lacks 'title'"),
        ('title = "', "title = ", "cannot be read: "),
        ("scores_rows = 1.0", "scores_rows = -1", "the points of scores_rows are -1, not a number"),
        ("scores_rows = 1.0", "scores_rows = nan", "the points of scores_rows are nan, not a"),
        ("scores_rows = 1.0", 'scores_rows = "2"', "cannot be read: "),
        ("[[function]]", "[function]", "cannot be read: "),
    ],
)
def test_file_that_cannot_be_read_is_named(tmp_path, old, new, said):
    path = tmp_path / "step02_scores.toml"
    text = (DATA / path.name).read_text(encoding="utf-8")
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    (tmp_path / "kit.toml").write_bytes((DATA / "kit.toml").read_bytes())
    with pytest.raises(KitError, match=rf"^step02_scores.toml .*{said}"):
        load(tmp_path)
