"""The parts: each says what one can do after it, and names what there is."""

import pytest

from grader.cli.main import PLACES
from grader.demos.leak_maps import list_mapped
from grader.steps import registry

REGISTRY = registry.load()


@pytest.mark.parametrize("part", REGISTRY.parts, ids=lambda part: part.name)
def test_part_says_what_comes_after_it_and_every_learner_has_that_command(part):
    assert 3 <= len(part.can) <= 5
    assert part.read.endswith(".")
    assert part.then_shows
    name, _, number = part.then.partition(" ")
    assert not PLACES[name].startswith(("kit.", "authoring."))
    assert not number or REGISTRY.find(number).part == part.number


@pytest.mark.parametrize("part", REGISTRY.parts, ids=lambda part: part.name)
def test_function_whose_map_is_shown_has_one(part):
    mapped = {one.name: step for step in list_mapped(REGISTRY) for one in step.functions}
    assert mapped[part.shows].part == part.number
