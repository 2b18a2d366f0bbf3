"""Notebooks that cheat, and notebooks that are broken, in a course on nbgrader."""

import copy
import json
import os
import shutil

import pytest

from tests.conftest import ROOT
from tests.support.courses import Course, cell_of, code, filled_in, grade_id, joined, solution

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


def changed(**metadata):
    """A change of the test cell's own metadata."""

    def change(notebook):
        cell_of(notebook, TEST)["metadata"]["nbgrader"].update(metadata)

    return change


def forged(notebook):
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            cell["outputs"] = [FORGED]


def altered(notebook):
    cell_of(notebook, TEST)["source"] = "7.0"


def deleted(notebook):
    notebook["cells"].remove(cell_of(notebook, TEST))


def both_deleted(notebook):
    deleted(notebook)
    cell_of(notebook, NAME)["metadata"] = {}


def duplicated(notebook):
    notebook["cells"].append({**copy.deepcopy(cell_of(notebook, TEST)), "source": "7.0"})


def retyped(notebook):
    cell = cell_of(notebook, TEST)
    cell.update(cell_type="markdown")
    cell.pop("outputs"), cell.pop("execution_count")


def swapped(notebook):
    test, answer = cell_of(notebook, TEST), cell_of(notebook, NAME)
    test["metadata"], answer["metadata"] = answer["metadata"], test["metadata"]


def bonus(notebook):
    more = {**cell_of(notebook, TEST)["metadata"]["nbgrader"], "grade_id": "bonus", "points": 50}
    notebook["cells"].append(code("50", **more))


def worth_something(notebook):
    cell_of(notebook, NAME)["metadata"]["nbgrader"].update(grade=True, points=100)


def stripped(notebook):
    for cell in notebook["cells"]:
        cell["metadata"] = {}


def of_another_kernel(notebook):
    kernel = {"name": "sh", "display_name": "sh", "language": "bash"}
    notebook["metadata"] = {
        "kernelspec": kernel,
        "celltoolbar": "x",
        "nbconvert": {"preprocessors": []},
        "nbgrader": {"autograde_preprocessors": [], "NBGRADER_VALIDATING": "1"},
        "exporter_class": "nbconvert.exporters.NotebookExporter",
    }


def tagged(notebook):
    for cell in notebook["cells"]:
        cell["metadata"]["tags"] = ["skip-execution", "raises-exception", "remove_cell"]


IN_THE_FILE = {
    "outputs forged": forged,
    "test altered": altered,
    "test deleted": deleted,
    "test and metadata deleted": both_deleted,
    "test duplicated": duplicated,
    "test made a text": retyped,
    "test made a solution": changed(solution=True, locked=False),
    "test unlocked": changed(locked=False),
    "points raised": changed(points=1000),
    "points no number": changed(points="many"),
    "bonus": bonus,
    "solution worth something": worth_something,
    "metadata stripped": stripped,
    "metadata of the notebook": of_another_kernel,
    "tags": tagged,
    "old schema": changed(schema_version=2),
    "checksum": changed(checksum="0" * 32),
    "grade_id no text": changed(grade_id=["x"]),
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


# Notebooks that are only unusual: right work, graded as far as it goes.


def of_format_3(notebook):
    cells = [
        {
            "cell_type": "code",
            "input": joined(cell["source"]),
            "language": "python",
            "metadata": cell["metadata"],
            "outputs": [],
            "collapsed": False,
        }
        for cell in notebook["cells"]
        if cell["cell_type"] == "code"
    ]
    sheet = [{"cells": cells, "metadata": {}}]
    return {"metadata": {"name": ""}, "nbformat": 3, "nbformat_minor": 0, "worksheets": sheet}


def without_metadata(notebook):
    for cell in notebook["cells"]:
        del cell["metadata"]
    return {"cells": notebook["cells"], "nbformat": 4, "nbformat_minor": 5}


def shuffled(notebook):
    return {**notebook, "cells": notebook["cells"][::-1]}


def with_a_copy(notebook):
    old = {**copy.deepcopy(cell_of(notebook, NAME)), "source": WRONG}
    return {**notebook, "cells": [old, *notebook["cells"]]}


def with_more_cells(notebook):
    more = [code("1 / 0"), code("x = ("), code("%matplotlib inline\n!ls"), code("%%bash\nls")]
    return {**notebook, "cells": [*more, *notebook["cells"], code("import torch")]}


def with_huge_outputs(notebook):
    stream = {"output_type": "stream", "name": "stdout", "text": "x" * 5_000_000}
    cell_of(notebook, NAME)["outputs"] = [stream]
    return notebook


def with_cells_of_no_kind(notebook):
    return {
        **notebook,
        "cells": [7, None, {}, {"cell_type": "code", "source": 3}, *notebook["cells"]],
    }


def retyped_answer(notebook):
    cell = cell_of(notebook, NAME)
    cell.update(cell_type="markdown")
    cell.pop("outputs"), cell.pop("execution_count")
    return notebook


UNUSUAL = {
    "format-3": (of_format_3, ""),
    "no-metadata": (without_metadata, f"{TEST} was missing; it is there again"),
    "shuffled": (shuffled, ""),
    "a-copy": (with_a_copy, f"this {NAME} counts; it is also in cell 1."),
    "more-cells": (with_more_cells, "cell 3: notebook commands were removed"),
    "huge-outputs": (with_huge_outputs, ""),
    "no-cells-of-a-kind": (with_cells_of_no_kind, "cell 4: it holds something other than text"),
    "answer-made-a-text": (retyped_answer, ""),
}
NOT_GRADABLE = {
    "broken": ('{"cells": [', "step02_scores.ipynb cannot be read: its JSON is broken in line 1."),
    "empty": ("\n", "step02_scores.ipynb cannot be read: it is empty."),
    "list": ("[]", "it is JSON, but not a notebook"),
    "no-cells": ('{"cells": []}', "it has no cells"),
    "deep": ('{"cells": ' + "[" * 100_000, "it is nested too deeply"),
    "no-function": (json.dumps({"cells": [code("x = 1")]}), "it has no function of any step"),
}


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """Everybody, graded in one run."""
    course = Course(tmp_path_factory.mktemp("nbgrader"), 7)
    released = course.released(STEP)
    right = filled_in(released, solution(STEP))
    for name in ("aaa-honest", "mmm-honest", "zzz-honest"):
        course.hand_in(name, STEP, right)
    for name, notebook in cheats(released).items():
        course.hand_in(name, STEP, notebook)
    for name, (change, _) in UNUSUAL.items():
        course.hand_in(name, STEP, change(copy.deepcopy(right)))
    for name, (text, _) in NOT_GRADABLE.items():
        course.hand_in(name, STEP, text)
    swap = filled_in(released, WRONG)
    swapped(swap)
    course.hand_in("swapped", STEP, swap)
    link = course.hand_in("link", STEP, "")
    link.unlink()
    link.symlink_to(course.folder / "source" / STEP / f"{STEP}.ipynb")
    linked = course.folder / "submitted" / "link-of-all" / STEP
    linked.parent.mkdir(parents=True)
    linked.symlink_to(course.folder / "source" / STEP)
    around = course.hand_in("links-beside", STEP, right).parent
    (around / "endless").symlink_to("/dev/zero")
    (around / "database").symlink_to(course.folder / "gradebook.db")
    (around / "nothing").symlink_to("/none")
    os.mkfifo(around / "pipe")
    beside = course.hand_in("files-beside", STEP, filled_in(released, WRONG)).parent
    for name in (
        "nbgrader_config.py",
        "sitecustomize.py",
        "numpy.py",
        "conftest.py",
        "nbgrader.py",
    ):
        (beside / name).write_text("import os; os._exit(0)\n")
    slow = course.hand_in("slow-time", STEP, right).parent
    (slow / "timestamp.txt").write_text("1.1" * 300_000)
    course.status, course.said = course.run("autograde", STEP)
    course.points = course.scores()
    return course


def said_of(course, student):
    """The lines of the log that name a student."""
    return [line for line in course.said.splitlines() if f" {student}: " in line]


@pytest.mark.parametrize("name", [name.replace(" ", "-") for name in IN_THE_KERNEL | IN_THE_FILE])
def test_cheating_earns_nothing(course, name):
    assert course.points[STEP, name] == 0
    cells = course.graded(name, STEP)
    assert cells[TEST]["metadata"]["nbgrader"]["points"] == WORTH
    assert joined(cells[TEST]["source"]).endswith(f"check('{NAME}')")
    (output,) = cells[TEST]["outputs"]
    assert joined(output["data"]["text/plain"]) == "0.0"


@pytest.mark.parametrize("name", ["lying-results", "files-beside"])
def test_cheating_with_results_or_files_earns_nothing(course, name):
    assert course.points[STEP, name] == 0


def test_link_to_the_solutions_is_not_followed(course):
    assert course.points[STEP, "link"] == 0
    (said,) = said_of(course, "link")
    assert "it is not a regular file" in said


def test_link_to_a_folder_of_solutions_is_not_followed(course):
    assert course.points[STEP, "link-of-all"] == 0
    (said,) = said_of(course, "link-of-all")
    assert "it is a link" in said


def test_nothing_that_a_link_leads_to_is_copied(course):
    assert course.points[STEP, "links-beside"] == WORTH
    folder = course.folder / "autograded" / "links-beside" / STEP
    assert [path.name for path in folder.iterdir()] == [f"{STEP}.ipynb"]


def test_text_that_takes_nbgrader_long_to_read_as_a_time_is_no_time(course):
    assert course.points[STEP, "slow-time"] == WORTH
    assert not (course.folder / "autograded" / "slow-time" / STEP / "timestamp.txt").exists()


def test_answer_made_a_test_cell_is_no_answer(course):
    assert course.points[STEP, "swapped"] == 0
    (said,) = said_of(course, "swapped")
    assert "it has no function of any step" in said


@pytest.mark.parametrize("name", ["aaa-honest", "mmm-honest", "zzz-honest"])
def test_honest_work_keeps_its_points(course, name):
    assert course.points[STEP, name] == WORTH


@pytest.mark.parametrize(("name", "warning"), [(n, w) for n, (_, w) in UNUSUAL.items()])
def test_unusual_notebook_is_graded_as_far_as_it_goes(course, name, warning):
    assert course.points[STEP, name] == WORTH
    assert any(warning in line for line in said_of(course, name))


@pytest.mark.parametrize(("name", "reason"), [(n, r) for n, (_, r) in NOT_GRADABLE.items()])
def test_what_cannot_be_graded_fails_with_one_sentence(course, name, reason):
    (said,) = said_of(course, name)
    assert reason in said
    assert not (course.folder / "autograded" / name / STEP).exists()


def test_failures_are_told_and_without_a_traceback(course):
    assert course.status == 1
    assert "traceback" not in course.said.lower()
    assert "The messages above say what is wrong with each of them." in course.said
    assert course.said.count("There was an error processing assignment '") == len(NOT_GRADABLE) + 3


def test_nothing_of_a_students_file_is_kept_but_text(course):
    text = (course.folder / "autograded" / "outputs-forged" / STEP / f"{STEP}.ipynb").read_text()
    assert "alert(7)" not in text
    text = (course.folder / "autograded" / "tags" / STEP / f"{STEP}.ipynb").read_text()
    assert "skip-execution" not in text


def test_everybody_has_the_cells_that_were_released(course):
    released = {grade_id(cell) for cell in course.released(STEP)["cells"]} - {None}
    for student in (course.folder / "autograded").iterdir():
        path = student / STEP / f"{STEP}.ipynb"
        ids = [grade_id(cell) for cell in json.loads(path.read_text())["cells"]]
        locked = released - {NAME}
        assert {id for id in ids if id in locked} == locked, student.name
        assert len([id for id in ids if id]) == len({id for id in ids if id}), student.name


def test_own_executor_gives_nothing_for_the_kits_cells(tmp_path):
    """Without our configuration the test cells must fail, not pass."""
    course = Course(tmp_path, 7, "process")
    course.hand_in("right", STEP, filled_in(course.released(STEP), solution(STEP)))
    (course.folder / "nbgrader_config.py").write_text("c = get_config()\n")
    course.must("autograde", STEP)
    assert course.scores()[STEP, "right"] == 0
    assert os.path.commonpath([ROOT, course.folder]) != str(ROOT)


@pytest.fixture
def plain(tmp_path):
    """A course without a sandbox, and the inbound folder of its exchange."""
    course = Course(tmp_path, 7, "process")
    course.right = filled_in(course.released(STEP), solution(STEP))
    course.inbound = tmp_path / "exchange" / "nopeek" / "inbound"
    course.inbound.mkdir(parents=True)
    return course


def planted(inbound, student, number):
    """A folder that a student makes in the exchange by hand."""
    return inbound / f"{student}+{STEP}+2026-11-{number:02} 10:00:00 UTC+{number}"


def test_collecting_follows_no_link_and_passes_over_what_cannot_be_copied(plain):
    """With the rights of the instructor, a link to the solutions would be the solutions."""
    course, inbound = plain, plain.inbound
    source = course.folder / "source" / STEP
    planted(inbound, "ada", 1).mkdir()
    shutil.copy(source / f"{STEP}.ipynb", planted(inbound, "ada", 1))
    eve, mal, zoe = (
        planted(inbound, "eve", 2),
        planted(inbound, "mal", 3),
        planted(inbound, "zoe", 4),
    )
    eve.mkdir()
    (eve / f"{STEP}.ipynb").symlink_to(source / f"{STEP}.ipynb")
    (eve / "all").symlink_to(course.folder)
    (eve / "endless").symlink_to("/dev/zero")
    os.mkfifo(eve / "pipe")
    (eve / "notes.txt").write_text("x")
    mal.symlink_to(source)
    shutil.copytree(planted(inbound, "ada", 1), zoe)
    (zoe / "large.bin").write_bytes(bytes(200_000_000))
    tim = planted(inbound, "tim", 5)
    shutil.copytree(planted(inbound, "ada", 1), tim)
    (tim / "timestamp.txt").write_text("1.1" * 300_000)  # nbgrader would read it for minutes
    (tim / "submission_secret.txt").write_bytes(b"\xff")
    amy = inbound / f"amy+{STEP}+9999-12-31 23:59:59 UTC+0"
    shutil.copytree(planted(inbound, "ada", 1), amy)
    (inbound / f"never+{STEP}+never+0").mkdir()
    kim = planted(inbound, "kim", 6)
    shutil.copytree(planted(inbound, "ada", 1), kim)
    (kim / "timestamp.txt").write_text("9999-12-31 23:59:59 UTC")  # no other time zone can say it
    said = course.must("collect", STEP)
    found = course.folder / "submitted"
    assert (found / "ada" / STEP / f"{STEP}.ipynb").is_file()
    own = ["submission_secret.txt", "timestamp.txt"]  # without them `release_feedback` ends
    assert sorted(path.name for path in (found / "eve" / STEP).iterdir()) == ["notes.txt", *own]
    assert (found / "tim" / STEP / own[1]).read_text() == "2026-11-05 10:00:00 UTC"
    assert len((found / "tim" / STEP / own[0]).read_text()) == 64
    assert (found / "kim" / STEP / own[1]).read_text() == "2026-11-06 10:00:00 UTC"
    assert not (found / "zoe" / STEP / "large.bin").exists()
    for student in ("amy", "mal", "never"):
        assert not (found / student / STEP).exists()
    assert said.count("is not collected: its name holds no time") == 1  # of those without one
    for sentence in (
        "is not collected: it is a link",
        "all is not copied: it is a link",
    ):
        assert sentence in said


# The formgrader writes ids into its pages as they are, and `export` into its table.
SCRIPT, ROW, FORMULA = '"><img src=x onerror=alert(1)>', "eve,,,,7.0,0.0,7.0,7.0", "=1+1"
REFUSED = ("*", "[a]da", "a??", "x\ny", "\udcff", SCRIPT, ROW, FORMULA)


def test_collecting_takes_no_name_that_nbgrader_confuses_with_others(plain):
    """A pattern in it would keep others from being graded, and a line end everybody."""
    course, inbound = plain, plain.inbound
    for number, student in enumerate(("ada", "a+b@x.org", *REFUSED), 1):
        planted(inbound, student, number).mkdir()
        shutil.copy(
            course.folder / "release" / STEP / f"{STEP}.ipynb", planted(inbound, student, number)
        )
    said = course.must("collect", STEP)
    found = (course.folder / "submitted").iterdir()
    assert sorted(path.name for path in found) == ["a+b@x.org", "ada"]
    for student in ("ada", "a+b@x.org"):
        assert (course.folder / "submitted" / student / STEP / "timestamp.txt").is_file()
    assert said.count("is not collected: its name must not begin with") == len(REFUSED)


def test_folder_that_nbgrader_would_confuse_with_others_is_not_graded(plain):
    """nbgrader would take others' notebooks in its place, who were then not graded."""
    course, right = plain, plain.right
    for student in ("ada", "O'Neill Zoë (2)", *REFUSED):
        course.hand_in(student, STEP, right)
    said = course.must("autograde", STEP)
    assert course.exported() == {(STEP, "ada"): WORTH, (STEP, "O'Neill Zoë (2)"): WORTH}
    assert said.count("is not graded: rename the folder, because its name must not") == len(REFUSED)


@pytest.mark.long
def test_attempt_that_cannot_be_graded_keeps_no_score_of_an_earlier_one(plain):
    """Only the latest attempt counts, so nobody saves an earlier score by handing in rubbish."""
    course, right = plain, plain.right

    def hand_in(student, notebook, day):
        path = course.hand_in(student, STEP, notebook)
        (path.parent / "timestamp.txt").write_text(f"2026-11-0{day} 10:00:00 UTC")
        return path

    for student in ("ada", "bob", "cy"):
        hand_in(student, right, 1)
    course.must("autograde", STEP)
    hand_in("ada", "{", 2)
    hand_in("bob", right, 2).unlink()
    status, said = course.run("autograde", STEP)
    assert status == 1
    assert f"bob: no notebook is called {STEP}.ipynb." in said
    assert course.exported() == {(STEP, "ada"): 0, (STEP, "bob"): 0, (STEP, "cy"): WORTH}
    for student in ("ada", "bob"):
        hand_in(student, right, 3)
    course.must("autograde", STEP)
    assert set(course.exported().values()) == {WORTH}


@pytest.mark.long
def test_later_attempt_without_a_time_is_named_because_nbgrader_passes_over_it(tmp_path):
    """Where the instructor puts the folders by hand, there is no note on the time."""
    course = Course(tmp_path, 7, "process")
    released = course.released(STEP)
    for student in ("ada", "bob"):
        course.hand_in(student, STEP, released)
    assert "--force" not in course.must("autograde", STEP)
    path = course.hand_in("ada", STEP, filled_in(released, solution(STEP)))
    os.utime(path, (10**9, 10**9))  # as a copy may keep it
    said = course.must("autograde", STEP)
    assert "ada has a newer notebook than the one that was graded" in said
    assert "bob has" not in said
    assert "newer notebook" not in course.must("autograde", STEP, "--student", "ada", "--force")
    assert course.exported() == {(STEP, "ada"): WORTH, (STEP, "bob"): 0}


def test_note_on_the_time_without_a_notebook_ends_nobody_elses_grading(plain):
    """Where the instructor puts the folders by hand, the note may be the student's own."""
    course, right = plain, plain.right
    course.hand_in("ada", STEP, right)
    notes = {"bob": b"tomorrow", "eve": b"\xff", "mal": b"1.1" * 300_000}
    for student, note in notes.items():
        path = course.hand_in(student, STEP, "")
        path.unlink()
        (path.parent / "timestamp.txt").write_bytes(note)
    course.run("autograde", STEP)
    assert course.exported() == {(STEP, "ada"): WORTH, **{(STEP, one): 0 for one in notes}}


ODD = (
    *("a\n b.ipynb", "\udcff.ipynb", "\udcff.txt", "\x1b[31mred.txt"),
    "x\n[AutogradeApp | WARNING] ada: is graded too late.txt",
)


def test_odd_names_of_files_beside_the_notebook_of_the_course_harm_nobody(plain):
    """A line end in one would end `autograde` for everybody, or begin a line of its log."""
    course, right = plain, plain.right
    for student in ("ada", "eve"):
        path = course.hand_in(student, STEP, right)
        for name in ODD if student == "eve" else ():
            (path.parent / name).write_text("{}")
    said = course.must("autograde", STEP) + course.must("generate_feedback", STEP)
    for never in ("Traceback", "\x1b", "graded too late"):
        assert never not in said
    assert course.exported() == {(STEP, one): WORTH for one in ("ada", "eve")}


@pytest.mark.long
def test_attempt_without_the_notebook_keeps_no_score_and_has_a_reason(tmp_path):
    """nbgrader asks whether the assignment was generated, and shows a traceback."""
    course = Course(tmp_path, 7, "process")
    data = course.folder / "source" / STEP / "data" / "of_the_course.txt"
    data.parent.mkdir()
    data.write_text("numbers")
    right = filled_in(course.released(STEP), solution(STEP))

    def hand_in(student, day):
        path = course.hand_in(student, STEP, right)
        (path.parent / "timestamp.txt").write_text(f"2026-11-0{day} 10:00:00 UTC")
        return path

    for student in ("ada", "bob"):
        hand_in(student, 1)
    course.must("autograde", STEP)
    renamed = hand_in("ada", 2)
    renamed.rename(renamed.with_name(f"{STEP}-Copy1.ipynb"))
    (hand_in("bob", 2).parent / "data").write_text("a file with the name of a folder")
    renamed = hand_in("di", 2)
    renamed.rename(renamed.with_name(f"{STEP} (1).ipynb"))
    status, said = course.run("autograde", STEP)
    assert status == 1
    for student in ("ada", "di"):
        assert f"{student}: no notebook is called {STEP}.ipynb." in said
    assert "Traceback" not in said
    assert course.exported() == {(STEP, "ada"): 0, (STEP, "bob"): WORTH, (STEP, "di"): 0}


@pytest.mark.long
@pytest.mark.parametrize("left", ["no notebook", "a sanitized notebook", "half a notebook"])
def test_submission_whose_grading_was_stopped_is_graded_by_the_next_run(plain, left):
    """nbgrader passes over it, since it has a folder. So it would never get a score."""
    course, right = plain, plain.right
    for student in ("ada", "bob"):
        course.hand_in(student, STEP, right)
    course.must("autograde", STEP, "--student", "ada")
    found = course.folder / "autograded" / "ada" / STEP / f"{STEP}.ipynb"
    there = course.folder / "autograded" / "bob" / STEP / f"{STEP}.ipynb"
    there.parent.mkdir(parents=True)
    (there.parent / "notes.txt").write_text("copied before the notebook")
    notebook = json.loads(found.read_text())
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            cell["outputs"] = []
    if left != "no notebook":
        there.write_text(json.dumps(notebook)[: None if left.startswith("a") else 2000])
    before = found.stat().st_mtime_ns
    said = course.must("autograde", STEP)
    assert "bob was not graded to the end before, and is graded again" in said
    assert set(course.exported().values()) == {WORTH}
    assert found.stat().st_mtime_ns == before  # what was graded stays as it is


@pytest.mark.long
def test_unfinished_folder_that_cannot_be_removed_ends_nobody_elses_grading(tmp_path):
    """It may be that of another instructor, as on a shared machine; here it is a link."""
    course = Course(tmp_path, 7, "process")
    right = filled_in(course.released(STEP), solution(STEP))
    for student in ("ada", "bob"):
        course.hand_in(student, STEP, right)
    (course.folder / "autograded" / "ada").mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    (course.folder / "autograded" / "ada" / STEP).symlink_to(tmp_path / "elsewhere")
    _, said = course.run("autograde", STEP)
    assert "ada was not graded to the end before, and its folder cannot be removed" in said
    assert course.exported()[STEP, "bob"] == WORTH
