"""Define the maps of influence: the inputs of each, and which positions may meet.

There is a map for every function in which positions meet. `MAPS` lists the maps that may be drawn
when it fails. The first one that shows something is drawn. The inputs are fixed, small and the same
in every suite. With them, every position that may matter does matter. The tests of the kit draw
these maps for the reference and for all fair variants. `CALLS` says how to call a function that
cannot be called directly.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from grader.checks.laws.chunks import InChunks
from grader.checks.laws.influence import Bools, Moves, Nudge, everything, own, past
from grader.checks.student import Student
from grader.steps.inputs import Arguments, Draw, block_params, decoder_params
from grader.steps.registry import Step

# Attention: an output moves with the positions that its query may see, and with nothing else.

T, T_Q, FEATURES, PADDED, BLOCK = 5, 3, 6, 2, 2
CHUNKS, WINDOW, WINDOW_CHUNKS = (2, 1, 2), 3, (2, 1, 3)
WITHOUT, CAUSAL = "Without a mask.", "Under a causal mask"
SOME = "Under a mask that hides some keys from some queries."
REAL = np.arange(T) != PADDED
UNDER = {
    "under a causal mask.": past(T),
    f"under a causal mask that also hides position {PADDED}, which is padding.": past(T) & REAL,
}
SLOPE = "The slope of the loss at one output is changed at a time"
SEEN_PADDED = past(T) & REAL | own(T)  # a padded token is hidden as a key, not as a query
_draw = Draw("maps", "attention", decimals=2)


def _cut_into(chunks: tuple[int, ...]) -> str:
    """Return the sentence on a sequence in chunks."""
    return f"The text came in chunks of {', '.join(map(str, chunks))} tokens."


def _from_behind(arguments: Arguments, width: int, sees: Bools, how: str) -> Moves:
    """Return whether the gradient of x[i] moves with the slope at output j."""
    slopes, others = ({"d_out": _draw.normal(len(sees), width)} for _ in range(2))
    change = Nudge(arguments | slopes, others, {"d_out": -2})
    what = "gradient of x at position"
    return Moves(change, sees.T.copy(), part=0, output=what, input="loss", how=how)


def _mask(*rows: str) -> Bools:
    return np.asarray([[letter == "#" for letter in row] for row in rows])


_SHAPES = {"q": (T_Q, 3), "k": (T, 3), "v": (T, 2)}
_ASKED, _OTHERS = ({n: _draw.normal(*shape) for n, shape in _SHAPES.items()} for _ in range(2))
_WEIGHTS = past(T_Q, T) / past(T_Q, T).sum(axis=1, keepdims=True)
_MASKS = {
    f"{CAUSAL}, the queries being the last positions.": past(T_Q, T),
    SOME: _mask("#.#.#", ".##..", "##..#"),
}


def _keys(how: str, sees: Bools, *, part: int | None = None, **more: object) -> Moves:
    """Return what moves with a key and its value."""
    change = Nudge(_ASKED | more, _OTHERS, {"k": -2, "v": -2})
    return Moves(change, sees, part=part, input="key and value", how=how)


def _keys_under_masks(part: int | None = None) -> list[Moves]:
    plain = _keys("", everything(T_Q, T), part=part)
    return [plain, *(_keys(how, mask, part=part, mask=mask) for how, mask in _MASKS.items())]


_X, _OTHER_X = _draw.normal(T + 1, FEATURES), _draw.normal(T + 1, FEATURES)


def _weights_of(queries: int, keys: int, values: int) -> Arguments:
    widths = {"w_q": queries, "w_k": keys, "w_v": values}
    return {name: _draw.normal(FEATURES, width) / 2 for name, width in widths.items()}


def _text(arguments: Arguments, keys: Bools, how: str = "", **more: object) -> Moves:
    """Return self-attention of a sequence; a position always moves with its own query."""
    length = len(keys)
    change = Nudge({"x": _X[:length], **arguments, **more}, {"x": _OTHER_X[:length]}, {"x": -2})
    return Moves(change, keys | own(length), how=how)


_SINGLE = _weights_of(3, 3, 2)
_BIASES = {f"b_{name}": _draw.normal(FEATURES) for name in "qkvo"}
_SQUARE = _weights_of(*[FEATURES] * 3) | {"w_o": _draw.normal(FEATURES, FEATURES) / 2}
_HEADS: Arguments = {"params": _SQUARE | _BIASES, "n_heads": 2}
_NARROW = _weights_of(8, 4, 4) | {"w_o": _draw.normal(8, FEATURES) / 2}
_GROUPED: Arguments = {"params": _NARROW, "n_heads": 4, "n_kv_heads": 2}
_ANGLES = np.arange(T)[:, None] * np.ones((1, 1))
_SOME = _mask("#.#.#", ".##..", "##..#", "..##.", "#..#.")
# Two documents in one row: neither may move the other.
_PACKED = past(T) & (np.arange(T)[:, None] // 3 == np.arange(T) // 3)
_IN_WINDOW = past(T + 1) & ~np.tri(T + 1, T + 1, -WINDOW, dtype=bool)


def _memory(how: str, seen: Bools, **more: object) -> Moves:
    memory = {"x": _draw.normal(4, FEATURES), "memory": _X[:T], **_HEADS, **more}
    change = Nudge(memory, {"memory": _OTHER_X[:T]}, {"memory": -2})
    return Moves(change, everything(4, T) & seen, input="memory position", how=how)


def _documents(axis: int, output: str) -> Moves:
    one, other = {"documents": np.full(T, 4)}, {"documents": np.full(T, 7)}
    # The first position begins a document, whatever its number is.
    sees = past(T) & (np.arange(T)[:, None] + np.arange(T) > 0)
    how = "All positions were in one document, and one at a time got a document of its own."
    change = Nudge(one, other, {"documents": -1})
    return Moves(change, sees, axis, output=output, input="number", how=how)


_OF_ATTENTION = {
    "attention_output": [
        Moves(
            Nudge({"weights": _WEIGHTS, "v": _ASKED["v"]}, _OTHERS, {"v": -2}),
            past(T_Q, T),
            input="value",
        )
    ],
    "attention": _keys_under_masks(),
    "masked_self_attention": [
        _text(_SINGLE, past(T)),
        _text(_SINGLE, SEEN_PADDED, f"Token {PADDED} is padding.", padding=REAL[None, :]),
    ],
    "attend_with_cache": [_text(_SINGLE, past(T), _cut_into(CHUNKS))],
    "multi_head_attention": [
        _text(_HEADS, everything(T, T), WITHOUT),
        _text(_HEADS, past(T), f"{CAUSAL}.", mask=past(T)),
        _text(_HEADS, _SOME, SOME, mask=_SOME),
    ],
    "cross_attention": [
        _memory("", everything(4, T)),
        _memory(f"Position {PADDED} of the memory is padding.", REAL, memory_mask=REAL[None, :]),
    ],
    "masked_self_attention_backward": [
        _from_behind({"x": _X[:T], **_SINGLE}, 2, past(T), f"{SLOPE}."),
        _from_behind(
            {"x": _X[:T], **_SINGLE, "padding": REAL[None, :]},
            2,
            SEEN_PADDED,
            f"{SLOPE}; position {PADDED} is padding.",
        ),
    ],
    "multi_head_attention_backward": [
        _from_behind(
            {"x": _X[:T], **_HEADS, "mask": mask}, FEATURES, mask | own(T), f"{SLOPE}, {under}"
        )
        for under, mask in UNDER.items()
    ],
    "grouped_query_attention": [
        _text(_GROUPED, everything(T, T), WITHOUT),
        _text(_GROUPED, past(T), f"{CAUSAL}, all turned.", mask=past(T), angles=_ANGLES),
        _text(
            _GROUPED,
            _PACKED,
            "Under a mask of two documents: positions 0 to 2, and 3 to 4.",
            mask=_PACKED,
        ),
    ],
    "document_mask": [_documents(-2, "row of position")],
    "document_positions": [_documents(-1, "position")],
    "partial_attention": _keys_under_masks(part=0),
    "streaming_attention": [
        _keys(f"In blocks of {BLOCK} keys.", everything(T_Q, T), block=BLOCK, causal=False),
        _keys(f"In blocks of {BLOCK} keys, causal.", past(T_Q, T), block=BLOCK, causal=True),
    ],
    "attend_with_window_cache": [
        _text(_SINGLE, _IN_WINDOW, f"The window is {WINDOW}. {_cut_into(WINDOW_CHUNKS)}")
    ],
}

# Models: no position sees a later token, in any block, in one pass or through a cache.

V, D, LAYERS, N_HEADS = 9, 4, 2, 2
MANY, NEW = 1000, 4  # with so many tokens, the same one is hardly ever drawn twice by chance
BECAME = "A token that became another one counts as moved by 1."
_draw_model = Draw("maps", "decoders", decimals=2)
_TOKENS = np.asarray([2, 5, 0, 4, 1])  # all different, so that each can be recognised
_OTHER_TOKENS = {"tokens": np.asarray([6, 3, 8, 3, 6])}
_PROMPT, _U = np.asarray([4, 310, 717]), np.asarray([0.31, 0.62, 0.47, 0.55])
# A feature favours high ids or low ones: whatever the text, many tokens have a chance, and the
# least change of it moves the one that is drawn.
_LINE = np.linspace(-1, 1, MANY)


def _single_layer(vocabulary: int, w_out: Any, features: int = 6) -> Arguments:
    return {
        "embedding": _draw_model.normal(vocabulary, features),
        "position": _draw_model.normal(T + 3, features),
        **{f"w_{name}": _draw_model.normal(features, 3) / 4 for name in "qk"},
        **{"w_v": _draw_model.normal(features, features), "w_out": w_out},
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
    norms = {f"norm_{n}": 1 + _draw_model.normal(D) / 4 for n in (1, 2)}
    return norms | {
        part: {name: _draw_model.normal(*shape) / 2 for name, shape in named.items()}
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
    change = Nudge({"x": _STREAM, "mask": mask, **arguments}, {"x": _OTHER_STREAM}, {"x": -2})
    return Moves(change, mask | own(T), input="position", how=how)


_BLOCKS = [block_params(_draw_model, D, 6) for _ in range(LAYERS)]
_MODEL = decoder_params(_draw_model, V, T + 2, _BLOCKS)
_WRITER = decoder_params(_draw_model, MANY, len(_PROMPT) + NEW + 1, _BLOCKS)
_WRITER["embedding"] = _WRITER["embedding"] / 4 + _LINE[:, None] * _draw_model.normal(1, D)
_ONE_LAYER = _single_layer(MANY, _draw_model.normal(6, 1) * _LINE)
_LLAMA_HEADS: Arguments = {"n_heads": 4, "n_kv_heads": 2}
_LLAMA: Arguments = {
    **{"embedding": _draw_model.normal(V, D), "blocks": [_llama_block() for _ in range(LAYERS)]},
    **{"norm_f": 1 + _draw_model.normal(D) / 4, "w_out": _draw_model.normal(D, V)},
}
_STREAM, _OTHER_STREAM = _draw_model.normal(T, D), _draw_model.normal(T, D)
_BLOCK: Arguments = {"params": _BLOCKS[0], "n_heads": N_HEADS}

MAPS = _OF_ATTENTION | {
    "next_token_logits": [_read({"params": _single_layer(V, _draw_model.normal(6, V))})],
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
    "decoder_step": [_read({"params": _MODEL, "n_heads": N_HEADS}, _cut_into(CHUNKS))],
    "decoder_generate": _writing(params=_WRITER, n_heads=N_HEADS, temperature=3.0),
    "decoder_block_backward": [
        _from_behind({"x": _STREAM, **_BLOCK, "mask": mask}, D, mask | own(T), f"{SLOPE}, {under}")
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
    "llama_step": [_read({"params": _LLAMA, **_LLAMA_HEADS}, _cut_into(CHUNKS))],
}


CALLS: dict[str, Callable[[Student], InChunks]] = {
    "attend_with_cache": lambda student: InChunks(
        student.attend_with_cache, student.new_cache, "masked_self_attention", CHUNKS
    ),
    "attend_with_window_cache": lambda student: InChunks(
        student.attend_with_window_cache,
        lambda: student.new_window_cache(WINDOW),
        "attend_in_window",
        WINDOW_CHUNKS,
    ),
    "decoder_step": lambda student: InChunks(
        student.decoder_step, lambda: student.new_decoder_cache(LAYERS), "decoder_logits", CHUNKS
    ),
    "llama_step": lambda student: InChunks(
        student.llama_step, lambda: student.new_llama_cache(LAYERS), "llama_logits", CHUNKS
    ),
}


def maps_of(step: Step) -> dict[str, Sequence[Moves]]:
    """Return the maps of the step's functions."""
    return {one.name: MAPS[one.name] for one in step.functions if one.name in MAPS}


def mapped(student: Student, name: str) -> Callable[..., Any]:
    """Return the function in the form that its maps call."""
    function: Callable[..., Any] = getattr(student, name)
    return CALLS[name](student) if name in CALLS else function
