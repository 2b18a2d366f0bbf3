"""The model that Part I writes with: its files, its stories, and a learner's functions on it."""

import re

import numpy as np
import pytest

from grader.authoring.train_writer import (
    PLOT,
    encode,
    import_functions,
    loss_and_gradients,
    make_stories,
)
from grader.demos import writer
from grader.demos.submission_worker import NotReady
from grader.demos.writer import load_writer, read_words, write_stories
from grader.intake.submission import Submission
from grader.steps.stubs import stub_of
from tests.conftest import SOLUTIONS, STEPS

PART = [step for step in STEPS if step.part == 1]
FRESH = make_stories(100, seed=7)


@pytest.fixture(scope="module")
def right():
    return import_functions()


@pytest.fixture
def own():
    return {step.id: SOLUTIONS[step.id] for step in PART}


def is_whole(story):
    """Whether a story follows the plot, and every name is that of the sentence before."""
    known, rest = {}, f"{story} "
    for part in PLOT:
        options = [re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>\\w+)", re.escape(one)) + " " for one in part]
        found = next(filter(None, (re.match(option, rest) for option in options)), None)
        if not found or any(known.setdefault(*one) != one[1] for one in found.groupdict().items()):
            return False
        rest = rest[found.end() :]
    return not rest


def test_words_are_those_of_the_stories():
    words = {word for story in make_stories(4000, seed=0) for word in story}
    assert sorted(words) == [*load_writer().words]


def test_script_computes_the_loss_of_step_six_and_its_gradients(right):
    draw = np.random.RandomState(0)
    params = {name: draw.normal(size=(4, 4)) for name in ("w_q", "w_k", "w_v")}
    params |= {"embedding": draw.normal(size=(5, 4)), "position": draw.normal(size=(6, 4))}
    params["w_out"] = draw.normal(size=(4, 5))
    tokens, nudge = draw.randint(0, 5, (3, 6)), 1e-4
    loss, grads = loss_and_gradients(right, params, tokens, np.tri(5, dtype=bool))
    assert loss == pytest.approx(right.teacher_forced_loss(tokens, params))
    for name, array in params.items():
        step = np.zeros_like(array)
        step[1, 1] = nudge
        ends = [
            right.teacher_forced_loss(tokens, {**params, name: array + sign * step})
            for sign in (1, -1)
        ]
        assert grads[name][1, 1] == pytest.approx((ends[0] - ends[1]) / 2 / nudge, abs=1e-6)


def test_model_reads_new_stories_about_as_well_as_can_be(right):
    """Of two sentences each, and the names at random, no model can do better than 0.302."""
    model = load_writer()
    tokens = encode(FRESH, model.words)
    assert right.teacher_forced_loss(tokens, model.with_mask) < 0.33
    assert model.cheat < 0.1


def raw(story):
    return re.sub(r"([.,?])", r" \1", story).lower()


def test_most_stories_are_whole_and_none_is_without_the_mask(right):
    told = [write_stories(right.generate, "the owl", seed) for seed in range(20)]
    masked, cheats = zip(*(stories.values() for stories in told), strict=True)
    assert sum(is_whole(raw(story)) for story in masked) >= 18
    assert sum(is_whole(raw(story)) for story in cheats) == 0
    assert len(set(masked)) == 20


def test_story_that_everybody_sees_is_whole(right):
    first, second = write_stories(right.generate).values()
    assert is_whole(raw(first))
    assert first.startswith("The owl ")
    assert second.startswith("The owl ")


def test_prompt_may_have_capitals_and_points():
    words = read_words("The owl looks for the lamp.", load_writer().words, 52)
    assert words == ("the", "owl", "looks", "for", "the", "lamp", ".")


@pytest.mark.parametrize("wrong", [None, np.zeros(3), np.full(53, 9999), np.zeros(53)])
def test_wrong_generate_is_one_sentence(wrong):
    with pytest.raises(NotReady, match=r"^generate "):
        write_stories(lambda *given, **named: wrong)


def test_learners_own_functions_write(steps, host, own, right):
    told = writer.tell(host, steps, Submission("", own), "the owl", 3)
    assert told == write_stories(right.generate, "the owl", 3)


def test_stub_is_named(steps, host, own):
    own["step07_kv_cache"] = stub_of(STEPS[6])
    with pytest.raises(NotReady, match="still to be written"):
        writer.tell(host, steps, Submission("", own))
    del own["step07_kv_cache"]
    with pytest.raises(NotReady, match=r"There is no step07_kv_cache\.py"):
        writer.tell(host, steps, Submission("", own))
