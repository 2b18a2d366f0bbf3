"""Notebooks: which cells make a step, what is left out, and that a message finds the cell."""

import ast
import json
from pathlib import Path

import pytest

from grader.intake import cells, handins, ipynb, notebooks
from grader.intake.folders import SubmissionError
from grader.intake.submission import Submission, place
from grader.isolation.worker import statements
from tests.conftest import ROOT, STEPS

SCORES = "def attention_scores(q, k):\n    return {}\n"
STUB = "def attention_scores(q, k):\n    raise NotImplementedError()\n"
STEP = "step02_scores"


def code(source, grade_id=None, **nbgrader):
    metadata = {"nbgrader": {"grade_id": grade_id, **nbgrader}} if grade_id else {}
    return {"cell_type": "code", "metadata": metadata, "source": source, "outputs": []}


def text(source="# A title"):
    return {"cell_type": "markdown", "metadata": {}, "source": source}


def written(*cells):
    return json.dumps({"cells": cells, "nbformat": 4, "nbformat_minor": 5}).encode()


@pytest.fixture
def read(steps):
    """read(cell, ...): the notebook of these cells; a string is a code cell."""

    def read(*cells):
        made = [code(cell) if isinstance(cell, str) else cell for cell in cells]
        return notebooks.read(written(*made), "work.ipynb", steps)

    return read


def run(source):
    """The module that a step's source makes."""
    names = {}
    exec(statements.compile_text(source, "step"), names)
    return names


def answer(notebook, step=STEP):
    return run(notebook.sources[step])["attention_scores"](1, 2)


# Which cell counts.

CHOSEN = {
    "by grade_id, wherever it stands": (
        [code(SCORES.format("'right'"), "attention_scores"), SCORES.format("'trial'")],
        "right",
        "cell 1: this attention_scores counts; it is also in cell 2",
    ),
    "by the step's grade_id": (
        [code(SCORES.format("'right'"), STEP), SCORES.format("'trial'")],
        "right",
        "cell 1: this attention_scores counts",
    ),
    "the last of two with the grade_id": (
        [
            code(SCORES.format("'old'"), "attention_scores"),
            code(SCORES.format("'right'"), "attention_scores"),
        ],
        "right",
        "cell 2: this attention_scores counts; it is also in cell 1",
    ),
    "the last by name where nothing has a grade_id": (
        [SCORES.format("'old'"), SCORES.format("'right'")],
        "right",
        "cell 2: this attention_scores counts; it is also in cell 1",
    ),
    "by name where the grade_id is gone": (
        [code("def linear(): pass\n", "linear"), SCORES.format("'right'")],
        "right",
        "cell 2: read as attention_scores because of its name; it has no such grade_id",
    ),
    "not the stub, though it has the grade_id": (
        [code(STUB, "attention_scores"), SCORES.format("'right'")],
        "right",
        "cell 2: this attention_scores counts; it is also in cell 1",
    ),
    "not a stub that comes later": (
        [SCORES.format("'right'"), STUB],
        "right",
        "cell 1: this attention_scores counts",
    ),
    "of a cell that was made a text": (
        [{**code(SCORES.format("'right'"), "attention_scores"), "cell_type": "raw"}],
        "right",
        None,
    ),
    "grade_id on a cell without the function": (
        [code("x = 1\n", "attention_scores"), SCORES.format("'right'")],
        "right",
        "cell 2: read as attention_scores because of its name",
    ),
    "the last in one cell": ([SCORES.format(1) + SCORES.format("'right'")], "right", None),
    "an assignment": (["def f(q, k): return 'right'\nattention_scores = f\n"], "right", None),
}


@pytest.mark.parametrize(("made", "value", "warning"), CHOSEN.values(), ids=CHOSEN.keys())
def test_function_is_taken(read, made, value, warning):
    notebook = read(*made)
    assert answer(notebook) == value
    if warning:
        assert any(warning in line for line in notebook.warnings)
    else:
        assert notebook.warnings == ()


def test_stub_alone_is_taken_as_it_is(read):
    notebook = read(code(STUB, "attention_scores"))
    with pytest.raises(NotImplementedError, match=r"^$"):
        answer(notebook)
    assert notebook.written == {STEP: 0}


@pytest.mark.parametrize(
    "made",
    [
        code("assert False\n" + SCORES.format(0), "scores_1", grade=True, solution=False),
        code(SCORES.format(0), "check_attention_scores"),
    ],
)
def test_test_cells_are_left_out(read, made):
    assert read(made, "x = 1").sources == {}


def test_manually_graded_solution_counts(read):
    made = code(SCORES.format(7), "attention_scores", grade=True, solution=True)
    assert answer(read(made)) == 7


def test_notebook_without_functions_has_no_step(read):
    assert read("import numpy\n", text()).sources == {}


# What a step is made of.

RIGHT = SCORES.format("'right'")
LEFT_OUT = "statements that are neither imports, definitions nor constants are skipped"

MIXTURES = {
    "calls": ("1 / 0\nprint(attention_scores(nothing, nothing))\n", LEFT_OUT),
    "calls below": (RIGHT + "\nattention_scores(nothing, nothing)\n", LEFT_OUT),
    "assignment of a call": ("weights = train(1000)\nx = weights.sum()\n", LEFT_OUT),
    "call of an own step": (
        "from exercises.step01_projections import linear\nx = linear(1, 2)\n",
        LEFT_OUT,
    ),
    "loop": ("while True:\n    pass\n", LEFT_OUT),
    "block with else": ("if broken:\n    x\nelse:\n    1 / 0\n", None),
    "try": ("try:\n    a\nexcept ValueError:\n    b\nfinally:\n    c\n", None),
    "call in a block": ("if True:\n    train(1000)\n", LEFT_OUT),
    "own function with a loop": (
        "def train(n):\n    for i in range(n):\n        1 / 0\nx = train(2)\n",
        LEFT_OUT,
    ),
    "class with a loop": (
        "class Model:\n    def fit(self, n):\n        while n:\n            n += 1\n"
        "model = Model()\nmodel.fit(1)\nx = model.fit(1)\n",
        LEFT_OUT,
    ),
    "function that calls a method with a loop": (
        "def f():\n    return Model.fit(1)\nclass Model:\n    @staticmethod\n"
        "    def fit(n):\n        while n: n += 1\nx = f()\n",
        LEFT_OUT,
    ),
    "function that runs another program": (
        "import subprocess\ndef f():\n    return subprocess.run(['sleep', '99'])\nx = f()\n",
        LEFT_OUT,
    ),
    "part of a function with a loop": (
        "from functools import partial\ndef fit(n):\n    while n: n += 1\n"
        "f = partial(fit, 1)\nx = f()\n",
        LEFT_OUT,
    ),
    "lambda of a function with a loop": (
        "def fit(n):\n    while n: n += 1\nf = lambda: fit(1)\nx = f()\n",
        LEFT_OUT,
    ),
    "list of a function with a loop": (
        "def fit(n):\n    while n: n += 1\nall_of = [fit]\nf = all_of[0]\nx = f(1)\n",
        LEFT_OUT,
    ),
    "waiting for a person": ("def ask():\n    return input('n: ')\nx = ask()\n", LEFT_OUT),
    "own function that calls itself": ("def f(n):\n    return f(n)\nx = f(2)\n", LEFT_OUT),
    "own function that is written anew": (
        "def f():\n    return 1\ndef f():\n    return train(9)\nx = f()\n",
        LEFT_OUT,
    ),
    "call of a library's method": ("import numpy as np\nnp.testing.fail(1 / 0)\n", LEFT_OUT),
    "method of what is skipped": ("x = train(1000)\nx.sort()\n", LEFT_OUT),
    "call behind a name like lambda": ("best_lambda = search()\n", LEFT_OUT),
    "loop in a block": ("if True:\n    while True: pass\n", LEFT_OUT),
    "block with an own step": ("if True:\n    attention_scores = None\n", LEFT_OUT),
    "measured time": ("import timeit\nt = timeit.timeit(lambda: 1 / 0)\n", LEFT_OUT),
    "base class that is missing": ("class Ref(nn.Module):\n    pass\n", None),
    "annotation that is missing": ("def ref(q: torch.Tensor):\n    return q\n", None),
    "decorator that is missing": ("@torch.no_grad()\ndef ref(q):\n    return q\n", None),
    "default that is skipped": ("X = draw(3)\ndef demo(x=X):\n    return x\n", LEFT_OUT),
    "default of a later step": ("def demo(f=softmax):\n    return f(1)\n", None),
    "class with a later step": ("class A:\n    softmax = staticmethod(softmax)\n", None),
    "text that is no comment": ("I think that d_k = 64 is enough\n", None),
    "indent that does not fit": ("def f():\n  x = 1\n    y = 2\n", None),
    "magic over lines": ("!pip install torch \\\n--index-url=https://x.y \\\n 'z\n", "(!pip)"),
    "same name from a library": ("from torch import attention_scores\n", "'torch' is left out"),
    "text that stands alone": ('"""\ndef attention_scores(q, k):\n    return 1\n"""\n', None),
    "comment": ("# def attention_scores(q, k): return 1\n", None),
    "failing constant": ("x = undefined * 2\n", None),
    "magic": ("%matplotlib inline\n%load_ext autoreload\n", "were removed (%load_ext"),
    "shell": ("!pip install numpy 'x\n", "were removed (!pip)"),
    "help": ("print?\n?print\nnp.dot??\n", "were removed"),
    "assigned magic": ("files = !ls\nt = %timeit -o f(\n", "were removed"),
    "timed cell": ("%%time\nx = 1\n", "were removed (%%time)"),
    "shell cell": ("%%bash\nrm -rf / '\n", "%%bash is not valid Python; it is skipped"),
    "torch": ("import torch\nimport torch.nn as nn\n", "the import of 'torch' is left out"),
    "from a library": ("from matplotlib import (\n    pyplot as plt,\n)\n", "'matplotlib'"),
    "own module": ("from . import tools\n", "is left out"),
    "import beside others": ("import math, torch\n", "the import of 'torch' is left out"),
    "plots in one line": ("x = 1; plot(x); show();\n", LEFT_OUT),
    "open bracket behind a semicolon": ("x = 1; y = (1,\n", "never closed"),
    "open bracket in a line of a function": ("def f(): x = 1; y = (1,\n", "never closed"),
    "open bracket": ("x = (1,\n", "a bracket or a quote is never closed"),
    "open quote": ('x = """1\n', "a bracket or a quote is never closed"),
    "empty": ("", None),
    "blank": (" \n\t\n", None),
    "old line ends": ("x = 1\r\ny = 2\rz = 3", None),
}


@pytest.mark.parametrize(("extra", "warning"), MIXTURES.values(), ids=MIXTURES.keys())
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_other_cells_do_no_harm(read, extra, warning, after):
    notebook = read(*([RIGHT, extra] if after else [extra, RIGHT]))
    assert answer(notebook) == "right"
    relevant = [line for line in notebook.warnings if "this attention_scores counts" not in line]
    if warning is None:
        assert relevant == []
    else:
        assert any(warning in line for line in relevant)
        assert all(f"work.ipynb, cell {1 + after}: " in line for line in relevant)


USES = "def attention_scores(q, k):\n    return {}\n"
HELPERS = {
    "function": ("def half(x):\n    return x / 2\n", "half(q)", 0.5),
    "class": ("class Scale:\n    by = 3\n", "Scale.by", 3),
    "decorated": (
        "import functools\n\n@functools.lru_cache\n# twice\ndef one():\n    return 1\n",
        "one()",
        1,
    ),
    "constant": ("EPS = 1e-9\n", "EPS", 1e-9),
    "typed constant": ("EPS: float = 1e-9\n", "EPS", 1e-9),
    "constant of NumPy": ("import numpy as np\nINF = np.float64(np.inf)\n", "INF", float("inf")),
    "import in brackets": (
        "from math import (\n    sqrt,\n    pi as PI,\n)\nx = sqrt(4)\n",
        "x",
        2,
    ),
    "two imports": ("import math, os.path\n", "math.sqrt(4) + len(os.path.sep)", 3),
    "imports beside one that the judge lacks": (
        "import math, matplotlib.pyplot as plt, os.path as p\n",
        "math.sqrt(4) + len(p.sep)",
        3,
    ),
    "import behind one that the judge lacks": (
        "import torch; import math; from os import (\n    path as p,\n); C = math.sqrt(4)\n",
        "C + len(p.sep)",
        3,
    ),
    "import beside an earlier step": (
        "import exercises.step01_projections as s1, math\nC = math.sqrt(4)\n",
        "C",
        2,
    ),
    "import beside its own step": ("import math, exercises.step02_scores\n", "math.sqrt(4)", 2),
    "all names of a module": ("from math import *\nC = sqrt(4)\n", "C", 2),
    "all names of modules": (
        "from functools import *\nfrom numpy.linalg import *\nf = partial(norm, [3, 4])\n",
        "f()",
        5,
    ),
    "import that is tried": (
        "try:\n    import numpy as np\nexcept ImportError:\n    !pip install numpy\n"
        "    import numpy as np\n",
        "np.sqrt(4)",
        2,
    ),
    "import that is tried, and fails": (
        "try: from math import nothing as sqrt\nexcept ImportError:\n"
        "    # older\n    from math import (\n        sqrt,\n    ); C = 1\n",
        "sqrt(4)",
        2,
    ),
    "import on a condition": (
        "if 'torch' in dir():\n    import torch as xp\nelse: import math as xp\n",
        "xp.sqrt(4)",
        2,
    ),
    "import with warnings switched off": (
        "import warnings\nwith warnings.catch_warnings():\n    import math, torch\n",
        "math.sqrt(4)",
        2,
    ),
    "import that is tried, and another one if it fails": (
        "try: from math import sqrt as root\nexcept ImportError: from cmath import sqrt as root\n",
        "root(4)",
        2,
    ),
    "import on a condition of what is imported anyway": (
        "from math import sqrt\nif False:\n    from cmath import sqrt\n",
        "type(sqrt(4))",
        float,
    ),
    "import on a condition of what is defined": (
        "if False:\n    from cmath import sqrt\ndef sqrt(x): return x / 2\n",
        "sqrt(4)",
        2,
    ),
    "import on a condition of what Python has": (
        "if False:\n    from numpy import abs, max, sum\n",
        "sum.__module__",
        "builtins",
    ),
    "function with the name of an import on a condition": (
        "if False:\n    from cmath import sqrt as attention_scores\n",
        "q",
        1,
    ),
    "import on a condition of all names": ("if 0:\n    from cmath import *\nsqrt = 7\n", "sqrt", 7),
    "import of a name that is also imported from a library": (
        "from jax import sqrt\nif True:\n    print(1)\n    from math import sqrt\n",
        "sqrt(4)",
        2,
    ),
    "imports on a condition that are in order": (
        "import warnings\nwith warnings.catch_warnings():\n    print(1)\n"
        "    from cmath import sqrt\n    from math import sqrt\n",
        "type(sqrt(4))",
        float,
    ),
    "import on a condition with a colon": (
        "if [1, 2][:1] and print: from math import sqrt\n",
        "sqrt(4)",
        2,
    ),
    "all names, with warnings switched off": (
        "import warnings\nwith warnings.catch_warnings():\n    from math import *\n",
        "sqrt(4)",
        2,
    ),
    "branch that is not taken": (
        "if False:\n    from cmath import sqrt\nelse:\n    from math import sqrt\n",
        "type(sqrt(4))",
        float,
    ),
    "name that is set before it is imported": (
        "xp = None\ntry:\n    import cupy as xp\nexcept ImportError:\n    import math as xp\n",
        "xp.sqrt(4)",
        2,
    ),
    "flag of a library": (
        "try:\n    import nowhere\n    THERE = True\nexcept ImportError:\n    THERE = False\n",
        "THERE",
        False,
    ),
    "function in place of a library's": (
        "try:\n    from numba import njit\nexcept ImportError:\n"
        "    def njit(f):\n        return compute(f)\n    def jit(f): return compute(f)\n"
        "    njit = lambda f: f\n"
        "@njit\ndef one():\n    return 1\n",
        "one()",
        1,
    ),
    "constant on a condition": ("if 1 > 2:\n    N = 1\nelif True:\n    N = 2\n", "N", 2),
    "names that are set together": (
        "import math\nroot, PI = math.sqrt, math.pi\nif False:\n    from cmath import root\n",
        "type(root(4))",
        float,
    ),
    "chain of names": ("A = B = 2\nif False:\n    import math as B\n", "A + B", 4),
    "object of an own class": (
        "import numpy as np\nclass Scale:\n    def __init__(self, by):\n"
        "        self.by = self.root(by)\n    def root(self, by):\n        a = np.array(by)\n"
        "        return a.astype(float) ** 0.5\n    @classmethod\n    def of(cls, by):\n"
        "        return cls(by)\nS = Scale(16); R = Scale.of(4); by = S.root\n",
        "S.by + R.by + by(9)",
        9,
    ),
    "record that is checked": (
        "from dataclasses import dataclass\n@dataclass\nclass A:\n    d: int = 4\n"
        "    def __post_init__(self):\n        if self.d < 0:\n"
        "            raise ValueError(f'd = {self.d}')\nC = A()\n",
        "C.d",
        4,
    ),
    "class with a base": (
        "class Config(dict):\n    def __init__(self, **kw):\n        super().__init__(**kw)\n"
        "        self.__dict__ = self\nC = Config(d=4)\n",
        "C.d",
        4,
    ),
    "made record": (
        "from collections import namedtuple\nA = namedtuple('A', ['d'])\nC = A(d=4)\n",
        "C.d",
        4,
    ),
    "part of a function": (
        "import functools\ndef f(x, y):\n    return x / y\nhalf = functools.partial(f, y=2)\n"
        "C = half(8)\n",
        "C",
        4,
    ),
    "constant of a lambda": ("half = lambda x, *y: x / 2\nC = half(8)\n", "C", 4),
    "constant of one of two functions": (
        "def f(x):\n    return x / 2\nhalf = f if True else None\nC = half(8)\n",
        "C",
        4,
    ),
    "first of some": ("C = next(iter([4, 2]))\n", "C", 4),
    "constant of an alias": ("import math\nm = math\nroot = m.sqrt\nC = root(4)\n", "C", 2),
    "method of a constant": ("T = [3, 1]\nI = T.index(1)\n", "I", 1),
    "power": ("C = pow(4, -0.5)\n", "C", 0.5),
    "record": (
        "import dataclasses\n@dataclasses.dataclass\nclass A:\n    d: int = 4\nC = A()\n",
        "C.d",
        4,
    ),
    "named tuple": (
        "import typing\nclass Config(typing.NamedTuple):\n    d: int = 4\nC = Config(5)\n",
        "C.d",
        5,
    ),
    "constant of an own function": (
        "def half(x):\n    return sum([x / 2])\ndef quarter():\n    return half(1) / 2\n"
        "C = quarter()\n",
        "C",
        0.25,
    ),
    "branch that prints": (
        "try:\n    import nowhere\nexcept ImportError:\n    N = 3\n    print('none')\n",
        "N",
        3,
    ),
    "constant of a branch's": (
        "if True:\n    A = {'n': 1}\nelse:\n    A = {'n': 2}\nC = A.get('n')\n",
        "C",
        1,
    ),
    "method that changes a constant": ("A = {'n': 1}\nA.update(n=2); A.pop(3)\n", "A['n']", 2),
    "shifted": ("N = 4\nN >>= 1\nN <<= 2\n", "N", 8),
    "future with two blanks": ("from  __future__ import annotations\nC = 1\n", "C", 1),
    "constant with a remark": ("C = 0.5  # of the root (see lecture)\n# so f() is g()\n", "C", 0.5),
    "text with a remark": ("C = ['queries (rows)', f'{2} (B={3})', \"it's f()\"]\n", "len(C)", 3),
    "import above a remark": (
        "import math\n# from exercises.step04_softmax import softmax\n",
        "math.sqrt(4)",
        2,
    ),
    "import beside a remark": (
        "import math  # from exercises.step02_scores import attention_scores\nC = math.sqrt(4)\n",
        "C",
        2,
    ),
    "constant behind one that fails": ("dtype = torch.float32; EPS = 1\n", "EPS", 1),
    "import behind a constant that fails": ("X = torch.pi; import math\n", "math.sqrt(4)", 2),
    "constant that fails behind an import": ("import math; X = torch.pi\n", "math.sqrt(4)", 2),
    "constant before a call": ("EPS = 1e-9; print(EPS); TWO = 2; # half\n", "TWO", 2),
    "constants in one line": ("A = [\n    ';',\n]; B: int = 2; A += [B]\n", "A", [";", 2]),
    "loop in one line": ("def f():\n    for i in 1, 2: x = i; y = x\n    return y\n", "f()", 2),
    "function in one line": ("def f(): x = 6; return x;\n\n# half\n", "f()", 6),
    "match in a function": (
        "def f(x):\n    match x:\n        case 1: y = 8; return y\n",
        "f(1)",
        8,
    ),
    "indented": ("\n  # Twice\n    import math\n    def f():\n        return 9\n", "f()", 9),
    "indented import": ("  import math\nC = math.sqrt(4)\n", "C", 2),
    "lambda": ("half = lambda x: undefined(x) if x > 9 else x / 2\n", "half(q)", 0.5),
    "long constant": ("TABLE = [\n    1,\n\n  2,\n] + [\n3]\n", "TABLE[2]", 3),
    "constant over lines": ("TABLE = 1 + \\\n  1\n", "TABLE", 2),
    "two at once": ("A, B = 1, 2\n", "A + B", 3),
    "an entry": ("D = {}\nD['a'] = 1\nD['b'] = 2\n", "len(D)", 2),
    "added": ("N = 1\nN += 2\n", "N", 3),
    "text with quotes": ("T = 'it\\'s'\nU = \"#\" '''\n'''\n", "T + U", "it's#\n"),
    "modulo at a line's start": ("N = (17\n% 5)\n", "N", 2),
    "magic in a function": ("def f():\n    %time x = 1\n    return 5\n", "f()", 5),
    "future": ("from __future__ import annotations\ndef f(x: int | None): return 4\n", "f(1)", 4),
    "constant of helpers from the top down": (
        "def table(): return row()\ndef row(): return 5\nTABLE = table()\n",
        "TABLE",
        5,
    ),
    "helper in another step's cell": (
        "def softmax(scores): return 1 / 0\ndef helper(): return 6\n",
        "helper()",
        6,
    ),
}


@pytest.mark.parametrize(("helper", "use", "value"), HELPERS.values(), ids=HELPERS.keys())
def test_helper_in_another_cell_is_at_hand(read, helper, use, value):
    assert answer(read("import os\n", helper, USES.format(use))) == value


def test_own_function_with_the_name_of_a_starred_one_is_not_tried(read):
    trial = "from numpy.random import *\ndef sample(): return train(1)\nx = sample()\ny = rand(1)\n"
    source = read(RIGHT, trial, "z = norm(1)\n").sources[STEP]
    assert "x = sample()" not in source
    assert "y = rand(1)" in source
    assert "z = norm(1)" not in source


def test_statements_that_share_a_line_keep_their_numbers(read):
    notebook = read("X = 1; f = lambda x: (\n    x)\nY = [1,\n 2]; import os; g = (\n1)\n", RIGHT)
    source = notebook.sources[STEP]
    told = [place(source, n, "") for n in range(1, source.count("\n"))]
    places = {text: where.removeprefix("work.ipynb, cell 1, line ") for where, text in told}
    assert places["X = 1"] == places["f = lambda x: ("] == "1"
    assert (places["x)"], places["Y = [1,"]) == ("2", "3")
    assert places["2]"] == places["import os"] == places["g = ("] == "4"
    assert places["1)"] == "5"


TWICE = "def twice(f):\n    return lambda q, k: 2 * f(q, k)\n"
COUNTED = "def counted(q, k):\n    return kept(q, k)\n"
REBOUND = {
    "wrapped": ["attention_scores = twice(attention_scores)\n"],
    "wrapped, with a trial below": ["attention_scores = twice(attention_scores)\ntrain()\n"],
    "kept and written anew": [
        "kept = attention_scores\n",
        "def attention_scores(q, k):\n    return 2 * kept(q, k)\n",
    ],
    "kept and written anew in one cell": [
        "kept = attention_scores\ndef attention_scores(q, k):\n    return 2 * kept(q, k)\n",
    ],
    "kept as a default": [
        "def attention_scores(q, k, f=attention_scores):\n    return 2 * f(q, k)\n"
    ],
    "kept in a class": [
        "class Old:\n    scores = staticmethod(attention_scores)\n",
        "def attention_scores(q, k):\n    return 2 * Old.scores(q, k)\n",
    ],
    "counted and restored": [
        "kept = attention_scores\n" + COUNTED + "attention_scores = counted\n",
        "attention_scores(1, 2)\n",
        "attention_scores = twice(kept)\n",
    ],
    "set together with another step's": [
        "def f(q, k):\n    return 14\nsoftmax, attention_scores = max, f\n"
    ],
}


@pytest.mark.parametrize("below", REBOUND.values(), ids=REBOUND.keys())
def test_function_that_is_bound_anew_is_what_it_is_in_a_kernel(read, below):
    assert answer(read(TWICE, SCORES.format(7), *below)) == 14


def test_function_that_nothing_reads_before_it_is_bound_anew_is_left_out(read):
    old, new = SCORES.format("old"), SCORES.format("'right'")
    notebook = read("f = g\n", old, "x = attention_scores(1, 2)\n", new, "f = attention_scores\n")
    assert "return old" not in notebook.sources[STEP]
    assert answer(notebook) == "right"


def test_function_with_its_grade_id_is_not_wrapped_below(read):
    made = code(SCORES.format(7), "attention_scores")
    below = ["attention_scores = twice(attention_scores)\n", "f = attention_scores\n"]
    notebook = read(TWICE, made, *below)
    assert answer(notebook) == 7
    assert "# from work.ipynb, cell 3" not in notebook.sources[STEP]


def test_earlier_function_may_fail_if_a_later_one_counts(read):
    old = "@njit\n" + SCORES.format("old")
    assert answer(read(old, "kept = attention_scores\n", SCORES.format("'right'"))) == "right"


def test_later_helper_counts_as_in_a_kernel(read):
    assert answer(read("N = 1\n", USES.format("N"), "N = 2\n")) == 2


def test_other_steps_functions_stay_out(read):
    notebook = read(RIGHT + "def softmax(scores): return scores\n", "def linear(): pass\n")
    assert list(notebook.sources) == ["step01_projections", STEP, "step04_softmax"]
    scores, softmax = (run(notebook.sources[step]) for step in (STEP, "step04_softmax"))
    assert "softmax" not in scores
    assert "attention_scores" not in softmax


def test_earlier_steps_are_imported_where_they_are_used(read):
    notebook = read(RIGHT, "def attention(q, k, v):\n    return attention_scores(q, k)\n")
    line = "from exercises.step02_scores import attention_scores"
    assert line in notebook.sources["step05_output"].splitlines()
    assert "exercises" not in notebook.sources[STEP]


def test_earlier_steps_are_not_imported_twice(read):
    imports = "from exercises.step02_scores import attention_scores\n"
    notebook = read(imports, "def attention(q, k, v):\n    return attention_scores(q, k)\n")
    assert notebook.sources["step05_output"].count("import attention_scores") == 1


def test_unclosed_solution_costs_only_what_follows(read):
    notebook = read("def softmax(x):\n    return (x\n", RIGHT)
    assert answer(notebook) == "right"


def test_function_without_its_end_is_left_out(read):
    """A function without its end would be another function."""
    notebook = read("def softmax(x):\n    y = x\n    return (y\n", RIGHT)
    assert "def softmax" not in notebook.sources["step04_softmax"]
    assert notebook.written == {STEP: 1, "step04_softmax": 0}


def test_function_without_its_end_is_said_to_be_left_open(grade, steps, read):
    """Also where it is all that the notebook has."""
    notebook = read(text(), "x = 1\n\ndef attention_scores(q, k):\n    return (q @ k\n")
    (verdict,) = grade(Submission("alice", notebook.sources), only=(steps.find(STEP),)).steps
    assert {check.status.value for check in verdict.checks} == {"error"}
    assert {check.message for check in verdict.checks} == {
        "attention_scores is left out (work.ipynb, cell 2, line 3): "
        "a bracket or a quote is never closed there, or above it in its cell."
    }


def test_function_below_what_is_left_open_is_left_out_too(read):
    notebook = read("x = (\n\n" + SCORES.format("1"))
    assert "def attention_scores" not in notebook.sources[STEP]


def test_function_that_is_left_open_gives_way_to_another(read):
    assert answer(read(RIGHT, "def attention_scores(q, k):\n    return (q\n")) == "right"


def test_function_above_an_open_bracket_stays(read):
    assert answer(read(RIGHT + "print((1)\n")) == "right"
    assert answer(read(RIGHT + "x = (1\n")) == "right"


# Where a line stood.


def test_line_is_found_in_its_cell(read):
    notebook = read(text(), "import numpy as np\n", "\nprint(1)\n" + SCORES.format("q / 0"))
    lines = notebook.sources[STEP].split("\n")
    number = next(i for i, line in enumerate(lines, 1) if "q / 0" in line)
    assert place(notebook.sources[STEP], number, "x.py") == (
        "work.ipynb, cell 3, line 4",
        "return q / 0",
    )


def test_message_names_the_cell(grade, steps, read):
    notebook = read(text(), code("x = 1\n\n" + SCORES.format("1 / 0"), "attention_scores"))
    submission = Submission("alice", notebook.sources)
    (verdict,) = grade(submission, only=(steps.find(STEP),)).steps
    assert "(work.ipynb, cell 2, line 4: `return 1 / 0`)" in verdict.checks[0].message


def test_message_of_a_syntax_error_names_the_cell(grade, steps, read):
    notebook = read(text(), SCORES.format("1 +* 2"))
    (verdict,) = grade(Submission("alice", notebook.sources), only=(steps.find(STEP),)).steps
    told = "The code in the notebook is not valid Python"
    assert verdict.message.startswith(told)
    assert "(work.ipynb, cell 2, line 2: `return 1 +* 2`)" in verdict.message


def test_solutions_in_one_notebook_pass(grade, steps):
    chosen = steps.steps[1:5]
    made = [
        code(f"# %%{cell}")
        for step in chosen
        for cell in (ROOT / "solutions" / step.filename).read_text("utf-8").split("# %%")[1:]
    ]
    made = [cell for cell in made if "exercises" not in cell["source"]]
    notebook = notebooks.read(written(*made), "all.ipynb", steps)
    report = grade(Submission("alice", notebook.sources), only=chosen)
    assert [step.status.value for step in report.steps] == ["passed"] * 4


# Files.

OLD = {
    "worksheets": [{"cells": [{"cell_type": "code", "input": [SCORES.format(3)], "metadata": {}}]}],
    "nbformat": 3,
}
TAKEN = {
    "format 3": OLD,
    "format 3, one text": {"worksheets": [{"cells": [{"cell_type": "code", "input": RIGHT}]}]},
    "lines": {"cells": [code(SCORES.format(3).splitlines(keepends=True))]},
    "no metadata": {"cells": [{"cell_type": "code", "source": RIGHT}]},
    "strange metadata": {"cells": [{"cell_type": "code", "source": RIGHT, "metadata": [1]}]},
    "strange nbgrader": {"cells": [{**code(RIGHT), "metadata": {"nbgrader": "yes"}}]},
    "strange grade_id": {"cells": [code(RIGHT, grade_id=["attention_scores"])]},
    "strange cells beside": {"cells": [None, 3, "x", [], {}, {"cell_type": 5}, code(RIGHT)]},
    "huge outputs": {"cells": [{**code(RIGHT), "outputs": [{"data": "x,[{" * 2_000_000}]}]},
    "no format": {"cells": [code(RIGHT)]},
}


@pytest.mark.parametrize("data", TAKEN.values(), ids=TAKEN.keys())
def test_notebook_is_read_as_far_as_it_goes(steps, data):
    notebook = notebooks.read(json.dumps(data).encode(), "work.ipynb", steps)
    assert answer(notebook) in (3, "right")


def test_whole_number_of_a_million_digits_is_passed_over(steps):
    data = b'{"nbformat": ' + b"9" * 1_000_000 + b", " + written(code(RIGHT))[1:]
    assert answer(notebooks.read(data, "work.ipynb", steps)) == "right"


@pytest.mark.parametrize("source", [5, None, ["a", 1], {"a": 1}, "x = '\0'", "x = '\ud800'"])
def test_cell_that_is_no_text_is_left_out(read, source):
    notebook = read(code(source), RIGHT)
    assert answer(notebook) == "right"
    warning = "work.ipynb, cell 1: it holds something other than text, and is skipped."
    assert notebook.warnings == (warning,)


def deep(levels):
    return b'{"cells": ' + b"[" * levels + b"]" * levels + b"}"


REFUSED = {
    "nothing": (b" \n", "it is empty"),
    "half of it": (b'{"cells": [\n\n{"cell_type":', "its JSON is broken in line 3"),
    "no JSON": (b"def f(): pass", "its JSON is broken"),
    "a list": (b"[]", "it is JSON, but not a notebook"),
    "no cells": (b"{}", "it has no cells"),
    "cells that are none": (b'{"cells": 5, "worksheets": [3, {"cells": {}}]}', "it has no cells"),
    "Latin-1": (b'{"cells": "caf\xe9"}', "it is not UTF-8 text"),
    "UTF-16": ("{}".encode("utf-16"), "it is not UTF-8 text"),
    "deep": (deep(100), "it is nested too deeply"),
    "very deep": (deep(400_000), "it is nested too deeply"),
    "deep and open": (b"[" * 900_000, "it is nested too deeply"),
    "many values": (b'{"cells": [' + b"{}," * 400_000 + b"{}]}", "more than 1,000,000 values"),
    "many strings": (b'{"cells": [' + b'"",' * 3_000_000 + b'""]}', "more than 1,000,000 values"),
    "many cells": (b'{"cells": [' + b"{}," * 5_000 + b"{}]}", "more than 5,000 cells"),
    "long": (b'{"cells": []' + b" " * 2**25 + b"}", "it is larger than 32 MiB"),
    "long code": (written(code("#" * 600_000), code("#" * 400_001)), "its code is longer than"),
    "many lines": (written(code("'\"\n" * 100_001)), "its code has more than 100,000 lines"),
    "many statements": (written(code("x = 1\n" * 10_001)), "more than 10,000 statements"),
    "statements in one line": (written(code("x = 1;" * 10_001)), "more than 10,000 statements"),
}


@pytest.mark.parametrize(("data", "reason"), REFUSED.values(), ids=REFUSED.keys())
def test_notebook_is_refused(steps, data, reason):
    with pytest.raises(SubmissionError, match=reason):
        notebooks.read(data, "work.ipynb", steps)


def test_name_of_the_notebook_stays_in_its_comment(steps):
    name = "a\n1 / 0\r2 / 0\x0c\u2028.ipynb"
    assert answer(notebooks.read(written(code(RIGHT)), name, steps)) == "right"


def test_grade_id_stays_in_its_comment(read):
    assert answer(read(code(RIGHT, "x)\n1 / 0\n#"))) == "right"


def test_functions_of_the_steps_have_names_of_their_own(steps):
    """Cells are told apart by them."""
    names = [function.name for step in steps.steps for function in step.functions]
    assert len(set(names)) == len(names)
    assert not set(names) & {step.id for step in steps.steps}


@pytest.mark.parametrize("module", [cells, ipynb, notebooks, handins], ids=lambda m: m.__name__)
def test_reading_parses_no_source(module):
    """A parser's own stack is what hostile source is written for."""
    tree = ast.parse(Path(module.__file__).read_text(encoding="utf-8"))
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    assert not names & {"ast", "tokenize", "compile", "exec", "eval", "codeop", "symtable"}


def test_whole_step_files_in_the_cells_of_one_notebook_are_every_step(read):
    """As when the files are pasted in, imports of the earlier steps included."""
    texts = [(ROOT / "solutions" / step.filename).read_text(encoding="utf-8") for step in STEPS]
    notebook = read(*texts)
    assert set(notebook.sources) == {step.id for step in STEPS}
    for step in STEPS:
        source = notebook.sources[step.id]
        later = [other.id for other in STEPS if other.number >= step.number]
        assert [name for name in later if f"from exercises.{name}" in source] == []
    assert not [text for text in notebook.warnings if "counts" in text]


def test_import_of_the_kit_is_left_out_without_a_word(read):
    notebook = read("from grader.notebook import check", SCORES.format("'right'"))
    assert "grader" not in notebook.sources[STEP]
    assert notebook.warnings == ()
    assert answer(notebook) == "right"


def test_what_is_left_out_is_told_once(read):
    notebook = read("print(1)", SCORES.format("'right'"), "print(2)")
    assert notebook.warnings == (notebook.left_out,)
    assert "cell 1, 3: statements" in notebook.left_out


def test_remark_that_looks_like_a_mark_is_none(read):
    """It may tell where the code was copied from."""
    remark = "# from lecture3.ipynb, cell 12\n"
    source = read("import os\n", f"x = 1\n{remark}def attention_scores(q, k): return 1\n").sources[
        STEP
    ]
    number = next(n for n, line in enumerate(source.split("\n"), 1) if line[:4] == "def ")
    assert place(source, number, "x.py")[0] == "work.ipynb, cell 2, line 3"
    assert place(remark + source.split("\n", 1)[1], 2, "x.py")[0] == "x.py, line 2"
