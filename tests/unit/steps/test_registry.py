"""The registry: how steps are found, and that it agrees with the checks that there are."""

from dataclasses import replace

import pytest

from grader.cli.main import PLACES
from grader.demos.leak_maps import list_mapped
from grader.steps.registry import DATA, KitError, Part, load
from tests.conftest import STEPS


@pytest.fixture
def copied(tmp_path):
    """copied(old, new): a registry of step 2 alone, whose file is changed in that way."""

    def copied(old="", new=""):
        folder = tmp_path / f"{len([*tmp_path.iterdir()])}"
        folder.mkdir()
        text = (DATA / "step02_scores.toml").read_text(encoding="utf-8")
        (folder / "step02_scores.toml").write_text(text.replace(old, new, 1), encoding="utf-8")
        (folder / "kit.toml").write_bytes((DATA / "kit.toml").read_bytes())
        return load(folder)

    return copied


@pytest.mark.parametrize("name", ["3", "03", "step3", "step03", "step03_mask", "step03_mask.py"])
def test_find_takes_every_way_to_name_a_step(steps, name):
    assert steps.find(name).id == "step03_mask"


@pytest.mark.parametrize("name", ["0", "99", "mask", "", "3.5", "-3", "part99", "part", "part0"])
def test_what_is_not_there_is_answered_with_what_there_is(steps, name):
    with pytest.raises(
        ValueError, match=r"there is no step .*name one of 1 to \d+,.* part1, part2, .*or"
    ):
        steps.choose(name)


def test_chosen_takes_a_whole_part(steps):
    assert [step.number for step in steps.choose("part1")] == list(range(1, 9))
    assert steps.choose("part2") == tuple(s for s in steps.steps if s.part == 2)
    assert steps.choose("3") == (steps.find("3"),)


def test_only_whole_parts_have_titles(steps):
    """In a bundle of Part I alone the others have no steps."""
    first = steps.choose("part1")
    alone = replace(steps, steps=first)
    assert list(alone.group_by_part(first).values()) == [[step.id for step in first]]
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


def test_every_step_is_in_a_part(steps):
    assert [step for part in steps.parts for step in steps.of(part)] == list(steps.steps)


def test_hints_for_a_check_go_before_those_for_its_function(copied):
    own = '[hints_for]\nattention_scores = ["of the function"]\nscores_rows = ["of the check"]\n'
    (step,) = copied("[[function]]", own + "[[function]]").steps
    told = {check.id: check.hints for check in step.checks}
    assert told.pop("scores_rows") == ("of the check",)
    assert set(told.values()) == {("of the function",)}
    (step,) = copied().steps
    assert {check.hints for check in step.checks} == {()}


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
def test_file_that_cannot_be_read_is_named(copied, old, new, said):
    with pytest.raises(KitError, match=rf"^step02_scores.toml .*{said}"):
        copied(old, new)


@pytest.mark.parametrize("part", load().parts, ids=lambda part: part.name)
def test_part_says_what_comes_after_it_and_every_learner_has_that_command(steps, part):
    assert 3 <= len(part.can) <= 5
    assert part.read.endswith(".")
    assert part.then_shows
    name, _, number = part.then.partition(" ")
    assert not PLACES[name].startswith(("kit.", "authoring."))
    assert not number or steps.find(number).part == part.number


@pytest.mark.parametrize("part", load().parts, ids=lambda part: part.name)
def test_function_whose_map_is_shown_has_one(steps, part):
    mapped = {one.name: step for step in list_mapped(steps) for one in step.functions}
    assert mapped[part.shows].part == part.number
