"""Llama: no position sees a later token, in any block, in one pass or through the cache."""

import numpy as np

from grader.checks.laws.chunks import InChunks
from grader.checks.laws.influence import Moves, Nudge, own, past
from grader.checks.student import Student
from grader.steps.inputs import Arguments, Draw

CHUNKS = (2, 1, 2)
T, V, D, D_FF, N_HEADS, N_KV_HEADS, LAYERS = sum(CHUNKS), 9, 8, 6, 4, 2, 2
D_HEAD = D // N_HEADS
_draw = Draw("maps", "llama", decimals=2)


def _network() -> Arguments:
    rising = {f"w_{name}": _draw.normal(D, D_FF) / 2 for name in ("gate", "up")}
    return rising | {"w_down": _draw.normal(D_FF, D) / 2}


def _block() -> Arguments:
    wide = {f"w_{name}": _draw.normal(D, D) / 2 for name in "qo"}
    narrow = {f"w_{name}": _draw.normal(D, N_KV_HEADS * D_HEAD) / 2 for name in "kv"}
    return {
        **{"norm_1": 1 + _draw.normal(D) / 4, "norm_2": 1 + _draw.normal(D) / 4},
        **{"attention": wide | narrow, "feed_forward": _network()},
    }


_TOKENS = np.asarray([2, 5, 0, 4, 1])  # all different, so that each can be recognised
_OTHER_TOKENS = {"tokens": np.asarray([6, 3, 8, 3, 6])}
_MODEL: Arguments = {
    "embedding": _draw.normal(V, D),
    "blocks": [_block() for _ in range(LAYERS)],
    "norm_f": 1 + _draw.normal(D) / 4,
    "w_out": _draw.normal(D, V) / 2,
}
_HEADS = {"n_heads": N_HEADS, "n_kv_heads": N_KV_HEADS}
_X, _OTHER_X = {"x": _draw.normal(T, D)}, {"x": _draw.normal(T, D)}
_BLOCK = {
    **{"params": _MODEL["blocks"][0], "mask": past(T)},
    **{"angles": np.arange(T)[:, None] * np.asarray([1.0] * (D_HEAD // 2))},
}


def _silent(block: Arguments) -> Arguments:
    """Return the block with an attention that adds nothing."""
    attention = block["attention"]
    return block | {"attention": attention | {"w_o": np.zeros_like(attention["w_o"])}}


def _read(number: int) -> Moves:
    """Return a model on a sequence with one attending block; the map shows which block leaks."""
    blocks = [one if i == number else _silent(one) for i, one in enumerate(_MODEL["blocks"])]
    arguments = {"tokens": _TOKENS, "params": _MODEL | {"blocks": blocks}, **_HEADS}
    how = f"Only the attention of blocks[{number}] added something."
    return Moves(Nudge(arguments, _OTHER_TOKENS, {"tokens": -1}), past(T), how=how)


def _alone(**more: object) -> Moves:
    return Moves(Nudge(_X | more, _OTHER_X, {"x": -2}), own(T))


MAPS = {
    "rms_norm": [_alone(gain=1 + _draw.normal(D) / 4)],
    "swiglu": [_alone(params=_network())],
    "llama_block": [
        Moves(
            Nudge(_X | _BLOCK | _HEADS, _OTHER_X, {"x": -2}),
            past(T),
            how="Under a causal mask.",
        )
    ],
    "llama_logits": [_read(number) for number in range(LAYERS)],
    "llama_step": [
        Moves(
            Nudge({"tokens": _TOKENS, "params": _MODEL, **_HEADS}, _OTHER_TOKENS, {"tokens": -1}),
            past(T),
            how=f"The text came in chunks of {', '.join(map(str, CHUNKS))} tokens.",
        )
    ],
}


def _in_chunks(student: Student) -> InChunks:
    return InChunks(
        student.llama_step, lambda: student.new_llama_cache(LAYERS), CHUNKS, "llama_logits"
    )


CALLS = {"llama_step": _in_chunks}
