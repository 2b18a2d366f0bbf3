"""The whole way on every platform: download, grade, matches.csv, change by hand, export, feedback.

There are 60 students in turns: one is right, one has handed in the stub, and one is right and a day
late. The first with a stub gets 5 points by hand. The last is right, but nothing in the download
says that the work is hers. The assignment has 10 points, and 10 % are taken off for each day.
"""

import json
import zipfile

import pytest
from click.testing import CliRunner

from grader.classroom import run
from grader.classroom.judge import Outcome
from grader.classroom.overrides import HEADER
from grader.classroom.people import resolve
from grader.classroom.tables import MATCHES, read_roster
from grader.cli import main
from grader.report.records import Status
from tests.support.classes import check, report, right, step
from tests.support.commands import table
from tests.support.handed_in import spread
from tests.support.stubs import solution_text, stub_text

STEP = "step02_scores"
FILE = f"{STEP}.py"
RIGHT, STUB = solution_text(STEP), stub_text(STEP)
COURSE = """
title = "Lab 1"
steps = ["2"]
points = 10
due = 2026-03-04T12:00:00Z
roster = "roster.csv"
[late]
percent_per_day = 10
"""
FIRST = ("Ann", "Bo", "Cy", "Ed", "Flo", "Gus", "Hal", "Ivy", "Jo", "Kim")
LAST = ("Lee", "Ash", "Fox", "Day", "Roy", "Orr")
SIZE = 60
CALLED = [(first, last) for last in LAST for first in FIRST][: SIZE - 1]
PEOPLE = [
    (f"s{n}", f"{first} {last}", f"{first[0]}{last}{n}".lower())
    for n, (first, last) in enumerate(CALLED, 1)
]
DI = ("s99", "Di Orr", "dorr")  # as the platform knows her; on the class list she is Diana
LAST_ID = f"s{SIZE}"
NUMBERS = {f"s{n}": 100 + n for n in range(1, 100)}
GOOD, STUBS, LATE = ({f"s{n}" for n in range(turn, SIZE, 3)} for turn in (1, 2, 3))
AT = "Mar 4, 2026 926 PM"
STAMP = "2026-03-04-21-26-10"


def last_first(name, between=", "):
    return between.join(reversed(name.split()))


# The path of a file in a download, for a student's id, name, login and number.
NAMES = {
    "Moodle": lambda id, name, login, n: f"{name}_{n}_assignsubmission_file/{FILE}",
    "Canvas": lambda id, name, login, n: f"{last_first(name, '').lower()}_{n}_90000{n}_{FILE}",
    "Brightspace": lambda id, name, login, n: f"{n}0-88 - {name} - {AT}/{FILE}",
    "Blackboard": lambda id, name, login, n: f"Lab 1_{login}_attempt_{STAMP}_{FILE}",
    "Gradescope": lambda id, name, login, n: f"submission_{n}/{FILE}",
    "GitHub": lambda id, name, login, n: f"lab1-submissions/lab1-{login}/{FILE}",
    "Sakai": lambda id, name, login, n: f"Lab 1/{last_first(name)}({login})/Attachment(s)/{FILE}",
    "ILIAS": lambda id, name, login, n: f"{last_first(name, '_')}_{login}_{n}/{FILE}",
    "Teams": lambda id, name, login, n: f"Submitted files/{name}/Lab 1/Version {n}/{FILE}",
    "Autolab": lambda id, name, login, n: f"{login}@x.edu_{n}_{FILE}",
    "PrairieLearn": lambda id, name, login, n: f"{login}@x.edu_{FILE}",
    "Google Classroom": lambda id, name, login, n: f"{name} - {FILE}",
}
LISTED = [*PEOPLE, (LAST_ID, "Diana Orr", "orr2")]
ROWS = [(id, *reversed(last_first(name).split(", ")), login) for id, name, login in LISTED]
HEADS = {
    "moodle": "Identifier,Full name,Email address,Status,Grade,Maximum Grade\r\n",
    "canvas": "Student,ID,SIS User ID,SIS Login ID,Section,L (7)\r\n    Points Possible,,,,,10\r\n",
    "brightspace": (
        "OrgDefinedId,Username,Last Name,First Name,L Points Grade <Numeric MaxPoints:10>,"
        "End-of-Line Indicator\r\n"
    ),
    "blackboard": (
        '"Last Name"\t"First Name"\t"Username"\t"Student ID"\t"L [Total Pts: 10 Score] |7"\r\n'
    ),
    "gradescope-csv": "Name,SID,Email,Total Score,Max Points,Status\r\n",
    "sakai": '"Lab 1","Points"\n\n"Display ID","ID","Last Name","First Name","grade"\n',
}
LINES = {
    "moodle": "Participant {n},{first} {last},{login}@x.edu,Sent,{grade},10.00\r\n",
    "canvas": '"{last}, {first}",{n},{id},{login},A,{grade}\r\n',
    "brightspace": "#{id},#{login},{last},{first},{grade},#\r\n",
    "blackboard": '"{last}"\t"{first}"\t"{login}"\t"{id}"\t"{grade}"\r\n',
    "gradescope-csv": "{first} {last},{id},{login}@x.edu,{grade},10.0,Ungraded\r\n",
    "sakai": '"{login}","{id}","{last}","{first}","{grade}"\n',
}
COLUMNS = {
    "canvas": "L (7)",
    "brightspace": "L Points Grade <Numeric MaxPoints:10>",
    "blackboard": "L [Total Pts: 10 Score] |7",
}
POINTS = dict.fromkeys(GOOD, "10") | dict.fromkeys(STUBS, "0") | dict.fromkeys(LATE, "9")
POINTS |= {LAST_ID: "10", "s2": "5"}


def judged(exam, submission):
    """Return what a judge finds; the judges themselves are tested elsewhere."""
    passed = submission.sources[STEP] == RIGHT
    status = Status.PASSED if passed else Status.FAILED
    found = report(step(check(points=7.0, status=status), status=status), suite="visible")
    return Outcome(json.dumps(found.to_dict()).encode(), "", 0.1)


@pytest.fixture
def nopeek(monkeypatch):
    """nopeek(…): run a command, and return what it prints."""
    monkeypatch.setattr(run, "grade_submission", judged)

    def nopeek(*arguments):
        done = CliRunner().invoke(main.cli, list(map(str, arguments)), catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return done.output

    return nopeek


def own_file(platform, grades):
    """The platform's table with these grades, as it is encoded there."""
    text = HEADS[platform]
    for id, first, last, login in ROWS:
        more = {"n": NUMBERS[id], "grade": grades.get(id, "")}
        text += LINES[platform].format(id=id, first=first, last=last, login=login, **more)
    return text.encode({"moodle": "utf-8-sig", "blackboard": "utf-16"}.get(platform, "utf-8"))


@pytest.mark.parametrize("platform", HEADS)
def test_table_of_a_platform_is_a_class_list(tmp_path, platform):
    (tmp_path / "own.csv").write_bytes(own_file(platform, {}))
    listed = read_roster(tmp_path / "own.csv")
    assert [one.who.name for one in listed] == [f"{first} {last}" for _, first, last, _ in ROWS]
    login = ROWS[3][3]
    work = right(f"{login}@x.edu" if platform in ("moodle", "gradescope-csv") else login)
    assert resolve([work], listed).owners_of(work) == [listed[3]]


def download(place, layout):
    """Write the class as the platform does, and the class list; return the class's folder."""
    files = {
        NAMES[layout](*one, NUMBERS[one[0]]): STUB if one[0] in STUBS else RIGHT
        for one in (*PEOPLE, DI)
    }
    spread(place / "class", files)
    if layout == "Gradescope":
        people = "".join(
            f"submission_{NUMBERS[id]}:\n  :submitters:\n  - :name: {name}\n    :sid: '{id}'\n"
            for id, name, _ in (*PEOPLE, DI)
        )
        (place / "class" / "submission_metadata.yml").write_text(f"---\n{people}", encoding="utf-8")
    number = {"GitHub": lambda id, login: login, "Brightspace": lambda id, login: ""}
    number = number.get(layout, lambda id, login: NUMBERS[id])
    lines = [
        f"{id},{name},{login}@x.edu,{number(id, login)},2026-03-0{5 if id in LATE else 4}T11:00Z"
        for id, name, login in LISTED
    ]
    text = "\n".join(["student_id,name,email,number,submitted", *lines])
    text = text.replace("T11:00Z", "T11:00:00+00:00")
    if layout in ("Blackboard", "Sakai"):  # where the id is the login
        for id, _, login in LISTED:
            text = text.replace(f"\n{id},", f"\n{login},")
    (place / "roster.csv").write_text(text, encoding="utf-8")
    (place / "course.toml").write_text(COURSE, encoding="utf-8")
    inner = {"GitHub": "lab1-submissions", "Sakai": "Lab 1", "Teams": "Submitted files"}
    return place / "class" / inner.get(layout, "")


def grade(nopeek, place, class_):
    options = ("--course", place / "course.toml", "--out", place / "out", "--jobs", 1)
    return nopeek("grade", class_, *options, "--isolation", "process", "--suite", "visible")


@pytest.mark.parametrize("layout", NAMES)
def test_whole_way(nopeek, tmp_path, layout):
    class_ = download(tmp_path, layout)
    told = grade(nopeek, tmp_path, class_)
    assert f"{SIZE} graded, 1 without work." in told
    assert "1 submission could not be matched with the class list" in told
    (unmatched,) = table(tmp_path / "out" / MATCHES, "work")
    page = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    assert "Whose is it?" in page
    ids = {id: login if layout in ("Blackboard", "Sakai") else id for id, _, login in LISTED}
    mailed = tmp_path / "mail.csv"
    told = nopeek("export", tmp_path / "out", "--format", "mail", "--out", mailed)
    assert f"whose work it is (1):\n  {unmatched}" in told
    scored = {name for name, row in table(mailed, "name").items() if row["score"]}
    assert scored == {name for _, name, _ in PEOPLE}

    text = (tmp_path / "out" / MATCHES).read_text(encoding="utf-8")
    (tmp_path / "out" / MATCHES).write_text(f"{text.rstrip()}{ids[LAST_ID]}\n", encoding="utf-8")
    change = f"{HEADER}\n{ids['s2']},,5,,oral exam,Tim,2026-03-09\n"
    (tmp_path / "out" / "overrides.csv").write_text(change, encoding="utf-8")
    told = grade(nopeek, tmp_path, class_)
    assert "could not be matched" not in told
    assert f"{SIZE} known from before" in told
    grades = table(tmp_path / "out" / "grades.csv", "name")
    scores = {name: row["score"] for name, row in grades.items()}
    assert scores == {name: POINTS[id] for id, name, _ in LISTED}

    platform = "gradescope-csv" if layout == "Gradescope" else layout.lower()
    platform = platform if platform in HEADS else "canvas"
    (tmp_path / "own.csv").write_bytes(own_file(platform, {}))
    into = ("--into", tmp_path / "own.csv", "--column", COLUMNS.get(platform, ""))
    more = (*into, "--out", tmp_path / "new.csv")
    assert f"wrote {SIZE} scores" in nopeek("export", tmp_path / "out", "--format", platform, *more)
    assert (tmp_path / "new.csv").read_bytes() == own_file(platform, POINTS)

    nopeek("export", tmp_path / "out", "--format", "mail", "--out", mailed)
    assert {email: row["score"] for email, row in table(mailed, "email").items()} == {
        f"{login}@x.edu": POINTS[id] for id, _, login in LISTED
    }
    if layout in ("Moodle", "Canvas"):
        into = ("--format", f"{platform}-feedback", "--out", tmp_path / "f.zip")
        nopeek("export", tmp_path / "out", *into)
        with zipfile.ZipFile(tmp_path / "f.zip") as file:
            assert len(file.namelist()) == SIZE
            (page,) = (file.read(name).decode() for name in file.namelist() if "_102_" in name)
        assert "Points set to 5 instead of 0 (Tim, 2026-03-09): oral exam" in page
