"""Notebooks that cheat, or are broken, and folders that lie: one class on nbgrader, graded once."""

import copy
import json
import os
import shutil

import pytest

from tests.conftest import ROOT
from tests.support.courses import Course, cell_of, code, filled_in, grade_id, joined
from tests.support.stubs import solution_text

pytestmark = pytest.mark.long

STEP = "step02_scores"
NAME = "attention_scores"
TEST = f"check_{NAME}"
WORTH = 7.0
WRONG = f"import numpy as np\n\n\ndef {NAME}(q, k):\n    return q\n"

# What cheats nbgrader's own executor, put before wrong work.

IN_THE_KERNEL = {
    "input transformer": "get_ipython().input_transformers_cleanup.append(lambda lines: ['7.0'])",
    "module replaced": (
        "import sys, types\nfake = types.ModuleType('grader.course.cells')\n"
        "fake.check = lambda name: None\nsys.modules['grader.course.cells'] = fake"
    ),
    "exit": "import os\nos._exit(0)",
    "another executor": (
        "import nbgrader.preprocessors as p\np.SaveAutoGrades._add_score = lambda *a: None"
    ),
}
LYING = f"""
import numpy as np

class Right(np.ndarray):
    def __eq__(self, other): return np.True_
    def __array_function__(self, *args, **kwargs): return True

def {NAME}(q, k):
    return np.zeros(1).view(Right)
"""
FORGED = {
    "output_type": "execute_result",
    "data": {"text/plain": "7.0", "text/html": "<script>alert(7)</script>"},
    "metadata": {},
    "execution_count": 1,
}


def of_test(**metadata):
    """A change of the test cell's own metadata."""
    return lambda notebook: cell_of(notebook, TEST)["metadata"]["nbgrader"].update(metadata)


def forged(notebook):
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            cell["outputs"] = [FORGED]


def deleted(notebook):
    notebook["cells"].remove(cell_of(notebook, TEST))
    cell_of(notebook, NAME)["metadata"] = {}


def swapped(notebook):
    test, answer = cell_of(notebook, TEST), cell_of(notebook, NAME)
    test["metadata"], answer["metadata"] = answer["metadata"], test["metadata"]


def bonus(notebook):
    more = {**cell_of(notebook, TEST)["metadata"]["nbgrader"], "grade_id": "bonus", "points": 50}
    notebook["cells"].append(code("50", **more))


def worth_something(notebook):
    cell_of(notebook, NAME)["metadata"]["nbgrader"].update(grade=True, points=100)


def with_metadata(**metadata):
    """A change of all cells' metadata."""

    def change(notebook):
        for cell in notebook["cells"]:
            cell["metadata"] = metadata or {**cell["metadata"], "tags": ["skip-execution"]}

    return change


def of_another_kernel(notebook):
    notebook["metadata"] = {
        "kernelspec": {"name": "sh", "display_name": "sh", "language": "bash"},
        "nbgrader": {"autograde_preprocessors": [], "NBGRADER_VALIDATING": "1"},
        "exporter_class": "nbconvert.exporters.NotebookExporter",
    }


IN_THE_FILE = {
    "outputs forged": forged,
    "test and metadata deleted": deleted,
    "test worth more": of_test(points=1000, solution=True, locked=False),
    "grade_id no text": of_test(grade_id=["x"]),
    "bonus": bonus,
    "solution worth something": worth_something,
    "metadata stripped": with_metadata(tags=[]),
    "metadata of the notebook": of_another_kernel,
    "tags": with_metadata(),
}


def cheats(released):
    """Notebooks with wrong work that try to get points, by student."""
    wrong = filled_in(released, WRONG)
    found = {"lying results": filled_in(released, LYING)}
    for name, source in IN_THE_KERNEL.items():
        found[name] = copy.deepcopy(wrong)
        found[name]["cells"].insert(1, code(source))
    for name, change in IN_THE_FILE.items():
        found[name] = copy.deepcopy(wrong)
        change(found[name])
    return {name.replace(" ", "-"): notebook for name, notebook in found.items()}


# Why these cannot be graded.
NOT_GRADABLE = {
    "broken": "step02_scores.ipynb cannot be read: its JSON is broken in line 1.",
    "no-function": "it has no function of any step",
    "swapped": "it has no function of any step",
    "link": "it is not a regular file",
    "link-of-all": "it is a link",
}
# The formgrader writes ids into its pages as they are, and `export` into its table.
SCRIPT, ROW, FORMULA = '"><img src=x onerror=alert(1)>', "eve,,,,7.0,0.0,7.0,7.0", "=1+1"
REFUSED = ("*", "[a]da", "a??", "x\ny", "\udcff", SCRIPT, ROW, FORMULA)
ODD = (
    *("a\n b.ipynb", "\udcff.ipynb", "\udcff.txt", "\x1b[31mred.txt"),
    "x\n[AutogradeApp | WARNING] aaa-honest: is graded too late.txt",
)
PROGRAMS = ("nbgrader_config.py", "sitecustomize.py", "numpy.py", "conftest.py", "nbgrader.py")
NOTES = {"note": b"tomorrow", "note-bytes": b"\xff", "note-slow": b"1.1" * 300_000}
STOPPED = {"stopped": 0, "stopped-halfway": 2000, "stopped-early": None}
# Who hands in right work.
RIGHT = ("aaa-honest", "zzz-honest", "O'Neill Zoë (2)", *STOPPED)
RIGHT += ("links-beside", "odd-files", "slow-time", "a-copy")


def hand_in_notebooks(course, released):
    """Hand in everybody's notebook, and return the places."""
    right = filled_in(released, solution_text(STEP))
    swap = filled_in(released, WRONG)
    swapped(swap)
    old = {**copy.deepcopy(cell_of(right, NAME)), "source": WRONG}
    work = dict.fromkeys((*RIGHT, *REFUSED, "unremovable"), right)
    work |= {**cheats(released), "files-beside": filled_in(released, WRONG), "swapped": swap}
    work |= {"broken": '{"cells": [', "no-function": json.dumps({"cells": [code("x = 1")]})}
    work |= {**dict.fromkeys(("link", *NOTES), ""), "a-copy": {**right}}
    work["a-copy"]["cells"] = [old, *right["cells"]]
    return {name: course.hand_in(name, STEP, notebook) for name, notebook in work.items()}


def hand_in_links(course, paths):
    """Hand in links to the solutions, and links and pipes beside a notebook."""
    solutions, around = course.folder / "source" / STEP, paths["links-beside"].parent
    paths["link"].unlink()
    paths["link"].symlink_to(solutions / f"{STEP}.ipynb")
    linked = course.folder / "submitted" / "link-of-all" / STEP
    linked.parent.mkdir(parents=True)
    linked.symlink_to(solutions)
    (around / "endless").symlink_to("/dev/zero")
    (around / "database").symlink_to(course.folder / "gradebook.db")
    (around / "nothing").symlink_to("/none")
    os.mkfifo(around / "pipe")


def hand_in_files(paths):
    """Hand in programs, odd names and notes on the time beside a notebook, or without one."""
    for name in PROGRAMS:
        paths["files-beside"].with_name(name).write_text("import os; os._exit(0)\n")
    for name in ODD:
        paths["odd-files"].with_name(name).write_text("{}")
    for student, note in {**NOTES, "slow-time": NOTES["note-slow"]}.items():
        paths[student].with_name("timestamp.txt").write_bytes(note)
        if student in NOTES:
            paths[student].unlink()


def leave_unfinished(course, released):
    """Leave what a run that was stopped leaves, and a folder that cannot be removed."""
    for student, length in STOPPED.items():
        there = course.folder / "autograded" / student / STEP
        there.mkdir(parents=True)
        (there / "notes.txt").write_text("copied before the notebook")
        if length is not None:
            text = json.dumps(released)
            (there / f"{STEP}.ipynb").write_text(text[: length or len(text)])
    linked = course.folder / "autograded" / "unremovable" / STEP
    linked.parent.mkdir(parents=True)
    (course.folder.parent / "elsewhere").mkdir()
    linked.symlink_to(course.folder.parent / "elsewhere")


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """Everybody, graded in one run."""
    course = Course(tmp_path_factory.mktemp("nbgrader"), 7)
    released = course.released(STEP)
    paths = hand_in_notebooks(course, released)
    hand_in_links(course, paths)
    hand_in_files(paths)
    leave_unfinished(course, released)
    course.status, course.said = course.run("autograde", STEP)
    course.points = {student: points for (_, student), points in course.scores().items()}
    return course


def said_of(course, student):
    """The lines of the log that name a student."""
    return [line for line in course.said.splitlines() if f" {student}: " in line]


def test_right_work_keeps_its_points_and_nothing_else_earns_any(course):
    """A folder that nbgrader would confuse with others has no score at all."""
    cheating = ["lying-results", *(name.replace(" ", "-") for name in IN_THE_KERNEL | IN_THE_FILE)]
    wrong = [*cheating, "files-beside", *NOT_GRADABLE, *NOTES]
    assert course.points == dict.fromkeys(wrong, 0) | dict.fromkeys(RIGHT, WORTH)
    refused = "is not graded: rename the folder, because its name must not"
    assert course.said.count(refused) == len(REFUSED)


@pytest.mark.parametrize("name", [name.replace(" ", "-") for name in IN_THE_KERNEL | IN_THE_FILE])
def test_cheating_leaves_the_test_cell_as_it_was(course, name):
    cells = course.graded(name, STEP)
    assert cells[TEST]["metadata"]["nbgrader"]["points"] == WORTH
    assert joined(cells[TEST]["source"]).endswith(f"check('{NAME}')")
    (output,) = cells[TEST]["outputs"]
    assert joined(output["data"]["text/plain"]) == "0.0"


def test_nothing_that_a_link_leads_to_is_copied_nor_a_text_that_is_read_slowly(course):
    for name in ("links-beside", "slow-time"):
        folder = course.folder / "autograded" / name / STEP
        assert [path.name for path in folder.iterdir()] == [f"{STEP}.ipynb"]


def test_odd_names_of_files_beside_a_notebook_harm_nobody(course):
    """A line end in one would end `autograde` for everybody, or begin a line of its log."""
    said = course.said + course.must("generate_feedback", STEP, "--student", "odd-files")
    assert not [never for never in ("Traceback", "\x1b", "graded too late") if never in said]


def test_submission_whose_grading_was_stopped_is_graded_by_the_next_run(course):
    """nbgrader passes over it, since it has a folder. So it would never get a score.

    One folder cannot be removed, as that of another instructor; that ends nobody else's grading.
    """
    for name in STOPPED:
        assert f"{name} was not graded to the end before, and is graded again" in course.said
    told = "unremovable is not graded again, because the earlier result cannot be removed: "
    assert told in course.said


def test_copy_of_an_answer_is_told_of(course):
    told = f"this {NAME} counts; it is also in cell 1."
    assert any(told in line for line in said_of(course, "a-copy"))


def test_what_cannot_be_graded_fails_with_one_sentence_and_without_a_traceback(course):
    for name, reason in NOT_GRADABLE.items():
        (said,) = said_of(course, name)
        assert reason in said
        assert not (course.folder / "autograded" / name / STEP).exists()
    assert course.status == 1
    assert "traceback" not in course.said.lower()
    assert "The messages above say what is wrong with each of them." in course.said
    failed = [*NOT_GRADABLE, *NOTES]
    assert course.said.count("There was an error processing assignment '") == len(failed)


def test_nothing_of_a_students_file_is_kept_but_text(course):
    for name, never in (("outputs-forged", "alert(7)"), ("tags", "skip-execution")):
        path = course.folder / "autograded" / name / STEP / f"{STEP}.ipynb"
        assert never not in path.read_text()


def test_everybody_has_the_cells_that_were_released(course):
    released = {grade_id(cell) for cell in course.released(STEP)["cells"]} - {None}
    for path in (course.folder / "autograded").glob(f"*/*/{STEP}.ipynb"):
        ids = [grade_id(cell) for cell in json.loads(path.read_text())["cells"] if grade_id(cell)]
        assert released - {NAME} <= set(ids), path
        assert len(ids) == len(set(ids)), path


def test_own_executor_gives_nothing_for_the_kits_cells(tmp_path):
    """Without our configuration the test cells must fail, not pass."""
    course = Course(tmp_path, 7, "process")
    course.hand_in("right", STEP, filled_in(course.released(STEP), solution_text(STEP)))
    (course.folder / "nbgrader_config.py").write_text("c = get_config()\n")
    course.must("autograde", STEP)
    assert course.scores()[STEP, "right"] == 0
    assert os.path.commonpath([ROOT, course.folder]) != str(ROOT)


@pytest.fixture
def plain(tmp_path):
    """A course without a sandbox."""
    course = Course(tmp_path, 7, "process")
    course.right = filled_in(course.released(STEP), solution_text(STEP))
    return course


@pytest.fixture
def plant(plain, tmp_path):
    """plant(student, number): a folder with the released notebook, made by hand in the exchange."""
    inbound = tmp_path / "exchange" / "nopeek" / "inbound"
    inbound.mkdir(parents=True)

    def plant(student, number=1, time=""):
        time = time or f"2026-11-{number:02} 10:00:00 UTC"
        folder = inbound / f"{student}+{STEP}+{time}+{number}"
        folder.mkdir()
        shutil.copy(plain.folder / "release" / STEP / f"{STEP}.ipynb", folder)
        return folder

    return plant


OWN = ["submission_secret.txt", "timestamp.txt"]  # without them `release_feedback` ends


def test_collecting_follows_no_link_and_passes_over_what_cannot_be_copied(plain, plant):
    """With the rights of the instructor, a link to the solutions would be the solutions."""
    source, found = plain.folder / "source" / STEP, plain.folder / "submitted"
    plant("ada")
    eve, mal = plant("eve", 2), plant("mal", 3)
    (eve / f"{STEP}.ipynb").unlink()
    (eve / f"{STEP}.ipynb").symlink_to(source / f"{STEP}.ipynb")
    (eve / "all").symlink_to(plain.folder)
    (eve / "endless").symlink_to("/dev/zero")
    os.mkfifo(eve / "pipe")
    (eve / "notes.txt").write_text("x")
    shutil.rmtree(mal)
    mal.symlink_to(source)
    (plant("zoe", 4) / "large.bin").write_bytes(bytes(200_000_000))
    plant("*", 5)
    said = plain.must("collect", STEP)
    assert (found / "ada" / STEP / f"{STEP}.ipynb").is_file()
    assert sorted(path.name for path in (found / "eve" / STEP).iterdir()) == ["notes.txt", *OWN]
    assert not (found / "zoe" / STEP / "large.bin").exists()
    assert not (found / "mal" / STEP).exists()
    assert "is not collected: it is a link" in said
    assert "all is not copied: it is a link" in said
    assert not (found / "*").exists()
    assert "is not collected: its name must not begin with" in said


def test_collecting_reads_the_time_in_a_folders_name_only(plain, plant):
    tim = plant("tim", 5)
    (tim / "timestamp.txt").write_text("1.1" * 300_000)  # nbgrader would read it for minutes
    (tim / "submission_secret.txt").write_bytes(b"\xff")
    far = "9999-12-31 23:59:59 UTC"  # no other time zone can say it
    (plant("kim", 6) / "timestamp.txt").write_text(far)
    plant("amy", time=far)
    plant("never", time="never")
    said, found = plain.must("collect", STEP), plain.folder / "submitted"
    assert {path.name for path in found.iterdir()} == {"tim", "kim"}
    for student, day in (("tim", 5), ("kim", 6)):
        secret, time = ((found / student / STEP / name).read_text() for name in OWN)
        assert (len(secret), time) == (64, f"2026-11-0{day} 10:00:00 UTC")
    assert said.count("is not collected: its name holds no time") == 1  # of those without one


def test_attempt_that_cannot_be_graded_keeps_no_score_of_an_earlier_one(plain):
    """Only the latest attempt counts, so nobody saves an earlier score by handing in rubbish.

    Without a notebook nbgrader asks whether the assignment was generated, and shows a traceback.
    """
    data = plain.folder / "source" / STEP / "data" / "of_the_course.txt"
    data.parent.mkdir()
    data.write_text("numbers")

    def hand_in(student, day, notebook=plain.right):
        path = plain.hand_in(student, STEP, notebook)
        (path.parent / "timestamp.txt").write_text(f"2026-11-0{day} 10:00:00 UTC")
        return path

    for student in ("ada", "bob", "cy", "fay"):
        hand_in(student, 1)
    plain.must("autograde", STEP)
    graded = plain.folder / "autograded" / "cy" / STEP / f"{STEP}.ipynb"
    before = graded.stat().st_mtime_ns
    hand_in("ada", 2, "{")
    hand_in("bob", 2).unlink()
    for student in ("di", "fay"):
        path = hand_in(student, 2)
        path.rename(path.with_name(f"{STEP}-Copy1.ipynb"))
    (hand_in("gil", 2).parent / "data").write_text("a file with the name of a folder")
    status, said = plain.run("autograde", STEP)
    assert (status, "Traceback" in said) == (1, False)
    for student in ("bob", "di", "fay"):
        assert f"{student}: no notebook is called {STEP}.ipynb." in said
    zero, right = ("ada", "bob", "di", "fay"), ("cy", "gil")
    points = dict.fromkeys(zero, 0) | dict.fromkeys(right, WORTH)
    assert {student: score for (_, student), score in plain.exported().items()} == points
    assert graded.stat().st_mtime_ns == before  # what was graded stays as it is
    for student in zero:
        shutil.rmtree(plain.folder / "submitted" / student)
        hand_in(student, 3)
    plain.must("autograde", STEP)
    assert set(plain.exported().values()) == {WORTH}


def test_later_attempt_without_a_time_is_named_because_nbgrader_passes_over_it(plain):
    """Where the instructor puts the folders by hand, there is no note on the time."""
    for student in ("ada", "bob"):
        plain.hand_in(student, STEP, plain.released(STEP))
    assert "--force" not in plain.must("autograde", STEP)
    path = plain.hand_in("ada", STEP, plain.right)
    os.utime(path, (10**9, 10**9))  # as a copy may keep it
    said = plain.must("autograde", STEP)
    assert "ada has a newer notebook than the one that was graded" in said
    assert "bob has" not in said
    assert "newer notebook" not in plain.must("autograde", STEP, "--student", "ada", "--force")
    assert plain.exported() == {(STEP, "ada"): WORTH, (STEP, "bob"): 0}
