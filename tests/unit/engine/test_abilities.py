"""What a learner can do after a step: as the lesson says."""

import pytest

from grader.engine.abilities import find_abilities, read_abilities
from tests.conftest import STEPS


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.id)
def test_every_lesson_says_what_its_reader_can_do(step):
    assert find_abilities(step)


def test_items_are_joined_and_lose_their_punctuation():
    lesson = "# **After this you can**\n#\n# - add\n#   numbers,\n# - rest.\n#\n# *The course:*\n"
    assert read_abilities(lesson) == ["add numbers", "rest"]


@pytest.mark.parametrize("lesson", ["", "# **After this you can**\n#\n# Nothing.\n", "x = 1\n"])
def test_lesson_without_its_head_says_nothing(lesson):
    assert read_abilities(lesson) == []
