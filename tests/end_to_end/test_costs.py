"""`costs`: what the next token costs."""

import re
import shutil

import numpy as np
import pytest
from click.testing import CliRunner

from grader.cli.main import cli
from grader.demos import costs, counting
from grader.demos.costs import GrowthRow, describe_growth, find_powers
from grader.demos.submission_worker import NotReady
from grader.intake.submission import Submission
from grader.isolation.client import TimedOut, Worker
from tests.conftest import ROOT

STEP13 = "step13_decoder_cache"
RECOMPUTES = """
from exercises.step12_decoder import decoder_logits
def new_decoder_cache(n_layers):
    return np.zeros(0, int)
def decoder_step(tokens_new, cache, params, n_heads):
    tokens = np.concatenate([cache, tokens_new])
    return decoder_logits(tokens, params, n_heads)[..., -len(tokens_new):, :], tokens
"""
FORGETS = """
kept_step = decoder_step
def decoder_step(tokens_new, cache, params, n_heads):
    return kept_step(tokens_new, new_decoder_cache(len(params["blocks"])), params, n_heads)
"""


def tallied(*shape):
    return np.ones(shape).view(counting.Tallied)


PRODUCTS = {
    "matrix and vector": (lambda: tallied(3, 4) @ tallied(4), 12),
    "a batch": (lambda: tallied(2, 3, 4) @ np.ones((4, 5)), 120),
    "dot as a method": (lambda: tallied(3, 4).dot(tallied(4, 5)), 60),
    "dot of vectors": (lambda: np.dot(tallied(4), tallied(4)), 4),
    "inner": (lambda: np.inner(tallied(3, 4), tallied(5, 4)), 60),
    "tensordot": (lambda: np.tensordot(tallied(3, 4), tallied(4, 3), ([0, 1], [1, 0])), 12),
    "einsum of one array": (lambda: np.einsum("ij->ji", tallied(3, 4), optimize=True), 0),
    "list times array": (lambda: np.matmul([[1.0, 2.0, 3.0]], tallied(3, 4)), 12),
    "einsum, dots": (lambda: np.einsum("...ij,kj->...ik", tallied(2, 3, 4), tallied(5, 4)), 120),
    "element by element": (lambda: tallied(3, 4) * tallied(4), 12),
    "in place": (lambda: np.multiply(tallied(3), 2, out=np.ones(3)), 3),
    "a sum": (lambda: tallied(3, 4) + tallied(3, 4), 0),
}
KEEPING = {
    "a slice": lambda x: x[1:],
    "concatenated": lambda x: np.concatenate([np.ones((1, 4)), x]),
    "split": lambda x: np.split(x, 2, axis=1)[0],
    "in place": lambda x: x.__iadd__(1),
    "a softmax": lambda x: np.exp(x - x.max(-1, keepdims=True)) / np.exp(x).sum(-1, keepdims=True),
}


@pytest.mark.parametrize(("work", "wanted"), PRODUCTS.values(), ids=PRODUCTS)
def test_product_is_counted(work, wanted):
    counting.Tallied.made = 0
    work()
    assert counting.Tallied.made == wanted


@pytest.mark.parametrize("work", KEEPING.values(), ids=KEEPING)
def test_what_is_made_from_a_counting_array_counts(work):
    result = work(tallied(3, 4))
    assert type(result) is counting.Tallied
    np.testing.assert_array_equal(np.asarray(result), np.asarray(work(np.ones((3, 4)))))


@pytest.fixture
def rows(host, steps, right):
    """rows(ending, ...): the costs of the solutions' decoder, with code added to step 13."""

    def rows(ending="", longest=64):
        sources = {**right.sources, STEP13: right.sources[STEP13] + ending}
        return tuple(costs.rows(host, steps, Submission("mine/", sources), longest))

    return rows


def test_solutions_need_a_tth_of_the_work_with_the_cache(rows):
    found = rows()
    assert [row.length for row in found] == [8, 16, 32, 64]
    assert all(row.whole == row.length * row.cached for row in found)
    assert max(row.apart for row in found) < 1e-12
    assert any("exactly T times as many" in sentence for sentence in describe_growth(found))


def test_cache_that_recomputes_the_past_saves_nothing(rows):
    found = rows(RECOMPUTES)
    assert all(row.cached == row.whole for row in found)


def test_conversion_to_a_plain_array_does_not_stop_the_count(rows):
    plain = "\nkept = attention\n"
    plain += "def attention(q, k, v, mask):\n"
    plain += "    return kept(np.asarray(q), np.array(k), np.ascontiguousarray(v), mask)\n"
    counts = [row.cached for row in rows(plain, 16)]
    assert counts == [row.cached for row in rows("", 16)]


def test_ways_that_differ_are_told(rows):
    told = describe_growth(rows(FORGETS, 16))
    assert told[0].startswith("The two ways give different logits (first at 8 tokens)")


def test_length_that_takes_too_long_ends_the_table(rows, monkeypatch):
    real = Worker.call

    def call(worker, name, args, kwargs):
        if name == "compare" and len(args[0]) >= limit:
            raise TimedOut(5.0)
        return real(worker, name, args, kwargs)

    monkeypatch.setattr(Worker, "call", call)
    limit = 64
    assert [row.length for row in rows()] == [8, 16, 32]
    limit = 32
    with pytest.raises(NotReady, match=r"The decoder took longer than 5 seconds\."):
        rows()


@pytest.mark.parametrize(
    ("ending", "why"),
    [
        ("\ndef new_decoder_cache(n):\n    raise NotImplementedError\n", "cannot run yet"),
        ("\ndef decoder_step(*a):\n    return 1\n", "The decoder raised TypeError"),
    ],
)
def test_decoder_that_cannot_run_is_refused(rows, ending, why):
    with pytest.raises(NotReady, match=why):
        rows(ending, 16)


def test_power_is_that_of_the_growth():
    lengths = (8, 16, 32)
    assert find_powers([GrowthRow(t, 3 * t**2, t, 0.0) for t in lengths]) == pytest.approx((2, 1))
    assert find_powers([GrowthRow(8, 1, 1, 0.0)]) == (0, 0)
    assert find_powers([GrowthRow(t, t - 8, t, 0.0) for t in lengths])[0] == 0


def test_cost_that_stays_the_same_is_no_power():
    flat = [GrowthRow(t, t, 7, 0.0) for t in (8, 16, 32)]
    told = " ".join(describe_growth(flat))
    assert "do not grow with it" in told
    assert "T^-" not in told
    assert "T^0" not in told


def test_command_counts():
    done = CliRunner().invoke(cli, ["costs"])
    assert done.exit_code == 0, done.output
    assert max(map(len, done.output.split("\n"))) <= 80
    told = " ".join(done.output.split())
    assert re.search(r"grow like T\^1\.\d without a cache and grow like T\^0\.\d with it", told)


def test_command_says_what_is_missing(tmp_path):
    shutil.copy(ROOT / "solutions" / "step01_projections.py", tmp_path)
    done = CliRunner().invoke(cli, ["costs", "--submission", str(tmp_path)])
    assert done.exit_code == 2
    assert done.output.startswith("nopeek: There is no step12_decoder.py in")
