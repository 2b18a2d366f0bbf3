"""A course on nbgrader in a temporary folder, and what students hand in there."""

import ast
import copy
import csv
import html
import json
import os
import re
import shutil
import sys
from pathlib import Path

from nbgrader.api import Gradebook

from tests.conftest import ROOT
from tests.support import forks, kernels

NBGRADER = ROOT / "notebooks" / "nbgrader"


def surroundings(folder):
    """An environment in which Jupyter finds nothing of the user's, and the kit."""
    return {
        **os.environ,
        **kernels.settings(folder),
        **forks.VARIABLES,
        "HOME": str(folder),
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        "OPENBLAS_NUM_THREADS": "1",
    }


# Where the courses' own assignments lie, once they have been generated.
GENERATED = {}


def _copied(paths, source, target):
    """The target, with these files and folders of the source in it."""
    for path in paths:
        (target / path).parent.mkdir(parents=True, exist_ok=True)
        copy = shutil.copytree if (source / path).is_dir() else shutil.copy
        copy(source / path, target / path)
    return target


class Course:
    """A course, as an instructor has copied it."""

    def __init__(self, folder, seed, isolation="auto"):
        self.folder = folder / "course"
        self.variables = surroundings(folder / "jupyter")
        # Not what a course that was run in the clone has left beside them.
        ignored = shutil.ignore_patterns(".ipynb_checkpoints")
        shutil.copytree(NBGRADER / "source", self.folder / "source", ignore=ignored)
        shutil.copy(NBGRADER / "nbgrader_config.py", self.folder)
        with (self.folder / "nbgrader_config.py").open("a") as config:
            config.write(f"\nc.Nopeek.seed = {seed!r}\nc.Nopeek.isolation = {isolation!r}\n")
            config.write(f"c.Exchange.root = {str(folder / 'exchange')!r}\n")

    def run(self, *arguments, cwd=None, forked=True):
        """One of nbgrader's commands; status, and all that it said."""
        place = cwd or self.folder
        done = forks.run("nbgrader", *arguments, cwd=place, env=self.variables, forked=forked)
        return done.returncode, done.stdout

    def must(self, *arguments, **more):
        """The same, where it has to succeed; what it said."""
        status, said = self.run(*arguments, **more)
        assert status == 0, said
        return said

    def released(self, step):
        """The notebook that students get."""
        path = self.folder / "release" / step / f"{step}.ipynb"
        if not path.exists():
            self._generate(step)
        return json.loads(path.read_text(encoding="utf-8"))

    def _generate(self, step):
        """Generates the assignment; of a committed one as the first that is done only once."""
        kept = [Path("gradebook.db"), Path("release", step)]
        source = Path("source", step, f"{step}.ipynb")
        untouched = (self.folder / source).read_bytes() == (NBGRADER / source).read_bytes()
        if not untouched or (self.folder / kept[0]).exists():
            self.must("generate_assignment", step)
        elif step in GENERATED:
            _copied(kept, GENERATED[step], self.folder)
        else:
            self.must("generate_assignment", step)
            GENERATED[step] = _copied(kept, self.folder, self.folder.parent / "generated")

    def hand_in(self, student, step, notebook):
        """Puts a notebook, or any text, where `collect` would."""
        path = self.folder / "submitted" / student / step / f"{step}.ipynb"
        path.parent.mkdir(parents=True, exist_ok=True)
        text = notebook if isinstance(notebook, str) else json.dumps(notebook)
        path.write_text(text, encoding="utf-8")
        return path

    def scores(self):
        """The points in nbgrader's gradebook, by assignment and student."""
        with Gradebook(f"sqlite:///{self.folder / 'gradebook.db'}", "nopeek") as gradebook:
            return {
                (assignment.name, submission.student_id): submission.score
                for assignment in gradebook.assignments
                for submission in gradebook.assignment_submissions(assignment.name)
            }

    def exported(self):
        """The points in `nbgrader export`, by assignment and student."""
        self.must("export", "--to", self.folder / "grades.csv")
        with (self.folder / "grades.csv").open(newline="") as file:
            return {
                (row["assignment"], row["student_id"]): float(row["score"])
                for row in csv.DictReader(file)
            }

    def graded(self, student, step):
        """The cells of a graded notebook, by grade_id; what is none of nbgrader's under None."""
        path = self.folder / "autograded" / student / step / f"{step}.ipynb"
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        return {cell["metadata"].get("nbgrader", {}).get("grade_id"): cell for cell in cells}

    def feedback(self, student, step):
        """The page that a student gets, without styles and scripts."""
        path = self.folder / "feedback" / student / step / f"{step}.html"
        text = path.read_text(encoding="utf-8")
        return re.sub(r"<(style|script)\b.*?</\1>", "", text, flags=re.DOTALL)


def words(page):
    """A page's text."""
    return html.unescape(re.sub(r"<[^>]+>", "", page))


def joined(text):
    """A cell's text, or an output's, which is one string or a list of lines."""
    return text if isinstance(text, str) else "".join(text)


def grade_id(cell):
    return cell["metadata"].get("nbgrader", {}).get("grade_id")


def cell_of(notebook, name):
    """The cell with that grade_id."""
    return next(cell for cell in notebook["cells"] if grade_id(cell) == name)


def code(source, **nbgrader):
    """A code cell of a student's own."""
    metadata = {"nbgrader": nbgrader} if nbgrader else {}
    cell = {"cell_type": "code", "execution_count": None, "outputs": []}
    return {**cell, "metadata": metadata, "source": source}


def filled_in(notebook, source):
    """The notebook with the functions of a step's source written into their cells.

    What else the source says stands in a cell at the top, as helpers do.
    """
    notebook = copy.deepcopy(notebook)
    cells = {grade_id(cell): cell for cell in notebook["cells"] if grade_id(cell)}
    rest = []
    for node in ast.parse(source).body:
        first = min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", []))])
        text = "\n".join(source.splitlines()[first - 1 : node.end_lineno])
        if isinstance(node, ast.FunctionDef) and node.name in cells:
            cells[node.name]["source"] = text
        else:
            rest.append(text)
    notebook["cells"].insert(0, code("\n".join(rest)))
    return notebook


def in_one_cell(notebook, source):
    """The notebook with a whole step in the cell of its first function, and no other answer."""
    notebook = copy.deepcopy(notebook)
    answers = [c for c in notebook["cells"] if c["metadata"].get("nbgrader", {}).get("solution")]
    for number, cell in enumerate(answers):
        cell["source"] = "" if number else source
    return notebook
