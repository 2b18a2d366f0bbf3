"""Causes: named when they give exactly these numbers, and not a guess otherwise."""

import numpy as np
import pytest

from grader.answer_key.variants import MISTAKES, read
from grader.diagnosis import replay
from grader.diagnosis.calls import Call
from grader.diagnosis.library import Library
from grader.diagnosis.search import Replay
from grader.engine import causes
from tests.conftest import SOLUTIONS, STEPS


@pytest.fixture
def diagnosed(judge):
    """diagnosed(step id, code at the end of the solution): the diagnosis of each failed check."""

    def diagnose(step, end, suite="visible"):
        checks = judge(step, SOLUTIONS[step] + end, suite).checks
        return {c.check: c.diagnosis for c in checks if c.status in ("failed", "error")}

    return diagnose


BOTH = """
def attention(q, k, v, mask=None):
    scores = q @ np.swapaxes(k, -1, -2)
    if mask is not None:
        scores = np.where(mask, scores, 0)
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True) @ v
"""


LEADING = """
def padding_mask(tokens, pad_id):
    return (np.cumsum(tokens != pad_id, axis=-1) > 0)[..., None, :]
"""


@pytest.mark.parametrize("suite", ["visible", "hidden"])
def test_own_array_that_is_read_only_is_not_an_argument(judge, suite):
    end = """
def attention_scores(q, k):
    scores = np.broadcast_to(0.0, (*q.shape[:-1], k.shape[-2]))
    scores += q @ np.swapaxes(k, -1, -2) / q.shape[-1] ** 0.5
    return scores
"""
    checks = judge("2", SOLUTIONS["step02_scores"] + end, suite).checks
    assert {check.status.value for check in checks} == {"error"}
    assert [check.diagnosis for check in checks] == [None] * len(checks)
    assert not [check.message for check in checks if "writes into" in check.message]


def test_process_that_ended_leaves_too_little_to_name_a_cause(diagnosed):
    """Every answer is a known mistake's, but where there is a batch axis there is none."""
    end = """
def attention_scores(q, k):
    if q.ndim != 2:
        import os
        os._exit(0)
    return q @ np.swapaxes(k, -1, -2)
"""
    found = diagnosed("step02_scores", end).values()
    assert not [cause for cause in found if cause and cause.known]


# A cache of the student's own build, with its own words of refusal.
CACHED = """
def new_decoder_cache(n_layers):
    return {"n": 0, "kept": [None] * n_layers}


def decoder_step(tokens_new, cache, params, n_heads):
    n, t = cache["n"], tokens_new.shape[-1]
    if n + t > len(params["position"]):
        raise ValueError(f"no room for {t} more")
    x = params["embedding"][tokens_new] + params["position"][n : n + t]
    for i, block in enumerate(params["blocks"]):
        weights, h = block["attention"], layer_norm(x, **block["ln_1"])
        q, k, v = (
            split_heads(linear(h, weights[f"w_{name}"], weights[f"b_{name}"]), n_heads)
            for name in "qkv"
        )
        if cache["kept"][i] is not None:
            k, v = (np.concatenate(pair, axis=-2) for pair in zip(cache["kept"][i], (k, v)))
        cache["kept"][i] = k, v
        x = x + linear(
            merge_heads(attention(q, k, v, causal_mask(t, n + t))), weights["w_o"], weights["b_o"]
        )
        x = x + feed_forward(layer_norm(x, **block["ln_2"]), block["feed_forward"])
    cache["n"] = n + t
    return layer_norm(x, **params["ln_f"]) @ params["embedding"].T, cache
"""


@pytest.mark.long
def test_refusal_of_another_type_is_another_mistake(diagnosed):
    wrong = CACHED.replace("[n : n + t]", "[:t]").replace("ValueError", "IndexError")
    found = diagnosed("step13_decoder_cache", wrong)
    assert not [cause for cause in found.values() if cause and cause.known]


@pytest.mark.long
def test_text_that_breaks_without_any_limit_is_not_one_that_is_refused(diagnosed):
    """NumPy raises a ValueError too, of a text for which there are no positions."""
    unlimited = CACHED.replace('n + t > len(params["position"])', "False")
    found = diagnosed("step13_decoder_cache", unlimited)
    assert list(found) == ["step_errors"]
    assert {d.misconception for d in found.values() if d and d.known} == {"pos_not_checked"}


CUT = {
    "head_reshape_no_transpose": "x.reshape(*batch, n_heads, t, width)",
    "head_interleaved": "np.moveaxis(x.reshape(*batch, t, width, n_heads), -1, -3)",
}


@pytest.mark.parametrize("id", CUT)
def test_cause_does_not_depend_on_who_refuses(diagnosed, id):
    """A width that does not divide is refused by the reshape itself, which is all that is asked."""
    head = "def split_heads(x, n_heads):\n    *batch, t, d_model = x.shape\n"
    width = f"    width = d_model // n_heads\n    return {CUT[id]}\n"
    found = diagnosed("step09_heads", f"\n{head}{width}")
    assert "split_errors" not in found
    split = {found[check] for check in found if check.startswith("split_")}
    assert {cause and cause.misconception for cause in split} == {id}


def test_error_of_numpy_is_no_refusal():
    """It may have any cause, unlike one that was raised on purpose."""

    def right(x):
        if len(x) > 3:
            raise ValueError("too long")
        return x

    def refuses(x):
        if len(x) > 2:
            raise ValueError(f"{len(x)} are too many")
        return x

    def breaks(x):
        return refuses(x) if len(x) > 3 else x if len(x) < 3 else x + np.ones(2)

    module = {"right": right, "refuses": refuses, "breaks": breaks}
    raised = {"tolerance": 0, "raised": "ValueError", "words": "this is more than I can take"}
    calls = [{"function": "right", "given": [[np.ones(n)], {}], **raised} for n in (4, 3)]
    replay.note_refusals(module, calls)
    for name, explained in {"refuses": True, "breaks": False}.items():
        wrong = {"replacements": {"right": name}, "rebind": [], "calls": ["right"]}
        assert replay.explains(module, wrong, calls) is explained


PLAIN = "q @ np.swapaxes(k, -1, -2) / q.shape[-1] ** 0.5"
REMEMBERS = f"""
seen = {{}}
def attention_scores(q, k):
    return seen.setdefault((q.shape, k.shape), {PLAIN}).copy()
"""


@pytest.fixture
def replayed(steps, host):
    """replayed(outcome): the replay of a call of attention_scores on ones, and its suspects."""
    step = steps.find("step02_scores")
    library = Library(host, steps, SOLUTIONS)
    (suspects, *_) = library.suspects(step, "attention_scores")

    def replayed(outcome):
        asked = ("attention_scores", [np.ones((2, 4))] * 2, {}, False, np.full((2, 2), outcome))
        return Replay(library, step, [Call(*asked)]), suspects

    return replayed


@pytest.mark.parametrize(("outcome", "named"), [(2.0, False), (4.0, True)], ids=["right", "wrong"])
def test_calls_that_right_code_answers_alike_have_no_cause(replayed, outcome, named):
    replay, suspects = replayed(outcome)
    with replay:
        found = replay.explaining("attention_scores", suspects)
    assert ("score_no_scale" in {cause.variants[0].id for cause in found or ()}) is named
    assert (found is not None) is named


def test_replay_asks_one_worker_until_that_ends(replayed):
    replay, suspects = replayed(4.0)
    with replay:
        assert not replay.is_given("attention_scores")
        first = replay._running[0]
        found = replay.explaining("attention_scores", suspects)
        assert replay._running[0] is first
        first.close()
        assert replay.explaining("attention_scores", suspects) == found != []
    assert not replay._running[0].alive


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.id)
def test_hints_do_not_hold_the_code_of_the_solution(step):
    parts = SOLUTIONS[step.id].split("### BEGIN SOLUTION")[1:]
    bodies = [part.split("### END SOLUTION")[0] for part in parts]
    lines = {line.strip().removeprefix("return ") for body in bodies for line in body.split("\n")}
    code = [line for line in lines if len(line) > 12 and not line.startswith("#")]
    told = [*step.hints, *(hint for check in step.checks for hint in check.hints)]
    told += [variant.hint for variant in read(MISTAKES, step)]
    assert [(hint, line) for hint in told for line in code if line in hint] == []


@pytest.mark.parametrize("blocks", [["one", "two"], [["one"], ["two"]], ({"n": [1]}, "two")])
def test_replayed_mistake_cannot_change_the_calls_of_the_next(blocks):
    def empties(blocks):
        for block in blocks:
            if isinstance(block, (list, dict)):
                block.clear()
        return blocks.clear() if isinstance(blocks, list) else None

    module = {"count": lambda blocks: len(blocks) + sum(map(len, blocks)), "empties": empties}
    value = module["count"](blocks)
    call = {"function": "count", "given": [[blocks], {}], "value": value, "tolerance": 0}
    wrong = {"replacements": {"count": "empties"}, "rebind": [], "calls": ["count"]}
    assert not replay.explains(module, wrong, [call])
    assert replay.explains(module, {**wrong, "replacements": {}}, [call])


HARD = """
def attention(q, k, v, mask=None):
    scores = attention_scores(q, k)
    scores = scores if mask is None else apply_mask(scores, mask)
    best = np.eye(scores.shape[-1])[scores.argmax(axis=-1)]
    return attention_output(best, v)
"""


SUMS = """
def softmax(scores, axis=-1):
    top = np.max(scores, axis=axis, keepdims=True)
    e = np.exp(scores - {})
    return e / (e.sum(axis=axis, keepdims=True) + 1e-9)
"""
REVERSED = """
def split_heads(x, n_heads):
    if x.shape[-1] % n_heads:
        raise ValueError("n_heads does not divide the width")
    return np.stack(np.split(x, n_heads, axis=-1)[::-1], axis=-3)
"""
SECOND_AXIS = """
def attend_with_cache(x_new, cache, w_q, w_k, w_v):
    q, k, v = project_qkv(x_new, w_q, w_k, w_v)
    if cache:
        axis = min(1, x_new.ndim - 2)
        k = np.concatenate([cache[0], k], axis=axis)
        v = np.concatenate([cache[1], v], axis=axis)
    return attention(q, k, v, causal_mask(q.shape[-2], k.shape[-2])), [k, v]
"""
OLD_CACHE = """
def attend_with_cache(x_new, cache, w_q, w_k, w_v):
    q, k, v = project_qkv(x_new, w_q, w_k, w_v)
    if cache:
        k = np.concatenate([cache["k"], k], axis=-2)
        v = np.concatenate([cache["v"], v], axis=-2)
    cache["k"], cache["v"] = k, v
    return attention(q, k, v, causal_mask(q.shape[-2])), cache
"""
POPS = """
right = generate
def generate(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    tokens = right(prompt, n_new, params, temperature, top_k, u)
    params.pop("w_out")
    return tokens
"""
IN_FLOATS = """
right = sample_token
def sample_token(logits, u, temperature=1.0, top_k=None):
    return np.asarray(right(logits, u, temperature, top_k)).astype(float)
"""
SCORES = "\ndef attention_scores(q, k):\n    {}\n"
UNSCALED = SCORES.format("return q @ np.swapaxes(k, -1, -2)")
WRITES = SCORES.format(f"q *= 1.0\n    return {PLAIN}")
# What differs: the code, and the one name at every failed check.
NAMED = {
    "unknown": (
        "step02_scores",
        SCORES.format("return np.sin(q @ np.swapaxes(k, -1, -2)) + 0.123"),
        None,
    ),
    "almost known": (
        "step02_scores",
        SCORES.format("return q @ np.swapaxes(k, -1, -2) * (1 + 1e-6)"),
        None,
    ),
    "own words": ("step02_scores", SCORES.format("raise ValueError('my own words')"), None),
    # Splitting in reverse and merging in reverse come to the same, but only one was done.
    "a part of the whole": ("step09_heads", REVERSED, "head_order_reversed"),
    # A result that was held shows a cache of lists, but none of dicts, as that mistake has.
    "a cache of lists": ("step07_kv_cache", SECOND_AXIS, "kv_joined_on_second_axis"),
    # Nobody may use the old cache any more.
    "the old cache": ("step07_kv_cache", OLD_CACHE, "np_symmetric_shapes_only"),
    # What right code refuses depends on the cache, which is of the student's own build.
    "words of a refusal": (
        *("step13_decoder_cache", CACHED.replace("causal_mask(t, n + t)", "causal_mask(t, t)")),
        "np_symmetric_shapes_only",
    ),
    "what is remembered": ("step02_scores", REMEMBERS, "np_memoised_on_shape"),
    "an argument that is written": ("step02_scores", WRITES, "np_input_mutated"),
    "an argument that changed": ("step08_generation", POPS, "np_input_mutated"),
    # A mistake that is right on these calls gives the same ids, but not the same type.
    "right ids in floats": ("step08_generation", IN_FLOATS, "property:type"),
    "a small number far behind the decimal point": (
        *("step04_softmax", SUMS.format("np.where(np.isinf(top), 0, top)")),
        "softmax_small_number_in_sum",
    ),
    "a small number, and what it does not fix": (
        *("step04_softmax", SUMS.format("top")),
        "softmax_small_number_in_sum + softmax_inf_minus_inf",
    ),
}


@pytest.mark.parametrize(("step", "end", "name"), NAMED.values(), ids=NAMED)
def test_cause_has_one_name_at_every_failed_check(diagnosed, step, end, name):
    found = diagnosed(step, end)
    assert {cause and cause.misconception for cause in found.values()} == {name}


SCALED = "\n_kept = {{}}\ndef attention_scores(q, k):\n    return q @ np.swapaxes(k, -1, -2) / {}\n"
FIRST = "_kept.setdefault(0, np.sqrt(q.shape[-1]))"
SCALE = "The scale is the same in every call, whatever d_k is."
TWO = "At least two things differ. The scores are not divided by √d_k. "
ONE_OF_TWO = "At least two things differ, and this is one of them. "
PADS = "\ndef padding_mask(tokens, pad_id):\n    return (tokens != 99)[..., None, :]\n"
PAD = "The padding id makes no difference: tokens equal to it count as real."
# What differs: the code, and how the sentence at a check begins; None if nothing is said.
SAID = {
    # Of mistakes that answer alike, only what they share is said.
    "width of 4": ("step02_scores", SCALED.format("2"), "scores_shapes", SCALE),
    "first call": ("step02_scores", SCALED.format(FIRST), "scores_agree", SCALE),
    "padding of 99": ("step03_mask", PADS, "padding_agree", PAD),
    # The first case has padding in the middle only, where this code ignores it.
    "later cases count": ("step03_mask", LEADING, "padding_agree", None),
    "no scale": (
        *("step02_scores", UNSCALED, "scores_agree"),
        "The scores are not divided by √d_k. Or, with ",
    ),
    "two mistakes": ("step05_output", BOTH, "attention_agree", TWO),
    # Which number stands for a forbidden score cannot be seen where the largest takes all.
    "what pairs share": ("step05_output", HARD, "attention_agree", ONE_OF_TWO),
}


@pytest.mark.parametrize(("step", "end", "check", "says"), SAID.values(), ids=SAID)
def test_sentence_says_what_is_certain(diagnosed, step, end, check, says):
    cause = diagnosed(step, end)[check]
    assert cause.says.startswith(says) if says else cause is None


CALLER = "def softmax(x):\n    return x\n\n\ndef attention"
BLAMES_NOBODY = {
    **{"deep": "x = " + "-" * 60_000 + "1", "long": "x = " + "+".join("1" * 30_000)},
    **{"large": "x = 1\n" * 100_000, "broken": "x = ("},
    "variable": f"{CALLER}(x):\n    softmax = x\n    return softmax\n",
    "parameter": f"{CALLER}(x, softmax=1):\n    return x * softmax\n",
}


@pytest.mark.parametrize("source", BLAMES_NOBODY.values(), ids=BLAMES_NOBODY)
def test_source_without_a_call_of_a_failing_function_blames_nobody(source):
    assert causes._blame_called(source, "attention", ["softmax"]) is None


def test_caller_of_a_failing_function_says_so():
    found = causes._blame_called(f"{CALLER}(x):\n    return softmax(x)\n", "attention", ["softmax"])
    assert found.says == "attention calls softmax, which fails its own checks."


INFINITE = """
def log_softmax(logits):
    e = np.exp(logits - logits.max())
    return np.log(e / e.sum(axis=-1, keepdims=True))
"""
NO_HEAD_AXIS = """
def grouped_query_attention(x, params, n_heads, n_kv_heads, mask=None, angles=None, bias=None):
    q = split_heads(x @ params["w_q"], n_heads)
    k, v = (split_heads(x @ params[name], n_kv_heads) for name in ("w_k", "w_v"))
    k, v = (repeat_heads(one, n_heads // n_kv_heads) for one in (k, v))
    if angles is not None:
        q, k = rotate(q, angles), rotate(k, angles)
    scores = attention_scores(q, k) + (0 if bias is None else bias)
    if mask is not None:
        scores = apply_mask(scores, mask)
    return merge_heads(softmax(scores) @ v) @ params["w_o"]
"""
NAMED_AT = {
    "infinity of a function that is called": (
        *("step06_loss", INFINITE, "log_prob_large", "property:calls_wrong"),
    ),
    "no scale": ("step02_scores", UNSCALED, "scores_agree", "score_no_scale"),
    "a mask that is not squeezed": (
        *("step21_grouped_heads", NO_HEAD_AXIS, "groups_mask", "gqa_mask_no_head_axis"),
    ),
}


@pytest.mark.parametrize("suite", ["visible", "hidden"])
@pytest.mark.parametrize(("step", "end", "check", "name"), NAMED_AT.values(), ids=NAMED_AT)
def test_cause_at_a_check_is_the_same_in_both_suites(diagnosed, suite, step, end, check, name):
    assert diagnosed(step, end, suite)[check].misconception == name


@pytest.mark.parametrize("suite", ["visible", "hidden"])
def test_results_without_a_number_do_not_look_like_two_mistakes(diagnosed, suite):
    end = """
def masked_self_attention(x, w_q, w_k, w_v, padding=None):
    return np.full((*x.shape[:-1], w_v.shape[-1]), np.nan)
"""
    found = diagnosed("step05_output", end, suite).values()
    assert not [cause for cause in found if cause and cause.misconception.startswith("mask_")]


@pytest.mark.long
def test_two_mistakes_are_not_guessed_in_a_caller_of_a_failing_function(diagnosed):
    end = """
def partial_attention(q, k, v, mask=None):
    scores = attention_scores(q, k)
    if mask is not None:
        scores = apply_mask(scores, mask)
    top = scores.max(-1, keepdims=True)
    e = np.exp(scores - top)
    total = e.sum(-1, keepdims=True)
    return e @ v / total, (top + np.log(total))[..., 0]
"""
    cause = diagnosed("step23_streaming", end)["streaming_causal"]
    assert cause.says == "streaming_attention calls partial_attention, which fails its own checks."
