"""A course on nbgrader, the whole cycle: everyone's points, and what is in the pages."""

import json
import re
import shutil
from pathlib import Path

import pytest

from grader.answer_key.variants import MISTAKES, read
from grader.classroom.hidden_inputs import derive_key
from grader.engine.grading import make_grader
from grader.intake.submission import Submission
from grader.notebooks.nbgrader.autograding import read_secret
from grader.steps import registry
from tests.conftest import ROOT
from tests.corpora.test_hostile import first_digits, secrets_noted
from tests.support.courses import Course, cell_of, filled_in, in_one_cell, joined, words
from tests.support.processes import belonging, soon
from tests.support.stubs import solution_lines, solution_text

SEED = 0x5EED_0F_A_C0_0125E
STEPS = ("step03_mask", "step07_kv_cache")
REGISTRY = registry.load()


def works(step):
    """Return each student's work for a step; None leaves the notebook as it was released."""
    wrong = read(MISTAKES, REGISTRY.find(step))
    found = {"right": solution_text(step), "untouched": None}
    return found | {f"mistake{n}": wrong[n * len(wrong) // 3].source for n in range(3)}


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    course = Course(tmp_path_factory.mktemp("nbgrader"), SEED)
    course.said = {}
    course.variables["TMPDIR"] = str(course.folder.parent / "tmp")
    Path(course.variables["TMPDIR"]).mkdir()
    course.hand_in("again", STEPS[0], course.released(STEPS[0]))
    for step in STEPS:
        for student, source in works(step).items():
            notebook = course.released(step)
            if source is not None:
                write = filled_in if student == "right" else in_one_cell
                notebook = write(notebook, source)
            course.hand_in(student, step, notebook)
        course.said[step] = course.must("autograde", step)
        course.must("generate_feedback", step)
    return course


@pytest.fixture(scope="module")
def scores(course):
    return course.scores()


@pytest.mark.parametrize("step", STEPS)
def test_points_of_the_test_cells_add_up_to_the_score(course, scores, step):
    for student in works(step):
        cells = course.graded(student, step).items()
        tests = [cell for name, cell in cells if (name or "").startswith("check_")]
        outputs = [output["data"] for cell in tests for output in cell["outputs"]]
        assert sum(float(joined(data["text/plain"])) for data in outputs) == scores[step, student]
    assert scores[step, "right"] == REGISTRY.find(step).max_points
    assert scores[step, "untouched"] == 0


def test_points_are_what_nbgrader_exports(course):
    assert course.exported().items() >= course.scores().items()


def test_nothing_is_left_after_grading(course):
    assert list(Path(course.variables["TMPDIR"]).iterdir()) == []
    assert soon(lambda: not belonging(course.folder.parent))


def test_some_students_have_part_of_the_points(scores):
    parts = [
        points
        for (step, student), points in scores.items()
        if student.startswith("mistake") and 0 < points < REGISTRY.find(step).max_points
    ]
    assert len(parts) >= 3


@pytest.mark.parametrize("step", STEPS)
def test_log_names_what_happened(course, step):
    most = REGISTRY.find(step).max_points
    assert f"right: {step} passed, {most:g} of {most:g} points" in course.said[step]
    assert f"untouched: {step} not attempted, 0 of {most:g} points" in course.said[step]
    assert "nopeek grades under bubblewrap" in course.said[step]
    assert "Warning:" not in course.said[step]


def test_feedback_names_the_mistake(course):
    text = words(course.feedback("mistake0", "step03_mask"))
    assert "causal_mask" in text
    cause, hint = text.index("This looks like a known mistake."), text.index("Hint. ")
    assert text.index("needs work") < cause < hint


@pytest.mark.parametrize("step", STEPS)
def test_feedback_tells_nothing_hidden(course, host, step):
    digits, chosen = set(), [REGISTRY.find(step)]
    secret, _ = read_secret(course.folder)
    with secrets_noted(digits):
        grader = make_grader(REGISTRY, host, "hidden", SEED, chosen, key=derive_key(secret, SEED))
        grader.grade(Submission("x", {step: solution_text(step)}), chosen)
    assert len(digits) > 20
    for student, source in works(step).items():
        text = words(course.feedback(student, step))
        assert first_digits(text) & digits == set()
        assert str(SEED) not in text
        assert str(ROOT) not in text
        others = (line for line in solution_lines(step) if line not in (source or ""))
        assert [line for line in others if line in text] == []


def test_nothing_but_the_page_is_in_the_feedback_folder(course):
    found = {path.name for path in (course.folder / "feedback" / "right").rglob("*.*")}
    assert found == {f"{step}.html" for step in STEPS}


@pytest.mark.long
def test_student_who_hands_in_again_is_graded_again(course):
    step = STEPS[0]
    assert course.graded("again", step)["check_causal_mask"]["outputs"]
    course.hand_in("again", step, filled_in(course.released(step), solution_text(step)))
    course.must("autograde", step, "--student", "again", "--force")
    assert course.scores()[step, "again"] == REGISTRY.find(step).max_points


@pytest.mark.long
def test_no_execute_changes_nothing(course):
    step = "step03_mask"
    notebook = course.released(step)
    cell_of(notebook, "check_causal_mask")["outputs"] = [
        {"output_type": "execute_result", "data": {"text/plain": "1.0"}, "metadata": {}}
        | {"execution_count": 1}
    ]
    course.hand_in("sly", step, notebook)
    course.must("autograde", step, "--student", "sly", "--no-execute")
    assert course.scores()[step, "sly"] == 0


@pytest.mark.long
def test_instructor_may_change_points_and_add_cells(tmp_path):
    """Points are kept in proportion; a test cell that is not the kit's earns nothing."""
    step = "step03_mask"
    course = Course(tmp_path, SEED, "process")
    path = course.folder / "source" / step / f"{step}.ipynb"
    notebook = json.loads(path.read_text())
    cell_of(notebook, "check_causal_mask")["metadata"]["nbgrader"]["points"] = 100
    own = json.loads(json.dumps(cell_of(notebook, "check_causal_mask")))
    own["metadata"]["nbgrader"].update(grade_id="my_own", points=3)
    own.update(source="assert True", id="own")
    notebook["cells"].append(own)
    path.write_text(json.dumps(notebook))
    course.hand_in("right", step, filled_in(course.released(step), solution_text(step)))
    said = course.must("autograde", step)
    assert "my_own is not a test cell of the kit: it earns nothing" in said
    worth = {f.name: sum(c.points for c in f.checks) for f in REGISTRY.find(step).functions}
    assert course.scores()[step, "right"] == 100 + sum(worth.values()) - worth["causal_mask"]


@pytest.mark.long
def test_secret_is_made_once_and_kept(tmp_path):
    step = "step02_scores"
    course = Course(tmp_path, 1, "process")
    course.hand_in("right", step, filled_in(course.released(step), solution_text(step)))
    assert ".nopeek-secret was made" in course.must("autograde", step)
    kept = course.folder / ".nopeek-secret"
    secret = kept.read_text()
    assert kept.stat().st_mode & 0o777 == 0o600
    assert ".nopeek-secret was made" not in course.must("autograde", step, "--force")
    assert kept.read_text() == secret
    course.must("generate_feedback", step)
    files = [path for path in course.folder.rglob("*") if path.is_file() and path != kept]
    words = [secret.split()[0].encode(), derive_key(bytes.fromhex(secret.split()[0]), 1).encode()]
    assert not any(word in path.read_bytes() for path in files for word in words)
    assert course.scores()[step, "right"] == 7


@pytest.mark.parametrize(
    ("secret", "reason"),
    [
        ("x", "does not hold a secret that nopeek has written: restore it from a copy"),
        (f"{'0' * 64} {'0' * 16}", "does not hold a secret that nopeek has written"),
        (None, "bubblewrap"),
        ("none released", "there is no notebook in "),
    ],
    ids=["no secret", "damaged", "no sandbox", "no release"],
)
def test_class_is_refused_as_a_whole(tmp_path, secret, reason):
    step = "step02_scores"
    course = Course(tmp_path, 1, "bubblewrap")
    course.hand_in("right", step, filled_in(course.released(step), solution_text(step)))
    if secret == "none released":
        shutil.rmtree(course.folder / "release")
    elif secret:
        (course.folder / ".nopeek-secret").write_text(secret)
    else:
        course.variables["PATH"] = str(tmp_path)  # where no bwrap is
    status, said = course.run("autograde", step)
    assert status == 1
    assert "nopeek grades nothing: " in said
    assert reason in said
    assert "Traceback" not in said
    assert not (course.folder / "autograded").exists()
    if secret and secret != "none released":
        assert (course.folder / ".nopeek-secret").read_text() == secret


@pytest.mark.long
def test_assignment_goes_out_and_comes_back_through_the_exchange(tmp_path):
    """Release, fetch, submit, collect, autograde, feedback: each with nbgrader's own command.

    The first one and `autograde` are started as an instructor starts them.
    """
    step = "step02_scores"
    course = Course(tmp_path, SEED, "process")
    exchange, desk = tmp_path / "exchange", tmp_path / "desk"
    exchange.mkdir()
    exchange.chmod(0o777)
    desk.mkdir()
    (desk / "nbgrader_config.py").write_text(
        f"c = get_config()\nc.Exchange.root = {str(exchange)!r}\n"
        "c.CourseDirectory.course_id = 'nopeek'\n"
    )
    course.must("generate_assignment", step, forked=False)
    course.must("release_assignment", step)
    course.must("fetch_assignment", step, cwd=desk)
    path = desk / step / f"{step}.ipynb"
    notebook = json.loads(path.read_text())
    assert "k_transposed" not in json.dumps(notebook)
    path.write_text(json.dumps(filled_in(notebook, solution_text(step))))
    course.must("submit", step, cwd=desk)
    course.must("collect", step)
    (student,) = [folder.name for folder in (course.folder / "submitted").iterdir()]
    course.must("autograde", step, forked=False)
    course.must("generate_feedback", step)
    course.must("release_feedback", step)
    course.must("fetch_feedback", step, cwd=desk)
    assert course.scores()[step, student] == 7
    (page,) = (desk / step / "feedback").rglob("*.html")
    assert re.search(r"(\d+) checks: \1 passed\.", page.read_text(encoding="utf-8"))
