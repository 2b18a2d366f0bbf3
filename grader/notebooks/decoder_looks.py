"""Draw pictures for the lessons on decoders: heads, a memory, blocks, stacks, caches, gaps.

Each picture uses the learner's functions as they are in the kernel.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from grader.checks.laws.influence import Bools, Moves, Nudge, past
from grader.demos.stacks import Stack, describe_stack, map_layers
from grader.notebooks.display import Shown
from grader.notebooks.drawing import (
    Floats,
    Function,
    array,
    below,
    drawn_in,
    heats,
    influences,
)
from grader.notebooks.pictures import number
from grader.notebooks.sentence import HEADS, TOKENS, WORDS
from grader.report.influences import count_words, of_kind
from grader.report.records import Influence
from grader.steps.decoder_params import block_params, decoder_params
from grader.steps.inputs import Arguments, Draw

T, D_MODEL, N_HEADS = len(TOKENS), 8, 2
SIZE = len(WORDS)
LAYERS, UNMASKED = 3, 1  # the second of three
# A sentence and its translation, and which word each of the other's words looks for.
# These numbers are not trained, either. German puts "gelesen" (read) at the end.
SOURCE = ["Ich", "habe", "das", "Buch", "gestern", "gelesen"]
TARGET = ["I", "read", "the", "book", "yesterday"]
LOOKS_FOR = {
    "I": {"Ich": 4.0},
    "read": {"habe": 3.0, "gelesen": 4.0},
    "the": {"das": 4.0, "Buch": 2.0},
    "book": {"das": 1.5, "Buch": 4.0},
    "yesterday": {"gestern": 4.0},
}
SCORES = np.array([[LOOKS_FOR[word].get(one, 0.0) for one in SOURCE] for word in TARGET])
LEGEND = "● the row moved when the column's word changed; ✗ a leak."


def _block(*key: object) -> Arguments:
    return block_params(Draw("look", *key), D_MODEL, 2 * D_MODEL)


def _map_moves(function: Function, length: int, sees: Bools, *, width: int = D_MODEL) -> Influence:
    """Return the map of a function of vectors (length, width), changing one vector at a time."""
    text, others = Draw("look", length, width).normal(2, length, width)
    return Moves(Nudge({"x": text}, {"x": others}, {"x": -2}), sees).draw(function)


def _causal(found: Mapping[str, Influence], labels: Sequence[str]) -> Shown:
    """Return maps of functions that should see only the past, with a count of what is wrong."""
    told = [f"{name}: {_counts(one)}." for name, one in found.items()]
    return influences(found, past(len(labels)), LEGEND, *told, labels=labels)


def _counts(found: Influence) -> str:
    """Return how many cells show the future, and how many fail to show the past."""
    leaks, missing = len(of_kind(found, "leak")), len(of_kind(found, "missing"))
    return f"{count_words(leaks, 'leak')}, {count_words(missing, 'gap')} in the past"


@drawn_in(9)
def cut(split_heads: Function, merge_heads: Function) -> Shown:
    """Draw who sees whom through heads under the causal mask: the learner's, and reshapes."""
    split, merged = (N_HEADS, SIZE, 2), (SIZE, N_HEADS * 2)

    def through(apart: Function, join: Function) -> Influence:
        def run(x: Floats) -> Floats:
            heads = array(apart(x), split, "split_heads")
            return array(join(_past_means(heads)), merged, "merge_heads")

        return _map_moves(run, SIZE, past(SIZE), width=merged[-1])

    def straight(x: Floats) -> Floats:
        return x.reshape(split)

    found = {
        "your heads": through(lambda x: split_heads(x, N_HEADS), merge_heads),
        "split by a straight reshape": through(straight, merge_heads),
        "split and merged straight": through(straight, lambda x: x.reshape(merged)),
    }
    return _causal(found, WORDS)


def _past_means(heads: Floats) -> Floats:
    """Return for every row, in every head, the mean of the rows up to it."""
    weights = past(SIZE) / past(SIZE).sum(-1, keepdims=True)
    return np.asarray(weights @ heads)


@drawn_in(9)
def heads(multi_head_attention: Function) -> Shown:
    """Draw the weights of three heads, by passing each the identity as values."""
    count = len(HEADS)
    d_model = count * SIZE
    once, none = np.eye(d_model)[:, :SIZE], np.zeros(d_model)
    copied = once @ np.tile(np.eye(SIZE), count)
    params = {
        "w_q": once @ np.hstack(list(HEADS.values())) * SIZE**0.5,
        **{"w_k": copied, "w_v": copied, "w_o": np.eye(d_model)},
        **{f"b_{name}": none for name in "qkvo"},
    }
    mixed = multi_head_attention(once.T, params, count, past(SIZE))
    weights = np.hsplit(array(mixed, (SIZE, d_model), "multi_head_attention"), count)
    found = dict(zip(HEADS, weights, strict=True))
    return heats(found, "The row's word attends to the column's.", rows=WORDS, columns=WORDS)


@drawn_in(10)
def translation(cross_attention: Function) -> Shown:
    """Draw the weights of a translation, and those under a causal mask."""
    size = len(SOURCE)
    one, none = np.eye(size), np.zeros(size)
    params = {f"w_{name}": one for name in "kvo"} | {f"b_{name}": none for name in "qkvo"}
    params["w_q"] = one * size**0.5
    triangle = np.tri(len(TARGET), size, dtype=bool)
    found = {
        name: array(
            cross_attention(SCORES, one, params, 1, mask),
            SCORES.shape,
            "cross_attention",
        )
        for name, mask in {"the whole source": None, "under a triangle": triangle}.items()
    }
    row, column = TARGET.index("read"), SOURCE.index("gelesen")
    whole, hidden = (number(float(weights[row, column])) for weights in found.values())
    words = [
        "Row: the word to be written. Column: a word that is read.",
        f"“read” gives “gelesen”, the last word, {whole}; under a triangle {hidden}.",
    ]
    return heats(found, *words, rows=TARGET, columns=SOURCE, axes="row: target · column: source")


@drawn_in(11)
def norms(layer_norm: Function, decoder_block: Function) -> Shown:
    """Draw a block's leaks, and those of the same block after a norm over time."""
    params = _block("norms")

    def block(x: Floats) -> Floats:
        return array(decoder_block(x, params, N_HEADS, past(T)), (T, D_MODEL), "decoder_block")

    def over_time(x: Floats) -> Floats:
        turned = layer_norm(x.T, np.ones(T), np.zeros(T))
        return array(turned, (D_MODEL, T), "layer_norm").T

    found = {
        "your block": _map_moves(block, T, past(T)),
        "your block behind a norm over time": _map_moves(lambda x: block(over_time(x)), T, past(T)),
    }
    return _causal(found, TOKENS)


@drawn_in(12)
def layers(decoder_block: Function, decoder_logits: Function) -> Shown:
    """Draw who sees whom, layer by layer: one layer without a mask, and the learner's decoder."""
    masked = _decoders(decoder_logits)

    def block(*given: Any) -> Floats:
        return array(decoder_block(*given), (SIZE, D_MODEL), "decoder_block")

    text, others = Draw("look", SIZE, D_MODEL).normal(2, SIZE, D_MODEL)
    change = Nudge({"x": text}, {"x": others}, {"x": -2})
    blocks = [_block("layer", layer) for layer in range(LAYERS)]
    maps = map_layers(block, blocks, N_HEADS, UNMASKED, change)
    stack = Stack("", tuple(WORDS), UNMASKED, maps)
    titles = [stack.heading(layer) for layer in range(LAYERS)]
    found = dict(zip(titles, maps, strict=True))
    return below(influences(found, past(SIZE), *describe_stack(stack), labels=WORDS), masked)


def _decoders(decoder_logits: Function) -> Shown:
    """Return the learner's decoder with one block, with two, and so on."""
    tokens = np.arange(SIZE)
    arguments: Arguments = {"n_heads": N_HEADS, "tokens": tokens}

    def logits(**given: Any) -> Floats:
        return array(decoder_logits(**given), (SIZE, 2 * SIZE), "decoder_logits")

    found = {}
    for count in range(1, LAYERS + 1):
        blocks = [_block("layer", layer) for layer in range(count)]
        params = decoder_params(Draw("look", "decoder"), 2 * SIZE, SIZE, blocks)
        whole = Nudge({**arguments, "params": params}, {"tokens": tokens + SIZE}, {"tokens": -1})
        title = f"your decoder, {count_words(count, 'block')}"
        found[title] = Moves(whole, past(SIZE)).draw(logits)
    told = "Masked in every layer: with one block, two or three, no row has read a later token."
    if leaking := [title for title, one in found.items() if of_kind(one, "leak")]:
        told = f"{leaking[0]}: rows of logits moved with later tokens, which they must not see."
    return influences(found, past(SIZE), told, labels=WORDS)
