import pytest

from tests.sameness.__main__ import leave_out
from tests.sameness.programs import Program
from tests.support import sampling

TEXTS = [f"program {number}" for number in range(1000)]


@pytest.fixture
def few(monkeypatch):
    monkeypatch.setattr(sampling, "ALL", False)
    monkeypatch.setattr(sampling, "changed_steps", lambda: frozenset({"step02_scores"}))
    monkeypatch.setattr(sampling, "left_out", sampling.Counter())


def test_tenth_is_chosen_by_content_alone_and_the_rest_is_counted_and_said(few):
    chosen = sampling.sample("texts", TEXTS, str)
    said = sampling.say_left_out(sampling.left_out)
    assert said == f"Left out: {1000 - len(chosen)} texts. `make test ALL=1` runs everything."
    assert 60 < len(chosen) < 140
    assert sampling.sample("texts", TEXTS[::-1], str) == chosen[::-1]


def test_programs_of_changed_steps_are_all_chosen(few):
    assert sampling.sample("texts", TEXTS, str, lambda one: "step02_scores") == TEXTS


def test_everything_is_chosen_if_asked_for(few, monkeypatch):
    monkeypatch.setattr(sampling, "ALL", True)
    assert sampling.sample("texts", TEXTS, str) == TEXTS
    assert sampling.say_left_out(sampling.left_out) == ""


def test_one_of_several_ways_is_chosen_by_content_alone(few):
    chosen = [sampling.ways("ways", ["one", "two", "three"], text) for text in TEXTS]
    assert all(len(names) == 1 for names in chosen)
    assert {names[0] for names in chosen} == {"one", "two", "three"}
    assert sampling.left_out["ways"] == 2 * len(TEXTS)


def test_steps_are_found_in_the_names_of_changed_files():
    status = " M solutions/step02_scores.py\n?? tests/corpora/unseen/wrong/x/step07_kv_cache.py\n"
    status += " M grader/steps/data/step19_training.toml\n M grader/steps/registry.py\n"
    assert sampling.STEP.findall(status) == ["step02_scores", "step07_kv_cache", "step19_training"]


def test_same_leaves_out_variants_and_says_the_command(few):
    kinds = ["wrong", "mistakes", "fair"] * 200
    programs = [
        Program(kind, str(number), ("step01_projections",), {}) for number, kind in enumerate(kinds)
    ]
    chosen = leave_out(programs)
    assert 20 < sum(one.corpus != "wrong" for one in chosen) < 60
    assert sum(one.corpus == "wrong" for one in chosen) == 200
    said = f"Left out: {600 - len(chosen)} variants. `make same BASE=v1 ALL=1` runs everything."
    assert sampling.say_left_out(sampling.left_out, "same BASE=v1") == said
