"""Test how unwritten functions are found in a source."""

import textwrap

import pytest

from grader.steps.stubs import is_unfinished, is_untouched
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
