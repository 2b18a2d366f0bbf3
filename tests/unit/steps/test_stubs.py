"""Test how unwritten functions are found in a source."""

import pytest

from grader.steps.stubs import is_unfinished


@pytest.mark.parametrize("indent", ["    ", "\t", "  \t "])
def test_unwritten_is_found_in_an_indented_line(indent):
    assert is_unfinished(f"def f():\n{indent}raise NotImplementedError()\n")


def test_unwritten_is_not_found_in_a_comment_or_at_the_margin():
    assert not is_unfinished("raise NotImplementedError\n    # raise NotImplementedError\n")


@pytest.mark.parametrize("line", ["\n", " \n", "\t \n", " "])
def test_unwritten_looks_once_at_a_million_blank_characters(line):
    """A search that starts anew at every blank line takes minutes on these."""
    assert not is_unfinished(line * 1_000_000)
