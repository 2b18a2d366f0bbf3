"""A decoder's cache: a token sees the same positions in every layer and any chunks."""

from typing import Any

import numpy as np

from grader.checks.laws.chunks import InChunks
from grader.checks.laws.influence import Moves, Nudge, own, past
from grader.checks.student import Student
from grader.steps.inputs import Draw

CHUNKS = (2, 1, 2)
T, V, D, HEADS, LAYERS = sum(CHUNKS), 7, 6, 2, 2
_draw = Draw("maps", "decoder cache", decimals=2)


def _norm() -> dict[str, Any]:
    return {"gain": 1 + _draw.normal(D) / 4, "bias": _draw.normal(D) / 4}


def _block() -> dict[str, Any]:
    weights = {f"w_{name}": _draw.normal(D, D) / 2 for name in "qkvo"}
    return {
        "ln_1": _norm(),
        "ln_2": _norm(),
        "attention": weights | {f"b_{name}": _draw.normal(D) / 2 for name in "qkvo"},
        "feed_forward": {
            **{"w_in": _draw.normal(D, 4) / 2, "b_in": _draw.normal(4) / 2},
            **{"w_out": _draw.normal(4, D) / 2, "b_out": _draw.normal(D) / 2},
        },
    }


def _params(vocabulary: int, length: int, embedding: Any = None) -> dict[str, Any]:
    return {
        "embedding": _draw.normal(vocabulary, D) if embedding is None else embedding,
        "position": _draw.normal(length, D),
        "blocks": [_block() for _ in range(LAYERS)],
        "ln_f": _norm(),
    }


_TOKENS = np.asarray([4, 1, 6, 2, 4])
_TEXT = {"tokens": _TOKENS, "params": _params(V, T + 1), "n_heads": HEADS}
_CUT = f"The text came in chunks of {', '.join(map(str, CHUNKS))} tokens."

NEW, MANY = 4, 1000  # with so many tokens, the same one is hardly ever drawn twice by chance
# A feature favours high ids or low ones: whatever the text, many tokens have a chance, and the
# least change of it moves the one that is drawn.
_LINE = _draw.normal(MANY, D) / 8 + np.linspace(-1, 1, MANY)[:, None] * _draw.normal(1, D)
_PROMPT = np.asarray([4, 310, 717])
_U = np.asarray([0.31, 0.62, 0.47, 0.55])
_WRITTEN = {
    **{"prompt": _PROMPT, "n_new": NEW, "params": _params(MANY, len(_PROMPT) + NEW + 1, _LINE)},
    **{"n_heads": HEADS, "temperature": 4.0, "u": _U},
}
_OTHERS = {"prompt": (_PROMPT + 123) % MANY, "u": (_U + 0.4) % 1}
BECAME = "A token that became another one counts as moved by 1."

_PROMPT_SEEN = np.vstack([own(len(_PROMPT)), np.full((NEW, len(_PROMPT)), True)])
_U_SEEN = np.vstack([np.full((len(_PROMPT), NEW), False), past(NEW)])

MAPS = {
    "decoder_step": [
        Moves(Nudge(_TEXT, {"tokens": (_TOKENS + 3) % V}, {"tokens": -1}), past(T), how=_CUT),
    ],
    "decoder_generate": [
        Moves(Nudge(_WRITTEN, _OTHERS, {"u": -1}), _U_SEEN, -1, input="u", how=BECAME),
        Moves(Nudge(_WRITTEN, _OTHERS, {"prompt": -1}), _PROMPT_SEEN, -1, how=BECAME),
    ],
}


def _in_chunks(student: Student) -> InChunks:
    return InChunks(
        student.decoder_step, lambda: student.new_decoder_cache(LAYERS), CHUNKS, "decoder_logits"
    )


CALLS = {"decoder_step": _in_chunks}
