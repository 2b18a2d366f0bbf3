"""What a learner can do after a step: as the lesson says."""

import pytest

from grader.steps.stubs import find_abilities, stub_of
from tests.conftest import STEPS


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.id)
def test_every_lesson_says_what_its_reader_can_do(step):
    assert find_abilities(stub_of(step))


def test_items_are_joined_and_lose_their_punctuation():
    lesson = "# **After this you can**\n#\n# - add\n#   numbers,\n# - rest.\n#\n# *The course:*\n"
    assert find_abilities(lesson) == ["add numbers", "rest"]


@pytest.mark.parametrize("lesson", ["", "# **After this you can**\n#\n# Nothing.\n", "x = 1\n"])
def test_lesson_without_its_head_says_nothing(lesson):
    assert find_abilities(lesson) == []
