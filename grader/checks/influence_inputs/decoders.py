"""Models: no position sees a later token, in any block, in one pass or through a cache."""

from collections.abc import Callable
from typing import Any

import numpy as np

from grader.checks.influence_inputs.attention import (
    CHUNKS,
    PADDED,
    REAL,
    SEEN_PADDED,
    SLOPE,
    UNDER,
    T,
    cut_into,
    from_behind,
)
from grader.checks.laws.chunks import InChunks
from grader.checks.laws.influence import Bools, Moves, Nudge, own, past
from grader.checks.student import Student
from grader.steps.inputs import Arguments, Draw, block_params, decoder_params

V, D, LAYERS, N_HEADS = 9, 4, 2, 2
MANY, NEW = 1000, 4  # with so many tokens, the same one is hardly ever drawn twice by chance
BECAME = "A token that became another one counts as moved by 1."
_draw = Draw("maps", "decoders", decimals=2)
_TOKENS = np.asarray([2, 5, 0, 4, 1])  # all different, so that each can be recognised
_OTHER_TOKENS = {"tokens": np.asarray([6, 3, 8, 3, 6])}
_PROMPT, _U = np.asarray([4, 310, 717]), np.asarray([0.31, 0.62, 0.47, 0.55])
# A feature favours high ids or low ones: whatever the text, many tokens have a chance, and the
# least change of it moves the one that is drawn.
_LINE = np.linspace(-1, 1, MANY)


def _single_layer(vocabulary: int, w_out: Any, features: int = 6) -> Arguments:
    return {
        "embedding": _draw.normal(vocabulary, features),
        "position": _draw.normal(T + 3, features),
        **{f"w_{name}": _draw.normal(features, 3) / 4 for name in "qk"},
        **{"w_v": _draw.normal(features, features), "w_out": w_out},
    }


def _read(arguments: Arguments, how: str = "", sees: Bools | None = None) -> Moves:
    change = Nudge({"tokens": _TOKENS, **arguments}, _OTHER_TOKENS, {"tokens": -1})
    return Moves(change, past(T) if sees is None else sees, how=how)


def _writing(**arguments: object) -> list[Moves]:
    """Return what moves with the numbers that tokens are drawn with, and with the prompt."""
    text = {"prompt": _PROMPT, "n_new": NEW, "u": _U, **arguments}
    others = {"prompt": (_PROMPT + 510) % MANY, "u": (_U + 0.4) % 1}
    length = len(_PROMPT)
    by_u = np.vstack([np.full((length, NEW), False), past(NEW)])
    by_prompt = np.vstack([own(length), np.full((NEW, length), True)])
    return [
        Moves(Nudge(text, others, {"u": -1}), by_u, -1, input="u", how=BECAME),
        Moves(Nudge(text, others, {"prompt": -1}), by_prompt, -1, how=BECAME),
    ]


def _llama_block() -> Arguments:
    shapes = {
        "attention": {"w_q": (D, 8), "w_k": (D, 4), "w_v": (D, 4), "w_o": (8, D)},
        "feed_forward": {"w_gate": (D, 6), "w_up": (D, 6), "w_down": (6, D)},
    }
    norms = {f"norm_{n}": 1 + _draw.normal(D) / 4 for n in (1, 2)}
    return norms | {
        part: {name: _draw.normal(*shape) / 2 for name, shape in named.items()}
        for part, named in shapes.items()
    }


def _attending(number: int, model: Arguments, heads: Arguments, real: Bools | None = None) -> Moves:
    """Return a model on a sequence with one attending block, so the map shows which block leaks."""
    blocks = [one if i == number else _silent(one) for i, one in enumerate(model["blocks"])]
    arguments = {"params": model | {"blocks": blocks}, **heads}
    how = f"Only the attention of blocks[{number}] added something."
    if real is None:
        return _read(arguments, how)
    how += f" Token {PADDED} is padding."  # by the residual stream it still reads itself
    return _read(arguments | {"padding": real[None, :]}, how, SEEN_PADDED)


def _silent(block: Arguments) -> Arguments:
    """Return the block with an attention that adds nothing."""
    names = ("w_o", "b_o")
    attention = {name: one * (name not in names) for name, one in block["attention"].items()}
    return block | {"attention": attention}


def _in_block(mask: Bools, how: str, **arguments: object) -> Moves:
    """Return a block under that mask; its residual connection also moves each position."""
    change = Nudge({"x": _X, "mask": mask, **arguments}, {"x": _OTHER_X}, {"x": -2})
    return Moves(change, mask | own(T), input="position", how=how)


_BLOCKS = [block_params(_draw, D, 6) for _ in range(LAYERS)]
_MODEL = decoder_params(_draw, V, T + 2, _BLOCKS)
_WRITER = decoder_params(_draw, MANY, len(_PROMPT) + NEW + 1, _BLOCKS)
_WRITER["embedding"] = _WRITER["embedding"] / 4 + _LINE[:, None] * _draw.normal(1, D)
_ONE_LAYER = _single_layer(MANY, _draw.normal(6, 1) * _LINE)
_LLAMA_HEADS: Arguments = {"n_heads": 4, "n_kv_heads": 2}
_LLAMA: Arguments = {
    **{"embedding": _draw.normal(V, D), "blocks": [_llama_block() for _ in range(LAYERS)]},
    **{"norm_f": 1 + _draw.normal(D) / 4, "w_out": _draw.normal(D, V)},
}
_X, _OTHER_X = _draw.normal(T, D), _draw.normal(T, D)
_BLOCK: Arguments = {"params": _BLOCKS[0], "n_heads": N_HEADS}

MAPS = {
    "next_token_logits": [_read({"params": _single_layer(V, _draw.normal(6, V))})],
    "generate": _writing(params=_ONE_LAYER, temperature=1.0),
    "decoder_block": [
        *(_in_block(mask, how.capitalize(), **_BLOCK) for how, mask in UNDER.items()),
        _in_block(past(T).T, "Under a mask that hides the past, not the future.", **_BLOCK),
    ],
    "decoder_logits": [
        _attending(number, _MODEL, {"n_heads": N_HEADS}, real)
        for real in (None, REAL)
        for number in range(LAYERS)
    ],
    "decoder_step": [_read({"params": _MODEL, "n_heads": N_HEADS}, cut_into(CHUNKS))],
    "decoder_generate": _writing(params=_WRITER, n_heads=N_HEADS, temperature=3.0),
    "decoder_block_backward": [
        from_behind({"x": _X, **_BLOCK, "mask": mask}, D, mask | own(T), f"{SLOPE}, {under}")
        for under, mask in UNDER.items()
    ],
    "llama_block": [
        _in_block(
            past(T),
            "Under a causal mask.",
            **{"params": _LLAMA["blocks"][0], **_LLAMA_HEADS, "angles": np.arange(T)[:, None]},
        )
    ],
    "llama_logits": [_attending(number, _LLAMA, _LLAMA_HEADS) for number in range(LAYERS)],
    "llama_step": [_read({"params": _LLAMA, **_LLAMA_HEADS}, cut_into(CHUNKS))],
}


def _decoder(student: Student) -> InChunks:
    fresh = student.new_decoder_cache
    return InChunks(student.decoder_step, lambda: fresh(LAYERS), "decoder_logits", CHUNKS)


def _llama_in_chunks(student: Student) -> InChunks:
    fresh = student.new_llama_cache
    return InChunks(student.llama_step, lambda: fresh(LAYERS), "llama_logits", CHUNKS)


CALLS: dict[str, Callable[[Student], InChunks]] = {
    "decoder_step": _decoder,
    "llama_step": _llama_in_chunks,
}
