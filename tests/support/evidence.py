"""Count which known wrong attentions each assertion of `nopeek.testing` rejects.

`python -m tests.support.evidence` writes the table into docs/testing-your-model.md.
"""

import sys
import types
from copy import deepcopy
from functools import cache

import numpy as np

import solutions
from grader.answer_key.variants import FAIR, MISTAKES, read
from grader.steps.inputs import Draw, block_params, decoder_params
from grader.steps.registry import load
from nopeek.testing import (
    assert_causal,
    assert_padding_ignored,
    assert_prefix_invariant,
    assert_rows_independent,
)
from tests.conftest import ROOT

PAGE = ROOT / "docs" / "testing-your-model.md"
BEGIN, END = "<!-- evidence -->", "<!-- end of evidence -->"
PAD = 0
ASSERTIONS = {
    "assert_causal": assert_causal,
    "assert_prefix_invariant": assert_prefix_invariant,
    "assert_padding_ignored": lambda model, tokens: assert_padding_ignored(model, tokens, PAD),
    "assert_rows_independent": assert_rows_independent,
}


@cache
def _weights():
    draw = Draw("evidence")
    blocks = [block_params(draw, 8, 16) for _ in range(2)]
    return decoder_params(draw, 7, 8, blocks), draw.normal(7, 8), [draw.normal(8, 8) for _ in "qkv"]


def _model(step, module):
    """The step's last function as a model of ids. Of step 5, the vectors are looked up first."""

    def attention(tokens):  # some mistakes change their arguments, so each call gets its own
        _, table, projections = deepcopy(_weights())
        return module["masked_self_attention"](table[tokens], *projections, _padding(tokens))

    def decoder(tokens):
        return module["decoder_logits"](tokens, deepcopy(_weights()[0]), 2, _padding(tokens))

    return attention if step == "step05_output" else decoder


def _padding(tokens):
    return (tokens != PAD)[..., None, :]


def programs(folder):
    """Yield each variant of steps 5 and 12, with the model that it makes."""
    had = {name: sys.modules.pop(name) for name in [*sys.modules] if name.startswith("exercises")}
    sys.modules["exercises"] = solutions
    try:
        for step in load().steps:
            if step.id in ("step05_output", "step12_decoder"):
                for variant in read(folder, step):
                    module = types.ModuleType("variant").__dict__
                    exec(compile(variant.source, variant.name, "exec"), module)
                    yield variant, _model(step.id, module)
    finally:
        for name in [name for name in sys.modules if name.startswith("exercises")]:
            del sys.modules[name]
        sys.modules.update(had)


def rejects(name, model):
    """Whether the assertion of that name rejects the model; None if it cannot be run at all."""
    rows = Draw("evidence", "tokens").tokens(6, 3, 6) + 1
    if name == "assert_padding_ignored":
        rows[1, 4:] = PAD
    try:
        ASSERTIONS[name](model, rows)
    except AssertionError:
        return True
    except Exception:
        return None
    return False


def leaks(model):
    """Whether an early output moves under one of twenty random futures, tried by brute force."""
    draw = Draw("evidence", "futures")
    try:
        for _ in range(20):
            tokens, cut = draw.tokens(6, 3, 6) + 1, draw.whole(1, 6)
            other = np.where(np.arange(6) < cut, tokens, draw.tokens(6, 3, 6) + 1)
            early = [np.asarray(model(ids.copy()), float)[..., :cut, :] for ids in (tokens, other)]
            if not np.allclose(*early, rtol=0, atol=1e-9, equal_nan=True):
                return True
    except Exception:
        pass
    return False


def table():
    """The table for the docs, as lines."""
    wrong = [model for _, model in programs(MISTAKES)]
    columns = {"that leak": list(filter(leaks, wrong)), "wrong": wrong}
    columns["right"] = [model for _, model in programs(FAIR)]
    heads = [f"of {len(models)} {what}" for what, models in columns.items()]
    lines = [f"| rejected by | {' | '.join(heads)} |", "|---|---|---|---|"]
    for name in ASSERTIONS:
        counts = [sum(rejects(name, m) is True for m in models) for models in columns.values()]
        lines.append(f"| `{name}` | {' | '.join(map(str, counts))} |")
    return lines


if __name__ == "__main__":
    before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
    page = "\n".join([before + BEGIN, *table(), END + rest.split(END)[1]])
    PAGE.write_text(page, encoding="utf-8")
