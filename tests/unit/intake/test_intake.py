"""A class folder: whose each entry is, which attempt counts, and what cannot be graded and why."""

import os
import tempfile
from pathlib import Path

import pytest

from grader.intake import entries as intake
from grader.intake.folders import Folder, SubmissionError
from tests.conftest import ROOT
from tests.support.handed_in import FILE, STRANGE, notebook, packed, posix, source, write
from tests.support.processes import descriptors


@pytest.fixture
def listed(steps, tmp_path):
    """listed(): the entries of the class folder, as {student: [names of attempts]}."""

    def listed():
        return {
            entry.student: [attempt.name for attempt in entry.attempts]
            for entry in intake.entries(tmp_path, steps)
        }

    return listed


@pytest.fixture
def read(steps, tmp_path):
    """read(student): what counts of a student of the class folder."""

    def read(student):
        entries = {entry.student: entry for entry in intake.entries(tmp_path, steps)}
        return intake.read(entries[student], steps)

    return read


# Who is who.

# What lies in the class folder -> the attempts of each student.
LAYOUTS = {
    "folder, zip, notebook": (
        ["alice", "bob.zip", "carol.ipynb"],
        {"alice": ["alice"], "bob": ["bob.zip"], "carol": ["carol.ipynb"]},
    ),
    "capital ending": (["bob.ZIP", "b.IPYNB"], {"b": ["b.IPYNB"], "bob": ["bob.ZIP"]}),
    "dots in ids": (["j.doe.zip", "j.roe"], {"j.doe": ["j.doe.zip"], "j.roe": ["j.roe"]}),
    "ids that end in numbers": (
        ["anna.zip", "anna_2.zip", "anna-2.zip", "anna2.zip"],
        {
            "anna": ["anna.zip"],
            "anna-2": ["anna-2.zip"],
            "anna2": ["anna2.zip"],
            "anna_2": ["anna_2.zip"],
        },
    ),
    "ids that are numbers": (["1001", "1002", "3"], {n: [n] for n in ("1001", "1002", "3")}),
    "attempts by word": (
        ["alice_attempt_2.zip", "alice-attempt-10.zip", "alice Attempt 1"],
        {"alice": ["alice Attempt 1", "alice_attempt_2.zip", "alice-attempt-10.zip"]},
    ),
    "attempt with a plain name beside it": (
        ["alice", "alice_attempt_2.zip"],
        {"alice": ["alice", "alice_attempt_2.zip"]},
    ),
    "downloaded twice": (
        ["alice.zip", "alice (1).zip", "alice(2).zip"],
        {"alice": ["alice (1).zip", "alice(2).zip", "alice.zip"]},
    ),
    "a number in brackets and nothing beside it": (
        ["anna (1).zip", "anna (2).zip", "anna.ipynb"],
        {"anna": ["anna.ipynb"], "anna (1)": ["anna (1).zip"], "anna (2)": ["anna (2).zip"]},
    ),
    "case": (["Anna.zip", "anna.zip"], {"Anna": ["Anna.zip"], "anna": ["anna.zip"]}),
    "attempts that the platform numbers": (
        ["alice/Version 1", "alice/Version 2", "alice/Version 10"],
        {"alice": ["alice/Version 1", "alice/Version 2", "alice/Version 10"]},
    ),
    "folders of other names are no attempts": (["alice/1", "alice/final"], {"alice": ["alice"]}),
    "nor are folders that somebody numbers": (["alice/1", "alice/2"], {"alice": ["alice"]}),
    "longer numbers may be students": (["hw/1001", "hw/1002"], {"hw": ["hw"]}),
    "Gradescope's names may be students": (
        ["export/submission_1", "export/submission_2"],
        {"export": ["export"]},
    ),
    "Moodle folders": (
        ["Ann Lee_12_assignsubmission_file_", "Ann Lee_13_assignsubmission_file_"],
        {
            "Ann Lee_12": ["Ann Lee_12_assignsubmission_file_"],
            "Ann Lee_13": ["Ann Lee_13_assignsubmission_file_"],
        },
    ),
    "Moodle folder and text": (
        ["Ann_12_assignsubmission_file_", "Ann_12_assignsubmission_onlinetext_/onlinetext.py"],
        {"Ann_12": ["Ann_12_assignsubmission_file_"]},
    ),
    "Canvas": (
        ["doejohn_12345_678901_work.zip", "roejane_LATE_12346_678902_work.zip"],
        {
            "doejohn_12345": ["doejohn_12345_678901_work.zip"],
            "roejane_12346": ["roejane_LATE_12346_678902_work.zip"],
        },
    ),
    "Canvas, an address handed in": (
        ["doejohn_12345_678901_work.zip", "roejane_12346_link.html"],
        {
            "doejohn_12345": ["doejohn_12345_678901_work.zip"],
            "roejane_12346": ["roejane_12346_link.html"],
        },
    ),
    "Canvas, a name that ends in another student's number": (
        ["doejohn_12345_678901_work.zip", "doejohn_12345_LATE_77123_678902_work.zip"],
        {
            "doejohn_12345": ["doejohn_12345_678901_work.zip"],
            "doejohn_12345_77123": ["doejohn_12345_LATE_77123_678902_work.zip"],
        },
    ),
    "Canvas, a file that may be another student's": (
        [
            "doejohn_12345_678901_homework.ipynb",
            "doejohn_12345_77123_678902_a.ipynb",
            "doejohn_LATE_12345_77123_678903_a.zip",
        ],
        {"doejohn_12345": ["doejohn_12345_678901_homework.ipynb"]},
    ),
    "Canvas, a file whose own name begins with numbers": (
        ["doejohn_12345_678901_4711234_work.zip", "roejane_12346_678902_work.zip"],
        {
            "doejohn_12345": ["doejohn_12345_678901_4711234_work.zip"],
            "roejane_12346": ["roejane_12346_678902_work.zip"],
        },
    ),
    "Canvas, anonymous": (
        ["anon_aB3xY_678901_work.zip", "LATE_anon_c4D5e_678902_work.zip"],
        {
            "anon_aB3xY": ["anon_aB3xY_678901_work.zip"],
            "anon_c4D5e": ["LATE_anon_c4D5e_678902_work.zip"],
        },
    ),
    "dates are not Canvas": (
        ["team_2026_03_a.zip", "team_2026_04_b.zip"],
        {
            "team_2026_03_a": ["team_2026_03_a.zip"],
            "team_2026_04_b": ["team_2026_04_b.zip"],
        },
    ),
    "one name like Canvas among others is not Canvas": (
        ["alice", "bob", "a_12345_678901_x.zip"],
        {
            "a_12345_678901_x": ["a_12345_678901_x.zip"],
            "alice": ["alice"],
            "bob": ["bob"],
        },
    ),
    "nbgrader": (["alice/ps1/step02_scores.ipynb"], {"alice": ["alice"]}),
    "litter": (["alice", ".git", "__MACOSX", ".DS_Store.py"], {"alice": ["alice"]}),
}


@pytest.mark.parametrize(("paths", "students"), LAYOUTS.values(), ids=LAYOUTS.keys())
def test_entries_are_told_apart(listed, tmp_path, paths, students):
    for path in paths:
        write(tmp_path / path)
    if len(list(tmp_path.iterdir())) < len({path.split("/")[0] for path in paths}):
        pytest.skip("names differ by more than case here")
    assert listed() == students


@pytest.mark.parametrize("name", ["anna-attempt-2", "anna (1)"])
def test_student_on_the_class_list_is_no_attempt_of_another(steps, tmp_path, name):
    for folder in ("anna", name):
        write(tmp_path / folder / FILE)
    assert len(intake.survey(tmp_path, steps).entries) == 1
    listing = intake.survey(tmp_path, steps, None, lambda student: student == name)
    assert [entry.student for entry in listing.entries] == ["anna", name]
    assert [len(entry.attempts) for entry in listing.entries] == [1, 1]


def test_canvas_name_that_ends_in_a_number_makes_no_second_student_of_that_number(steps, tmp_path):
    """Otherwise that number's row in Canvas' gradebook would be nobody's."""
    doubtful = f"mal_1201_66666_9000002_{FILE}"
    for name in (f"abelanna_1201_9000001_{FILE}", doubtful):
        write(tmp_path / name)
    found = intake.survey(tmp_path, steps)
    assert [entry.student for entry in found.entries] == ["abelanna_1201"]
    assert list(found.ignored) == [doubtful]


def test_canvas_file_with_an_own_number_is_read_beside_files_without_work(steps, tmp_path):
    packed(tmp_path / "abelanna_1201_9000002_20231234_hw2.zip", {FILE: source()})
    (tmp_path / "abelanna_1201_9000001_notes.pdf").write_text("x")
    (entry,) = intake.entries(tmp_path, steps)
    assert (entry.student, len(entry.who.files)) == ("abelanna_1201", 2)
    assert list(intake.read(entry, steps).sources) == ["step02_scores"]


@pytest.mark.parametrize(
    "name", ["step-2.py", "step-02.py", "Step-2-1.py", "step02_scores-3.py", "Copy of step-2.py"]
)
def test_number_of_a_step_is_not_taken_for_one_that_canvas_adds(steps, tmp_path, name):
    (tmp_path / f"abelanna_1201_9000001_{name}").write_text(source())
    (tmp_path / "colecy_1203_9000003_step-03.py").write_text(source())
    (tmp_path / "abelanna_1201_9000002_train_step-1.py").write_text("x = 1\n")
    anna, cy = intake.entries(tmp_path, steps)
    assert list(anna.attempts[-1].files)[-1] == "train_step.py"
    assert list(intake.read(anna, steps).sources) == ["step02_scores"]
    assert list(intake.read(cy, steps).sources) == ["step03_mask"]


NUMBERS = {f"12010{number}" for number in range(5)}
CANVAS = {
    "two zips beside files with own numbers": [
        "abelanna_120100_9000001_12345671_hw2.zip",
        "beckben_LATE_120101_9000002_12345672_hw2.zip",
        "evileve_120102_9000003_hw.zip",
        "evileve_120102_9000004_data.zip",
        "evileve_120102_9000005_more.zip",
    ],
    "two students with one name": [
        "doejohn_120100_9000001_hw.zip",
        "doejohn_120101_9000002_hw.zip",
    ],
    "one student, two zips": ["doejohn_120100_9000001_hw.zip", "doejohn_120100_9000002_b.zip"],
    "the same, listed": [f"doejohn_120100_900000{number}_hw.zip" for number in range(3)],
}


@pytest.mark.parametrize("names", CANVAS.values(), ids=CANVAS)
def test_archives_from_canvas_are_no_scheme_of_the_instructors(steps, tmp_path, names):
    for name in names:
        packed(tmp_path / name, {FILE: source()})
    listing = intake.survey(
        tmp_path,
        steps,
        is_number=lambda platform, number: platform == "Canvas" and number in NUMBERS,
    )
    assert {entry.who.platform for entry in listing.entries} == {"Canvas"}


@pytest.mark.parametrize(
    "file", ["hw_02_12345671_x.zip", "hw_02_12345672_x.ipynb"], ids=["zip", "notebook"]
)
def test_teams_on_moodle_may_name_files_like_canvas(steps, tmp_path, file):
    for number in range(3):
        write(tmp_path / f"Team {number}_assignsubmission_file_{file}")
    found = {entry.student for entry in intake.entries(tmp_path, steps)}
    assert found == {"Team 0", "Team 1", "Team 2"}


def test_files_of_another_moodle_plugin_do_not_make_it_canvas(steps, tmp_path):
    for name in ("Ann Abel_4711", "Ben Beck_4713"):
        write(tmp_path / f"{name}_assignsubmission_file_{FILE}")
    for number in range(4):
        write(tmp_path / f"Eve Evil_4712_assignsubmission_poodll_{number}_22222_a.txt")
    found = {entry.student for entry in intake.entries(tmp_path, steps) if entry.who.platform}
    assert found == {"Ann Abel_4711", "Ben Beck_4713"}


def test_canvas_file_that_may_be_another_students_is_listed(steps, tmp_path):
    for name in ("doejohn_12345_678901_a.ipynb", "doejohn_late_12345_77123_678902_b.ipynb"):
        write(tmp_path / name)
    listing = intake.survey(tmp_path, steps)
    assert list(listing.ignored) == ["doejohn_late_12345_77123_678902_b.ipynb"]
    (entry,) = listing.entries
    assert (entry.who.files, entry.who.late) == (("doejohn_12345_678901_a.ipynb",), False)


def test_every_layout_can_be_read(steps, tmp_path):
    for number, (paths, _) in enumerate(LAYOUTS.values()):
        for path in paths:
            write(tmp_path / str(number) / path)
        for entry in intake.entries(tmp_path / str(number), steps):
            assert list(intake.read(entry, steps).sources) == ["step02_scores"]


def test_entries_come_in_one_order(steps, tmp_path):
    for name in ("b", "a.zip", "C", "a"):
        write(tmp_path / name)
    assert [entry.student for entry in intake.entries(tmp_path, steps)] == ["C", "a", "b"]


def test_other_files_are_listed_as_ignored(steps, tmp_path):
    write(tmp_path / "alice")
    for name in ("README.txt", "submission_metadata.yml", FILE, "Thumbs.db", ".hidden"):
        (tmp_path / name).write_text("x")
    listing = intake.survey(tmp_path, steps)
    assert [entry.student for entry in listing.entries] == ["alice"]
    assert dict(listing.ignored) == {
        "README.txt": "it is neither a folder nor a zip nor a notebook",
        "submission_metadata.yml": "it is neither a folder nor a zip nor a notebook",
        FILE: "a source file must be in a folder with the student's name",
    }


def test_missing_class_folder_is_an_error(steps, tmp_path):
    with pytest.raises(SubmissionError, match=r"there is no folder .*nowhere"):
        intake.entries(tmp_path / "nowhere", steps)


def test_empty_class_folder_has_nobody(steps, tmp_path):
    assert intake.entries(tmp_path, steps) == []


# Which attempt counts.


@pytest.mark.parametrize(
    ("paths", "latest"),
    [
        (["alice/Attempt 9", "alice/Attempt 10"], "10"),
        (["alice_attempt_9.zip", "alice_attempt_10.zip"], "10"),
        (["alice/version_2.zip", "alice/version_1.zip"], "version_2"),
    ],
)
def test_highest_number_counts(read, tmp_path, paths, latest):
    for path in paths:
        write(tmp_path / path, mark=repr(path))
    submission = read("alice")
    assert latest in submission.sources["step02_scores"]
    assert f"There are {len(paths)} attempts; " in submission.warnings[0]
    assert latest in submission.warnings[0]


@pytest.mark.parametrize("others", [["alice.zip"], ["alice (1).zip", "alice.zip"]])
def test_everything_without_a_number_is_one_hand_in(read, tmp_path, others):
    for name in ("alice", *others):
        write(tmp_path / name, "1")
    submission = read("alice")
    assert (list(submission.sources), submission.warnings) == (["step02_scores"], ())
    write(tmp_path / others[0], "2")
    with pytest.raises(SubmissionError, match=f"{FILE} could be any of .*: keep one of them"):
        read("alice")


def test_earlier_attempt_never_stands_in_for_a_broken_latest(read, tmp_path):
    write(tmp_path / "alice_attempt_1.zip")
    (tmp_path / "alice_attempt_2.zip").write_bytes(b"PK\3\4 broken")
    message = "of 2 attempts the latest, alice_attempt_2.zip, counts: .* it is damaged"
    with pytest.raises(SubmissionError, match=message):
        read("alice")


def test_one_attempt_has_no_warning(read, tmp_path):
    write(tmp_path / "alice" / "1")
    assert read("alice").warnings == ()


# What cannot be graded.


def fill(tmp_path, *names):
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"x")


NOTHING = "it holds no notebook and none of the files step01_projections.py"
UNGRADABLE = {
    "empty folder": (lambda top: (top / "alice").mkdir(), NOTHING),
    "only other files": (lambda top: fill(top, "alice/report.pdf"), NOTHING),
    "only another source": (
        lambda top: fill(top, "alice/x.py"),
        "x.py: it is not beside a step, and defines no function of a step that is missing",
    ),
    "only litter": (lambda top: fill(top, "alice/.DS_Store", "alice/__MACOSX/x.py"), NOTHING),
    "empty zip": (lambda top: packed(top / "alice.zip", {}), NOTHING),
    "too deep": (
        lambda top: write(top / "alice" / "a/b/c/d/e"),
        "a/b/c/d/e/: it is more than 4 folders down",
    ),
    "no zip": (lambda top: fill(top, "alice.zip"), "it is not a zip archive, or it is damaged"),
    "empty file": (lambda top: (top / "alice.zip").touch(), "not a zip archive"),
    "another archive": (lambda top: fill(top, "alice.tar.gz"), "only zip archives are read"),
    "another archive inside": (
        lambda top: fill(top, "alice/work.7z"),
        "only zip archives are read",
    ),
    "two archives": (
        lambda top: fill(top, "alice/a.zip", "alice/b.zip"),
        r"a.zip: it is not a zip archive, or it is damaged\. b.zip: it is not",
    ),
    "damaged zip in a zip": (
        lambda top: packed(top / "alice.zip", {"inner.zip": "PK"}),
        "inner.zip: it is not a zip archive, or it is damaged",
    ),
    "two folders": (
        lambda top: (write(top / "alice/ps1", "1"), write(top / "alice/ps2", "2")),
        f"{FILE} could be any of ps1/{FILE}, ps2/{FILE}: keep one of them",
    ),
    "no notebook": (lambda top: fill(top, "alice.ipynb"), "its JSON is broken in line 1"),
    "notebook of something else": (
        lambda top: (top / "alice.ipynb").write_text(notebook().replace("attention", "other")),
        "alice.ipynb: it has no function of any step",
    ),
}


@pytest.mark.parametrize(("make", "reason"), UNGRADABLE.values(), ids=UNGRADABLE.keys())
def test_ungradable_submission_has_a_reason(read, tmp_path, make, reason):
    make(tmp_path)
    with pytest.raises(SubmissionError, match=reason):
        read("alice")


def link_to_folder(path):
    write(path.parent.parent / "outside")
    path.symlink_to(path.parent.parent / "outside", target_is_directory=True)


def link_to_zip(path):
    write(path.parent.parent / "outside.zip")
    path.with_suffix(".zip").symlink_to(path.parent.parent / "outside.zip")


def pipe(path):
    os.mkfifo(path.with_suffix(".zip"))


def crowded(path):
    path.mkdir()
    for number in range(10_001):
        (path / str(number)).touch()


IRREGULAR = {
    "link to a folder": (link_to_folder, "it is a link, which is not followed"),
    "dangling link": (lambda path: path.symlink_to("x"), "it is a link, which is not followed"),
    "link to a zip": (link_to_zip, "it is a link, which is not followed"),
    "pipe": (pipe, "it is not a regular file"),
    "10,001 files": (crowded, "it holds more than 10,000 files"),
}


@posix
@pytest.mark.parametrize(("make", "reason"), IRREGULAR.values(), ids=IRREGULAR.keys())
def test_irregular_entry_is_listed_and_refused(steps, tmp_path, make, reason):
    top = tmp_path / "class"
    top.mkdir()
    make(top / "alice")
    write(top / "bob")
    before = descriptors()
    alice, bob = intake.entries(top, steps)
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
def test_locked_folder_is_not_gradable(steps):
    me = os.geteuid()
    with tempfile.TemporaryDirectory() as name:
        top = Path(name)
        write(top / "alice")
        write(top / "bob")
        top.chmod(0o755)
        (top / "alice").chmod(0)
        if me == 0:  # root may open everything
            os.seteuid(65534)
        try:
            alice, bob = intake.entries(top, steps)
            with pytest.raises(SubmissionError, match="it cannot be opened: Permission denied"):
                intake.read(alice, steps)
            assert list(intake.read(bob, steps).sources) == ["step02_scores"]
        finally:
            os.seteuid(me)
            (top / "alice").chmod(0o755)


@posix
def test_reading_a_class_keeps_no_descriptor(steps, tmp_path):
    for paths, _ in LAYOUTS.values():
        for path in paths:
            write(tmp_path / path)
    before = descriptors()
    for entry in intake.entries(tmp_path, steps):
        try:
            intake.read(entry, steps)
        except SubmissionError:
            continue
    assert descriptors() == before


@posix
def test_folder_behind_a_link_is_not_opened(tmp_path):
    write(tmp_path / "outside")
    (tmp_path / "alice").symlink_to("outside")
    with (
        Folder.open(tmp_path) as folder,
        pytest.raises(SubmissionError, match="it is a link or not a folder"),
    ):
        folder.into("alice")


# Names.


@posix
@pytest.mark.parametrize("name", [name for name in STRANGE if not name.startswith(".")])
def test_strange_id_is_kept_as_it_is(read, tmp_path, name):
    write(tmp_path / name)
    submission = read(name)
    assert (submission.id, list(submission.sources)) == (name, ["step02_scores"])


PHANTOMS = {
    "a loose file": (
        ["Mallory_7_assignsubmission_file_Alice_12_assignsubmission_file_step02_scores.py"],
        ["Mallory_7"],
    ),
    "a team's loose file": (
        ["Team 1_assignsubmission_file_Alice_12_assignsubmission_file_step02_scores.py"],
        ["Team 1"],
    ),
    "a text": (
        ["Mallory_7_assignsubmission_file_Alice_12_assignsubmission_onlinetext_x.ipynb"],
        ["Mallory_7"],
    ),
    "a name like a folder": (
        ["Alice_12_assignsubmission_file_7_assignsubmission_file_/step02_scores.py"],
        ["Alice_12_assignsubmission_file_7"],
    ),
}


@pytest.mark.parametrize(("hostile", "students"), PHANTOMS.values(), ids=PHANTOMS.keys())
def test_names_of_files_make_no_student_and_hand_nothing_in_for_another(
    steps, tmp_path, hostile, students
):
    honest = "Alice_12_assignsubmission_file_step02_scores.py"
    right = (ROOT / "solutions" / FILE).read_text(encoding="utf-8")
    for name in [honest, *hostile]:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(right if name == honest else "wrong", encoding="utf-8")
    found = {entry.student: entry for entry in intake.entries(tmp_path, steps)}
    assert sorted(found) == sorted(["Alice_12", *students])
    assert intake.read(found["Alice_12"], steps).sources == {"step02_scores": right}


ANN = "Ann Lee_12_assignsubmission_file_"
CANVAS = "doejohn_12345_678901_{}"


@pytest.mark.parametrize("others", [0, 3])
@pytest.mark.parametrize("number", ["", "9_"])
def test_moodles_mark_in_a_file_of_canvas_makes_no_student(steps, tmp_path, others, number):
    for name in (f"Alice_{number}assignsubmission_file_{FILE}", FILE):
        write(tmp_path / CANVAS.format(name))
    for other in range(others):
        write(tmp_path / f"other{other}_{other}_90000{other}_{FILE}")
    found = [entry.student for entry in intake.entries(tmp_path, steps)]
    assert found == ["doejohn_12345", *(f"other{n}_{n}" for n in range(others))]


@pytest.mark.parametrize("called", ["abelanna_1201", "abelanna"])
def test_moodles_mark_in_a_name_on_canvas_makes_no_other_student(steps, tmp_path, called):
    """Canvas lets students choose how their name is sorted, and removes only the signs in it."""
    own = f"abelanna_1201_900001_{FILE}"
    evil = f"{called}_assignsubmission_file_1300_900002_{FILE}"
    for name in (own, evil, f"becker_1202_900003_{FILE}"):
        write(tmp_path / name)
    found = {entry.student: entry for entry in intake.entries(tmp_path, steps)}
    assert sorted(found) == [
        "abelanna_1201",
        f"{called}_assignsubmission_file_1300",
        "becker_1202",
    ]
    assert found["abelanna_1201"].who.files == (own,)


def test_name_on_canvas_with_moodles_mark_is_not_read_beside_files_with_its_number(steps, tmp_path):
    evil = f"eve_assignsubmission_file_1201_900002_{FILE}"
    for name in (f"abelanna_1201_900001_{FILE}", evil, f"becker_1202_900003_{FILE}"):
        write(tmp_path / name)
    found = [entry.student for entry in intake.entries(tmp_path, steps)]
    assert found == ["abelanna_1201", "becker_1202"]


@pytest.mark.parametrize("called", ["eve", "eve_1300_12345", "eve_assignsubmission_file"])
@pytest.mark.parametrize("late", [True, False])
def test_no_name_on_canvas_hides_that_the_work_is_late(steps, tmp_path, called, late):
    write(tmp_path / f"{called}{'_LATE' * late}_1300_900001_{FILE}")
    for number in (1, 2):
        write(tmp_path / f"zoe{number}_{number}_90000{number}_{FILE}")
    found = intake.entries(tmp_path, steps)[0]
    assert (found.who.number, found.who.late) == ("1300", late)


@pytest.mark.parametrize("late", [True, False])
def test_file_of_canvas_that_is_called_late_is_not_late(steps, tmp_path, late):
    write(tmp_path / f"abelanna{'_LATE' * late}_1201_900001_hw_late_1_20261123_final.ipynb")
    (found,) = intake.entries(tmp_path, steps)
    assert found.who.late == late


def test_name_on_canvas_like_an_anonymous_one_hides_nothing(steps, tmp_path):
    write(tmp_path / f"anon_abcd_12345_LATE_1300_900001_{FILE}")
    (found,) = intake.entries(tmp_path, steps)
    assert found.who.late


def test_folder_with_moodles_mark_is_a_student_if_the_class_list_has_that_name(steps, tmp_path):
    write(tmp_path / "anna" / FILE)
    write(tmp_path / "anna_assignsubmission_file" / FILE)
    listing = intake.survey(
        tmp_path, steps, is_student={"anna", "anna_assignsubmission_file"}.__contains__
    )
    assert [entry.student for entry in listing.entries] == ["anna", "anna_assignsubmission_file"]


@pytest.mark.parametrize(
    "called", ["eve_assignsubmission_file", "_assignsubmission_file", ""], ids=repr
)
@pytest.mark.parametrize("ending", [".py", ".zip"])
@pytest.mark.parametrize("others", [1, 2])
def test_student_with_many_files_does_not_decide_that_it_is_not_canvas(
    steps, tmp_path, called, ending, others
):
    """Canvas removes all signs from a name, so nothing may be left of it."""
    honest = ("abelanna", "beckben")[:others]
    for number, name in enumerate(honest):
        write(tmp_path / f"{name}_120{number}_900000{number}_{FILE}")
    for number in range(5):
        write(tmp_path / f"{called}_1300_900001{number}_x{number}{ending}")
    found = [entry.student for entry in intake.entries(tmp_path, steps)]
    known = [f"{name}_120{number}" for number, name in enumerate(honest)]
    assert found == sorted([*known, f"{called}_1300"])


@pytest.mark.parametrize("called", ["Anna Abel_4710_99999", "_assignsubmission_file"])
@pytest.mark.parametrize("others", [1, 2])
def test_student_with_many_files_does_not_decide_that_it_is_not_moodle(
    steps, tmp_path, called, others
):
    honest = ("Anna Abel", "Ben Beck")[:others]
    for number, name in enumerate(honest):
        write(tmp_path / f"{name}_471{number}_assignsubmission_file_{FILE}")
    for number in range(5):
        write(tmp_path / f"{called}_5000_assignsubmission_file_x{number}.zip")
    found = {entry.student: entry.who for entry in intake.entries(tmp_path, steps)}
    known = [f"{name}_471{number}" for number, name in enumerate(honest)]
    assert sorted(found) == sorted([*known, f"{called}_5000"])
    assert len(found["Anna Abel_4710"].files) == 1


def test_login_with_moodles_mark_hands_nothing_in_for_another(steps, tmp_path):
    for name in ("anna", "anna_assignsubmission_file", "ben"):
        write(tmp_path / name)
    found = {entry.student: len(entry.attempts) for entry in intake.entries(tmp_path, steps)}
    assert found == {"anna": 1, "anna_assignsubmission_file": 1, "ben": 1}


@pytest.mark.parametrize("name", ["Ann Lee_12_assignsubmission_file_", CANVAS.format("")])
def test_other_files_beside_one_student_hide_no_platform(steps, tmp_path, name):
    write(tmp_path / (name + FILE))
    for other in ("roster.csv", "README.txt", FILE):
        (tmp_path / other).write_text("x")
    (tmp_path / "graded").mkdir()
    (tmp_path / "graded" / "gradebook.db").touch()
    (entry,) = intake.survey(tmp_path, steps, tmp_path / "graded").entries
    assert entry.who.platform


@pytest.mark.parametrize(
    "name", [ANN, f"{ANN}{FILE}", CANVAS.format(FILE)], ids=["folder", "Moodle", "Canvas"]
)
def test_the_zip_of_a_download_beside_its_only_student_hides_no_platform(steps, tmp_path, name):
    write(tmp_path / name)
    packed(tmp_path / "HW2-77.zip", {name: source()})
    assert any(entry.who.platform for entry in intake.survey(tmp_path, steps).entries)


@pytest.mark.parametrize("victim", ["anna", "anna.zip", "anna-attempt-2"])
def test_one_of_two_logins_with_moodles_mark_hands_nothing_in_for_the_other(
    steps, tmp_path, victim
):
    if victim.endswith(".zip"):
        packed(tmp_path / victim, {FILE: source()})
    else:
        write(tmp_path / victim)
    write(tmp_path / "anna_assignsubmission_file")
    found = {entry.student: len(entry.attempts) for entry in intake.entries(tmp_path, steps)}
    assert found == {"anna": 1, "anna_assignsubmission_file": 1}


def test_folders_of_moodles_plugins_hide_no_platform(steps, tmp_path):
    for name in ("Ann Lee_12", "Ben Beck_13"):
        write(tmp_path / f"{name}_assignsubmission_file_")
        (tmp_path / f"{name}_assignsubmission_cloudpoodll_").mkdir()
    found = {entry.student for entry in intake.entries(tmp_path, steps) if entry.who.platform}
    assert found == {"Ann Lee_12", "Ben Beck_13"}


def test_canvas_numbers_in_a_file_of_moodle_make_no_student(steps, tmp_path):
    write(tmp_path / f"Ann Lee_12_assignsubmission_file_bob_1_900001_{FILE}")
    assert [entry.student for entry in intake.entries(tmp_path, steps)] == ["Ann Lee_12"]


def test_only_folder_of_somebody_on_the_class_list_is_that_student(steps, tmp_path):
    for name in ("Bob_9_assignsubmission_file_", "Eve_8_assignsubmission_file_"):
        (tmp_path / "alice" / name).mkdir(parents=True)
        write(tmp_path / "alice" / name / FILE)
    assert intake.class_folder(tmp_path, steps) == tmp_path / "alice"
    assert intake.class_folder(tmp_path, steps, {"alice"}.__contains__) == tmp_path


def test_student_called_like_another_on_canvas_does_not_hide_canvas(steps, tmp_path):
    write(tmp_path / f"abelanna_1202_9000001_{FILE}")
    write(tmp_path / f"x_1202_90000_1300_9000002_{FILE}")
    found = {entry.student: entry.who for entry in intake.entries(tmp_path, steps)}
    assert found["abelanna_1202"].platform == "Canvas"


@pytest.mark.parametrize("count", [1, 3])
def test_anonymous_students_share_no_number(steps, tmp_path, count):
    for number in range(count):
        write(tmp_path / f"anon_abcd{number}_900000{number}_{FILE}")
    assert {one.who.platform for one in intake.entries(tmp_path, steps)} == {"Canvas"}


def test_ids_on_the_class_list_make_a_class(steps, tmp_path):
    """Only Anna's folder holds work."""
    write(tmp_path / "hw1" / "anna")
    (tmp_path / "hw1" / "eve").mkdir()
    (tmp_path / "hw1" / "eve" / "x.pdf").write_text("x")
    assert intake.class_folder(tmp_path, steps, {"anna", "eve"}.__contains__) == tmp_path / "hw1"


def test_only_student_with_work_hands_in_for_nobody(steps, tmp_path):
    """Eve is late, and puts files that are called like others into her folder."""
    (tmp_path / "eve").mkdir()
    for name in ("anna.zip", "ben.zip"):
        packed(tmp_path / "eve" / name, {FILE: source()})
    assert intake.class_folder(tmp_path, steps, {"anna", "ben", "eve"}.__contains__) == tmp_path


SCHEMES = {
    "one group, folders": [f"ws26_101_1234567{number}_abel" for number in range(3)],
    "one number": [f"abel{number}_1_1234567{number}_hw.zip" for number in range(3)],
    "zips of a group": [f"ws26_101_1234567{number}_abel{number}.zip" for number in range(3)],
    "two groups, zips": [f"ws26_10{number % 2}_1234567{number}_abel.zip" for number in range(3)],
    "two groups, folders": [f"ws26_10{number // 2}_1234567{number}_abel" for number in range(3)],
    "times": [f"hw2_2026112{number}_101500_abel{number}" for number in range(3)],
}


@pytest.mark.parametrize("names", SCHEMES.values(), ids=SCHEMES)
def test_what_all_students_share_is_not_from_canvas(steps, tmp_path, names):
    for one in names:
        if one.endswith(".zip"):
            packed(tmp_path / one, {FILE: source()})
        else:
            write(tmp_path / one)
    found = [entry.student for entry in intake.entries(tmp_path, steps)]
    assert found == sorted(one.removesuffix(".zip") for one in names)


@pytest.mark.parametrize("ending", ["", ".zip", ".ipynb"])
def test_own_class_list_keeps_names_like_canvas_apart(steps, tmp_path, ending):
    names = ["ws26_101_12345670_abel", "ws26_101_12345671_beck", "hw2_102_12345679_eve"]
    for name in names:
        if ending:
            (tmp_path / f"{name}{ending}").touch()
        else:
            write(tmp_path / name)
    listing = intake.survey(tmp_path, steps, None, {*names}.__contains__)
    assert [entry.student for entry in listing.entries] == sorted(names)


def test_several_files_of_one_student_are_from_canvas(steps, tmp_path):
    write(tmp_path / f"abelanna_1201_9000001_{FILE}")
    packed(tmp_path / "abelanna_1201_9000002_notes.zip", {FILE: source()})
    assert [one.student for one in intake.entries(tmp_path, steps)] == ["abelanna_1201"]


PLUGIN = "_4712_assignsubmission_poodll"


@pytest.mark.parametrize("more", [f"_Anna Abel_4711_assignsubmission_file_{FILE}", ""])
def test_other_kind_of_moodle_work_is_no_other_students(steps, tmp_path, more):
    """Students choose the names of their files, and on some platforms their own."""
    write(tmp_path / f"Anna Abel_4711_assignsubmission_file_{FILE}")
    write(tmp_path / f"Ben Beck_4713_assignsubmission_file_{FILE}")
    if more:
        write(tmp_path / f"Eve{PLUGIN}{more}")
    else:
        write(tmp_path / f"Anna Abel_4711_assignsubmission_file{PLUGIN}")
    numbers = [entry.who.number for entry in intake.entries(tmp_path, steps)]
    assert sorted(filter(None, numbers)) == ["4711", "4713"]
    files = [name for one in intake.entries(tmp_path, steps) for name in one.who.files]
    assert not any("poodll" in name for name in files)


def test_loose_file_of_somebody_called_like_a_file_is_read_for_nobody(steps, tmp_path):
    """`Alice_12_assignsubmission_file` is what Mallory is called, on the platform."""
    write(tmp_path / "Alice_12_assignsubmission_file_step02_scores.py")
    name = "Alice_12_assignsubmission_file_7_assignsubmission_file_step03_mask.ipynb"
    (tmp_path / name).write_text("{}")
    (alice,) = intake.entries(tmp_path, steps)
    assert list(intake.read(alice, steps).sources) == ["step02_scores"]


def test_folder_that_looks_like_results_is_listed_as_ignored(tmp_path, steps):
    for name in ("ada", "ben", "graded"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "step01_projections.py").write_text("", encoding="utf-8")
    for name in ("ben", "graded"):
        (tmp_path / name / "gradebook.db").touch()
    listing = intake.survey(tmp_path, steps, tmp_path / "graded")
    assert [entry.student for entry in listing.entries] == ["ada"]
    assert listing.ignored == {"ben": "it holds gradebook.db, which grading writes"}
