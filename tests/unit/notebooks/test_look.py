"""Things to look at: pictures of right functions, a calm sentence for all others."""

import inspect
import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from grader import look
from grader.answer_key import reference
from grader.notebooks import peeking, pictures
from grader.notebooks.pictures import HEADS, KEYS, QUERIES, SCORES, TOKENS, WORDS
from grader.steps.stubs import solution_of, stub_of
from tests.conftest import SOLUTIONS, STEPS

# The learner's functions that each picture is drawn from.
USED = {name: tuple(inspect.signature(draw).parameters) for name, draw in look.PICTURES.items()}


def define(source_of):
    """Return the functions of all steps, on top of each other, by name."""
    names = {}
    for step in STEPS:
        names |= run(source_of(step), {**names, "__name__": f"exercises.{step.id}"})
    return names


def run(source, names):
    """Return the names with those of a step's source, which imports none of the others."""
    names = dict(names)
    exec(re.sub(r"^from exercises\..*$", "", source, flags=re.MULTILINE), names)
    return names


@pytest.fixture(scope="module")
def right():
    return define(solution_of)


@pytest.fixture(scope="module")
def stubs():
    return define(stub_of)


def drawn(name, names):
    return getattr(look, name)(*(names[function] for function in USED[name]))


def pictures_in(shown):
    return [ElementTree.fromstring(svg) for svg in re.findall(r"<svg.*?</svg>", shown.html)]


def titles_of(svg):
    return [title.text for title in svg.iter("title")]


def svg_leaks(svg):
    return sum("a leak" in title for title in titles_of(svg))


# What the pictures of right functions say, and how many leaks each of them marks.
SAYS = {
    "cut": [
        "your heads: 0 leaks, 0 gaps in the past.",
        "split by a straight reshape: 5 leaks, 1 gap in the past.",
        "split and merged straight: 0 leaks, 4 gaps in the past.",
    ],
    "norms": [
        "your block: 0 leaks, 0 gaps in the past.",
        "your block behind a norm over time: 21 leaks",
    ],
    "hidden": [
        "[MASK]: hidden, to be found: great\n[MASK]: hidden, to be found: know",
        "teapot: another word, to be found: world\nseen: kept, to be found: seen",
        "15 in 100 were chosen. Of 100 of these 80 are hidden",
    ],
    "both_sides": ["Clues for a gap at “It”: 6, and 0 under the mask."],
    "wishes": ["The true next words should rise by 0.17, 0.25, 0.10"],
    "reached": ["words of the future: 0."],
    "two_jobs": ["7 of 7 rows have a gradient"],
} | dict.fromkeys(
    ("pieces", "decoder_pieces", "llama_pieces"),
    ("Here, in all three: 0 leaks, 0 gaps in the past.",),
)
LEAKS = {"leaks": [21, 0], "layers": [0, 10, 10, 0, 0, 0], "both_sides": [0, 0]}
# Tooltips of the picture with that number.
TITLES = {
    ("leaks", 0): {"It moves when go changes: a leak"},
    ("leaks", 1): {"go moves when It changes"},
    ("translation", 0): {"read → gelesen: 0.69"},
    ("translation", 1): {"read → gelesen: 0"},
    ("both_sides", 0): {"It moves when go changes", "go does not move when go changes"},
    ("both_sides", 1): {"It does not move when go changes"},
    ("wishes", 1): {"It takes → great: 0.25", "It takes → time: −0.12"},
    **{
        ("heads", number): {
            f"{WORDS[i]} → {WORDS[j]}: {pictures.number(weight)}"
            for (i, j), weight in np.ndenumerate(
                np.asarray(reference.softmax(np.where(np.tri(len(WORDS)), scores, -np.inf)))
            )
        }
        for number, scores in enumerate(HEADS.values())
    },
}


@pytest.mark.parametrize("name", USED)
def test_right_functions_give_a_picture(name, right):
    shown = drawn(name, right)
    found = pictures_in(shown)
    assert found
    assert all(svg.get("aria-label") for svg in found)
    assert len(shown.html) < 12_000 * len(found)
    assert "nan" not in shown.html
    assert len(repr(shown).splitlines()) > 1
    assert [one for one in SAYS.get(name, ()) if one not in repr(shown)] == []
    if name in LEAKS:
        assert [svg_leaks(svg) for svg in found] == LEAKS[name]
    for number, svg in enumerate(found):
        assert TITLES.get((name, number), set()) <= {*titles_of(svg)}


@pytest.mark.parametrize("name", USED)
def test_stubs_give_a_calm_sentence(name, stubs):
    shown = drawn(name, stubs)
    assert not pictures_in(shown)
    assert re.fullmatch(
        r"Nothing to see yet: \w+ in exercises/\w+\.py is still to be written\.", repr(shown)
    )


@pytest.mark.parametrize("name", USED)
@pytest.mark.parametrize("wrong", [lambda *a, **k: None, lambda *a, **k: np.zeros(3)])
def test_wrong_functions_give_a_sentence(name, wrong):
    shown = getattr(look, name)(*[wrong] * len(USED[name]))
    assert repr(shown).startswith("There is no picture of that yet")
    assert "\n" not in repr(shown)


def test_function_that_raises_is_named():
    def softmax(scores):
        return scores["x"]

    assert "softmax raised IndexError" in repr(look.weights(softmax))


@pytest.mark.parametrize("given", [(), (3,), (len, len)], ids=["none", "a number", "too many"])
def test_look_that_is_used_wrongly_says_how(given):
    said = look.scores(*given)
    assert str(said) == "This picture is made with: look.scores(attention_scores)"


# What the pictures show.


def test_scores_of_the_sentence_are_those_of_its_vectors():
    found = reference.attention_scores(QUERIES, KEYS)
    np.testing.assert_allclose(np.asarray(found), SCORES, atol=0.005)


def test_mask_that_leaks_is_seen(right):
    shown = look.leaks(right["attention"], lambda t: np.tri(t, t, 1, dtype=bool))
    _, after = pictures_in(shown)
    assert svg_leaks(after) == len(TOKENS) - 1


def straight(x, n_heads):
    return x.reshape(n_heads, len(x), -1)


def test_own_heads_that_are_reshaped_straight_are_seen(right):
    assert "your heads: 5 leaks" in repr(look.cut(straight, right["merge_heads"]))


@pytest.mark.parametrize("longer", [1, 2, 40])
def test_points_off_the_circle_are_in_the_picture_and_told(right, longer):
    shown = look.circle(right["rotary_angles"], lambda x, a: longer * right["rotate"](x, a))
    for svg in pictures_in(shown):
        _, _, width, height = map(float, svg.get("viewBox").split())
        for point in svg.iter("circle"):
            assert 0 <= float(point.get("cx")) <= width
            assert 0 <= float(point.get("cy")) <= height
    told = f"The points of pair 0 lie off the circle, at {longer} to {longer} times its radius."
    assert (told in repr(shown)) is (longer != 1)


def test_decoder_that_masks_its_first_block_only_is_seen(right):
    text, was = SOLUTIONS["step12_decoder"], "n_heads, mask)  #"
    assert was in text
    now = "n_heads, mask if block is params['blocks'][0] else None)  #"
    names = run(text.replace(was, now), right)
    shown = look.layers(right["decoder_block"], names["decoder_logits"])
    assert [svg_leaks(svg) for svg in pictures_in(shown)][3:] == [0, 10, 10]
    assert "your decoder, 2 blocks: rows of logits moved with later tokens" in repr(shown)


def test_targets_made_by_comparing_lose_the_word_that_is_kept(right):
    def mask_tokens(tokens, *rest):
        corrupted, _ = right["mask_tokens"](tokens, *rest)
        return corrupted, np.where(corrupted != tokens, tokens, -100)

    told = repr(look.hidden(mask_tokens))
    assert "kept, to be found" not in told
    assert "0 are kept" in told


def test_nothing_chosen_is_told():
    told = repr(look.hidden(lambda tokens, *rest: (tokens, np.full_like(tokens, -100))))
    assert "Of 20,000 words none was chosen." in told


def test_words_that_stay_in_their_gaps_are_seen(right):
    shown = look.both_sides(lambda tokens, *rest: (tokens, tokens), right["decoder_block"])
    assert [svg_leaks(svg) for svg in pictures_in(shown)] == [len(TOKENS)] * 2


def test_id_that_is_no_token_is_told(right):
    shown = look.both_sides(lambda tokens, *rest: (tokens - 100, tokens), right["decoder_block"])
    assert repr(shown) == (
        "There is no picture of that yet: a result cannot be drawn. The checks say more."
    )


def test_model_that_peeks_is_too_good_until_it_writes(right):
    told = re.findall(r"(\d\.\d+) at the end of training, (\d\.\d+)", repr(drawn("peeking", right)))
    (trained, writing), (peeked, lost) = (map(float, one) for one in told)
    assert peeking.FLOOR - 0.05 < writing < peeking.FLOOR + 0.1
    assert abs(trained - writing) < 0.1
    assert peeked < peeking.FLOOR - 0.2
    assert lost > peeking.FLOOR + 0.5


def test_training_ends_when_functions_are_slow(right):
    model = peeking.PeekingModel(
        *(right[name] for name in USED["peeking"]), np.tri(peeking.LENGTH - 1, dtype=bool)
    )
    assert len(peeking.train(model, peeking.texts(np.random.RandomState(0)), seconds=0.0)) == 1


def test_picture_escapes_its_labels():
    svg = pictures.heat("<a>", [[1.0]], ["<b>"], ["&"]).svg
    assert ElementTree.fromstring(svg).get("aria-label") == "<a>"


@pytest.mark.parametrize("values", [[[np.nan]], [[np.inf]], [[-np.inf]], [[0.0]]])
def test_picture_of_any_number_can_be_drawn(values):
    ElementTree.fromstring(pictures.heat("t", values, ["a"], ["b"]).svg)


@pytest.mark.parametrize("most", [0.0, 1e-9, 0.7, 1.0, 16.46, 250.0, 1e7])
def test_curves_have_few_round_ticks(most):
    ticks = pictures._ticks(most)
    assert 1 <= len(ticks) <= 9
    assert ticks[0] == 0
    assert ticks[-1] <= most + 1e-9


@pytest.mark.parametrize(
    ("now", "says"),
    [
        ("mask = None", "12 leaks, 0 gaps"),
        ("mask = np.tri(q.shape[-2], k.shape[-2], dtype=bool)", "0 leaks, 17 gaps"),
    ],
    ids=["no mask in a piece", "top left"],
)
def test_mask_of_a_piece_that_is_wrong_is_seen(now, says, right):
    text, was = SOLUTIONS["step07_kv_cache"], "mask = causal_mask(q.shape[-2], k.shape[-2])"
    assert was in text
    names = run(text.replace(was, now), right)
    assert says in repr(look.pieces(names["attend_with_cache"], names["new_cache"]))


def test_memory_of_attention_that_forms_all_scores_is_seen(right):
    def whole(q, k, v, block):
        return right["attention"](q, k, v)

    needed = {}
    for name, function in (("block by block", right["streaming_attention"]), ("whole", whole)):
        words = str(look.memory(function)).rpartition("queries and keys: ")[2]
        needed[name] = int(words.partition(" KiB")[0].replace(",", ""))
    assert needed["block by block"] < 400 < 800 < needed["whole"]


def test_loss_that_reaches_the_future_is_seen():
    wrong = look.reached(lambda d_out, x, *w: (np.ones_like(x), *w))
    assert "words of the future: 21." in repr(wrong)


def test_gradient_vanishes_without_the_residual_additions(right):
    told = repr(drawn("highway", right))
    kept, lost = map(float, re.findall(r"(\d+\.\d+) times", told))
    assert kept > 0.5
    assert lost < 0.001
