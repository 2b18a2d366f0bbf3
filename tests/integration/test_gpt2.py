"""GPT-2 on the steps' decoder: agreement with transformers, wrong steps, whose code runs."""

import itertools

import numpy as np
import pytest

from grader.demos.gpt2 import agreement, blame, names, own, running, tiny, tokens, weights, writing
from grader.demos.gpt2.against import Gpt2, Network, torch
from grader.demos.gpt2.problems import CodeFailed, Gpt2Error
from grader.intake.submission import Submission
from grader.isolation import Process, start_host
from tests.support import gpt2s

CHOICE = writing.Choice(temperature=0.8, top_k=40, seed=3)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return gpt2s.make(tmp_path_factory.mktemp("gpt2"))


@pytest.fixture(scope="module")
def host():
    limits = running.limits_for(gpt2s.REGISTRY.limits, 2**24)
    with start_host(Process(), limits) as host:
        yield host


@pytest.fixture(scope="module")
def words(model):
    return tokens.Words(model.folder / weights.TOKENIZER, model.config.vocabulary)


@pytest.fixture(scope="module")
def ids(words):
    return words.ids(tiny.TEXT)[:24]


class Older(torch.nn.Module):
    """A model as older versions of transformers have it; it counts the tokens so far."""

    def forward(self, input_ids, past_key_values=None, use_cache=None):
        past = (past_key_values or 0) + len(input_ids[0])
        return Output(logits=torch.full((1, 1, 1), past), past_key_values=past)


class Newer(torch.nn.Module):
    """The same as newer versions have it."""

    def forward(self, input_ids, cache=None, use_cache=None):
        past = (cache or 0) + len(input_ids[0])
        return Output(logits=torch.full((1, 1, 1), past), cache=past)


class Output(dict):
    """What a model returns: a dict whose values are attributes, too."""

    __getattr__ = dict.__getitem__


@pytest.mark.parametrize("kind", [Older, Newer])
def test_cache_goes_on_under_the_name_that_the_model_gives_it(kind):
    assert Network(kind()).stepwise([7, 8, 9]).tolist() == [[1], [2], [3]]


def apart(decoder, gpt2, ids):
    """Return how far the decoder's logits are from the other's, read at once and token by token."""
    whole = np.abs(decoder.logits(ids) - gpt2.logits(ids)).max()
    steps = np.abs(agreement.stepwise(decoder, ids) - gpt2.stepwise(ids)).max()
    return max(whole, steps)


@pytest.mark.parametrize(("dtype", "allowed"), [(np.float32, 1e-6), (np.float64, 1e-10)])
def test_decoder_agrees_with_transformers(host, model, ids, dtype, allowed):
    gpt2 = Gpt2(model, dtype)
    assert gpt2.logits(ids).dtype == dtype
    with gpt2s.decoder(host, model, dtype=dtype) as decoder:
        assert decoder.logits(ids).dtype == dtype
        assert apart(decoder, gpt2, ids) <= allowed
        found = list(agreement.findings(decoder, gpt2, ids, 20))
    assert [finding.ok for finding in found] == [True] * 4
    assert [finding.note for finding in found] == [""] * 4


def test_tolerance_of_the_tiny_model_is_the_promised_one(host, model, ids):
    logits = Gpt2(model, np.float32).logits(ids)
    assert agreement.tolerance(logits, model.config.n_layers, 4) == 1e-6
    assert agreement.tolerance(logits, model.config.n_layers, 8) == 1e-10


def test_cached_text_is_the_uncached_one(host, model, ids):
    with gpt2s.decoder(host, model) as decoder:
        cached, uncached = (
            list(writing.write_tokens(decoder, ids, 30, CHOICE, writing.Timed(), cache=cache))
            for cache in (True, False)
        )
        assert cached == uncached
        assert decoder.generate(ids, 5) == agreement.continue_uncached(decoder, ids, 5)


def test_same_seed_writes_the_same_text_and_another_does_not(host, model, ids):
    def text(seed):
        choice = writing.Choice(1.0, None, seed)
        return list(writing.write_tokens(decoder, ids, 12, choice, writing.Timed()))

    with gpt2s.decoder(host, model) as decoder:
        assert text(1) == text(1)
        assert text(1) != text(2)


def test_text_comes_token_by_token(host, model, ids):
    timed = writing.Timed()
    with gpt2s.decoder(host, model) as decoder:
        text = writing.write_tokens(decoder, ids, 30, CHOICE, timed)
        assert list(itertools.islice(text, 2)) == timed.ids
        assert len(timed.seconds) == 2


# What wrong steps do: the step, the change, whether decoder_logits and decoder_step agree, and what
# is said.

GELU = "0.5 * x * (1 + np.tanh(inner))"
WRONG = {
    "one layer unmasked": (
        "step12_decoder",
        (
            "decoder_block(x, block, n_heads, mask)",
            "decoder_block(x, block, n_heads, mask | (block is params['blocks'][1]))",
        ),
        [False, True],
        "differs by up to",
    ),
    "the last layer unmasked": (
        "step12_decoder",
        (
            "decoder_block(x, block, n_heads, mask)",
            "decoder_block(x, block, n_heads, mask | (block is params['blocks'][-1]))",
        ),
        [False, True],
        "the last is right, so an earlier one may see what comes after it",
    ),
    "exact gelu": (
        "step11_block",
        (GELU, "0.5 * x * (1 + np.vectorize(__import__('math').erf)(x / 2**0.5))"),
        [False, False],
        "at every position",
    ),
    "no positions after the first": (
        "step12_decoder",
        ('params["position"][:t]', 'params["position"][0]'),
        [False, True],
        "at 23 of 24 positions, first at 1, and at all after it",
    ),
    "positions start again with every call": (
        "step13_decoder_cache",
        ('params["position"][t_old:t]', 'params["position"][: t - t_old]'),
        [True, False],
        "first at 1",
    ),
    "NaN": (
        "step12_decoder",
        (
            'return linear(normed, params["embedding"].T)',
            'return linear(normed, params["embedding"].T) + np.log(5 - np.arange(t))[:, None]',
        ),
        [False, True],
        "is NaN from position 6 on",
    ),
    "too few rows": (
        "step12_decoder",
        (
            'return linear(normed, params["embedding"].T)',
            'return linear(normed, params["embedding"].T)[..., 1:, :]',
        ),
        [False, True],
        "do not have the shape (24, 512)",
    ),
    "no logits at all": (
        "step12_decoder",
        ('return linear(normed, params["embedding"].T)', "return {'logits': 1}"),
        [False, True],
        "decoder_logits did not return an array of logits",
    ),
    "an exception": (
        "step11_block",
        (GELU, "x @ x"),
        [False, False],
        "raised ValueError: matmul: Input operand 1 has a mismatch",
    ),
    "writing into params": (
        "step12_decoder",
        (
            '    x = params["embedding"][tokens]',
            '    params["embedding"] *= 2\n    x = params["embedding"][tokens]',
        ),
        [False, True],
        "read-only",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_step_is_told(host, model, ids, name):
    step, change, expected, said = WRONG[name]
    sources = gpt2s.with_changes({step: change})
    gpt2 = Gpt2(model, np.float32)
    with gpt2s.decoder(host, model, sources) as decoder:
        found = list(agreement.findings(decoder, gpt2, ids, 12))
    assert [finding.ok for finding in found[:2]] == expected
    assert said in next(finding.said for finding in found if not finding.ok)


def test_each_wrong_step_is_named(host, model):
    changes = [WRONG[name][:2] for name in ("exact gelu", "positions start again with every call")]
    sources = gpt2s.with_changes(dict(changes))
    code = own.gather(host, gpt2s.REGISTRY, Submission("me", sources), {})
    blamed = blame.find_blamed(host, gpt2s.REGISTRY, code, gpt2s.RIGHT, gpt2s.family(model))
    assert [step.number for step in blamed] == [11, 13]


def test_line_that_raised_is_told(host, model, ids):
    sources = gpt2s.with_changes({"step11_block": (GELU, "x @ x")})
    line = sources["step11_block"].split("x @ x")[0].count("\n") + 1
    with (
        gpt2s.decoder(host, model, sources) as decoder,
        pytest.raises(CodeFailed, match=rf"\(step11_block.py, line {line}\)$"),
    ):
        decoder.logits(ids)


def test_right_steps_are_not_blamed(host, model):
    code = own.gather(host, gpt2s.REGISTRY, Submission("me", gpt2s.RIGHT), {})
    found = blame.find_blamed(host, gpt2s.REGISTRY, code, gpt2s.RIGHT, gpt2s.family(model))
    assert list(found) == []


def test_float64_logits_of_float32_weights_are_remarked_on(host, model, ids):
    change = {"step11_block": ("(2 / np.pi) ** 0.5", "np.sqrt(2 / np.pi)")}
    with gpt2s.decoder(host, model, gpt2s.with_changes(change)) as decoder:
        found = list(agreement.findings(decoder, Gpt2(model, np.float32), ids, 0))
    assert [finding.ok for finding in found] == [True, True]
    assert {finding.note for finding in found} == {agreement.SLOW}


def test_tie_of_the_largest_logits_is_no_difference(host, model, ids):
    class Tied(Gpt2):
        def greedy(self, ids, n_new):
            chosen, logits = super().greedy(ids, n_new)
            other = (chosen[2] + 1) % logits.shape[1]
            logits[2, other] = logits[2, chosen[2]]
            return [*chosen[:2], other, *chosen[3:]], logits

    with gpt2s.decoder(host, model) as decoder:
        found = list(agreement.findings(decoder, Tied(model, np.float32), ids, 6))
    assert [finding.said for finding in found[2:]] == [
        "agrees, the same 2 tokens and then a tie"
    ] * 2


def test_long_logits_cross_in_parts(host, model, ids, monkeypatch):
    monkeypatch.setattr(running, "ROW_BYTES", 5 * 8 * model.config.vocabulary)
    with gpt2s.decoder(host, model) as decoder:
        parts = decoder.logits(ids)
        assert np.array_equal(decoder.logits(ids, last=3), parts[-3:])
    assert np.abs(parts - Gpt2(model, np.float32).logits(ids)).max() <= 1e-6


def test_worker_keeps_no_old_caches(host, model, ids):
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
        agreement.stepwise(decoder, ids)


# Whose code runs.


def gathered(host, sources, right):
    return own.gather(host, gpt2s.REGISTRY, Submission("me", sources), right)


def parts(code):
    return {part.step.id: part.why for part in code.parts}


def test_written_steps_are_the_students_and_others_the_solutions(host):
    sources = dict(gpt2s.RIGHT)
    sources["step04_softmax"] = "def softmax(scores, axis=-1):\n    raise NotImplementedError()\n"
    sources["step11_block"] = sources["step11_block"].replace(
        "def gelu(x):", "def gelu(x):\n    raise NotImplementedError"
    )
    sources["step12_decoder"] = "def decoder_logits(:\n"
    del sources["step09_heads"]
    why = parts(gathered(host, sources, gpt2s.RIGHT))
    assert why["step03_mask"] == ""
    assert why["step13_decoder_cache"] == ""
    assert why["step04_softmax"] == "yours is not written yet"
    assert why["step11_block"] == "gelu is not written yet"
    assert why["step09_heads"] == "you have no step09_heads.py"
    assert why["step12_decoder"].startswith("step12_decoder.py is not valid Python")


def test_wrong_step_stays_the_students(host):
    change = {"step12_decoder": ("mask = mask & padding", "mask = padding")}
    assert parts(gathered(host, gpt2s.with_changes(change), gpt2s.RIGHT))["step12_decoder"] == ""


def test_steps_that_nothing_calls_are_left_out(host):
    code = gathered(host, gpt2s.RIGHT, {})
    assert not {"step06_loss", "step10_cross_attention", "step14_masked_lm"} & set(parts(code))
    assert set(code.sources) == set(parts(code))


def test_missing_step_without_solutions_is_told(host):
    sources = {**gpt2s.RIGHT}
    del sources["step09_heads"]
    told = "^step 9 is not there yet: you have no step09_heads.py: `make check STEP=9`$"
    with pytest.raises(Gpt2Error, match=told):
        gathered(host, sources, {})


# Names, and what is read.


def test_prefix_and_mask_buffers_make_no_difference(model):
    buffers = {f"transformer.h.{i}.attn.bias": np.tri(4, dtype=bool) for i in range(3)}
    with_prefix = {f"transformer.{name}": tensor for name, tensor in model.tensors.items()}
    found = names.GPT2.check_tensors({**with_prefix, **buffers}, model.config, "x")
    assert list(found) == list(model.tensors)
    assert all(found[name] is model.tensors[name] for name in found)


def test_params_have_the_names_and_shapes_of_the_steps(model):
    params = names.to_params(model.tensors, model.config, np.float64)
    d = model.config.d_model
    block = params["blocks"][1]
    assert params["embedding"].shape == (512, d)
    assert {name: value.shape for name, value in block["attention"].items()} == {
        **{f"w_{name}": (d, d) for name in "qkvo"},
        **{f"b_{name}": (d,) for name in "qkvo"},
    }
    assert {name: value.shape for name, value in block["feed_forward"].items()} == {
        **{"w_in": (d, 4 * d), "b_in": (4 * d,), "w_out": (4 * d, d), "b_out": (d,)}
    }
    joined = np.concatenate([block["attention"][f"w_{name}"] for name in "qkv"], axis=1)
    assert np.array_equal(joined, model.tensors["h.1.attn.c_attn.weight"])
    assert params["ln_f"]["gain"].dtype == np.float64


def test_tiny_model_is_the_same_every_time(tmp_path, model):
    again = gpt2s.make(tmp_path / "again")
    assert all(np.array_equal(again.tensors[name], model.tensors[name]) for name in model.tensors)
    files = [folder / weights.TOKENIZER for folder in (again.folder, model.folder)]
    assert files[0].read_text("utf-8") == files[1].read_text("utf-8")


def test_text_of_several_tokens_to_a_character_comes_out_whole(words):
    text = "naïve 漢字 🎉 words"
    ids = words.ids(text)
    stream = words.streaming()
    pieces = [stream.text(token) for token in ids]
    assert "".join(pieces) == text
    assert "" in pieces
    assert all("\ufffd" not in piece for piece in pieces)


def test_id_without_a_word_is_shown_as_such(words):
    assert words.streaming().text(100_000) == "<100000>"


def test_function_that_hangs_on_anything_is_taken_for_written(host, monkeypatch):
    monkeypatch.setattr(own, "TRY_SECONDS", 1.0)
    sources = {
        **gpt2s.RIGHT,
        "step04_softmax": "def softmax(scores):\n    while True:\n        pass\n",
    }
    code = gathered(host, sources, {})
    assert parts(code)["step04_softmax"] == ""


def test_step_that_hangs_when_imported_is_not_the_students(host, monkeypatch):
    monkeypatch.setattr(own, "TRY_SECONDS", 1.0)
    sources = {**gpt2s.RIGHT, "step04_softmax": "while True:\n    pass\n"}
    code = gathered(host, sources, gpt2s.RIGHT)
    assert parts(code)["step04_softmax"].startswith(
        "Importing step04_softmax.py took more than 1 s"
    )
