"""The inputs of step 12: every block, its mask, its order and its attention matter in them."""

import numpy as np
import pytest

from grader.answer_key import reference
from grader.checks.suites import Live, Recording
from tests.conftest import SEED
from tests.visible import test_step12_decoder as step12

SEEN = 1e-3  # far above what any check forgives, in float32 too
GIVENS = pytest.mark.parametrize("given", [Recording(), Live(SEED)], ids=["visible", "hidden"])
STACKS = pytest.mark.parametrize("sizes", step12.STACKS + step12.TIMED, ids=str)


def case(given, sizes):
    (found,) = given.cases(step12.decoder, [sizes])
    return found.arguments


def moved(arguments, blocks):
    """How far the logits move with these blocks in place of the others."""
    other = arguments | {"params": arguments["params"] | {"blocks": blocks}}
    return np.abs(reference.decoder_logits(**other) - reference.decoder_logits(**arguments)).max()


def normed(x, norm):
    return reference.layer_norm(x, norm["gain"], norm["bias"])


def weights_of_blocks(arguments):
    """The attention weights of each block."""
    tokens, params, n_heads = (arguments[name] for name in ("tokens", "params", "n_heads"))
    mask = reference.causal_mask(tokens.shape[-1])
    x = params["embedding"][tokens] + params["position"][: tokens.shape[-1]]
    for block in params["blocks"]:
        inside, attention = normed(x, block["ln_1"]), block["attention"]
        q, k = (
            reference.split_heads(
                reference.linear(inside, attention[f"w_{name}"], attention[f"b_{name}"]), n_heads
            )
            for name in "qk"
        )
        yield reference.softmax(reference.apply_mask(reference.attention_scores(q, k), mask))
        x = reference.decoder_block(x, block, n_heads, mask)


@GIVENS
@STACKS
def test_weights_are_neither_uniform_nor_all_on_one_key(given, sizes):
    for weights in weights_of_blocks(case(given, sizes)):
        last = weights[..., -1, :]
        assert np.median(last.max(axis=-1)) < 0.999
        assert np.median(np.ptp(last, axis=-1)) > 0.01


@GIVENS
@STACKS
def test_every_block_matters_and_so_does_its_attention(given, sizes):
    arguments = case(given, sizes)
    blocks = arguments["params"]["blocks"]
    for number, block in enumerate(blocks):
        assert moved(arguments, blocks[:number] + blocks[number + 1 :]) > SEEN
        attention = block["attention"]
        nothing = {name: np.zeros_like(attention[name]) for name in ("w_o", "b_o")}
        silent = {**block, "attention": attention | nothing}
        assert moved(arguments, [*blocks[:number], silent, *blocks[number + 1 :]]) > SEEN


@GIVENS
@STACKS
def test_order_of_blocks_matters(given, sizes):
    arguments = case(given, sizes)
    blocks = arguments["params"]["blocks"]
    for number in range(1, len(blocks)):
        first, second = blocks[number - 1 : number + 1]
        swapped = [*blocks[: number - 1], second, first, *blocks[number + 1 :]]
        assert moved(arguments, swapped) > SEEN


def leak(arguments, unmasked):
    """How far the first row moves with the last token, if this block alone has no mask."""
    tokens, params, n_heads = (arguments[name] for name in ("tokens", "params", "n_heads"))
    rows = []
    for last in (tokens[..., -1], (tokens[..., -1] + 1) % len(params["embedding"])):
        text = np.concatenate([tokens[..., :-1], last[..., None]], axis=-1)
        mask = reference.causal_mask(text.shape[-1])
        x = params["embedding"][text] + params["position"][: text.shape[-1]]
        for number, block in enumerate(params["blocks"]):
            x = reference.decoder_block(x, block, n_heads, mask | (number == unmasked))
        rows.append(normed(x, params["ln_f"])[..., 0, :] @ params["embedding"].T)
    return np.abs(rows[0] - rows[1]).max()


@GIVENS
@pytest.mark.parametrize("sizes", step12.TIMED, ids=str)
def test_leak_of_any_single_block_shows_in_the_first_row(given, sizes):
    arguments = case(given, sizes)
    leaks = [leak(arguments, number) for number in range(len(arguments["params"]["blocks"]))]
    assert min(leaks) > 1e-6
    assert leak(arguments, None) == 0
