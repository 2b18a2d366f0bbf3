"""Test how unwritten functions are found in a source."""

import ast
import textwrap

import pytest

from grader.steps.registry import load
from grader.steps.stubs import MAX_PARSED, is_unfinished, is_untouched, parse_source, solutions
from tests.conftest import STEPS

NONE = "def {}():\n    raise NotImplementedError()\n"


@pytest.mark.parametrize("indent", ["    ", "\t", "  \t "])
def test_unwritten_is_found_in_an_indented_line(indent):
    assert is_unfinished(f"def f():\n{indent}raise NotImplementedError()\n")


def test_unwritten_is_not_found_in_a_comment_or_at_the_margin():
    assert not is_unfinished("raise NotImplementedError\n    # raise NotImplementedError\n")


@pytest.mark.parametrize("line", ["\n", " \n", "\t \n", " "])
def test_unwritten_looks_once_at_a_million_blank_characters(line):
    """A search that starts anew at every blank line takes minutes on these."""
    assert not is_unfinished(line * 1_000_000)


WRITTEN = {
    "an option that it does not have": """
        def f(x, kind=None):
            if kind is not None:
                raise NotImplementedError("no other kind")
            return x
        """,
    "the line of the stub after a return": """
        def f(x):
            return x
            raise NotImplementedError()
        """,
    "cases, and none of them": """
        def f(x):
            if x:
                return x
            raise NotImplementedError()
        """,
    "an abstract class": """
        class Base:
            def g(self):
                raise NotImplementedError

        def f(x):
            return x
        """,
    "a docstring": """
        def f(x):
            '''Never do this:

            raise NotImplementedError()
            '''
            return x
        """,
}
BEGUN = "def f(x):\n    y = x + 1\n    # and then?\n    raise NotImplementedError()\n"


@pytest.mark.parametrize("source", WRITTEN.values(), ids=WRITTEN.keys())
def test_function_that_can_return_is_written(source):
    assert not is_unfinished(textwrap.dedent(source))


@pytest.mark.parametrize("source", [BEGUN, f"%matplotlib inline\n{BEGUN}"], ids=["", "with magic"])
def test_function_that_only_raises_is_not(source):
    assert is_unfinished(source)


def test_step_is_untouched_while_none_of_its_functions_is_written():
    step = next(step for step in STEPS if len(step.functions) > 1)
    stubs = [NONE.format(function.name) for function in step.functions]
    one = f"def {step.functions[0].name}(): return 1\n"
    assert is_untouched("".join(stubs), step)
    assert not is_untouched("".join([one, *stubs[1:]]), step)
    base = "class Base:\n    def g(self):\n        raise NotImplementedError()\n"
    assert not is_untouched("".join([base, one, *stubs[1:]]), step)
    assert is_untouched("".join(stubs[1:]), step)
    other = f"{step.functions[0].name} = print\n"
    assert not is_untouched("".join([other, *stubs[1:]]), step)
    assert not is_untouched("", step)
    assert not is_untouched("def helper(x):\n    return x\n", step)


SOFTMAX = next(step for step in STEPS if step.id == "step04_softmax")
KEPT_STUB = NONE.format("softmax")
LONG = "#" * MAX_PARSED
ABSTRACT = "class Base:\n    def f(self):\n        raise NotImplementedError\n\n"
RIGHT = "def softmax(scores, axis=-1):\n    return scores\n"
FINISHED = {
    "defined again below the stub": f"{KEPT_STUB}\n\n{RIGHT}",
    "assigned below the stub": f"def mine(x):\n    return x\n\n{KEPT_STUB}\n\nsoftmax = mine\n",
    "annotated below the stub": f"{KEPT_STUB}\n\nsoftmax: object = print\n",
    "one of several targets": f"{KEPT_STUB}\n\nsoftmax, other = print, print\n",
    "imported below the stub": f"{KEPT_STUB}\n\nfrom exercises.shared import softmax\n",
    "imported under its name": f"{KEPT_STUB}\n\nfrom exercises.shared import f as softmax\n",
    "imported with all others": f"{KEPT_STUB}\n\nfrom exercises.shared import *\n",
    "defined in a branch": f"{KEPT_STUB}\n\nif True:\n    softmax = print\n",
    "imported beside an unwritten function": f"from exercises.shared import softmax\n\n"
    f"{NONE.format('plot')}",
    "no function of the step": NONE.format("plot"),
    "a long file with an abstract class": f"{ABSTRACT}{RIGHT}{LONG}\n",
    "a long file, defined again": f"{KEPT_STUB}\n\n{RIGHT}{LONG}\n",
    "a long file, assigned": f"{KEPT_STUB}\n\nsoftmax = print\n{LONG}\n",
    "a long file, imported": KEPT_STUB
    + f"\n\nfrom exercises.shared import (\n    softmax,\n)\n{LONG}\n",
    "a long file, all imported": f"{KEPT_STUB}\n\nfrom exercises.shared import *\n{LONG}\n",
}
UNTOUCHED = {
    "a stub": KEPT_STUB,
    "a helper beside the stub": f"def mine(x):\n    return x\n\n{KEPT_STUB}",
    "all names imported above the stub": f"from numpy import *\n\n{KEPT_STUB}",
    "the stub below an older definition": f"{RIGHT}\n\n{KEPT_STUB}",
    "a long stub": f"{KEPT_STUB}{LONG}\n",
    "a stub that cannot be parsed": f"{KEPT_STUB}\nx = = 1\n",
}


@pytest.mark.parametrize("source", FINISHED.values(), ids=FINISHED.keys())
def test_last_binding_of_a_name_counts(source):
    assert not is_untouched(source, SOFTMAX)


@pytest.mark.parametrize("source", UNTOUCHED.values(), ids=UNTOUCHED.keys())
def test_step_whose_last_binding_is_a_stub_is_untouched(source):
    assert is_untouched(source, SOFTMAX)


def test_long_file_is_unfinished_only_with_an_unwritten_function():
    assert not is_unfinished(f"{ABSTRACT}{RIGHT}{LONG}\n")
    assert is_unfinished(f"{RIGHT}{NONE.format('other')}{LONG}\n")


def test_chain_of_branches_is_followed_to_its_end():
    branches = "".join(f"elif x == {n}:\n    pass\n" for n in range(500))
    assert is_untouched(f"if x:\n    pass\n{branches}{KEPT_STUB}", SOFTMAX)


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
