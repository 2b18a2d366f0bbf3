"""Draw pictures for the lessons on decoders: heads, a memory, blocks, stacks, caches, hidden words.

Each picture uses the learner's functions as they are in the kernel.
"""

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.checks.laws.influence import Bools, Moves, Nudge, everything, past
from grader.demos.stacks import Stack, describe_stack, map_layers
from grader.notebooks.pictures import (
    HEADS,
    TOKENS,
    WORDS,
    Drawn,
    Floats,
    Function,
    Picture,
    array,
    chart,
    draw_svg,
    drawn_in,
    heat,
    influence,
    number,
)
from grader.report.influences import count_words, of_kind
from grader.report.records import Influence
from grader.steps.inputs import Arguments, Draw, block_params, decoder_params

Ints = NDArray[np.int64]
T, D_MODEL, N_HEADS = len(TOKENS), 8, 2
SIZE = len(WORDS)
LEGEND = "● the row moved when the column's word changed; ✗ a leak."
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
STORED = 2  # blocks with a cache
TIMED = (1, 32, 64, 128, 192, 256)  # tokens
FEW = 5  # calls, of which the shortest time counts: what else the machine does makes some longer
CUTS = {
    "all at once": ((0, SIZE),),
    "in pieces of 2, 1 and 2": ((0, 2), (2, 3), (3, SIZE)),
    "word by word": tuple((t, t + 1) for t in range(SIZE)),
}
# A sequence of different words, each with its replacement.
IDS = Nudge({"x": np.arange(SIZE)}, {"x": np.arange(SIZE) + SIZE}, {"x": -1})
SENTENCE = (
    "It takes great courage to let go of what you know "
    "and look at the world as if you had never seen it before"
)
TEXT = SENTENCE.split()
LINE = 8  # words
MASK, OTHER = "[MASK]", "teapot"
VOCABULARY = [MASK, OTHER, *dict.fromkeys(TEXT)]
# By place: the two uniform numbers of the words that are chosen, so that all three kinds occur.
CHOSEN = {2: (0.02, 0.31), 10: (0.10, 0.55), 15: (0.05, 0.85), 21: (0.12, 0.95)}
NOT_CHOSEN = (0.6, 0.4)
MANY = 20_000
LETTER = 7.2  # the width of a letter


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


def _counts(*maps: Influence) -> str:
    """Return how many cells show the future, and how many fail to show the past."""
    leaks, gaps = (sum(len(of_kind(one, k)) for one in maps) for k in ("leak", "missing"))
    return f"{count_words(leaks, 'leak')}, {count_words(gaps, 'gap')} in the past"


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


@drawn_in(7)
def pieces(attend_with_cache: Function, new_cache: Function) -> Drawn:
    """Draw which outputs move with which words, if the words come in pieces."""
    draw = Draw("look", "pieces")
    x, w = (
        draw.normal(SIZE, D_MODEL),
        [draw.normal(D_MODEL, D_MODEL) / D_MODEL**0.5 for _ in range(3)],
    )
    return _map_cuts(Nudge({"x": x}, {"x": x + 1}, {"x": -2}), attend_with_cache, new_cache, *w)


@drawn_in(7)
def times(
    masked_self_attention: Function, attend_with_cache: Function, new_cache: Function
) -> Drawn:
    """Draw the time of one more token as the sequence grows, with the cache and without."""
    draw = Draw("look", "times")
    x, w = draw.normal(TIMED[-1] + FEW, 64), draw.normal(3, 64, 64) / 8
    cached, again = list[float](), list[float]()
    for length in TIMED:
        _, cache = attend_with_cache(x[:length], new_cache(), *w)
        trials = []
        for t in range(length, length + FEW):
            begun = time.perf_counter()
            _, cache = attend_with_cache(x[t : t + 1], cache, *w)
            middle = time.perf_counter()
            masked_self_attention(x[: length + 1], *w)
            trials.append((middle - begun, time.perf_counter() - middle))
        for found, seconds in zip((cached, again), zip(*trials)):
            found.append(min(seconds) * 1e3)
    lines = {"with the cache": cached, "all again": again}
    yield chart("one more token takes", ("tokens so far", TIMED), "milliseconds", lines)
    yield f"After {TIMED[-1]} tokens: {cached[-1]:.2f} ms with the cache, {again[-1]:.2f} without."


@drawn_in(13)
def decoder_pieces(decoder_step: Function, new_decoder_cache: Function) -> Drawn:
    """Draw which logits of a decoder of two blocks move with which words."""
    draw = Draw("look", "decoder pieces")
    blocks = [block_params(draw, D_MODEL, 2 * D_MODEL) for _ in range(STORED)]
    params = decoder_params(draw, 2 * SIZE, SIZE, blocks)
    return _map_cuts(IDS, decoder_step, lambda: new_decoder_cache(STORED), params, N_HEADS)


@drawn_in(25)
def llama_pieces(llama_step: Function, new_llama_cache: Function) -> Drawn:
    """Draw which logits of a small Llama of two blocks move with which words."""
    draw = Draw("look", "llama pieces")
    blocks = [_llama_block(draw) for _ in range(STORED)]
    params = {
        **{"embedding": draw.normal(2 * SIZE, D_MODEL), "blocks": blocks},
        **{"norm_f": np.ones(D_MODEL), "w_out": draw.normal(D_MODEL, 2 * SIZE)},
    }
    return _map_cuts(IDS, llama_step, lambda: new_llama_cache(STORED), params, N_HEADS, 1)


def _llama_block(draw: Draw) -> Arguments:
    def weight(rows: int, columns: int) -> Floats:
        return np.asarray(draw.normal(rows, columns) / rows**0.5)

    heads = {
        "w_q": weight(D_MODEL, D_MODEL),
        "w_k": weight(D_MODEL, D_MODEL // 2),
        "w_v": weight(D_MODEL, D_MODEL // 2),
    }
    gates = {
        "w_gate": weight(D_MODEL, 2 * D_MODEL),
        "w_up": weight(D_MODEL, 2 * D_MODEL),
        "w_down": weight(2 * D_MODEL, D_MODEL),
    }
    return {
        **{"norm_1": np.ones(D_MODEL), "norm_2": np.ones(D_MODEL)},
        **{"attention": {**heads, "w_o": weight(D_MODEL, D_MODEL)}, "feed_forward": gates},
    }


def _map_cuts(change: Nudge, read: Function, new_cache: Function, *more: Any) -> Drawn:
    """Draw a map for each way to cut the text.

    read: from new words, a cache, and more, to outputs and the next cache.
    """
    found = {}
    for title, cuts in CUTS.items():

        def run(x: Any, cuts: Sequence[tuple[int, int]] = cuts) -> Floats:
            cache, rows = new_cache(), []
            for start, end in cuts:
                y, cache = read(x[start:end], cache, *more)
                rows.append(array(y, (end - start, np.shape(y)[-1])))
            return np.concatenate(rows)

        found[title] = Moves(change, past(SIZE)).draw(run)
        yield influence(title, found[title], WORDS)
    yield "● the row's output moved when the column's word changed."
    told = f"Here, in all three: {_counts(*found.values())}."
    yield f"However the text is cut, the picture should be the same triangle. {told}"


def _hide(mask_tokens: Function, tokens: Ints, *drawn: NDArray[np.generic]) -> tuple[Ints, Ints]:
    """Return both results of the learner's function, as integers."""
    corrupted, targets = mask_tokens(tokens, *drawn, 0)
    return array(corrupted, tokens.shape).astype(int), array(targets, tokens.shape).astype(int)


@drawn_in(14)
def hidden(mask_tokens: Function) -> Drawn:
    """Draw a text as the learner's function corrupts it, and the fate of many words."""
    tokens = np.array([VOCABULARY.index(word) for word in TEXT])
    draws = np.array([CHOSEN.get(place, NOT_CHOSEN) for place in range(len(TEXT))])
    others = np.full(len(TEXT), VOCABULARY.index(OTHER))
    corrupted, targets = _hide(mask_tokens, tokens, draws[:, 0], draws[:, 1], others)
    words = [_word(*ids) for ids in zip(tokens, corrupted, targets, strict=True)]
    lines = [words[start : start + LINE] for start in range(0, len(words), LINE)]
    title = "what the model reads, and below it what it is to find"
    told = [" ".join(word["now"] for word in line) for line in lines]
    text = "\n".join([*told, *(word["told"] for word in words if word["kind"])])
    yield Picture(title, draw_svg("strip", title, lines), text)
    yield _count_fates(mask_tokens)


def _word(was: int, now: int, target: int) -> dict[str, Any]:
    """Return a word for the picture; its kind is "" unless it is to be found."""
    names = dict(enumerate(VOCABULARY))
    name, kind, wanted = names.get(now, str(now)), "", ""
    if target != -100:
        kind = "hidden" if now == 0 else "kept" if now == was else "another word"
        wanted = names.get(target, str(target))
    told = f"{name}: {kind}, to be found: {wanted}" if kind else name
    width = max(len(name), len(wanted), len(kind) * 0.8) * LETTER + 14
    return {"now": name, "kind": kind, "target": wanted, "told": told, "width": width}


def _count_fates(mask_tokens: Function) -> str:
    """Return a sentence on the fates of many words."""
    draw = Draw("look", "hidden")
    tokens = 1 + draw.tokens(50, MANY)
    others = 1 + (tokens + draw.tokens(49, MANY)) % 50  # never the word itself
    corrupted, targets = _hide(mask_tokens, tokens, *draw.uniform(2, MANY), others)
    chosen = targets != -100
    if not chosen.any():
        return f"Of {MANY:,} words none was chosen."
    now, was = corrupted[chosen], tokens[chosen]
    shares = [np.mean(now == 0), np.mean((now != 0) & (now != was)), np.mean(now == was)]
    masked, changed, kept = (f"{100 * share:.0f}" for share in shares)
    return (
        f"Of {MANY:,} words {100 * np.mean(chosen):.0f} in 100 were chosen. Of 100 of these "
        f"{masked} are hidden behind {MASK}, {changed} are another word, {kept} are kept."
    )


@drawn_in(14)
def both_sides(mask_tokens: Function, decoder_block: Function) -> Drawn:
    """Draw which words the answer in a gap depends on, looking both ways or only back."""
    gaps = {
        "it looks both ways": (everything(T, T), ~np.eye(T, dtype=bool)),
        "under a causal mask": (past(T), np.tri(T, k=-1, dtype=bool)),
    }
    tokens = np.arange(1, T + 1)
    change = Nudge({"tokens": tokens}, {"tokens": tokens + T}, {"tokens": -1})
    clues = []
    for title, (mask, sees) in gaps.items():
        found = Moves(change, sees).draw(_answer(mask_tokens, decoder_block, mask))
        clues.append(sum(i == 0 for i, _ in of_kind(found, "may", "leak")))
        yield influence(title, found)
    yield "● the answer in the row's gap moved when the column's word was changed; ✗ it must not."
    yield f"Clues for a gap at “{TOKENS[0]}”: {clues[0]}, and {clues[1]} under the mask."


def _answer(mask_tokens: Function, decoder_block: Function, mask: Bools) -> Function:
    """Return a function of a text (T,): the vector in each gap, (T, d_model), one gap at a time."""
    draw = Draw("look", "gaps")
    table, places = draw.normal(2 * T + 1, 8), draw.normal(T, 8)
    params = block_params(draw, 8, 16)
    gap = np.eye(T, dtype=bool)
    select, zeros = np.where(gap, 0.0, 0.5), np.zeros((T, T))

    def run(tokens: Ints) -> Floats:
        read, _ = _hide(mask_tokens, np.tile(tokens, (T, 1)), select, zeros, zeros.astype(int))
        x = np.stack([table[row] + places for row in read])
        return np.asarray(array(decoder_block(x, params, 2, mask), x.shape)[gap])

    return run
