"""The whole way of a grade: from a download, through grading, into the file that is uploaded."""

import io
import json
import zipfile

import pytest

from grader.intake.submission import decode_source
from tests.support.commands import nopeek, table
from tests.support.handed_in import spread
from tests.support.stubs import solution_text

STEP = "step02_scores"
RIGHT = solution_text(STEP)
VISIBLE = ("--isolation", "process", "--suite", "visible")


def grade(folder, out, *more, **how):
    steps = () if "--course" in more else ("--step", "2")
    return nopeek("grade", folder, "--out", out, *VISIBLE, *steps, *more, **how)


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
    changes = (tmp_path / "out" / "changes.csv").read_text(encoding="utf-8")
    assert f'\nben,7,,"{gone}",' in changes


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
    def export(name, target, **how):
        nopeek("export", course / "out", "--format", name, "--out", tmp_path / target, **how)
        return tmp_path / target

    for name in ("csv", "nbgrader", "mail"):
        found = table(export(name, f"{name}.csv", forked=name != "csv"))
        assert {student: row["score"] for student, row in found.items()} == FINAL
    for name, score in {"gradescope": 13.5, "prairielearn": 0.675}.items():
        data = json.loads((export(name, name) / "ben.json").read_text(encoding="utf-8"))
        assert data["score"] == score
    assert 'name="score" value="13.5"' in export("junit", "j.xml").read_text(encoding="utf-8")
    data = export("excel", "excel.csv").read_bytes()
    assert data.startswith(b"\xef\xbb\xbf")  # by which Excel knows UTF-8
    assert "Anna Äbel" in data.decode("utf-8-sig")


@pytest.mark.parametrize(
    ("course", "told"),
    [
        ('title = "x"\noverrides = "nowhere/o.csv"\n', "nowhere: there is no such folder"),
        ("points = 3", 'course.toml: it has no title: write `title = "Homework 2"`'),
        ('title = "x"\noverrides = "o.csv"', "o.csv, row 2: whose is it? Fill in `student_id`"),
    ],
    ids=["folder", "title", "changes"],
)
def test_wrong_file_is_one_sentence(tmp_path, course, told):
    (tmp_path / "course.toml").write_text(course, encoding="utf-8")
    (tmp_path / "o.csv").write_text(f"{CHANGES.splitlines()[0]}\n,2,5,,c,Tim,today\n")
    (tmp_path / "class").mkdir()
    command = ("grade", tmp_path / "class", "--course", tmp_path / "course.toml")
    assert told in (said := nopeek(*command, status=2))
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    ("encoding", "line"), [("gbk", "# 掩码注意力"), ("utf-8-sig", "größe = '掩码'")]
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
