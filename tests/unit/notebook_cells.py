"""Notebooks as people write them: right ones, whose cells all count, and wrong ones.

Each is a list of code cells. A right one defines the two functions of steps 3 and 4 that a
judge asks for here, `causal_mask` and `softmax`, or `softmax` alone.
"""

RIGHT_SOFTMAX = '''def softmax(scores, axis=-1):
    """Return probabilities."""
    scores = np.asarray(scores)
    top = scores.max(axis=axis, keepdims=True)
    e = np.exp(scores - np.where(np.isfinite(top), top, 0))
    total = e.sum(axis=axis, keepdims=True)
    return e / np.where(total == 0, 1, total)'''

WRONG_SOFTMAX = """def softmax(scores, axis=-1):
    e = np.exp(scores)
    return e / e.sum()"""

STUB = '''def softmax(scores, axis=-1):
    """Return probabilities."""
    raise NotImplementedError("softmax is still to write")'''

IMPORT = "import numpy as np"


def _with(table: str, top: str = "top = table['top'](scores, axis)") -> list[str]:
    """Return a notebook whose softmax looks its parts up in a table made at the margin."""
    body = f"""def softmax(scores, axis=-1):
    scores = np.asarray(scores)
    {top}
    e = np.exp(scores - np.where(np.isfinite(top), top, 0))
    total = e.sum(axis=axis, keepdims=True)
    return e / np.where(total == 0, 1, total)"""
    return [IMPORT, table, body]


_MAX = "lambda x, axis: np.max(x, axis=axis, keepdims=True)"

RIGHT: dict[str, list[str]] = {
    "plain": [IMPORT, RIGHT_SOFTMAX],
    "table_filled_by_a_loop": _with(
        f"table = {{}}\nfor name, f in [('top', {_MAX}), ('low', None)]:\n    table[name] = f"
    ),
    "table_filled_by_a_while_loop": _with(
        f"table, names = {{}}, ['top']\nwhile names:\n    table[names.pop()] = {_MAX}"
    ),
    "constant_from_match": _with(
        f"kind = 'max'\nmatch kind:\n    case 'max':\n        table = {{'top': {_MAX}}}\n"
        "    case _:\n        table = {}"
    ),
    "function_with_a_loop_makes_a_table": _with(
        f"def build():\n    made = {{}}\n    for name in ['top']:\n        made[name] = {_MAX}\n"
        "    return made\n\ntable = build()"
    ),
    "global_set_by_init": _with(
        f"table = None\ndef init():\n    global table\n    table = {{'top': {_MAX}}}\n\ninit()"
    ),
    "defined_under_if": [
        IMPORT,
        "FAST = True\nif FAST:\n"
        + "\n".join("    " + line for line in RIGHT_SOFTMAX.splitlines())
        + "\nelse:\n    softmax = None",
    ],
    "defined_under_try": [
        IMPORT,
        "try:\n    from scipy.special import softmax\nexcept ImportError:\n"
        + "\n".join("    " + line for line in RIGHT_SOFTMAX.splitlines()),
    ],
    "wrapped": [
        IMPORT + "\nimport functools",
        RIGHT_SOFTMAX,
        "def counted(f):\n    @functools.wraps(f)\n    def inner(*args, **kwargs):\n"
        "        inner.calls += 1\n        return f(*args, **kwargs)\n    inner.calls = 0\n"
        "    return inner\n\nsoftmax = counted(softmax)",
    ],
    "decorated": [
        IMPORT + "\nfrom functools import wraps",
        "def as_array(f):\n    @wraps(f)\n    def inner(x, axis=-1):\n"
        "        return f(np.asarray(x), axis)\n    return inner",
        "@as_array\n" + RIGHT_SOFTMAX,
    ],
    "methods_of_a_class": [
        IMPORT,
        "class Softmax:\n    def __init__(self, fill=0):\n        self.fill = fill\n\n"
        "    def __call__(self, scores, axis=-1):\n        scores = np.asarray(scores)\n"
        "        top = scores.max(axis=axis, keepdims=True)\n"
        "        e = np.exp(scores - np.where(np.isfinite(top), top, self.fill))\n"
        "        total = e.sum(axis=axis, keepdims=True)\n"
        "        return e / np.where(total == 0, 1, total)",
        "softmax = Softmax()",
    ],
    "lambda": [
        IMPORT,
        "_top = lambda s, a: np.where(np.isfinite(m := s.max(axis=a, keepdims=True)), m, 0)\n"
        "_exp = lambda s, a: np.exp(s - _top(s, a))\n"
        "_sum = lambda e, a: e.sum(axis=a, keepdims=True)\n"
        "softmax = lambda scores, axis=-1: (e := _exp(scores, axis)) / np.where(\n"
        "    _sum(e, axis) == 0, 1, _sum(e, axis))",
    ],
    "magics": [
        "%load_ext autoreload\n%autoreload 2\n%matplotlib inline\nimport numpy as np",
        "%%time\n" + RIGHT_SOFTMAX,
        "%timeit softmax(np.eye(3))",
        "softmax?",
        "files = !ls\nshown = %who_ls",
        "%%bash\nls -l",
    ],
    "pip_install": [
        "!pip install -q numpy==2.0\n%pip install matplotlib\nimport numpy as np",
        RIGHT_SOFTMAX,
    ],
    "bare_pip_install": ["pip install numpy", IMPORT, RIGHT_SOFTMAX],
    "trials_that_fail": [
        IMPORT,
        "softmax(np.eye(2))",
        RIGHT_SOFTMAX,
        "print(softmax([[1, 2], [3]]))",
        "assert softmax(np.eye(3)).shape == (4, 4)",
        "undefined_name + 1",
    ],
    "plots_without_matplotlib": [
        "import numpy as np\nimport matplotlib.pyplot as plt\nimport seaborn as sns",
        "plt.rcParams['figure.figsize'] = (4, 3)",
        RIGHT_SOFTMAX,
        "fig, ax = plt.subplots()\nax.imshow(softmax(np.random.randn(4, 4)))\nplt.show()",
    ],
    "import_with_a_missing_one": ["import numpy as np, torch\nimport os, pandas", RIGHT_SOFTMAX],
    "duplicated_cells": [IMPORT, RIGHT_SOFTMAX, RIGHT_SOFTMAX, IMPORT],
    "later_definition_wins": [IMPORT, WRONG_SOFTMAX, "softmax(np.eye(2))", RIGHT_SOFTMAX],
    "helper_below": [
        IMPORT,
        RIGHT_SOFTMAX.replace("scores.max(axis=axis, keepdims=True)", "highest(scores, axis)"),
        "def highest(scores, axis):\n    return scores.max(axis=axis, keepdims=True)",
    ],
    "walrus_and_asserts": [
        "import numpy as np\nif (n := 3) > 2:\n    FILL = 0",
        RIGHT_SOFTMAX.replace("top, 0)", "top, FILL)"),
        "assert np.allclose((p := softmax(np.eye(n))).sum(-1), 1), p",
        "assert (softmax(np.full((2, 2), -np.inf)) == 0).all()",
    ],
    "broken_cell_last": [IMPORT, RIGHT_SOFTMAX, "print(softmax(np.eye(2))\nfor in"],
    "broken_line_below_the_function": [IMPORT, RIGHT_SOFTMAX + "\n\nprint softmax(np.eye(2))"],
    "stub_below": [IMPORT, RIGHT_SOFTMAX, STUB],
    "stub_above": [IMPORT, STUB, RIGHT_SOFTMAX],
    "dataclass": [
        "from __future__ import annotations\nfrom dataclasses import dataclass",
        "import numpy as np",
        "@dataclass\nclass Options:\n    axis: int = -1\n    fill: float | None = 0.0\n"
        "\nOPTIONS = Options()",
        RIGHT_SOFTMAX.replace("top, 0)", "top, OPTIONS.fill)"),
    ],
    "future_annotations_carry_on": [
        "from __future__ import annotations",
        IMPORT,
        RIGHT_SOFTMAX.replace("(scores, axis=-1)", "(scores: Not.There, axis: int = -1) -> Array"),
    ],
    "type_hints": [
        "import numpy as np\nimport numpy.typing as npt\nfrom typing import Optional, TypeAlias",
        "Array: TypeAlias = npt.NDArray[np.float64]",
        RIGHT_SOFTMAX.replace("(scores, axis=-1)", "(scores: Array, axis: int = -1) -> Array"),
    ],
    "counter_and_global": [
        "import numpy as np\nfrom collections import Counter, defaultdict\ncalls = Counter()",
        RIGHT_SOFTMAX + "\n",
        "calls.update(a=1)\nseen = defaultdict(list)\nfor i in range(3):\n    seen[i].append(i)",
        "try:\n    softmax(None)\nexcept Exception as error:\n    print(error)",
    ],
    "context_manager_and_seterr": [
        "import numpy as np\nnp.seterr(all='raise')\nnp.random.seed(0)\nnp.set_printoptions(2)",
        "with np.errstate(all='ignore'):\n    LOWEST = np.exp(-1e9)",
        RIGHT_SOFTMAX.replace("top, 0)", "top, LOWEST)"),
    ],
    "main_guard": [
        IMPORT,
        "def main():\n    global FILL\n    FILL = 0\n\nif __name__ == '__main__':\n    main()",
        RIGHT_SOFTMAX.replace("top, 0)", "top, FILL)"),
    ],
    "del_and_star": [
        "from numpy import *\nimport numpy as np\ntmp = [1, 2]\na, *rest = tmp\ndel tmp",
        RIGHT_SOFTMAX.replace("top, 0)", "top, rest[0] - 2)"),
    ],
    "indented_magic_and_display": [
        IMPORT,
        "from IPython.display import display, Markdown\ndisplay(Markdown('**softmax**'))",
        RIGHT_SOFTMAX,
        "for n in (2, 3):\n    %time softmax(np.eye(n))\n    display(softmax(np.eye(n)))",
    ],
    "redefined_as_its_own_result": [IMPORT, RIGHT_SOFTMAX, "softmax = softmax(np.eye(3))"],
    "sys_exit_and_input": [
        IMPORT,
        "name = input('Your name: ')",
        RIGHT_SOFTMAX,
        "import sys\nsys.exit()",
        "exit()",
        "quit()",
    ],
    "slow_statements": [
        IMPORT,
        "while True:\n    pass",
        RIGHT_SOFTMAX,
        "import time\ntime.sleep(1000)",
    ],
    "tampering_at_the_end": [
        IMPORT,
        RIGHT_SOFTMAX,
        "import builtins, signal, sys\nsignal.alarm(0)\nsys.setrecursionlimit(50)",
        "signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 32))",
        "try:\n    while True: pass\nexcept BaseException:\n    pass",
        "sum(range(10**11))",
    ],
    "generator_and_comprehension": _with(
        f"table = {{name: f for name, f in zip(['top'], [{_MAX}])}}\n"
        "first = next(n for n in table if n)"
    ),
    "string_with_percent_lines": [
        IMPORT,
        'HELP = """\n%matplotlib inline\n!ls\nsoftmax?\ndef softmax(): pass\n"""',
        RIGHT_SOFTMAX,
    ],
}

WRONG: dict[str, list[str]] = {
    "unstable": [IMPORT, WRONG_SOFTMAX],
    "wrong_one_last": [IMPORT, RIGHT_SOFTMAX, WRONG_SOFTMAX],
    "wrong_one_bound_later": [
        IMPORT,
        RIGHT_SOFTMAX,
        "if True:\n    softmax = lambda scores, axis=-1: np.ones_like(scores)",
    ],
    "only_a_stub": [IMPORT, STUB],
    "only_in_a_string": [IMPORT, f"text = '''\n{RIGHT_SOFTMAX.replace(chr(34) * 3, '')}\n'''"],
    "needs_a_cell_that_fails": [
        IMPORT,
        "FILL = missing_name + 1",
        RIGHT_SOFTMAX.replace("top, 0)", "top, FILL)"),
    ],
    "tampering": [
        IMPORT,
        "import builtins, sys\nbuiltins.callable = lambda value: True\nsys.modules.clear()",
        WRONG_SOFTMAX,
    ],
    "right_one_in_a_broken_cell": [IMPORT, "def broken(:\n    pass\n\n" + RIGHT_SOFTMAX],
}
