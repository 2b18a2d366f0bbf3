"""Published models on the steps: agreement with transformers, wrong steps, whose code runs."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from safetensors.torch import save_file

from grader.demos import weights
from grader.demos.gpt2 import against
from grader.demos.gpt2.against import torch
from grader.demos.gpt2.family import GPT2, LLAMA
from grader.demos.submission_worker import NotReady
from grader.isolation import Process, start_host
from grader.report.problem import Problem
from grader.steps.registry import Limits
from tests.support import gpt2s
from tests.support.gpt2s import RIGHT, gathered

CHOICE = {"temperature": 0.8, "top_k": 40}
IDS = [7 * position % 512 for position in range(24)]


@pytest.fixture(scope="module")
def model():
    return against.make_tiny(GPT2)


@pytest.fixture(scope="module")
def llama():
    return against.make_tiny(LLAMA)


@pytest.fixture(scope="module")
def tied():
    """Another Llama: its head is the embedding, and every head has keys of its own."""
    sizes = {"tie_word_embeddings": True, "num_key_value_heads": 4}
    return against.make_tiny(LLAMA, **sizes, rope_theta=10000.0, rms_norm_eps=1e-5)


@pytest.fixture(scope="module")
def host():
    with start_host(Process(), Limits(600.0, 600.0, 4096)) as host:
        yield host


@pytest.mark.parametrize("which", ["model", "llama", "tied"])
def test_decoder_agrees_with_transformers(host, request, which):
    made = request.getfixturevalue(which)
    assert made.logits(IDS).dtype == np.float32
    with gpt2s.decoder(host, made) as decoder:
        assert decoder.logits(IDS).dtype == np.float32
        found = list(against.findings(decoder, made, IDS, 20))
    assert [(finding.ok, finding.note) for _, finding in found] == [(True, "")] * 3


def test_tolerance_of_the_tiny_model_is_the_promised_one(model):
    assert model.tolerance(model.logits(IDS)) == 1e-6


@pytest.mark.parametrize("which", ["model", "llama"])
def test_cached_text_is_the_uncached_one_and_comes_token_by_token(host, request, which):
    with gpt2s.decoder(host, request.getfixturevalue(which)) as decoder:

        def write(seed, cached):
            return decoder.write(IDS, 20, seed, cached=cached, **CHOICE)

        cached, uncached, other = (
            [token for token, _ in write(*how)] for how in ((3, True), (3, False), (4, True))
        )
        assert cached == uncached != other
        assert next(write(3, True))[0] == cached[0]


# What wrong steps do: the step, the change, whether logits at once and one by one agree, and what
# is said.

GELU = "0.5 * x * (1 + np.tanh(inner))"
GELU_LINE = RIGHT["step11_block"].split(GELU)[0].count("\n") + 1
BLOCK = "decoder_block(x, block, n_heads, mask)"
UNMASKED = "decoder_block(x, block, n_heads, mask | (block is params['blocks'][-1]))"
LOGITS = 'return linear(normed, params["embedding"].T)'
EMBEDDED = '    x = params["embedding"][tokens]'
AT_ONCE, CACHED, BOTH = [False, True], [True, False], [False, False]  # what is wrong
DIFFERS = "differs by up to"
WRONG = {
    "the last layer unmasked": (
        *("step12_decoder", (BLOCK, UNMASKED), AT_ONCE),
        "the last is right, so an earlier one may see what comes after it",
    ),
    "exact gelu": (
        "step11_block",
        (GELU, "0.5 * x * (1 + np.vectorize(__import__('math').erf)(x / 2**0.5))"),
        *(BOTH, "at every position"),
    ),
    "no positions after the first": (
        *("step12_decoder", ('params["position"][:t]', 'params["position"][0]'), AT_ONCE),
        "at 23 of 24 positions, first at 1, and at all after it",
    ),
    "positions start again with every call": (
        "step13_decoder_cache",
        ('params["position"][t_old:t]', 'params["position"][: t - t_old]'),
        *(CACHED, "first at 1"),
    ),
    "NaN": (
        *("step12_decoder", (LOGITS, f"{LOGITS} + np.log(5 - np.arange(t))[:, None]"), AT_ONCE),
        "is NaN from position 6 on",
    ),
    "too few rows": (
        *("step12_decoder", (LOGITS, f"{LOGITS}[..., 1:, :]"), AT_ONCE),
        "did not return logits of the shape (24, 512)",
    ),
    "an exception": (
        *("step11_block", (GELU, "x @ x"), BOTH),
        f"in line {GELU_LINE} of exercises/step11_block.py. In a matrix product",
    ),
    "writing into params": (
        "step12_decoder",
        (EMBEDDED, f'    params["embedding"] *= 2\n{EMBEDDED}'),
        *(AT_ONCE, "read-only"),
    ),
}
LLAMA_WRONG = {
    "the base of the default": (
        "step25_llama",
        ("rotary_angles(np.arange(t), d_head, base)", "rotary_angles(np.arange(t), d_head)"),
        *(AT_ONCE, DIFFERS),
    ),
    "the eps of the default": (
        "step25_llama",
        ('rms_norm(x, block["norm_2"], eps)', 'rms_norm(x, block["norm_2"])'),
        *(CACHED, DIFFERS),
    ),
    "heads in turn": (
        "step21_grouped_heads",
        ("np.repeat(x, n_repeats, axis=-3)", "np.concatenate([x] * n_repeats, axis=-3)"),
        *(BOTH, DIFFERS),
    ),
}


@pytest.mark.parametrize("name", [*WRONG, *LLAMA_WRONG])
def test_wrong_step_is_told(host, model, llama, name):
    step, change, expected, said = {**WRONG, **LLAMA_WRONG}[name]
    made = model if name in WRONG else llama
    with gpt2s.decoder(host, made, gpt2s.with_changes({step: change})) as decoder:
        found = list(against.findings(decoder, made, IDS, 12))
    assert [finding.ok for _, finding in found[:2]] == expected
    assert said in next(finding.said for _, finding in found if not finding.ok)


def test_float64_logits_of_float32_weights_are_remarked_on(host, model):
    change = {"step11_block": ("(2 / np.pi) ** 0.5", "np.sqrt(2 / np.pi)")}
    with gpt2s.decoder(host, model, gpt2s.with_changes(change)) as decoder:
        found = list(against.findings(decoder, model, IDS, 0))
    assert {(finding.ok, finding.note) for _, finding in found} == {(True, against.SLOW)}


@pytest.mark.parametrize(
    ("place", "gap", "said"),
    [
        (2, 1e-9, "agrees, the same 2 tokens and then a tie"),
        (2, 1.0, "differs, another token 3 than transformers'"),
        (None, 0, "agrees, the same 4 tokens"),
    ],
)
def test_greedy_text_may_take_either_of_two_logits_that_tie(place, gap, said):
    text, rows = [5, 6, 7, 8], np.zeros((6, 9))
    rows[np.arange(2, 6), text] = 3.0
    if place is not None:
        rows[2 + place, 0] = 3.0 + gap
    model = SimpleNamespace(logits=lambda ids: rows[: len(ids)])
    assert against._compare_tokens(model, [1, 2, 3], text, 1e-6).said == said


def test_last_logits_are_those_at_the_end(host, model):
    with gpt2s.decoder(host, model) as decoder:
        assert np.array_equal(decoder.logits(IDS, last=3), decoder.logits(IDS)[-3:])


def test_worker_keeps_no_old_caches(host, model):
    counting = {
        "step13_decoder_cache": (
            "def decoder_step(tokens_new",
            "class Cache(list):\n    alive = 0\n\n    def __init__(self, items):\n"
            "        super().__init__(items)\n        Cache.alive += 1\n"
            "        assert Cache.alive <= 3, Cache.alive\n\n    def __del__(self):\n"
            "        Cache.alive -= 1\n\n\ndef decoder_step(tokens_new",
        )
    }
    sources = gpt2s.with_changes(counting)
    sources["step13_decoder_cache"] = (
        sources["step13_decoder_cache"]
        .replace("return [None] * n_layers", "return Cache([None] * n_layers)")
        .replace('params["embedding"].T), new_cache', 'params["embedding"].T), Cache(new_cache)')
    )
    with gpt2s.decoder(host, model, sources) as decoder:
        decoder.stepwise(IDS)


# Whose code runs.


def test_written_steps_are_the_students_and_others_the_solutions():
    sources = dict(RIGHT)
    sources["step04_softmax"] = "def softmax(scores, axis=-1):\n    raise NotImplementedError()\n"
    sources["step11_block"] += "\n\ndef gelu(x):\n    raise NotImplementedError\n"
    sources["step12_decoder"] = sources["step12_decoder"].replace("mask & padding", "padding")
    del sources["step09_heads"]
    parts, program = gathered(GPT2, sources)
    assert {6, 10, 14}.isdisjoint(step.number for step in parts)  # nothing calls them
    assert {*program.sources} == {*(step.id for step in parts), program.module}
    why = {step.id: told for step, told in parts.items()}
    assert why["step03_mask"] == why["step12_decoder"] == why["step13_decoder_cache"] == ""
    assert why["step04_softmax"] == why["step11_block"] == "yours is not written yet"
    assert why["step09_heads"] == "you have no step09_heads.py"


def test_missing_step_without_solutions_is_told():
    sources = {**RIGHT}
    del sources["step09_heads"]
    told = "^step 9 is not there yet: you have no step09_heads.py: `make check STEP=9`$"
    with pytest.raises(Problem, match=told):
        gathered(GPT2, sources, {})


def test_step_that_is_not_python_is_told(host, model):
    sources = {**RIGHT, "step12_decoder": "def decoder_logits(:\n"}
    told = r"^The import of the steps raised SyntaxError in line 1 of exercises/step12_decoder\.py"
    with pytest.raises(NotReady, match=told), gpt2s.decoder(host, model, sources):
        pass


# Names, and what is read.


@pytest.mark.parametrize("family", [GPT2, LLAMA], ids=["gpt2", "llama"])
def test_files_come_back_as_they_were_with_or_without_prefix_and_buffers(tmp_path, family):
    made = against.make_tiny(family)
    folder = gpt2s.write(tmp_path / "model", family)
    again = against.read(folder / weights.WEIGHTS, family)
    buffers = {"h.0.attn.bias": np.ones((4, 4), np.float32)} if family is GPT2 else {}
    bare = {name: torch.tensor(tensor) for name, tensor in {**made.tensors, **buffers}.items()}
    save_file({n: t for n, t in bare.items() if "head" not in n or family is LLAMA}, folder / "b")
    other = against.read(folder / "b", family)
    assert again.sizes == other.sizes == made.sizes
    for name, tensor in made.tensors.items():
        assert np.array_equal(again.tensors[name], tensor), name
        assert np.array_equal(other.tensors[name], tensor), name
    assert again.network.num_parameters() == made.network.num_parameters()


def test_half_precision_weights_are_read(tmp_path, llama):
    """bfloat16, as most are published, and float16."""
    kinds = itertools.cycle((torch.bfloat16, torch.float16, torch.float32))
    pairs = zip(llama.tensors.items(), kinds)
    halved = {name: torch.tensor(tensor).to(kind) for (name, tensor), kind in pairs}
    file = gpt2s.write(tmp_path, LLAMA) / weights.WEIGHTS
    save_file(halved, file)
    for name, tensor in against.read(file, LLAMA).tensors.items():
        assert np.array_equal(tensor, halved[name].float().numpy()), name


def test_text_of_several_tokens_to_a_character_comes_out_whole(model):
    text = "naïve 漢字 🎉 words"
    stream = model.stream()
    pieces = [stream(token) for token in model.ids(text)]
    assert "".join(pieces) == text
    assert "" in pieces
    assert all("\ufffd" not in piece for piece in pieces)
    assert model.stream()(100_000) == "<100000>"
