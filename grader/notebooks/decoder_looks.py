"""Draw pictures for the lessons on decoders: heads, a memory, blocks, stacks.

Each picture uses the learner's functions as they are in the kernel.
"""

from typing import Any

import numpy as np

from grader.checks.laws.influence import Moves, Nudge, past
from grader.demos.stacks import Stack, describe_stack, map_layers
from grader.notebooks.drawing import Drawn, Floats, Function, array, drawn_in, heat, influence
from grader.notebooks.pictures import number
from grader.notebooks.sentence import HEADS, TOKENS, WORDS
from grader.report.influences import count_words, of_kind
from grader.report.records import Influence
from grader.steps.inputs import Arguments, Draw, block_params, decoder_params

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


def _nudge(length: int, width: int = D_MODEL) -> Nudge:
    """Return a sequence of vectors, each with its replacement."""
    text, others = Draw("look", length, width).normal(2, length, width)
    return Nudge({"x": text}, {"x": others}, {"x": -2})


def _map_past(functions: dict[str, Function], labels: list[str], width: int = D_MODEL) -> Drawn:
    """Draw maps of functions that should see only the past, with a count of what is wrong."""
    told = [LEGEND]
    for name, function in functions.items():
        found = Moves(_nudge(len(labels), width), past(len(labels))).draw(function)
        yield influence(name, found, labels)
        told.append(f"{name}: {_counts(found)}.")
    yield from told


def _counts(found: Influence) -> str:
    """Return how many cells show the future, and how many fail to show the past."""
    leaks, missing = len(of_kind(found, "leak")), len(of_kind(found, "missing"))
    return f"{count_words(leaks, 'leak')}, {count_words(missing, 'gap')} in the past"


@drawn_in(9)
def cut(split_heads: Function, merge_heads: Function) -> Drawn:
    """Draw who sees whom through heads under the causal mask: the learner's, and reshapes."""
    split, merged = (N_HEADS, SIZE, 2), (SIZE, N_HEADS * 2)
    means = past(SIZE) / past(SIZE).sum(-1, keepdims=True)  # of the rows up to each

    def through(apart: Function, join: Function) -> Function:
        return lambda x: join(means @ array(apart(x), split))

    def straight(x: Floats) -> Floats:
        return x.reshape(split)

    functions = {
        "your heads": through(lambda x: split_heads(x, N_HEADS), merge_heads),
        "split by a straight reshape": through(straight, merge_heads),
        "split and merged straight": through(straight, lambda x: x.reshape(merged)),
    }
    return _map_past(functions, WORDS, merged[-1])


@drawn_in(9)
def heads(multi_head_attention: Function) -> Drawn:
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
    mixed = array(multi_head_attention(once.T, params, count, past(SIZE)), (SIZE, d_model))
    for title, weights in zip(HEADS, np.hsplit(mixed, count), strict=True):
        yield heat(title, weights, WORDS, WORDS)
    yield "The row's word attends to the column's."


@drawn_in(10)
def translation(cross_attention: Function) -> Drawn:
    """Draw the weights of a translation, and those under a causal mask."""
    one, none = np.eye(len(SOURCE)), np.zeros(len(SOURCE))
    params = {f"w_{name}": one for name in "kvo"} | {f"b_{name}": none for name in "qkvo"}
    params["w_q"] = one * len(SOURCE) ** 0.5
    triangle = np.tri(len(TARGET), len(SOURCE), dtype=bool)
    needed = []
    for title, mask in {"the whole source": None, "under a triangle": triangle}.items():
        found = array(cross_attention(SCORES, one, params, 1, mask), SCORES.shape)
        needed.append(number(float(found[TARGET.index("read"), SOURCE.index("gelesen")])))
        yield heat(title, found, TARGET, SOURCE, "row: target · column: source")
    yield "Row: the word to be written. Column: a word that is read."
    yield f"“read” gives “gelesen”, the last word, {needed[0]}; under a triangle {needed[1]}."


@drawn_in(11)
def norms(layer_norm: Function, decoder_block: Function) -> Drawn:
    """Draw a block's leaks, and those of the same block after a norm over time."""
    params = _block("norms")

    def block(x: Floats) -> Any:
        return decoder_block(x, params, N_HEADS, past(T))

    def behind_norm(x: Floats) -> Any:
        return block(layer_norm(x.T, np.ones(T), np.zeros(T)).T)

    functions = {"your block": block, "your block behind a norm over time": behind_norm}
    return _map_past(functions, TOKENS)


@drawn_in(12)
def layers(decoder_block: Function, decoder_logits: Function) -> Drawn:
    """Draw who sees whom, layer by layer: one layer without a mask, and the learner's decoder."""
    blocks = [_block("layer", layer) for layer in range(LAYERS)]
    maps = map_layers(decoder_block, blocks, N_HEADS, UNMASKED, _nudge(SIZE))
    stack = Stack("", tuple(WORDS), UNMASKED, maps)
    for layer, one in enumerate(maps):
        yield influence(stack.heading(layer), one, WORDS)
    yield from describe_stack(stack)
    tokens, leaky = np.arange(SIZE), ""
    for count in range(1, LAYERS + 1):
        params = decoder_params(Draw("look", "decoder"), 2 * SIZE, SIZE, blocks[:count])
        arguments: Arguments = {"n_heads": N_HEADS, "tokens": tokens, "params": params}
        change = Nudge(arguments, {"tokens": tokens + SIZE}, {"tokens": -1})
        found = Moves(change, past(SIZE)).draw(decoder_logits)
        title = f"your decoder, {count_words(count, 'block')}"
        yield influence(title, found, WORDS)
        leaky = leaky or (title if of_kind(found, "leak") else "")
    if leaky:
        yield f"{leaky}: rows of logits moved with later tokens, which they must not see."
    else:
        yield "Masked in every layer: with one block, two or three, no row has read a later token."
