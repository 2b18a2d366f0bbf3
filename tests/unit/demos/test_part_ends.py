"""The end of a part names only what every learner has."""

import pytest

from grader.cli.main import PLACES
from grader.steps.registry import load

PARTS = [part for part in load().parts if part.then]


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.name)
def test_part_ends_with_a_command_that_learners_have(part):
    name, _, number = part.then.partition(" ")
    assert not PLACES[name].startswith(("kit.", "authoring."))
    assert not number or load().find(number).part == part.number
