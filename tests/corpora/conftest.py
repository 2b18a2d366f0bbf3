"""Share what all tests of the corpora need."""

from functools import cache

import pytest

from grader.engine import failures
from grader.engine.grading import make_grader
from tests.conftest import SEED


@pytest.fixture(scope="module")
def grader_of(steps, host):
    """grader_of(suite, step, thorough): as for a class, made once for all its programs."""

    @cache
    def grader_of(suite, step, thorough=False):
        return make_grader(steps, host, suite, SEED, [step], thorough=thorough)

    return grader_of


@pytest.fixture
def no_check_breaks_down(monkeypatch):
    """No check raises what says nothing of the student's code, whatever it gets."""
    broken = []

    class Noted(str):
        def format(self, name):
            broken.append(name)
            return super().format(name)

    monkeypatch.setattr(failures, "UNUSABLE", Noted(failures.UNUSABLE))
    yield
    assert broken == []


def pytest_collection_modifyitems(items):
    """Puts the tests of one batch side by side, so that one process grades it for all of them."""
    places = [at for at, item in enumerate(items) if item.get_closest_marker("batch")]
    batched = sorted((items[at] for at in places), key=lambda item: item.callspec.params["number"])
    for at, item in zip(places, batched, strict=True):
        items[at] = item
