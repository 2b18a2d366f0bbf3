"""Texts to learn from, and weights that are kept."""

import json

import numpy as np
import pytest
from safetensors.numpy import load_file
from tokenizers import Tokenizer

from grader.demos import training, weights
from grader.report.problem import Problem
from grader.steps.tree import named_leaves

ABOUT = weights.About(2, 2, 4, 5, ("a", "b", "c"), 7)


def test_stories_are_the_same_for_the_same_seed_and_long_enough():
    assert training.stories(3) == training.stories(3) != training.stories(4)
    assert training.CHARACTERS <= len(training.stories(0)) < training.CHARACTERS + 200


def test_tokens_are_the_places_of_the_characters():
    text = "abcdef"  # just long enough
    characters, tokens = training.prepare(text, 4)
    assert characters == (*text,)
    assert "".join(characters[token] for token in tokens) == text


def test_text_that_is_too_short_is_refused():
    with pytest.raises(Problem, match="has 5 characters, too few for windows of 4"):
        training.prepare("abcde", 4)


def test_file_that_is_no_text_is_refused(tmp_path):
    path = tmp_path / "text"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(Problem, match="UTF-8"):
        training.read_text(path)


def test_weights_come_back_as_they_were(tmp_path):
    params = training.first_params(ABOUT, 0)
    weights.save(tmp_path / "new", params, ABOUT)
    again, about = weights.load(tmp_path / "new")
    assert about == ABOUT
    found = named_leaves(again)
    assert found.keys() == named_leaves(params).keys()
    for name, array in named_leaves(params).items():
        np.testing.assert_array_equal(found[name], array.astype(np.float32))


def test_weights_are_read_by_the_libraries(tmp_path):
    weights.save(tmp_path, training.first_params(ABOUT, 0), ABOUT)
    found = load_file(tmp_path / weights.WEIGHTS)
    np.testing.assert_array_equal(found["h.1.ln_1.weight"], np.ones(4))
    tokenizer = Tokenizer.from_file(str(tmp_path / weights.TOKENIZER))
    assert tokenizer.encode("cab").ids == [2, 0, 1]
    assert tokenizer.decode([2, 0, 1]) == "cab"


@pytest.mark.parametrize("name", ["file", "file/inside", "file/far/inside"])
def test_folder_that_cannot_be_written_is_refused_before_the_training(tmp_path, name):
    (tmp_path / "file").write_text("something else", encoding="utf-8")
    with pytest.raises(Problem, match=r"cannot write to .*: name another folder with --out"):
        weights.check_folder(tmp_path / name)
    weights.check_folder(tmp_path / "new" / "folder")


def overwrite(name, content):
    return lambda folder: (folder / name).write_bytes(content)


def change(**settings):
    def spoil(folder):
        path = folder / weights.CONFIG
        path.write_text(json.dumps({**json.loads(path.read_text()), **settings}))

    return spoil


def tokens(vocab):
    return overwrite(weights.TOKENIZER, json.dumps({"model": {"vocab": vocab}}).encode())


def header(entries):
    head = json.dumps(entries).encode()
    return overwrite(weights.WEIGHTS, len(head).to_bytes(8, "little") + head)


SPOILS = {
    **{name: overwrite(name, b"nothing") for name in (weights.WEIGHTS, weights.CONFIG)},
    **{f"{n} layers": change(n_layer=n) for n in (10**6, "2", 0)},
    **{f"{n} heads": change(n_head=n) for n in (3, 0, True)},
    "features": change(n_embd=10**9),
    **{f"{n} positions": change(n_positions=n) for n in (10**9, None)},
    **{f"{n} steps": change(trained_steps=n) for n in (-1, None)},
    **{f"words {w}": tokens(w) for w in (5, {}, {"a": 0, "b": 1}, {"a": 0, "b": "1", "c": 2})},
    "no header": header([]),
    "no entry": header({"w": 1}),
    "no offsets": header({"w": {"dtype": "F32", "shape": [9]}}),
}


@pytest.mark.parametrize("spoil", SPOILS.values(), ids=SPOILS)
def test_weights_that_train_did_not_write_are_refused(tmp_path, spoil):
    weights.save(tmp_path, training.first_params(ABOUT, 0), ABOUT)
    spoil(tmp_path)
    with pytest.raises(Problem, match="holds no weights of `train` that can be read"):
        weights.load(tmp_path)
