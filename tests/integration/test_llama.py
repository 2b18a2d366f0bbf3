"""A Llama on the steps: agreement with the reference and with transformers, and wrong steps."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from grader.answer_key import reference_modern as reference
from grader.demos.gpt2 import agreement, blame, own, running, writing
from grader.demos.gpt2.problems import Gpt2Error
from grader.demos.gpt2.tokens import Ids
from grader.demos.gpt2.weights import WEIGHTS
from grader.demos.llama import names
from grader.demos.llama.against import Llama
from grader.demos.llama.family import LLAMA
from grader.intake.submission import Submission
from grader.isolation import Process, start_host
from tests.support import gpt2s, llamas

IDS = [7 * position % 512 for position in range(24)]
CHOICE = writing.Choice(temperature=0.8, top_k=40, seed=3)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return llamas.make(tmp_path_factory.mktemp("llama"))


@pytest.fixture(scope="module")
def tied(tmp_path_factory):
    """Another: its head is the embedding, and every head has keys of its own."""
    sizes = {"tied": True, "n_kv_heads": 4, "base": 10000.0, "eps": 1e-5}
    return llamas.make(tmp_path_factory.mktemp("tied"), **sizes)


@pytest.fixture(scope="module")
def host():
    with start_host(Process(), running.limits_for(gpt2s.REGISTRY.limits, 2**24)) as host:
        yield host


@pytest.mark.parametrize("which", ["model", "tied"])
def test_decoder_agrees_with_the_reference_and_with_transformers(host, request, which):
    made = request.getfixturevalue(which)
    params = LLAMA.names.to_params(made.tensors, made.config, np.float64)
    expected = reference.llama_logits(np.array(IDS), params, *made.config.sizes)
    other = Llama(made, np.float64)
    with llamas.decoder(host, made, dtype=np.float64) as decoder:
        assert np.abs(decoder.logits(IDS) - expected).max() <= 1e-10
        assert np.abs(agreement.stepwise(decoder, IDS) - expected).max() <= 1e-10
        found = list(agreement.findings(decoder, other, IDS, 20))
    assert [finding.ok for finding in found] == [True] * 4
    allowed = 1e-4 * np.abs(expected).max()
    assert np.abs(other.logits(IDS) - expected).max() <= allowed


def test_float32_stays_float32_and_agrees(host, model):
    with llamas.decoder(host, model) as decoder:
        assert decoder.logits(IDS).dtype == np.float32
        found = list(agreement.findings(decoder, Llama(model, np.float32), IDS, 20))
    assert [(finding.ok, finding.note) for finding in found] == [(True, "")] * 4


def test_cached_text_is_the_uncached_one_and_comes_token_by_token(host, model):
    with llamas.decoder(host, model) as decoder:
        cached, uncached = (
            list(writing.write_tokens(decoder, IDS, 20, CHOICE, writing.Timed(), cache=cache))
            for cache in (True, False)
        )
        assert cached == uncached
        assert decoder.generate(IDS, 5) == agreement.continue_uncached(decoder, IDS, 5)
        timed = writing.Timed()
        text = writing.write_tokens(decoder, IDS, 20, CHOICE, timed)
        assert list(itertools.islice(text, 2)) == timed.ids == cached[:2]


# What wrong steps do: the step, the change, and whether llama_logits and llama_step agree.
WRONG = {
    "no mask": (
        "step25_llama",
        ("mask, angles = causal_mask(t), ", "mask, angles = None, "),
        [False, True],
    ),
    "the base of the default": (
        "step25_llama",
        ("rotary_angles(np.arange(t), d_head, base)", "rotary_angles(np.arange(t), d_head)"),
        [False, True],
    ),
    "the eps of the default": (
        "step25_llama",
        ('rms_norm(x, block["norm_2"], eps)', 'rms_norm(x, block["norm_2"])'),
        [True, False],
    ),
    "positions that start again": (
        "step25_llama",
        ("np.arange(start, stop), d_head", "np.arange(stop - start), d_head"),
        [True, False],
    ),
    "heads in turn": (
        "step21_grouped_heads",
        ("np.repeat(x, n_repeats, axis=-3)", "np.concatenate([x] * n_repeats, axis=-3)"),
        [False, False],
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_step_is_seen(host, model, name):
    step, change, expected = WRONG[name]
    sources = gpt2s.with_changes({step: change})
    with llamas.decoder(host, model, sources) as decoder:
        found = list(agreement.findings(decoder, Llama(model, np.float32), IDS, 0))
    assert [finding.ok for finding in found] == expected


def test_wrong_step_is_named(host, model):
    step, change, _ = WRONG["heads in turn"]
    sources = gpt2s.with_changes({step: change})
    wanted = LLAMA.functions.wanted
    code = own.gather(host, gpt2s.REGISTRY, Submission("me", sources), {}, wanted)
    family = replace(LLAMA, make_cached=lambda: model.folder)
    found = blame.find_blamed(host, gpt2s.REGISTRY, code, gpt2s.RIGHT, family)
    assert [step.number for step in found] == [21]


def test_half_precision_weights_are_read(tmp_path, model):
    """bfloat16, as most are published, and float16; NumPy has no bfloat16."""
    kinds = itertools.cycle((torch.bfloat16, torch.float16, torch.float32))
    halved = {
        name: torch.tensor(t).to(kind) for (name, t), kind in zip(model.tensors.items(), kinds)
    }
    save_file(halved, tmp_path / WEIGHTS)
    (tmp_path / "config.json").write_bytes((model.folder / "config.json").read_bytes())
    read = LLAMA.read(tmp_path / WEIGHTS)
    for name, tensor in read.tensors.items():
        assert np.array_equal(tensor.astype(np.float32), halved[name].float().numpy()), name


def test_prefix_makes_no_difference(model):
    bare = {name.removeprefix("model."): tensor for name, tensor in model.tensors.items()}
    found = names.LLAMA.check_tensors(bare, model.config, "x")
    assert list(found) == list(model.tensors)


def test_ids_stand_in_for_words():
    ids = Ids(9)
    assert ids.ids("3 8  1") == [3, 8, 1]
    assert ids.streaming().text(7) == " 7"
    with pytest.raises(Gpt2Error, match=r"list token ids in --prompt, as in --prompt '1 2 3'"):
        ids.ids("once 2")
    with pytest.raises(Gpt2Error, match="has the id 9, but the model has 9 embeddings"):
        ids.ids("1 9")


def test_tiny_model_is_the_same_every_time(tmp_path, model):
    again = llamas.make(tmp_path)
    assert list(again.tensors) == list(model.tensors)
    assert all(np.array_equal(again.tensors[n], model.tensors[n]) for n in model.tensors)
