"""Which ids nbgrader can have."""

import pytest

pytest.importorskip("nbgrader")

from grader.notebooks.nbgrader.collecting import MARKUP, is_id, is_shown


@pytest.mark.parametrize("name", [f"a{mark}b" for mark in MARKUP] + ["a\nb", "\udcff"])
def test_id_that_the_formgrader_cannot_show_is_refused(name):
    assert (is_shown(name), is_id(name)) == (False, False)


@pytest.mark.parametrize("name", ["*", "[a]da", "a??", "..", ""])
def test_id_that_nbgrader_takes_for_others_is_not_collected(name):
    assert (is_shown(name), is_id(name)) == (True, False)


@pytest.mark.parametrize("name", ["ada", "a+b@x.org", "O'Neill, Zoë", "a_b (2)"])
def test_usual_id_is_taken(name):
    assert is_id(name)
