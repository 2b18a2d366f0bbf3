"""A class folder: whose each entry is, which attempt counts, and what cannot be graded and why."""

import os
import re
import tempfile
from pathlib import Path

import pytest

from grader.intake import entries as intake
from grader.intake.folders_and_zips import SubmissionError
from tests.support.handed_in import FILE, posix, spread, write
from tests.support.processes import descriptors

# Who is who.

# What lies in the class folder, and whose each of it is.
LAYOUTS = {
    "folder, zip, notebook": (["alice", "bob.zip", "carol.ipynb"], ["alice", "bob", "carol"]),
    "capital ending": (["b.IPYNB", "bob.ZIP"], ["b", "bob"]),
    "dots in ids": (["j.doe.zip", "j.roe"], ["j.doe", "j.roe"]),
    "ids that end in numbers": (
        ["anna.zip", "anna-2.zip", "anna2.zip", "anna_2.zip"],
        ["anna", "anna-2", "anna2", "anna_2"],
    ),
    "case": (["Anna.zip", "anna.zip"], ["Anna", "anna"]),
    "attempts that the platform numbers": (
        ["alice/Version 1", "alice/Version 2", "alice/Version 10"],
        ["alice"] * 3,
    ),
    "Moodle folder and text": (
        ["Ann_12_assignsubmission_file_", "Ann_12_assignsubmission_onlinetext_/onlinetext.py"],
        ["Ann_12"] * 2,
    ),
    "Canvas, an address handed in": (
        ["doejohn_12345_678901_work.zip", "roejane_12346_link.html"],
        ["doejohn_12345", "roejane_12346"],
    ),
    "Canvas, anonymous": (
        ["anon_aB3xY_678901_work.zip", "LATE_anon_c4D5e_678902_work.zip"],
        ["anon_aB3xY", "anon_c4D5e"],
    ),
    "dates are not Canvas": (
        ["team_2026_03_a.zip", "team_2026_04_b.zip"],
        ["team_2026_03_a", "team_2026_04_b"],
    ),
    "one name like Canvas among others is not Canvas": (
        ["a_12345_678901_x.zip", "alice", "bob"],
        ["a_12345_678901_x", "alice", "bob"],
    ),
    "nbgrader": (["alice/ps1/step02_scores.ipynb"], ["alice"]),
    "litter": (["alice", ".git", "__MACOSX", ".DS_Store.py"], ["alice", "", "", ""]),
}


@pytest.mark.parametrize(("paths", "students"), LAYOUTS.values(), ids=LAYOUTS.keys())
def test_entries_are_told_apart(steps, tmp_path, paths, students):
    for path in reversed(paths):
        write(tmp_path / path)
    tops = [path.split("/")[0] for path in paths]
    if len(list(tmp_path.iterdir())) < len({*tops}):
        pytest.skip("names differ by more than case here")
    entries = intake.list_class(tmp_path).entries
    found = [(one.name, entry.student) for entry in entries for one in entry.found]
    assert found == [*dict.fromkeys(pair for pair in zip(tops, students) if pair[1])]
    for entry in entries:
        if not entry.found[0].name.endswith(".html"):
            assert list(intake.read(entry, steps).sources) == ["step02_scores"]


RENAMED = {
    "step-2.py": "step-2.py",
    "Step-2-1.py": "Step-2.py",
    "step02_scores-3.py": FILE,
    "Copy of step-2.py": "Copy of step-2.py",
    "step02_scores-0f0e0d0c-0a0b-4c0d-8e0f-010203040506.py": FILE,
}


@pytest.mark.parametrize(("name", "read"), RENAMED.items(), ids=RENAMED)
def test_number_of_a_step_is_not_taken_for_one_that_canvas_adds(steps, tmp_path, name, read):
    write(tmp_path / f"abelanna_1201_9000001_{name}")
    (anna,) = intake.list_class(tmp_path).entries
    assert [one.called for one in anna.found] == [read]
    assert list(intake.read(anna, steps).sources) == ["step02_scores"]


def test_missing_class_folder_is_an_error(tmp_path):
    with pytest.raises(SubmissionError, match=r"there is no folder .*nowhere"):
        intake.list_class(tmp_path / "nowhere")


# Which attempt counts.


@pytest.mark.parametrize(
    ("paths", "latest"),
    [
        (["alice/Attempt 9", "alice/Attempt 10"], "10"),
        (["alice@x.edu_9_a.zip", "alice@x.edu_10_a.zip"], "10"),
        (["alice/Lab 1/version_2", "alice/Lab 1/version_1"], "version_2"),
    ],
)
def test_highest_number_counts(read, tmp_path, paths, latest):
    for path in paths:
        write(tmp_path / path, mark=repr(path))
    submission = read("alice@x.edu" if "@" in paths[0] else "alice")
    assert latest in submission.sources["step02_scores"]
    assert f"There are {len(paths)} attempts; " in submission.warnings[0]
    assert latest in submission.warnings[0]


@pytest.mark.parametrize("others", [["alice.zip"], ["alice.ipynb", "alice.zip"]])
def test_everything_without_a_number_is_one_hand_in(read, tmp_path, others):
    for name in ("alice", *others):
        write(tmp_path / name, "1")
    submission = read("alice")
    assert (list(submission.sources), submission.warnings) == (["step02_scores"], ())
    write(tmp_path / others[-1], "2")
    with pytest.raises(SubmissionError, match=f"{FILE} could be any of .*: keep one of them"):
        read("alice")


def test_earlier_attempt_never_stands_in_for_a_broken_latest(read, tmp_path):
    write(tmp_path / "alice@x.edu_1_a.zip")
    (tmp_path / "alice@x.edu_2_a.zip").write_bytes(b"PK\3\4 broken")
    message = "of 2 attempts the latest, alice@x.edu_2_a.zip, counts: .* it is damaged"
    with pytest.raises(SubmissionError, match=message):
        read("alice@x.edu")


# What cannot be graded.


NOTHING = "it holds no notebook and none of the files step01_projections.py"
ALONE = "x.py is not read: it is not beside a step, and defines no function of a step"
NO_ZIP = "it is not a zip archive, or it is damaged"
UNGRADABLE = {
    "only other files": (["alice/report.pdf"], NOTHING),
    "only another source": (["alice/x.py"], ALONE),
    "only litter": (["alice/.DS_Store", "alice/__MACOSX/x.py"], NOTHING),
    "too deep": ([f"alice/a/b/c/d/e/{FILE}"], "a/b/c/d/e/ is not read: it is more than 4 folders"),
    "no zip": (["alice.zip"], NO_ZIP),
    "another archive": (["alice.tar.gz"], "only zip archives are read"),
    "two archives": (
        ["alice/a.zip", "alice/b.zip"],
        f"a.zip is not read: {NO_ZIP}. b.zip is not read: {NO_ZIP}",
    ),
    "two folders": (
        [f"alice/ps1/{FILE}", f"alice/ps2/{FILE}"],
        f"{FILE} could be any of ps1/{FILE}, ps2/{FILE}: keep one of them",
    ),
    "no notebook": (["alice.ipynb"], "its JSON is broken in line 1"),
}


@pytest.mark.parametrize(("names", "reason"), UNGRADABLE.values(), ids=UNGRADABLE.keys())
def test_ungradable_submission_has_a_reason(read, tmp_path, names, reason):
    spread(tmp_path, {name: name for name in names})
    with pytest.raises(SubmissionError, match=re.escape(reason)):
        read("alice")


def link(path, ending=""):
    write(path.parent.parent / f"outside{ending}")
    path.with_suffix(ending).symlink_to(path.parent.parent / f"outside{ending}")


def crowded(path):
    path.mkdir()
    for number in range(20_001):
        (path / str(number)).touch()


IRREGULAR = {
    "link to a folder": (link, "it is a link, which is not followed"),
    "dangling link": (lambda path: path.symlink_to("x"), "it is a link, which is not followed"),
    "link to a zip": (lambda path: link(path, ".zip"), "it is not a regular file"),
    "pipe": (lambda path: os.mkfifo(path.with_suffix(".zip")), "it is not a regular file"),
    "20,001 files": (crowded, "it holds more than 20,000 files"),
}


@posix
@pytest.mark.parametrize(("make", "reason"), IRREGULAR.values(), ids=IRREGULAR.keys())
def test_irregular_entry_is_listed_and_refused(steps, tmp_path, make, reason):
    top = tmp_path / "class"
    top.mkdir()
    make(top / "alice")
    write(top / "bob")
    before = descriptors()
    alice, bob = intake.list_class(top).entries
    with pytest.raises(SubmissionError, match=reason):
        intake.read(alice, steps)
    assert (alice.student, list(intake.read(bob, steps).sources)) == ("alice", ["step02_scores"])
    assert descriptors() == before


@posix
def test_link_inside_a_folder_is_not_followed(read, tmp_path):
    write(tmp_path / "outside" / "deep")
    (tmp_path / "alice").mkdir()
    (tmp_path / "alice" / "exercises").symlink_to(tmp_path / "outside" / "deep")
    with pytest.raises(SubmissionError, match=NOTHING):
        read("alice")


@posix
@pytest.mark.usefixtures("ordinary_user")
def test_locked_folder_is_not_gradable(steps):
    with tempfile.TemporaryDirectory() as name:
        top = Path(name)
        write(top / "alice")
        write(top / "bob")
        (top / "alice").chmod(0)
        alice, bob = intake.list_class(top).entries
        with pytest.raises(SubmissionError, match="it cannot be opened: Permission denied"):
            intake.read(alice, steps)
        assert list(intake.read(bob, steps).sources) == ["step02_scores"]
        (top / "alice").chmod(0o755)


# Students choose the names of their files, and on some platforms their own.

ANN = "Ann_12_assignsubmission_file"
LEE = "lee_12_900001"
CHOSEN = {
    "a file on Moodle": ([f"{ANN}_{FILE}", f"Eve_7_assignsubmission_file_{ANN}_{FILE}"], "12 7"),
    "a file of a team": ([f"{ANN}_{FILE}", f"Red_assignsubmission_file_{ANN}_{FILE}"], "12 -"),
    "a folder on Moodle": ([ANN, f"{ANN}_7_assignsubmission_file_"], "12 7"),
    "files like Canvas' on Moodle": (
        [f"{ANN}_{FILE}", *(f"Eve_7_assignsubmission_file_{n}_12_9{n}0000_x.py" for n in "1234")],
        "12 7",
    ),
    "files of teams like Canvas' on Moodle": (
        [f"{team}_assignsubmission_file_hw_02_1234567_x.zip" for team in ("Red", "Blue")],
        "- -",
    ),
    "another plugin of Moodle": (
        [ANN, f"Eve_7_assignsubmission_poodll_{ANN}_{FILE}", f"{ANN[:7]}assignsubmission_poodll_"],
        "12 7",
    ),
    "a file on Canvas": ([f"{LEE}_{FILE}", f"eve_7_900002_{LEE}_{FILE}"], "12 7"),
    "a file on Canvas with short numbers": (["lee_12_9_x.py", "eve_7_10_12_11_x.py"], "12 -"),
    "a name on Canvas": ([f"{LEE}_{FILE}", f"lee_12_7_900002_{FILE}"], "12 -"),
    "a name on Canvas, late": ([f"{LEE}_{FILE}", f"lee_12_LATE_7_900002_{FILE}"], "12 -"),
    "a name on Canvas, a text": ([f"{LEE}_{FILE}", "lee_12_7_text.html"], "12 -"),
    "files like Moodle's on Canvas": (
        [f"{LEE}_{FILE}", *(f"eve_7_90000{n}_Ann_1{n}_assignsubmission_file_x.py" for n in "234")],
        "12 7",
    ),
    "a name like Moodle's on Canvas": (
        [f"{LEE}_{FILE}", *(f"lee_assignsubmission_file_7_90000{n}_x.zip" for n in "234")],
        "12 7",
    ),
    "a name that Canvas has left nothing of": ([f"{LEE}_{FILE}", f"_7_900002_{FILE}"], "12 7"),
    "no name on Canvas that hides": ([f"{LEE}_{FILE}", f"anon_abcd_7_900002_{FILE}"], "12 7"),
    "a login": (["ann", "ann_assignsubmission_file"], "- -"),
    "the only zips of one student": ([f"lee_12_90000{n}_x.zip" for n in "123"], "12"),
}


@pytest.mark.parametrize(("names", "numbers"), CHOSEN.values(), ids=CHOSEN)
def test_chosen_name_hands_nothing_in_for_another(tmp_path, names, numbers):
    for name in names:
        write(tmp_path / name)
    listing = intake.list_class(tmp_path)
    found = [entry.who.number or "-" for entry in listing.entries]
    assert sorted(found) == sorted(numbers.split())
    mine = next(entry for entry in listing.entries if entry.who.number in ("12", ""))
    assert mine.who.files[:1] == (names[0],) or not mine.who.platform or "-" in numbers
    held = [name for entry in listing.entries for name in entry.who.files]
    assert len(held) == len(names) or not held


@pytest.mark.parametrize("called", ["eve", "eve_1300_12345", "eve_file", "anon_abcd_12345"])
@pytest.mark.parametrize("late", [True, False])
def test_no_name_on_canvas_hides_that_the_work_is_late(tmp_path, called, late):
    write(tmp_path / f"{called}{'_LATE' * late}_1300_900001_hw_late_1_20261123_final.ipynb")
    (found,) = intake.list_class(tmp_path).entries
    assert found.who.late == late


def test_class_list_keeps_names_like_a_platforms_apart(tmp_path):
    names = ["ws26_101_12345670_abel", "ws26_101_12345671_beck", "anna_assignsubmission_file"]
    for name in names:
        write(tmp_path / f"{name}.zip")
    listing = intake.list_class(tmp_path, None, {*names}.__contains__)
    assert [entry.student for entry in listing.entries] == sorted(names)


@pytest.mark.parametrize("name", [f"{ANN}_", f"{LEE}_{FILE}"])
def test_other_files_beside_one_student_hide_no_platform(tmp_path, name):
    write(tmp_path / name)
    others = ("roster.csv", "README.txt", FILE, "graded/gradebook.db")
    spread(tmp_path, dict.fromkeys(others, "x"))
    (entry,) = intake.list_class(tmp_path, tmp_path / "graded").entries
    assert entry.who.platform


def test_only_folder_of_somebody_on_the_class_list_is_that_student(steps, tmp_path):
    for name in ("Bob_9_assignsubmission_file_", "Eve_8_assignsubmission_file_"):
        write(tmp_path / "alice" / name / FILE)
    assert intake.class_folder(tmp_path, steps) == tmp_path / "alice"
    assert intake.class_folder(tmp_path, steps, {"alice"}.__contains__) == tmp_path


def test_folder_that_looks_like_results_is_listed_as_ignored(tmp_path):
    spread(tmp_path, {f"{name}/{FILE}": "" for name in ("ada", "ben", "graded")})
    spread(tmp_path, {f"{name}/gradebook.db": "" for name in ("ben", "graded")})
    listing = intake.list_class(tmp_path, tmp_path / "graded")
    assert [entry.student for entry in listing.entries] == ["ada"]
    assert listing.ignored == {"ben": "it holds gradebook.db, which grading writes"}
