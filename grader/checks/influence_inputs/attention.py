"""Attention: an output moves with the positions that its query may see, and with nothing else."""

from collections.abc import Callable

import numpy as np

from grader.checks.laws.chunks import InChunks
from grader.checks.laws.influence import Bools, Moves, Nudge, everything, own, past
from grader.checks.student import Student
from grader.steps.inputs import Arguments, Draw

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


def cut_into(chunks: tuple[int, ...]) -> str:
    """Return the sentence on a sequence in chunks."""
    return f"The text came in chunks of {', '.join(map(str, chunks))} tokens."


def from_behind(arguments: Arguments, width: int, sees: Bools, how: str) -> Moves:
    """Return whether the gradient of x[i] moves with the slope at output j."""
    slopes, others = ({"d_out": _draw.normal(len(sees), width)} for _ in range(2))
    change = Nudge(arguments | slopes, others, {"d_out": -2})
    what = "gradient of x at position"
    return Moves(change, sees.T.copy(), part=0, output=what, input="loss", how=how)


# Of queries, keys and values.


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


# Of a sequence.

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


MAPS = {
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
    "attend_with_cache": [_text(_SINGLE, past(T), cut_into(CHUNKS))],
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
        from_behind({"x": _X[:T], **_SINGLE}, 2, past(T), f"{SLOPE}."),
        from_behind(
            {"x": _X[:T], **_SINGLE, "padding": REAL[None, :]},
            2,
            SEEN_PADDED,
            f"{SLOPE}; position {PADDED} is padding.",
        ),
    ],
    "multi_head_attention_backward": [
        from_behind(
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
        _text(_SINGLE, _IN_WINDOW, f"The window is {WINDOW}. {cut_into(WINDOW_CHUNKS)}")
    ],
}


def _in_chunks(student: Student) -> InChunks:
    step = student.attend_with_cache
    return InChunks(step, student.new_cache, "masked_self_attention", CHUNKS)


def _in_window(student: Student) -> InChunks:
    step, fresh = student.attend_with_window_cache, student.new_window_cache
    return InChunks(step, lambda: fresh(WINDOW), "attend_in_window", WINDOW_CHUNKS)


CALLS: dict[str, Callable[[Student], InChunks]] = {
    "attend_with_cache": _in_chunks,
    "attend_with_window_cache": _in_window,
}
