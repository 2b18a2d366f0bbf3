"""The commands `export` and `release`, as their users have them."""

import pytest
from click.testing import CliRunner

from grader.classroom.gradebook import Gradebook
from grader.classroom.judge import Exam
from grader.cli.main import cli
from grader.report.sanitize import safe_name
from tests.support.classes import kept, not_gradable, right, wrong
from tests.support.disks import little_room
from tests.unit.classroom.test_exports import CANVAS, MOODLE

COLUMN = ("--column", "Attention (4711)")
EXAM = Exam("hidden", 7, "bubblewrap", ("step02_scores",), "a kit")


@pytest.fixture
def out(tmp_path):
    (tmp_path / "graded").mkdir()
    with Gradebook(tmp_path / "graded", write=True) as book:
        kept(book, EXAM, [right(), wrong(), not_gradable(), wrong("../../x\ud800")])
    (tmp_path / "out").mkdir()
    return tmp_path / "out"


@pytest.fixture
def export(out):
    """export(arguments): what the command says, and its exit status."""
    folder = str(out.parent / "graded")
    return lambda *words: CliRunner().invoke(cli, ["export", folder, *map(str, words)])


@pytest.mark.parametrize("platform", ["moodle", "canvas"])
def test_feedback_without_a_download_is_not_written(export, out, platform):
    done = export("--format", f"{platform}-feedback", "--out", out / "feedback.zip")
    assert done.exit_code == 2
    assert "nobody's work is from such a download, so nothing was written" in done.output
    assert not (out / "feedback.zip").exists()


@pytest.mark.parametrize(
    ("course", "named"), [({}, "nopeek"), ({"title": "Masks", "name": "hw2"}, "hw2")]
)
def test_export_for_nbgrader_names_the_assignment(export, out, course, named):
    with Gradebook(out.parent / "graded", write=True) as book:
        kept(book, EXAM, [right()], {"course": course})
    export("--format", "nbgrader", "--out", out)
    lines = (out / "nbgrader.csv").read_text(encoding="utf-8").splitlines()
    assert [line.split(",")[0] for line in lines] == ["assignment", named]


def test_export_writes_a_file_per_student(export, out):
    done = export("--format", "gradescope", "--out", out / "each")
    assert done.exit_code == 0
    names = {path.name for path in (out / "each").iterdir()}
    assert names == {"alice.json", "bob.json", f"{safe_name('../../x' + chr(0xD800))}.json"}
    assert "not gradable, so without a file (1):\n  carol\n" in done.output


def test_export_fills_in_a_copy_of_the_instructors_file(export, out):
    own = out.parent / "canvas.csv"
    own.write_bytes(CANVAS.encode())
    done = export("--format", "canvas", "--into", own, *COLUMN, "--overwrite", "--out", out)
    assert done.exit_code == 0
    assert own.read_bytes() == CANVAS.encode()
    full = CANVAS.replace("3,,70.0", "3,10,70.0").replace("4,2,80.0", "4,5,80.0")
    assert (out / "canvas.csv").read_bytes() == full.encode()
    assert "wrote 2 scores into" in done.output
    said = "without a row of their own, so not written (1):\n  ../../x\\ud800: no person"
    assert said in done.output
    assert "without a score, so not written (1):\n  carol\n" in done.output


def test_export_into_moodle_says_what_it_wrote_and_what_stays(export, out):
    own, new = out.parent / "moodle.csv", out / "filled.csv"
    own.write_text(MOODLE.replace("Bob", "bob"), encoding="utf-8")
    done = export("--format", "moodle", "--into", own, "--out", new)
    assert done.exit_code == 2  # two of three are not there
    assert f"only 1 of 3 students are in {own}" in done.output
    assert "they were scaled" in done.output
    assert "without a score, so not written (1):\n  carol\n" in done.output
    said = "kept there; --overwrite writes the score or comment instead"
    assert f"{said} (1):\n  bob: 3.00 there, 50 here\n" in done.output
    assert new.read_text(encoding="utf-8").count("3.00") == 1
    export("--format", "moodle", "--into", own, "--overwrite", "--out", new)
    said = "Points: 5 of 10. Scaled scores: 0 of 5. Masks: 5 of 5. First to work on: Scaled scores."
    full = MOODLE.replace("Bob", "bob").replace("3.00,", "50,").replace("old", said)
    assert new.read_text(encoding="utf-8") == full


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (CANVAS.encode() + "Ä".encode("latin-1"), "is not UTF-8 text: save it as UTF-8"),
        (CANVAS.replace("4711", "77").encode(), "cannot be filled in: there is no column 'Att"),
    ],
    ids=["another encoding", "another column"],
)
def test_export_refuses_in_one_sentence_and_writes_nothing(export, out, data, why):
    own = out.parent / "canvas.csv"
    own.write_bytes(data)
    done = export("--format", "canvas", "--into", own, *COLUMN, "--out", out)
    assert done.exit_code == 2
    assert why in done.output
    assert len(done.output.splitlines()) == 1
    assert list(out.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("--format", "canvas"), "needs --into FILE: your own export"),
        (("--format", "csv", "--into", "x.csv"), "--into goes with canvas, moodle, brightspace, "),
        (("--format", "canvas", "--into", "none.csv"), "none.csv cannot be read: No such file"),
    ],
    ids=["no file", "a file too many", "no such file"],
)
def test_export_says_what_it_needs(export, out, arguments, why):
    done = export(*arguments, "--out", out)
    assert done.exit_code == 2
    assert why in done.output


def test_export_never_overwrites_the_instructors_file(export, out):
    own = out / "canvas.csv"
    own.write_bytes(CANVAS.encode())
    for target in (out, own):
        done = export("--format", "canvas", "--into", own, *COLUMN, "--out", target)
        assert done.exit_code == 2
        assert "would be overwritten" in done.output
    assert own.read_bytes() == CANVAS.encode()


def test_export_that_fails_halfway_leaves_the_old_file(export, out, monkeypatch):
    (out / "grades.csv").write_text("old", encoding="utf-8")

    def failing(self, run):
        yield right()
        raise OSError(5, "Input/output error", "gradebook.db")

    monkeypatch.setattr(Gradebook, "graded", failing)
    done = export("--format", "csv", "--out", out)
    assert done.exit_code == 2
    assert done.output == "nopeek: cannot use gradebook.db: Input/output error\n"
    assert (out / "grades.csv").read_text(encoding="utf-8") == "old"
    assert len(list(out.iterdir())) == 1


def test_nothing_is_left_of_a_score_that_is_no_more(export, out):
    """The latest attempt counts, also if it cannot be graded."""
    arguments = ("--format", "gradescope", "--out", out / "json")
    export(*arguments)
    with Gradebook(out.parent / "graded", write=True) as book:
        kept(book, EXAM, [right(), not_gradable("bob")])
    done = export(*arguments)
    assert "not gradable, so without a file (1):\n  bob\n" in done.output
    names = {path.name for path in (out / "json").iterdir()}
    assert "alice.json" in names
    assert "bob.json" not in names


def test_full_disk_leaves_the_autograder_and_the_handin_of_before(tmp_path):
    path, mine = tmp_path / "before.zip", tmp_path / "mine"
    path.write_text("before")
    mine.mkdir()
    (mine / "step02_scores.py").write_text("def attention_scores(q, k):\n    return q @ k\n")
    for asked in (["release", "2", "--gradescope"], ["handin", "--submission", str(mine), "--out"]):
        with little_room(100):
            done = CliRunner().invoke(cli, [*asked, str(path)])
        assert (done.exit_code, str(path) in done.output) == (2, True)
        assert path.read_text() == "before"


def test_export_is_of_one_run_though_another_one_ends_meanwhile(export, out, monkeypatch):
    """Otherwise the rules of one run and the class of the other would be mixed."""
    people = Gradebook.people

    def then_graded_again(book, *which):
        found = people(book, *which)
        with Gradebook(out.parent / "graded", write=True) as other:
            kept(other, EXAM, [wrong("new")])
        return found

    monkeypatch.setattr(Gradebook, "people", then_graded_again)
    assert export("--format", "csv", "--out", out / "grades.csv").exit_code == 0
    written = (out / "grades.csv").read_text()
    assert "alice" in written
    assert "new" not in written
