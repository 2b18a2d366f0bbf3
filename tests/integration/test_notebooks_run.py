"""Notebooks as people write them: a judge runs them, and right ones get all points."""

import pytest

from grader.engine.grading import make_grader
from grader.intake import notebooks
from grader.intake.notebooks import RawCell
from grader.intake.submission import Submission
from grader.isolation import Process, margins, start_host
from grader.report.records import Status
from tests.support.written_notebooks import RIGHT_ONES, WRONG_ONES, Written


@pytest.fixture(scope="module")
def grade(steps):
    with start_host(Process(), steps.limits) as host:
        grader = make_grader(steps, host, "visible", 0, steps.steps)

        def grade(book, *names):
            submission = Submission("anna", book.sources, warnings=book.warnings)
            return grader.grade(submission, [steps.find(name) for name in names])

        yield grade


@pytest.fixture
def grade_softmax(grade, steps, monkeypatch):
    """grade_softmax(cells): the verdict on step 4, by a judge with little patience."""
    monkeypatch.setattr(margins, "PATIENCE", 0.5)

    def grade_softmax(cells):
        raws = [RawCell(number, True, False, "", text) for number, text in enumerate(cells, 1)]
        (verdict,) = grade(notebooks.of_cells(raws, "work.ipynb", steps), "4").steps
        return verdict

    return grade_softmax


def name(path):
    return path.stem


@pytest.mark.parametrize("path", RIGHT_ONES, ids=name)
def test_a_right_notebook_gets_all_points(grade, steps, path, monkeypatch):
    monkeypatch.setattr(margins, "PATIENCE", 0.5)
    one = Written.read(path)
    report = grade(notebooks.read(one.data, path.name, steps), *one.steps)
    told = [(c.function, c.message) for s in report.steps for c in s.checks if c.message]
    assert report.passed, told[:3]


@pytest.mark.parametrize("path", WRONG_ONES, ids=name)
def test_a_wrong_notebook_gets_none(grade, steps, path):
    one = Written.read(path)
    assert grade(notebooks.read(one.data, path.name, steps), *one.steps).score == 0


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

IMPORT = "import numpy as np"


# What neither the corpus of notebooks nor the unit tests of reading have.
RIGHT = {
    "bare_pip_install": ["pip install numpy", IMPORT, RIGHT_SOFTMAX],
    "import_with_a_missing_one": ["import numpy as np, torch\nimport os, pandas", RIGHT_SOFTMAX],
    "redefined_as_its_own_result": [IMPORT, RIGHT_SOFTMAX, "softmax = softmax(np.eye(3))"],
    "sys_exit_and_input": [
        IMPORT,
        "name = input('Your name: ')",
        RIGHT_SOFTMAX,
        "import sys\nsys.exit()",
        "exit()",
        "quit()",
    ],
    "tampering_at_the_end": [
        IMPORT,
        RIGHT_SOFTMAX,
        "import builtins, signal, sys\nsignal.alarm(0)\nsys.setrecursionlimit(50)",
        "signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 32))",
        "try:\n    while True: pass\nexcept BaseException:\n    pass",
        "sum(range(10**11))",
    ],
    "string_with_percent_lines": [
        IMPORT,
        'HELP = """\n%matplotlib inline\n!ls\nsoftmax?\ndef softmax(): pass\n"""',
        RIGHT_SOFTMAX,
    ],
}

WRONG = {
    "unstable": [IMPORT, WRONG_SOFTMAX],
    "tampering": [
        IMPORT,
        "import builtins, sys\nbuiltins.callable = lambda value: True\nsys.modules.clear()",
        WRONG_SOFTMAX,
    ],
}


@pytest.mark.parametrize("cells", RIGHT.values(), ids=RIGHT)
def test_an_odd_notebook_gets_all_points(grade_softmax, cells):
    verdict = grade_softmax(cells)
    told = [one.message for one in verdict.checks if one.message][:2]
    assert verdict.status is Status.PASSED, (verdict.message, *told)


@pytest.mark.parametrize("cells", WRONG.values(), ids=WRONG)
def test_an_odd_wrong_notebook_does_not(grade_softmax, cells):
    verdict = grade_softmax(cells)
    assert verdict.status is not Status.PASSED
    assert verdict.points <= verdict.max_points / 2


BUSY = "import time\nend = time.process_time() + {}\nwhile time.process_time() < end: pass\n"


@pytest.mark.parametrize(
    ("slow", "counts"),
    [
        (BUSY.format(0.2), True),
        ("import time\ntime.sleep(1.2)", True),  # as on a busy machine
        (BUSY.format(2.0), False),
        ("import time\ntime.sleep(5)", False),
        (f"import signal\nsignal.signal(signal.SIGPROF, signal.SIG_IGN)\n{BUSY.format(5)}", False),
        ("try:\n    sum(range(10**11))\nexcept:\n    pass", False),
    ],
    ids=["quick", "waiting", "busy", "asleep", "without the limit", "in a loop of C"],
)
def test_a_statement_that_takes_too_long_does_not_count(grade_softmax, slow, counts):
    cell = "\n".join(f"    {line}" for line in slow.split("\n"))
    first = f"import numpy as np\nif True:\n{cell}\n    done = 1"
    verdict = grade_softmax([first, RIGHT_SOFTMAX.replace("return e", "return done * e")])
    assert (verdict.status is Status.PASSED) is counts
    said = "" if counts else "name 'done' is not defined; the statement that binds it does not run"
    assert said in verdict.checks[0].message


FAILING = {
    "a decorator": (
        ["import numpy as np", "from numba import njit", f"@njit\n{RIGHT_SOFTMAX}"],
        "softmax raised NameError: name 'njit' is not defined; the statement that binds it does "
        "not run (work.ipynb, cell 2, line 1: ModuleNotFoundError) (work.ipynb, cell 3, line 1",
    ),
    "a value": (
        [
            "import numpy as np",
            "TABLE = {}['a']",
            "def softmax(scores, axis=-1):\n    return TABLE",
        ],
        "softmax raised NameError: name 'TABLE' is not defined; the statement that binds it does "
        "not run (work.ipynb, cell 2, line 1: KeyError) (work.ipynb, cell 3, line 2",
    ),
    "a slow definition": (
        ["while True:\n    pass\nelse:\n    def softmax(scores, axis=-1): return 1"],
        "softmax raised TimeoutError: it takes too long",
    ),
}


@pytest.mark.parametrize(("cells", "said"), FAILING.values(), ids=FAILING)
def test_a_message_names_the_statement_that_did_not_run(grade_softmax, cells, said):
    assert grade_softmax(cells).checks[0].message.startswith(said)
