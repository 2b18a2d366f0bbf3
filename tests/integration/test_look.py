"""`look` draws a learner's own functions in the terminal."""

import re

import pytest

from grader.authoring.figures import captions, name_looks, read_captions
from grader.look import LOOKS
from tests.conftest import STEPS
from tests.support.stubs import stub_text


def test_every_look_of_a_lesson_can_be_had_in_the_terminal():
    told = {step.number: tuple(name_looks(step)) for step in STEPS}
    assert {number: names for number, names in told.items() if names} == LOOKS


def test_every_look_of_a_lesson_has_the_lesson_s_words():
    for step in STEPS:
        found = read_captions(step)
        assert tuple(found) == LOOKS.get(step.number, ())
        assert all(all(one.partition("\n")) for one in found.values())


def test_stored_captions_are_up_to_date(steps):
    for path, text in captions(steps).items():
        assert path.read_text("utf-8") == text, "captions.json is out of date: run `make build`"


def test_picture_stands_below_the_lesson_s_words(learner):
    title, words = learner("look", "2").stdout.split("\n\n")[0].split("\n", 1)
    assert title == "Who wants whom"
    assert "an adjective looks for its noun" in " ".join(words.split())


def test_text_with_gaps_is_shown_whole(learner):
    assert "It takes [MASK] courage to let go of\n" in learner("look", "14").stdout


@pytest.mark.parametrize("step", ["7", "12"])
def test_sentences_are_wrapped_between_words(learner, step):
    lines = learner("look", step).stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert "the same triangle" in " ".join(lines) or "nobody sees the future" in " ".join(lines)


def test_leaks_of_step_5_are_drawn(learner):
    done = learner("look", "5")
    assert done.returncode == 0, done.stderr
    leaks = done.stdout.rpartition("without a mask\n")[2]
    before, _, after = leaks.partition("with the causal mask\n")
    assert "!" in before
    assert "!" not in after.partition("# the row")[0]


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        ("3", r"before\n +It .*\n( *It .*\n)(.*\n)*after\n +It .*\n *It +3.58 +−∞"),
        ("6", r"training loss\nloss in nats\n2.08 \|\*(.*\n)*o with the mask\n\* without it"),
        ("8", r" let +ask .*\n +τ = 0 +1.00 "),
        ("20", r"pair 0\n.*\ndegrees +0 +57.*\npair 1\n"),
        ("21", r"MiB\n12 \|(.*\n)*x 1 key head, shared 6 ways\nA cache of 4,096 positions"),
        ("23", r"KiB\n800 \|(.*\n)*\* your streaming_attention, 16 keys at a time\nWith 320"),
    ],
)
def test_every_picture_has_its_text(learner, step, expected):
    done = learner("look", step)
    assert re.search(expected, done.stdout), done.stdout


def test_stub_gets_a_sentence(tmp_path, learner):
    (tmp_path / "exercises" / "step03_mask.py").write_text(stub_text("step03_mask"), "utf-8")
    done = learner("look", "3")
    assert done.returncode == 0
    said = "Nothing to see yet: causal_mask in exercises/step03_mask.py is still to be written."
    assert " ".join(done.stdout.split()) == said


def test_file_that_cannot_be_run_gets_a_sentence(tmp_path, learner):
    (tmp_path / "exercises" / "step03_mask.py").write_text("def broken(:\n", encoding="utf-8")
    done = learner("look", "3")
    assert done.returncode == 2
    assert "exercises/step03_mask.py cannot be run (SyntaxError" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(("words", "says"), [([], "name the step"), (["99"], "no step")])
def test_what_cannot_be_drawn_gets_a_sentence(learner, words, says):
    done = learner("look", *words)
    assert done.returncode == 2
    assert says in done.stderr
