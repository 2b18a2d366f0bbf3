"""Notebooks as people write them: a judge runs them, and right ones get all points."""

import pytest

from grader.engine.grading import make_grader
from grader.intake import notebooks
from grader.intake.notebooks import RawCell
from grader.intake.submission import Submission
from grader.isolation import Process, margins, start_host
from grader.report.records import Status
from tests.unit.notebook_cells import RIGHT, RIGHT_SOFTMAX, WRONG


def read(cells, registry, name="work.ipynb"):
    raws = [RawCell(number, True, False, "", text) for number, text in enumerate(cells, 1)]
    return notebooks.of_cells(raws, name, registry)


@pytest.fixture(scope="module")
def grade(steps):
    step = steps.find("step04_softmax")
    with start_host(Process(), steps.limits) as host:
        grader = make_grader(steps, host, "visible", 0, [step])

        def grade(cells):
            book = read(cells, steps)
            return grader.grade(Submission("anna", book.sources, warnings=book.warnings), [step])

        yield grade


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_notebook_gets_all_points(grade, name, monkeypatch):
    monkeypatch.setattr(margins, "PATIENCE", 0.5)
    (verdict,) = grade(RIGHT[name]).steps
    told = [one.message for one in verdict.checks if one.message][:2]
    assert verdict.status is Status.PASSED, (verdict.message, *told)


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_notebook_does_not(grade, name):
    (verdict,) = grade(WRONG[name]).steps
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
def test_a_statement_that_takes_too_long_does_not_count(grade, slow, counts, monkeypatch):
    monkeypatch.setattr(margins, "PATIENCE", 0.5)
    cell = "\n".join(f"    {line}" for line in slow.split("\n"))
    first = f"import numpy as np\nif True:\n{cell}\n    done = 1"
    verdict = grade([first, RIGHT_SOFTMAX.replace("return e", "return done * e")]).steps[0]
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
def test_a_message_names_the_statement_that_did_not_run(grade, cells, said, monkeypatch):
    monkeypatch.setattr(margins, "PATIENCE", 0.5)
    (verdict,) = grade(cells).steps
    assert verdict.checks[0].message.startswith(said)
