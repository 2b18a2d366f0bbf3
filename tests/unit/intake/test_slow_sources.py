"""Sources that are made to keep their reader busy: the work grows with their length, no faster."""

import sys

import pytest

from grader.intake import cells
from grader.intake.submission import MAX_SOURCE
from grader.steps.stubs import is_unfinished

REPEATED = ["@a\n", "@\n\n", "# a\n", "a=\\\n", "a.", "a ", "(", "\n", " ", "%a\n"]


class Steps:
    """Counts the lines of Python that are run, and ends what runs far more than it should."""

    def __init__(self, most):
        self.left = most

    def __enter__(self):
        sys.settrace(self._trace)
        return self

    def __exit__(self, *error):
        sys.settrace(None)

    def _trace(self, frame, event, argument):
        self.left -= 1
        if self.left < 0:
            sys.settrace(None)
            raise AssertionError("the work grows faster than the source")
        return self._trace


@pytest.mark.parametrize("unit", REPEATED, ids=repr)
def test_cells_are_cut_in_steps_that_grow_with_their_length(unit):
    source = unit * (6000 // len(unit))
    with Steps(most=60 * len(source) + 10_000):
        cells.cut_cell(source)


@pytest.mark.parametrize("unit", ["\n", "\r\n", " ", "\t\n", "    raise Not\n"], ids=repr)
def test_longest_source_is_searched_for_functions_to_be_written_at_once(unit):
    """With a pattern that looks at empty lines again and again, this takes hours."""
    assert not is_unfinished(unit * (MAX_SOURCE // len(unit)))
