"""The small trained model of the kit: its files, and that a GPT-2's reader reads them."""

import json

import numpy as np
import pytest
from safetensors.numpy import load_file

from grader.authoring.train_small import WHAT, describe_model, make_text
from grader.demos import weights
from grader.demos.explorer.measure import explore
from grader.demos.gpt2 import against
from grader.demos.gpt2.family import GPT2
from grader.demos.weights import CHEAT, SMALL, load, read_arrays
from grader.intake.submission import Submission
from tests.conftest import SOLUTIONS, STEPS


def test_it_is_small():
    assert sum(path.stat().st_size for path in SMALL.iterdir()) <= 1_000_000


@pytest.mark.parametrize("what", WHAT)
def test_it_looks_back_for_the_word_that_must_come(steps, host, what):
    own = {step.id: SOLUTIONS[step.id] for step in STEPS[:13]}
    prompt = f"the owl looks for the {what} . the fox has seen the"
    found = explore(host, steps, Submission("", own), {"prompt": prompt})
    word, chance = found["next"][-1][0]
    assert word == what
    assert chance > 0.9


def test_its_words_are_those_of_the_text_that_it_learned():
    vocabulary = sorted(set(make_text(seed=0)))
    assert list(load(SMALL)[1].words) == vocabulary
    described = describe_model(vocabulary)
    settings = json.loads((SMALL / weights.CONFIG).read_text(encoding="utf-8"))
    assert settings == described["config.json"]


@pytest.mark.parametrize("name", [weights.WEIGHTS, CHEAT])
def test_own_reader_reads_what_the_library_reads(name):
    library = load_file(SMALL / name)
    own = dict(read_arrays((SMALL / name).read_bytes()))
    assert own.keys() == library.keys()
    for key, array in library.items():
        np.testing.assert_array_equal(own[key], array)


def test_tokenizer_reads_the_words():
    _, small = load(SMALL)
    ids = against.read(SMALL / weights.WEIGHTS, GPT2).ids("The fox has a key.")
    assert [small.words[number] for number in ids] == ["the", "fox", "has", "a", "key", "."]
