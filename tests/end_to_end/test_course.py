"""The whole way of a grade: from a download, through grading, into the file that is uploaded."""

import csv
import io
import json
import zipfile

import pytest

from grader.intake.submission import decode_source
from tests.conftest import ROOT
from tests.support import forks
from tests.support.handed_in import packed, spread
from tests.support.stubs import stub_text

STEP = "step02_scores"
RIGHT = (ROOT / "solutions" / f"{STEP}.py").read_text(encoding="utf-8")
STUB = stub_text(STEP)
VISIBLE = ("--isolation", "process", "--suite", "visible")
CANVAS = (
    "Student,ID,SIS User ID,SIS Login ID,Section,Scores (77)\r\n"
    "    Points Possible,,,,,10\r\n"
    '"Abel, Anna",1201,s1,anna,A,\r\n'
    '"Beck, Ben",1202,1201,ben,A,EX\r\n'
    '"Cole, Cy",1203,s3,cy,A,3\r\n'
)


def nopeek(*arguments, status=0, forked=True):
    done = forks.run("grader", *arguments, cwd=ROOT, forked=forked)
    assert done.returncode == status, done.stdout
    return done.stdout


def grade(folder, out, *more, **how):
    steps = () if "--course" in more else ("--step", "2")
    return nopeek("grade", folder, "--out", out, *VISIBLE, *steps, *more, **how)


def rows(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def table(path):
    with path.open(encoding="utf-8", newline="") as file:
        return {row["student_id"]: row for row in csv.DictReader(file)}


@pytest.fixture(scope="module")
def canvas(tmp_path_factory):
    """A download from Canvas, graded: a right one, a late stub, a file under another name."""
    place = tmp_path_factory.mktemp("canvas")
    files = {
        f"abelanna_1201_9000001_{STEP}-1.py": RIGHT,
        f"beckben_LATE_1202_9000002_{STEP}.py": STUB,
        "colecy_1203_9000003_Step2 scores (1).py": RIGHT,
        "dunnedi_1204_text.html": "<p>I could not upload it.</p>",
    }
    spread(place / "class", files)
    told = grade(place / "class", place / "out", status=1, forked=False)
    assert "3 graded, 1 not gradable." in told
    (place / "canvas.csv").write_bytes(CANVAS.encode())
    return place


def exported(place, name, *more, **how):
    target = place / f"filled-{name}.csv"
    arguments = ("--format", name, "--into", place / f"{name}.csv", "--out", target, *more)
    return target, nopeek("export", place / "out", *arguments, **how)


@pytest.mark.long
def test_canvas_grade_arrives_at_the_id_of_the_download(canvas):
    column = ("--column", "Scores (77)")
    target, told = exported(canvas, "canvas", *column, forked=False)
    assert [row[5] for row in rows(target)] == ["Scores (77)", "10", "10", "EX", "3"]
    assert "wrote 1 score into" in told
    assert "kept there; --overwrite writes the score or comment instead (2):" in told


@pytest.mark.long
def test_file_of_another_course_is_refused(canvas, tmp_path):
    own = tmp_path / "other.csv"
    own.write_bytes(CANVAS.replace(",120", ",990").encode())
    more = ("--column", "Scores (77)", "--out", tmp_path / "out.csv")
    told = nopeek("export", canvas / "out", "--format", "canvas", "--into", own, *more, status=2)
    assert f"none of 3 students is in {own}" in told
    assert not (tmp_path / "out.csv").exists()


def test_late_mark_and_names_are_in_the_table(canvas):
    found = table(canvas / "out" / "grades.csv")
    assert {name: row["score"] for name, row in found.items()} == {
        "abelanna_1201": "7",
        "beckben_1202": "0",
        "colecy_1203": "7",
        "dunnedi_1204": "",
    }
    assert found["beckben_1202"]["state"] == "late"


@pytest.mark.long
def test_class_as_a_zip_with_a_folder_around_it_and_the_results_inside(tmp_path):
    names = ["Anna Äbel_4711_assignsubmission_file", "Ben Beck_4712_assignsubmission_file"]
    packed(tmp_path / "class.zip", {f"hw2/{name}/{STEP}.py": RIGHT for name in names})
    told = grade(tmp_path / "class.zip", tmp_path / "out")
    assert "2 graded." in told
    assert set(table(tmp_path / "out" / "grades.csv")) == {"Anna Äbel_4711", "Ben Beck_4712"}
    spread(tmp_path / "folder", {f"{name}/{STEP}.py": RIGHT for name in names})
    grade(tmp_path / "folder", tmp_path / "folder" / "graded")
    told = grade(tmp_path / "folder", tmp_path / "folder" / "graded")
    assert "grading 2 submissions" in told
    assert "2 known from before" in told


def test_nobody_vanishes(tmp_path):
    spread(tmp_path / "class", {f"{name}/{STEP}.py": RIGHT for name in ("anna", "ben")})
    spread(tmp_path / "class", {"essay.pdf": "%PDF"})
    (tmp_path / "roster.csv").write_text("student_id,name\nanna,Anna\nben,Ben\ncy,Cy\n")
    roster = ("--roster", tmp_path / "roster.csv")
    assert "1 without work" in grade(tmp_path / "class", tmp_path / "out", *roster)
    (tmp_path / "class" / "ben" / f"{STEP}.py").unlink()
    (tmp_path / "class" / "ben").rmdir()
    told = grade(tmp_path / "class", tmp_path / "out", *roster)
    assert "2 without work" in told
    gone = "it was there in the last grading, and is missing now"
    assert f"ben: 7 -> no score ({gone})" in told
    found = table(tmp_path / "out" / "grades.csv")
    assert found["cy"]["note"] == "nothing was handed in."
    assert found["ben"]["note"] == f"{gone}."
    page = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    assert "essay.pdf" in page
    assert gone in page
    assert rows(tmp_path / "out" / "changes.csv")[1][:4] == ["ben", "7", "", gone]


def test_unreadable_file_is_no_zero(tmp_path):
    spread(tmp_path / "class", {"anna/step01_projections.py": "x = 1\n"})
    (tmp_path / "class" / "anna" / f"{STEP}.py").write_bytes(RIGHT.encode("utf-16"))
    grade(tmp_path / "class", tmp_path / "out", status=1)
    found = table(tmp_path / "out" / "grades.csv")["anna"]
    assert found["score"] == ""
    assert found["note"].startswith("Scaled scores could not be graded, so there is no score yet. ")
    assert "it is neither UTF-8 text" in found["note"]
    page = (tmp_path / "out" / "feedback" / "anna.html").read_text(encoding="utf-8")
    assert "save it as UTF-8" in page


def test_handin_says_why_the_only_step_cannot_be_read(tmp_path):
    (tmp_path / f"{STEP}.py").write_bytes(RIGHT.encode("utf-16"))
    told = nopeek("handin", "--submission", tmp_path, "--out", tmp_path / "h.zip", status=2)
    assert f"holds no step that can be read: {STEP}.py" in told
    assert "save it as UTF-8" in told


# The assignment file, changes by hand, lateness.

COURSE = """
title = "Homework 2"
steps = ["2"]
points = 20
due = 2026-11-20T23:59:00
timezone = "Europe/Berlin"
roster = "roster.csv"
[late]
percent_per_day = 10
grace_minutes = 15
floor_percent = 50
[extensions]
"Cy Cole" = 2026-11-23T23:59:00+01:00
[texts]
handin = "Upload the zip until Friday."
"""
ROSTER = (
    "student_id,name,email,submitted\n"
    "anna,Anna Äbel,anna@x.org,2026-11-20T23:10:00+00:00\n"  # ten minutes late: grace
    "ben,Ben Beck,ben@x.org,2026-11-22T12:00:00+00:00\n"  # two days begun
    "cy,Cy Cole,cy@x.org,2026-11-22T12:00:00+00:00\n"  # extended
    "di,Di Dunn,di@x.org,2026-12-22T12:00:00+00:00\n"  # the floor
    "ed,Ed East,ed@x.org,\n"
)
CHANGES = (
    "student_id,step_or_check,points,excuse,comment,who,when\n"
    "anna,2,5,,the sign was a typo of ours,Prof. Ö,2026-11-25\n"
    "Ben Beck,,13.5,,agreed,Tim,2026-11-26\n"
    "ed,,,yes,ill,Tim,2026-11-26\n"
    "cy,,,,Well done <b>,Tim,2026-11-27\n"
)


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """Everything that a course has: a late one, an extension, changes by hand, a regrade."""
    place = tmp_path_factory.mktemp("course")
    spread(place / "class", {f"{name}/{STEP}.py": RIGHT for name in ("anna", "ben", "cy", "di")})
    (place / "course.toml").write_text(COURSE, encoding="utf-8")
    (place / "roster.csv").write_text(ROSTER, encoding="utf-8")
    file = ("--course", place / "course.toml")
    grade(place / "class", place / "out", *file)
    first = table(place / "out" / "grades.csv")
    assert {name: row["score"] for name, row in first.items()} == {
        "anna": "20",
        "ben": "16",
        "cy": "20",
        "di": "10",
        "ed": "",
    }
    (place / "out" / "overrides.csv").write_text(CHANGES, encoding="utf-8-sig")
    spread(place / "class", {f"di/{STEP}.py": f"{RIGHT}\n# once more\n"})
    told = grade(place / "class", place / "out", *file)
    assert "anna: 20 -> 14.2857 (changed by hand" in told
    return place


FINAL = {"anna": "14.285714", "ben": "13.5", "cy": "20", "di": "10", "ed": ""}


@pytest.mark.long
def test_changes_by_hand_survive_regrading(course):
    found = table(course / "out" / "grades.csv")
    assert {name: row["score"] for name, row in found.items()} == FINAL
    assert found["ed"]["state"] == "excused"
    assert "5 instead of 7 (Prof. Ö, 2026-11-25): the sign was a typo" in found["anna"]["note"]


def test_students_page_says_what_was_changed_by_whom_and_when(course):
    pages = {
        name: (course / "out" / "feedback" / f"{name}.html").read_text(encoding="utf-8")
        for name in FINAL
    }
    assert "Your grade: <b>13.5</b> of 20 points" in pages["ben"]
    assert "Points set to 13.5 instead of 16 (Tim, 2026-11-26): agreed" in pages["ben"]
    assert "Comment (Tim, 2026-11-27): Well done &lt;b&gt;" in pages["cy"]
    assert "Extended until 2026-11-23 23:59 +0100." in pages["cy"]
    assert "50 % are taken off 20 points." in pages["di"]
    assert "Excused (Tim, 2026-11-26): ill" in pages["ed"]


def test_changes_are_in_every_export(course, tmp_path):
    names = {"csv": "score", "nbgrader": "score", "mail": "score"}
    for name, column in names.items():
        nopeek("export", course / "out", "--format", name, "--out", tmp_path / f"{name}.csv")
        found = table(tmp_path / f"{name}.csv")
        assert {student: row[column] for student, row in found.items()} == FINAL
    for name in ("gradescope", "prairielearn"):
        nopeek("export", course / "out", "--format", name, "--out", tmp_path / name)
        data = json.loads((tmp_path / name / "ben.json").read_text(encoding="utf-8"))
        assert data["score"] == {"gradescope": 13.5, "prairielearn": 0.675}[name]
    nopeek("export", course / "out", "--format", "junit", "--out", tmp_path / "junit.xml")
    assert 'name="score" value="13.5"' in (tmp_path / "junit.xml").read_text(encoding="utf-8")
    text = CANVAS.replace("1201,s1,anna", "1,s1,anna").replace("1202,1201,ben", "2,s2,ben")
    (course / "canvas.csv").write_bytes(f'{text}"East, Ed",5,s5,ed,A,\r\n'.encode())
    target, _ = exported(course, "canvas", "--column", "Scores (77)", "--overwrite")
    assert [row[5] for row in rows(target)][2:] == ["7.14", "6.75", "10", "EX"]


def test_table_opens_in_excel(course, tmp_path):
    nopeek("export", course / "out", "--format", "excel", "--out", tmp_path / "e.csv")
    data = (tmp_path / "e.csv").read_bytes()
    assert data.startswith(b"\xef\xbb\xbf")
    assert "Anna Äbel" in data.decode("utf-8-sig")


def test_file_of_changes_in_a_folder_that_is_not_there_is_one_sentence(tmp_path):
    (tmp_path / "course.toml").write_text('title = "x"\noverrides = "nowhere/o.csv"\n')
    (tmp_path / "class").mkdir()
    told = nopeek("grade", tmp_path / "class", "--course", tmp_path / "course.toml", status=2)
    assert "nowhere: there is no such folder" in told
    assert len(told.splitlines()) == 1


def test_wrong_file_is_one_sentence(tmp_path):
    path = tmp_path / "course.toml"
    path.write_text('title = "x"\noverrides = "o.csv"\n', encoding="utf-8")
    (tmp_path / "o.csv").write_text(f"{CHANGES.splitlines()[0]}\n,2,5,,c,Tim,today\n")
    assert nopeek("course", path, status=2) == (
        "nopeek: o.csv, row 2: whose is it? Fill in `student_id`\n"
    )
    path.write_text("points = 3")
    told = nopeek("course", path, status=2)
    assert told == 'nopeek: course.toml: it has no title: write `title = "Homework 2"`\n'


@pytest.mark.parametrize(
    ("encoding", "line"),
    [
        ("latin-1", "größe = 7"),
        ("cp1252", "# “größe”"),
        ("gbk", "# 掩码注意力"),
        ("utf-8-sig", "größe = '掩码'"),
    ],
)
def test_handin_keeps_a_text_in_another_encoding(tmp_path, encoding, line):
    """As UTF-8 it would be read as something else, or not at all, because it names its own."""
    named = "latin-1" if encoding == "utf-8-sig" else encoding
    text = f"# -*- coding: {named} -*-\n{line}\ndef attention_scores(q, k): ...\n"
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / f"{STEP}.py").write_bytes(text.encode(encoding))
    nopeek("handin", "--submission", tmp_path / "mine", "--out", tmp_path / "h.zip")
    with zipfile.ZipFile(tmp_path / "h.zip") as file:
        assert decode_source(file.read(f"{STEP}.py")) == text


def test_what_handin_writes_is_graded(tmp_path):
    spread(tmp_path / "mine", {"Step2 scores (1).py": RIGHT, "helpers.py": "x = 1\n"})
    told = nopeek("handin", "--submission", tmp_path / "mine", "--out", tmp_path / "h.zip")
    assert "sha256 of the zip:" in told
    assert (tmp_path / "h.receipt.txt").is_file()
    with zipfile.ZipFile(io.BytesIO((tmp_path / "h.zip").read_bytes())) as file:
        assert file.namelist() == [f"{STEP}.py", "helpers.py"]
    (tmp_path / "class").mkdir()
    (tmp_path / "class" / "anna.zip").write_bytes((tmp_path / "h.zip").read_bytes())
    grade(tmp_path / "class", tmp_path / "out")
    assert table(tmp_path / "out" / "grades.csv")["anna"]["score"] == "7"
