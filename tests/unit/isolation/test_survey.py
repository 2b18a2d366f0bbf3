"""The survey: what a source binds and where, from a process that runs nothing."""

import time

import pytest

from grader.isolation.survey import Binding, Survey, find_uses, stop, survey
from grader.isolation.worker.cells import CELL, NOTEBOOK

STUB = 'def f(x):\n    """Say."""\n    raise NotImplementedError()\n'


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("def f(x):\n    return x\n", Binding("f", "function", 1, 2, True)),
        (STUB, Binding("f", "function", 1, 3, False)),
        ("import numpy\n\n@a\n@b\ndef f(x):\n    return 1", Binding("f", "function", 3, 6, True)),
        ("class f:\n    pass", Binding("f", "class", 1, 2, True)),
        ("from a.b import c as f", Binding("f", "import", 1, 1, True)),
        ("f, g = 1, 2", Binding("f", "value", 1, 1, True)),
        ("if True:\n    def f(): return 1\n", Binding("f", "function", 2, 2, True)),
        ("f = lambda x: x", Binding("f", "value", 1, 1, True)),
        ("for f in ():\n    pass", Binding("f", "value", 1, 2, True)),
        ("print(f := 3)", Binding("f", "value", 1, 1, True)),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_binding_has_a_kind_and_lines(source, expected):
    found = survey(source, ("f",))
    assert found.bindings == (expected,)
    assert not found.broken
    assert found.last("f") == expected


def test_only_the_names_that_were_asked_for_are_known():
    found = survey("import numpy as np\nfrom a.b import c\ndef g(): pass", ("np", "a.b", "numpy"))
    kinds = {(one.name, one.kind) for one in found.bindings}
    assert kinds == {("np", "import"), ("a.b", "module"), ("numpy", "module")}
    assert found.last("a.b") is None


def test_the_last_written_definition_counts():
    found = survey("def f(): return 1\ndef f(): return 2\n" + STUB, ("f",))
    assert [one.written for one in found.bindings] == [True, True, False]
    assert found.last("f") == Binding("f", "function", 2, 2, True)


def test_an_import_counts_only_without_a_definition():
    found = survey("def f(): return 1\nfrom exercises.step04_softmax import f\n", ("f",))
    assert found.last("f").kind == "function"
    assert survey(STUB + "from a import f", ("f",)).last("f").kind == "import"


def test_names_inside_functions_are_not_bindings():
    assert survey("def g():\n    f = 1\nx = lambda: (f := 1)", ("f",)) == Survey()


def test_what_stands_above_a_broken_line_is_known():
    found = survey("def f(): return 1\n\ndef g(x):\n    a = 1\n    b = = 2\nh = 1", ("f", "g", "h"))
    assert [one.name for one in found.bindings] == ["f"]
    assert found.broken == ((3, 6, 5),)


def test_cells_of_a_notebook_break_alone():
    text = f"{NOTEBOOK}\n{CELL}a, cell 1\nf = 1 +\n{CELL}a, cell 2\n%time\ndef g():\n    pass\n"
    found = survey(text, ("f", "g"))
    assert found == Survey((Binding("g", "function", 6, 7, True),), (5,), ((3, 3, 3),))


@pytest.mark.parametrize(
    "source",
    [
        "(" * 100_000,
        "-" * 500_000 + "1",
        "x = 1\n" + "\0",
        "a\ud800",
        "[" * 50_000 + "]" * 50_000,
        "'''" + "\nx" * 20_000,
        " " * 1_000_000,
        "f = 1\n" + " \n" * 20_000 + "%",
        f"{NOTEBOOK}\n" + CELL + "\n" + "%x\n" * 20_000,
        f"{NOTEBOOK}\n" + f"{CELL}\n)\n" * 20_000,
    ],
    ids=range(10),
)
def test_a_source_that_cannot_be_parsed_stops_nobody(source):
    begun = time.process_time()
    assert survey(source, ("softmax",)).bindings == ()
    assert survey("softmax = 1", ("softmax",)).last("softmax")
    assert time.process_time() - begun < 1


def test_it_runs_nothing(tmp_path):
    survey(f"open({str(tmp_path / 'made')!r}, 'w')\nf = 1", ("f",))
    assert not [*tmp_path.iterdir()]


def test_a_process_that_has_ended_is_replaced():
    stop()
    assert survey("f = 2", ("f",)).last("f")


def test_uses_are_followed_through_other_names():
    source = """from exercises.step04_softmax import softmax
def helper(x): return softmax(x)
TABLE = {"f": helper}
def attention(x): return TABLE["f"](x)
def alone(x): return x
softmax(alone(1))
"""
    names = ("attention", "alone", "softmax", "exercises.step04_softmax")
    found = find_uses(source, names)
    assert found["attention"] == {"softmax", "exercises.step04_softmax"}
    assert found["alone"] == frozenset()
