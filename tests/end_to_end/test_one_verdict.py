"""One verdict everywhere: each way to be judged gives a submission the same points per step.

A way takes the seed, a step, and notebooks by student; it returns the points by student. WAYS holds
those of the hidden suite, SHOWN those of the visible one; another way is another entry.
"""

import json
import re
import subprocess
import sys

import pytest

from grader.answer_key.variants import FAIR, MISTAKES, read
from grader.notebooks.session import JudgeError, KernelJudge
from grader.steps import registry
from tests.conftest import ROOT
from tests.support import kernels
from tests.support.commands import nopeek, table
from tests.support.courses import NBGRADER, Course, grade_id, in_one_cell, joined
from tests.support.handed_in import spread
from tests.support.stubs import solution_text, stub_text

SEED = 20_417
REGISTRY = registry.load()


def notebooks(step):
    """Return the students' notebooks: right and wrong work."""
    source = json.loads((NBGRADER / "source" / step / f"{step}.ipynb").read_text(encoding="utf-8"))
    broken = f"def {REGISTRY.find(step).functions[0].name}(x)\n    return x\n"  # no colon
    texts = {"right": solution_text(step), "stub": stub_text(step), "broken": broken}
    wrong = read(MISTAKES, REGISTRY.find(step))
    texts |= {f"wrong{number}": wrong[number * 9].source for number in (1, 2)}
    texts["fair"] = read(FAIR, REGISTRY.find(step))[3].source
    return {name: in_one_cell(source, text) for name, text in texts.items()}


def as_class(folder, written):
    """The notebooks as a class folder."""
    folder.mkdir()
    spread(folder, {f"{name}.ipynb": json.dumps(notebook) for name, notebook in written.items()})
    return folder


# One `check` after the other in one process, which loads torch once.
CHECKS = """
import json, sys
from click.testing import CliRunner
from grader.cli.main import cli
commands = json.loads(sys.argv[1])
print(json.dumps([CliRunner().invoke(cli, ["check", *command]).output for command in commands]))
"""


def terminal(folder, step, written, suite="hidden"):
    """Return the overview in the terminal, one submission at a time."""
    seed = ["--seed", str(SEED)] if suite == "hidden" else []
    paths = list(as_class(folder / "alone", written).iterdir())
    commands = [[step, "--submission", str(path), "--suite", suite, *seed] for path in paths]
    command = [sys.executable, "-c", CHECKS, json.dumps(commands)]
    shown = json.loads(subprocess.check_output(command, cwd=ROOT))
    points = [float(re.search(r"([\d.]+)/[\d.]+", said)[1]) for said in shown]
    return dict(zip((path.stem for path in paths), points, strict=True))


def whole_class(folder, step, written, suite="hidden"):
    """Return the grades that `grade` writes into grades.csv."""
    out, seed = folder / "out", ["--seed", SEED] if suite == "hidden" else []
    options = ["--out", out, "--step", step, "--suite", suite, *seed, "--isolation", "process"]
    nopeek("grade", as_class(folder / "class", written), *options)
    return {name: float(row["score"]) for name, row in table(out / "grades.csv").items()}


def nbgrader(folder, step, written):
    """Return nbgrader's exported grades."""
    course = Course(folder, SEED, "process")
    course.released(step)
    for name, notebook in written.items():
        course.hand_in(name, step, notebook)
    course.must("autograde", step)
    return {student: points for (_, student), points in course.exported().items()}


def in_a_notebook(folder, step, written):
    """Return the answers of `check()` on the cells of each notebook, from a kernel's judge."""
    judge = KernelJudge(kernels.home(folder) / "exercises")
    try:
        return {name: _checked(judge, step, notebook) for name, notebook in written.items()}
    finally:
        judge.stop()


def _checked(judge, step, notebook):
    """The points for a notebook whose cells were run in order, but for nbgrader's test cells."""
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    texts = [joined(c["source"]) for c in code if not (grade_id(c) or "").startswith("check_")]
    runs = [[number, "", text] for number, text in enumerate(texts, 1) if text]
    request = {"do": "check", "about": step, "lesson": step, "deleted": [], "runs": runs}
    try:
        return judge.ask(request)["points"]
    except JudgeError:  # which names the line that is not Python
        return 0.0


WAYS = {"terminal": terminal, "class": whole_class, "nbgrader": nbgrader}
SHOWN = {
    "terminal": lambda *given: terminal(*given, "visible"),
    "class": lambda *given: whole_class(*given, "visible"),
    "notebook": in_a_notebook,
}


@pytest.mark.long
@pytest.mark.parametrize(
    ("step", "ways"),
    [("step06_loss", WAYS), ("step01_projections", SHOWN)],
    ids=["hidden", "visible"],
)
def test_every_way_gives_the_same_points(tmp_path, step, ways):
    written = notebooks(step)
    found = {}
    for name, way in ways.items():
        (tmp_path / name).mkdir()
        found[name] = way(tmp_path / name, step, written)
    first = found["terminal"]
    assert first.keys() == written.keys()
    assert found == dict.fromkeys(ways, first)
    assert first["right"] == first["fair"] == REGISTRY.find(step).max_points
    assert first["stub"] == first["broken"] == 0
    assert any(0 < points < first["right"] for points in first.values())
