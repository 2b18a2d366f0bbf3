"""Test that a student's source is parsed only if that takes no time."""

import ast

import pytest

from grader.steps.registry import load
from grader.steps.stubs import MAX_PARSED, parse_source, solutions

SLOW = {
    "an f-string of many braces": 'x = f"{}"'.format("{a}" * 3000 + "b" * 80_000),
    "f-strings within another": f"""x = f"{"{f'{a}'}" * 6000}"\n""",
    "a long line of statements": "a;" * 20_000,
    "many short lines": "a\n" * 30_000,
}


@pytest.mark.parametrize("source", SLOW.values(), ids=SLOW.keys())
def test_source_that_takes_long_to_parse_is_not_parsed(source):
    """Python reads an f-string anew for each brace in it: 3 s for 100,000 characters."""
    ast.parse(source)
    assert len(source) < MAX_PARSED
    assert parse_source(source) is None


def test_solution_is_parsed_even_beside_four_of_its_length():
    for source in solutions(load()).values():
        assert parse_source(source * 4 + f"#{'-' * 20_000}\n") is not None


@pytest.mark.parametrize("source", ['x = "\\d"\n', "x = 1or 2\n"], ids=["escape", "number"])
def test_source_is_parsed_without_a_word_of_warning(source):
    """Python 3.12 prints them: on the screen of whoever grades a class."""
    assert parse_source(source) is not None
