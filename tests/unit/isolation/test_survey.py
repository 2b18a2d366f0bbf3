"""The survey: what a source binds and where, from a process that runs nothing."""

import math

import pytest

from grader.isolation import survey as module
from grader.isolation.survey import Binding, is_unfinished, is_untouched, stop, survey
from grader.isolation.worker.cells import CELL, NOTEBOOK
from tests.conftest import STEPS

STUB = 'def f(x):\n    """Say."""\n    raise NotImplementedError()\n'


def last(source, name="f"):
    """Return the kind, lines and state of the binding that counts."""
    one = survey(source).last(name)
    return one and (one.kind, one.first, one.last, one.written)


BINDINGS = {
    "def f(x):\n    return x\n": ("function", 1, 2, True),
    STUB: ("function", 1, 3, False),
    "import numpy\n\n@a\n@b\ndef f(x):\n    return 1": ("function", 3, 6, True),
    "class f:\n    pass": ("class", 1, 2, True),
    "from a.b import c as f": ("import", 1, 1, True),
    "f, g = 1, 2": ("value", 1, 1, True),
    "if True:\n    def f(): return 1\n": ("function", 2, 2, True),
    "f = lambda x: x": ("value", 1, 1, True),
    "for f in ():\n    pass": ("value", 1, 2, True),
    "print(f := 3)": ("value", 1, 1, True),
    "def f(): return 1\ndef f(): return 2\n" + STUB: ("function", 2, 2, True),
    "def f(): return 1\nfrom exercises.step04_softmax import f\n": ("function", 1, 1, True),
    STUB + "from a import f": ("import", 4, 4, True),
    "def g():\n    f = 1\nx = lambda: (f := 1)": None,
    "import f.g as h": None,
}


@pytest.mark.parametrize(("source", "expected"), BINDINGS.items(), ids=range(len(BINDINGS)))
def test_the_binding_that_counts_has_a_kind_and_lines(source, expected):
    assert last(source) == expected
    assert not survey(source).broken


def test_an_import_binds_names_and_names_modules():
    found = survey("import numpy as np\nfrom a.b import c")
    kinds = {(one.name, one.kind) for one in found.bindings}
    assert kinds == {("np", "import"), ("numpy", "module"), ("c", "import"), ("a.b", "module")}


def test_what_stands_above_a_broken_line_is_known():
    found = survey("def f(): return 1\n\ndef g(x):\n    a = 1\n    b = = 2\nh = 1")
    assert [one.name for one in found.bindings] == ["f"]
    assert found.broken == ((3, 6, 5),)


def test_cells_of_a_notebook_break_alone():
    text = f"{NOTEBOOK}\n{CELL}a, cell 1\nf = 1 +\n{CELL}a, cell 2\n%time\ndef g():\n    pass\n"
    (one,) = survey(text).bindings
    assert (one.name, one.first, one.last) == ("g", 6, 7)
    assert (survey(text).commands, survey(text).broken) == ((5,), ((3, 3, 3),))


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
    assert survey(source).last("softmax") is None
    assert last("softmax = 1", "softmax")


def test_it_runs_nothing(tmp_path):
    survey(f"open({str(tmp_path / 'made')!r}, 'w')\nf = 1")
    assert not [*tmp_path.iterdir()]


def test_a_process_that_has_ended_is_replaced():
    stop()
    assert last("f = 2")


def test_uses_are_followed_through_other_names():
    source = """from exercises.step04_softmax import softmax
def helper(x): return softmax(x)
TABLE = {"f": helper}
def attention(x): return TABLE["f"](x)
def alone(x): return x
softmax(alone(1))
"""
    found = survey(source)
    assert found.uses("attention") == {"TABLE", "helper", "softmax", "exercises.step04_softmax"}
    assert found.uses("alone") == set()


STEP = next(step for step in STEPS if step.id == "step04_softmax")
NONE = "def {}():\n    raise NotImplementedError()\n"
KEPT = NONE.format("softmax")
RIGHT = "def softmax(scores, axis=-1):\n    return scores\n"
HAS_OPTION = """def softmax(scores, kind=None):
    if kind is not None:
        raise NotImplementedError("no other kind")
    return scores
"""
BEGUN = "def softmax(x):\n    y = x + 1\n    # and then?\n    raise NotImplementedError()\n"
BOOK = f"{NOTEBOOK}\n{CELL} a, cell 1\n"
WRITTEN = {
    "refuses an option": HAS_OPTION,
    "returns above the line of the stub": f"{RIGHT}    raise NotImplementedError()\n",
    "returns in a case": "def softmax(x):\n    if x:\n        return x\n"
    "    raise NotImplementedError()\n",
    "has the line in its docstring": f'def softmax(x):\n    """{KEPT}"""\n    return x\n',
    "stands beside an abstract class": f"class A:\n    def f(self):\n        raise "
    f"NotImplementedError\n\n{RIGHT}",
    "stands beside another stub": NONE.format("plot") + RIGHT,
    "defined again": KEPT + RIGHT,
    "defined in a branch": f"{KEPT}if True:\n    softmax = print\n",
    "assigned": f"{KEPT}softmax: object = print\n",
    "one of several targets": f"{KEPT}softmax, other = print, print\n",
    "imported": f"{KEPT}from exercises.shared import f as softmax\n",
    "imported with all others": f"{KEPT}from exercises.shared import *\n",
    "a stub below it in a notebook": BOOK + RIGHT + KEPT,
    "nothing of the step": NONE.format("plot"),
    "nothing at all": "",
}
STUBS = {
    "a stub": KEPT,
    "with tabs": KEPT.replace("    ", " \t"),
    "code that never returns": BEGUN,
    "a command beside it": f"{BOOK}%matplotlib inline\n{BEGUN}",
    "a helper beside it": f"def mine(x):\n    return x\n\n{KEPT}",
    "all names imported above it": f"from numpy import *\n\n{KEPT}",
    "below an older definition in a file": RIGHT + KEPT,
    "in a long file": f"{KEPT}#{'-' * 200_000}\n",
    "below many branches": "if x:\n    pass\n"
    + "".join(f"elif x == {n}:\n    pass\n" for n in range(500))
    + KEPT,
}


@pytest.mark.parametrize("source", WRITTEN.values(), ids=WRITTEN.keys())
def test_function_that_can_return_or_is_replaced_is_written(source):
    assert not is_unfinished(source, STEP)
    assert not is_untouched(source, STEP)


@pytest.mark.parametrize("source", STUBS.values(), ids=STUBS.keys())
def test_function_that_only_raises_is_a_stub(source):
    assert is_unfinished(source, STEP)
    assert is_untouched(source, STEP)


def test_step_is_untouched_while_none_of_its_functions_is_written():
    step = next(step for step in STEPS if len(step.functions) > 1)
    stubs = [NONE.format(function.name) for function in step.functions]
    one = f"def {step.functions[0].name}(): return 1\n"
    assert is_untouched("".join(stubs[1:]), step)
    assert not is_untouched("".join([one, *stubs[1:]]), step)
    assert is_unfinished("".join([one, *stubs[1:]]), step)
    assert not is_untouched("".join([*stubs, "x = = 1"]), step)


WHOLE = '''import math

@decorate
def softmax(scores, /, axis=-1, *more, keep, **rest):
    """Say
    it."""
    for row in scores:
        row -= np.max(row)
    raise NotImplementedError()

softmax = 1
def alone(): pass
'''


def test_survey_names_functions_with_their_parameters_and_loops():
    found = survey(WHOLE)
    names = [one.name for one in found.bindings if one.kind != "module"]
    assert names == ["math", "softmax", "softmax", "alone"]
    parameters = ("scores", "axis", "more", "keep", "rest")
    assert found.functions == [
        Binding("softmax", "function", 3, 9, False, 7, True, parameters),
        Binding("alone", "function", 12, 12, True, 12),
    ]
    assert found.around(8) == found.functions[0]
    assert found.around(11) is None
    assert found.loops == ((7, 8),)


MORE, NO_MORE = [True, 0, False, []], [{}, [], [], []]  # of a binding, and of an answer
LIES = {
    "of another form": {"bindings": [["f", "value", 1, 1, *MORE]]},
    "too few parts": [[["f", "value", 1, 1, *MORE]], {}],
    "rows of other things": [[["f"]], {"f": 3}, [], ["x"], []],
    "no name, and one too long": [[[n, "value", 1, 1, *MORE] for n in ("", "f" * 99)], *NO_MORE],
    "a line that is none": [[["f", "value", 1, math.inf, *MORE]], *NO_MORE],
    "lines beyond the source": [[["f", "value", 1, 99, *MORE]], {}, [[2, 9]], [7], []],
    "a kind that is none": [[["f", kind, 1, 1, *MORE] for kind in ("thing", 3)], *NO_MORE],
}


@pytest.mark.parametrize("answer", LIES.values(), ids=LIES)
def test_what_cannot_be_true_is_not_believed(answer, monkeypatch):
    monkeypatch.setattr(module, "_ask", lambda source: answer)
    found = survey.__wrapped__("f = 1\n")
    assert not any((found.bindings, found.loops, found.commands, {*found.reads}))
