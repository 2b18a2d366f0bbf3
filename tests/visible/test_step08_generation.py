"""Checks of step 8: sampling a token, and generation."""

from functools import partial

import numpy as np

from grader.checks import laws
from tests.visible import standard
from tests.visible.sizes import table

BELOW_ONE = 1 - 2.0**-53  # the largest float64 below 1


def inside(draw, shares, chosen):
    """A number for each row that falls well inside the share of the chosen id."""
    below = (np.cumsum(shares, axis=-1) - shares)[chosen].reshape(chosen.shape[:-1])
    own = shares[chosen].reshape(chosen.shape[:-1])
    u = (below + (0.1 + 0.8 * draw.uniform(*own.shape)) * own) / shares.sum(axis=-1)
    return np.asarray(np.floor(u * 2**20) / 2**20)


def shuffled(draw, batch, vocabulary):
    """The numbers from 0 to vocabulary - 1 in another order for each row."""
    return np.argsort(draw.uniform(*batch, vocabulary), axis=-1, kind="stable")


def sampled(draw, batch, vocabulary, offset=0.0, **options):
    """Logits of which top_k stand out, and a u for one of those."""
    kept = min(options.get("top_k") or vocabulary, vocabulary)
    order = shuffled(draw, batch, vocabulary)
    high, low = 6 + draw.tokens(16, *order.shape), 3 + draw.tokens(3, *order.shape)
    odds, shares = np.where(order < kept, high, low), np.where(order < kept, high, 0)
    chosen = order == draw.tokens(kept, *batch)[..., None]
    logits = np.round(options.get("temperature", 1.0) * np.log(odds), 3) - 1 + offset
    return {"logits": logits, "u": inside(draw, shares, chosen), **options}


def sampled_near_borders(draw, batch, vocabulary, away=1e-3, temperature=1.0):
    """Logits, and a u that is nearly the sum of the probabilities of the first ids."""
    odds = 3.0 + draw.tokens(16, *batch, vocabulary)
    sums = np.cumsum(odds, axis=-1) / odds.sum(axis=-1, keepdims=True)
    last = np.asarray(draw.tokens(vocabulary - 1, *batch))[..., None]
    u = np.asarray(np.take_along_axis(sums, last, axis=-1)[..., 0] + away)
    logits = temperature * np.log(odds)
    return {"logits": logits, "u": u, "temperature": temperature}


def close_logits(draw, batch, vocabulary, gap, offset, **options):
    """Large logits that differ a little, in another order for each row."""
    logits = offset + gap * shuffled(draw, batch, vocabulary)
    return {"logits": logits, "u": np.full(batch, 0.5), **options}


def sampled_from_ties(draw, batch, vocabulary, top_k):
    """The last of top_k logits to be kept is one of many that are equal; u is for that one."""
    best = shuffled(draw, batch, vocabulary) < top_k - 1
    chosen = np.arange(vocabulary) == np.argmin(best, axis=-1)[..., None]
    shares = np.where(best, 7, np.where(chosen, 5, 0))
    logits = np.round(np.log(np.where(best, 7, 5)), 2)
    return {"logits": logits, "u": inside(draw, shares, chosen), "top_k": top_k}


def sampled_at_extremes(draw, batch, vocabulary, temperature):
    """Logits between 0 and 1: almost equal where it is hot, and worlds apart where it is cold."""
    middle = (draw.tokens(vocabulary, *batch) + 0.5) / vocabulary
    logits = shuffled(draw, batch, vocabulary) / vocabulary
    return {"logits": logits, "u": np.asarray(middle), "temperature": temperature}


def tied_logits(draw, batch, vocabulary, top_k):
    """A few different whole numbers as logits, most of them negative."""
    logits = draw.tokens(3, *batch, vocabulary) - 1.5
    return {"logits": logits, "u": None, "temperature": 0, "top_k": top_k}


def tied_logits_and_u(draw, batch, vocabulary, top_k):
    """The same, with a u that is not needed."""
    return {**tied_logits(draw, batch, vocabulary, top_k), "u": draw.uniform(*batch, 1)[..., 0]}


def at_an_edge(draw, batch, vocabulary, dropped, u):
    """The same u for every row; top_k drops as many ids at both ends, and no others."""
    ids = np.arange(vocabulary)
    inner = (ids >= dropped) & (ids < vocabulary - dropped)
    logits = draw.normal(*batch, vocabulary) - np.where(inner, 0.0, 20.0)
    top_k = vocabulary - 2 * dropped if dropped else None
    return {"logits": logits, "u": np.full(batch, u), "top_k": top_k}


def two_halves(draw):
    """Two tokens of probability exactly 1/2, and u there."""
    return {"logits": np.zeros(2), "u": np.asarray(0.5)}


def far_apart(draw, batch, vocabulary):
    """Logits of up to a million in size, u anywhere."""
    logits = (shuffled(draw, batch, vocabulary) / max(1, vocabulary - 1) - 0.5) * 2e6
    return {"logits": logits, "u": np.asarray(0.1 + 0.8 * draw.uniform(*batch))}


def model(draw, batch, t, n_new, vocabulary, d_model, d_k, d_v, spare=2):
    """A prompt and a model with room for `spare` tokens more than are asked for."""
    params = {
        "embedding": draw.normal(vocabulary, d_model),
        "position": draw.normal(t + n_new + spare, d_model) * 2,
        "w_q": draw.normal(d_model, d_k) / 4,
        "w_k": draw.normal(d_model, d_k) / 4,
        "w_v": draw.normal(d_model, d_v),
        "w_out": draw.normal(d_v, vocabulary) / 4,
    }
    return {"prompt": draw.tokens(vocabulary, *batch, t), "n_new": n_new, "params": params}


def model_and_u(draw, batch, n_new, temperature, top_k=0, **sizes):
    """The same, with a random number for each new token. top_k: 0 for its default."""
    arguments = model(draw, batch=batch, n_new=n_new, **sizes)
    options = {"temperature": temperature, "u": draw.uniform(*batch, n_new)}
    return arguments | options | ({"top_k": top_k} if top_k != 0 else {})


def model_and_unused_u(draw, batch, n_new, top_k=None, **sizes):
    """A u, and perhaps a top_k, at temperature 0: neither changes anything."""
    arguments = model(draw, batch=batch, n_new=n_new, **sizes)
    return {**arguments, "top_k": top_k, "u": draw.uniform(*batch, n_new)}


def uses_cache(function, case, weights):
    """Demand that the work of the projections grows with the tokens, and no faster."""
    short = case.changed(n_new=case.arguments["n_new"] // 6)
    laws.work_is_linear(
        function,
        [short, case],
        weights=weights,
        tokens=lambda case: case.arguments["prompt"].shape[-1] + case.arguments["n_new"],
        because="Feed only what is new, and take the rest from the cache.",
    )


def sampling(student):
    """sample_token, with any number for u brought into [0, 1)."""

    def bring_in(logits, u):
        return {"logits": logits, "u": u % 1}

    return laws.Adapted(student.sample_token, bring_in)


ROWS = [{"batch": (), "vocabulary": size} for size in (3, 4, 5, 6, 7, 8, 11, 13)]
BATCH = [{"batch": (4,), "vocabulary": 7}]
# u is so far from the sum of the first probabilities.
BORDERS = table(sampled_near_borders, ((7,), 6, 1e-09), ((7,), 5, -1e-09), ((7,), 4, 1e-09, 0.7))
NEAR_BORDERS = [{**sizes, "away": sizes["away"] * 1e6} for sizes in BORDERS]
CLOSE = table(close_logits, ((), 4, 1e-7, 10.0), ((5,), 6, 1e-3, 999_990.0))
TEMPERATURES = [
    *table(sampled, ((), 4, {"temperature": 0.5}), ((5,), 7, {"temperature": 0.5})),
    *table(sampled, ((5,), 7, {"temperature": 2.0}), ((5,), 8, {"temperature": 4.0})),
    *table(sampled, ((5,), 7, {"temperature": 0.1})),
]
EXTREME_TEMPERATURES = table(sampled_at_extremes, ((5,), 6, 1e-2), ((5,), 6, 1e3))
TOP_K = [
    *table(sampled, ((), 4, {"top_k": 2}), ((7,), 5, {"top_k": 1}), ((7,), 8, {"top_k": 3})),
    *table(sampled, ((5,), 6, {"top_k": 6}), ((5,), 6, {"top_k": 9})),
    *table(sampled, ((6,), 8, {"top_k": 4, "temperature": 0.5})),
]
TOP_K_TIES = table(sampled_from_ties, ((7,), 8, 3), ((), 4, 2), ((12,), 5, 4))  # all but one
GREEDY = table(tied_logits, ((), 4, None), ((5,), 6, None), ((5,), 6, 2))
EDGES_OF_U = [
    *table(at_an_edge, ((), 5, 0, 0.0), ((), 5, 1, 0.0), ((), 4, 0, BELOW_ONE)),
    *table(at_an_edge, ((60,), 7, 0, BELOW_ONE), ((60,), 7, 1, BELOW_ONE)),
]
SHAPES = table(
    sampled_from_ties, ((), 1), ((1,), 4), ((3,), 3), ((5,), 11), ((2, 3), 4), ((2, 3), 3, 2)
)
LARGE = table(sampled, ((), 4, 1e3), ((3,), 5, 999_990.0), ((3,), 5, -999_990.0))

PLAIN = table(model, ((), 2, 3, 5, 4, 6, 7), ((), 4, 6, 9, 5, 3, 7), ((), 3, 8, 13, 5, 4, 6))
SAMPLED = [
    {**PLAIN[0], "temperature": 1.0, "top_k": None},
    {**PLAIN[1], "batch": (6,), "temperature": 0.5, "top_k": None},
    {**PLAIN[1], "batch": (2,), "temperature": 1.5, "top_k": None},
    {**PLAIN[2], "batch": (4,), "vocabulary": 7, "temperature": 2.0, "top_k": 5},
    {**PLAIN[2], "temperature": 4.0, "top_k": 2},
    {**PLAIN[0], "batch": (2, 2), "temperature": 2.0, "top_k": 9},  # more than there are
    {**PLAIN[0], "temperature": 2.0, "top_k": 1},
    {**PLAIN[0], "batch": (4,), "vocabulary": 60, "temperature": 4.0},  # top_k has its default
]
WITH_UNUSED_U = table(model_and_unused_u, (PLAIN[1], {"batch": (2,)}), (PLAIN[2], 3))
TEXT_SHAPES = [
    *table(model, ((), 1, 1, 2, 1, 1, 1), ((1,), 1, 2, 6, 4, 3, 5), ((3,), 3, 3, 3, 3, 3, 3)),
    *table(model, ((4,), 2, 5, 8, 6, 3, 7), ((2, 3), 1, 10, 7, 4, 5, 6), ((), 30, 10, 5, 3, 2, 4)),
]
LIMITS = [
    *table(model, (PLAIN[0], {"n_new": 0}), (PLAIN[0], {"batch": (2,), "n_new": 0})),
    *table(model, (PLAIN[0], {"n_new": 0}, 0), (PLAIN[0], 0), (PLAIN[1], {"batch": (2,)}, 0)),
]
TOO_LONG = table(
    model, (PLAIN[0], -1), (PLAIN[1], -3, {"batch": (2,)}), (PLAIN[1], -1, {"n_new": 0})
)
TEXT_BATCH = [{**PLAIN[1], "batch": (3,), "temperature": 2.0, "top_k": 4}]
LONG = [{**PLAIN[1], "batch": (), "t": 2, "n_new": 20}]


def test_sampling_agree(student, given):
    """The smallest id whose cumulative probability exceeds u, in vocabulary order."""
    laws.agrees(student.sample_token, given.cases(sampled, ROWS))
    laws.agrees(student.sample_token, given.cases(sampled_near_borders, NEAR_BORDERS))


def test_sampling_rows(student, given):
    """Each row of a batch is sampled from its own logits with its own u."""
    cases = given.cases(sampled, BATCH)
    laws.rows_are_independent(sampling(student), cases, batched=("logits", "u"))


def test_sampling_greedy(student, given):
    """Temperature 0 takes the largest logit, the lowest id on a tie, and needs no u."""
    laws.agrees(student.sample_token, given.cases(tied_logits, GREEDY))
    laws.agrees(student.sample_token, given.cases(tied_logits_and_u, GREEDY[:2]))
    greedy = [{**sizes, "temperature": 0} for sizes in CLOSE]
    laws.agrees(student.sample_token, given.cases(close_logits, greedy))


def test_sampling_temperature(student, given):
    """The logits are divided by the temperature before the softmax."""
    laws.agrees(student.sample_token, given.cases(sampled, TEMPERATURES))
    laws.agrees(student.sample_token, given.cases(sampled_at_extremes, EXTREME_TEMPERATURES))


def test_sampling_top_k(student, given):
    """Only the top_k largest logits can be drawn, on a tie the lowest ids, all if k exceeds V."""
    laws.agrees(student.sample_token, given.cases(sampled, TOP_K))
    laws.agrees(student.sample_token, given.cases(sampled_from_ties, TOP_K_TIES))
    only_one = [{**sizes, "top_k": 1} for sizes in CLOSE]
    laws.agrees(student.sample_token, given.cases(close_logits, only_one))


def test_sampling_edges(student, given):
    """u = 0 and almost 1 give the first and last kept id; a sum equal to u is passed, no larger."""
    laws.agrees(student.sample_token, given.cases(at_an_edge, EDGES_OF_U))
    laws.agrees(student.sample_token, given.cases(two_halves, [{}]))
    laws.agrees(student.sample_token, given.cases(sampled_near_borders, BORDERS))


def test_sampling_shapes(student, given):
    """Any number of batch axes, and a vocabulary of any size, 1 included."""
    laws.agrees(student.sample_token, given.cases(sampled, SHAPES))


def test_sampling_large(student, given):
    """Logits of up to a million in size give the right ids."""
    laws.stays_right_when_large(student.sample_token, given.cases(sampled, LARGE))
    laws.stays_right_when_large(student.sample_token, given.cases(far_apart, BATCH))


def test_sampling_errors(student, given):
    """A negative temperature or a top_k below 1 is a ValueError, at every temperature."""
    case, *_ = given.cases(sampled, BATCH)
    cold = {"u": None, "temperature": 0}
    negative = [case.changed(temperature=-0.5), case.changed(temperature=-1.0, top_k=2)]
    laws.rejects(student.sample_token, negative, "The temperature is negative")
    small = [case.changed(top_k=0), case.changed(top_k=-1), case.changed(temperature=0.5, top_k=0)]
    laws.rejects(student.sample_token, small, "top_k is less than 1")
    small = [case.changed(**cold, top_k=0), case.changed(**cold, top_k=-2)]
    laws.rejects(student.sample_token, small, "top_k is less than 1 at temperature 0")


def test_generation_agree(student, given):
    """At temperature 0 each new token is the one with the largest logit of the step 6 model."""
    laws.agrees(student.generate, given.cases(model, PLAIN))
    with_u = given.cases(model_and_unused_u, WITH_UNUSED_U)
    laws.agrees(student.generate, [*with_u, *(case.changed(u=None) for case in with_u)])


def test_generation_no_future(student, given):
    """A new token depends neither on the u of later tokens nor on how many will follow."""
    cases = given.cases(model_and_u, [{**SAMPLED[1], "n_new": 4}])
    along = {"along": {"u": -1}, "axis": -1}
    ask = laws.continued(student.generate)
    laws.keeps_all(
        partial(laws.future_does_not_matter, ask, cases, **along, sizes=(1.0,)),
        partial(laws.prefix_gives_the_same, ask, cases, **along),
    )


def test_generation_rows(student, given):
    """Each text of a batch is continued by itself."""
    cases = given.cases(model_and_u, TEXT_BATCH)
    laws.rows_are_independent(laws.continued(student.generate), cases, batched=("prompt", "u"))


def test_generation_sampled(student, given):
    """Above temperature 0 each new token is drawn by sample_token with its own number of u."""
    laws.agrees(student.generate, given.cases(model_and_u, SAMPLED))


def test_generation_shapes(student, given):
    """Any number of batch axes, a prompt of one token, and a single new token."""
    laws.agrees(student.generate, given.cases(model, TEXT_SHAPES))


def test_generation_limits(student, given):
    """No new tokens give the prompt back, and exactly T_max tokens in all are allowed."""
    laws.agrees(student.generate, given.cases(model, LIMITS))


def test_generation_through_cache(student, given):
    """Old tokens are not projected again for every new one: they come from the cache."""
    uses_cache(student.generate, given.cases(model, LONG)[0], ("w_q", "w_k", "w_v"))


def test_generation_errors(student, given):
    """More than T_max tokens in all, or a temperature above 0 without u, is a ValueError."""
    too_long = given.cases(model, TOO_LONG)
    laws.rejects(student.generate, too_long, "The text becomes longer than T_max")
    without = [case.changed(temperature=0.8) for case in given.cases(model, PLAIN[:1])]
    laws.rejects(student.generate, without, "The temperature is above 0, and there is no u")


test_sampling_float32 = standard.in_float32("sample_token", sampled, ROWS[:4] + BATCH)
test_sampling_repeat = standard.when_repeated("sample_token", sampled, BATCH)
test_sampling_arguments = standard.untouched("sample_token", sampled, TOP_K[-1:])
test_generation_repeat = standard.when_repeated("generate", model_and_u, TEXT_BATCH)
test_generation_arguments = standard.untouched("generate", model_and_u, TEXT_BATCH)
