"""The inputs of step 14: every kind of position comes up, and borders only where they belong."""

import numpy as np
import pytest

from grader.answer_key import reference
from grader.checks.suites import Live, Recording
from tests.conftest import SEED
from tests.visible import test_step14_masked_lm as step14

GIVENS = [
    pytest.param(Recording, id="visible"),
    pytest.param(lambda: Live(SEED), id="hidden"),
]
SHARES = [(0.0, 0.8), (0.8, 0.9), (0.9, 1.0)]


def cases(build, sizes, given):
    return [case.arguments for case in given.cases(build, sizes)]


@pytest.mark.parametrize("given", GIVENS)
def test_plain_texts_hide_replace_and_keep(given):
    for text in cases(step14.texts, step14.PLAIN, given()):
        chosen = text["select"] < 0.15
        assert not chosen.all()
        assert (text["replace"][~chosen] < 0.8).any()
        for low, high in SHARES:
            assert (chosen & (text["replace"] >= low) & (text["replace"] < high)).any()


@pytest.mark.parametrize("given", GIVENS)
def test_plain_texts_are_free_of_coincidences(given):
    for text in cases(step14.texts, step14.PLAIN + step14.RATES, given()):
        assert (text["random_ids"] != text["tokens"]).all()
        assert (text["tokens"] != text["mask_id"]).all()
        assert not np.isin(text["replace"], [0.8, 0.9]).any()
        assert (text["select"] != text.get("rate", 0.15)).all()


@pytest.mark.parametrize("given", GIVENS)
def test_borders_are_met_exactly(given):
    for text in cases(step14.texts_on_borders, step14.BORDERS, given()):
        rate = text.get("rate", 0.15)
        chosen = text["select"] < rate
        assert (text["select"] == rate).any()
        if rate:
            assert (chosen & (text["replace"] == 0.8)).any()
            assert (chosen & (text["replace"] == 0.9)).any()


@pytest.mark.parametrize("given", GIVENS)
def test_twins_are_chosen_where_nothing_shows_it(given):
    found = {"random id is its own": False, "token is mask_id": False, "mask_id left": False}
    for text in cases(step14.texts_of_twins, step14.PLAIN, given()):
        chosen = text["select"] < 0.15
        replaced = chosen & (text["replace"] >= 0.8) & (text["replace"] < 0.9)
        hidden = text["tokens"] == text["mask_id"]
        found["random id is its own"] |= (replaced & (text["random_ids"] == text["tokens"])).any()
        found["token is mask_id"] |= (chosen & hidden).any()
        found["mask_id left"] |= (~chosen & hidden).any()
    assert all(found.values()), found


@pytest.mark.parametrize("given", GIVENS)
def test_scored_texts_have_chosen_and_other_positions(given):
    for text in cases(step14.scored, step14.SCORED, given()):
        chosen = text["targets"] != step14.NOT_CHOSEN
        assert chosen.any(axis=-1).all()
        assert not chosen.all(axis=-1).any()
        assert (text["targets"][chosen] == 0).any()


@pytest.mark.parametrize("given", GIVENS)
def test_texts_of_unequal_counts_tell_the_means_apart(given):
    for text in cases(step14.unequal, step14.UNEQUAL, given()):
        chosen = text["targets"] != step14.NOT_CHOSEN
        assert not chosen.reshape(-1, chosen.shape[-1])[0].any()
        assert chosen.any()
        assert reference.masked_lm_loss(**text) > 0
