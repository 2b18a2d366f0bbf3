"""The downloads of platforms: every line of the table, and hostile names in each."""

import pytest

from grader.intake import entries as intake
from grader.intake.platform_names import LAYOUTS, METADATA, Download, find_download, name_submitters
from tests.support.handed_in import FILE, source, spread, write

# Names in a download -> each student's id, number, login, name, and the names that are read.
DOWNLOADS = {
    "Moodle": (
        ["Ann Lee_12_assignsubmission_file/x.py", "Bo Ash_13_assignsubmission_file_x.py"],
        {"Ann Lee_12": ("12", "", "Ann Lee"), "Bo Ash_13": ("13", "", "Bo Ash")},
    ),
    "Canvas": (
        ["leeann_12_9000001_x.py", "ashbo_LATE_13_9000002_x-1.py"],
        {"leeann_12": ("12", "", ""), "ashbo_13": ("13", "", "")},
    ),
    "Canvas, short numbers": (
        ["leeann_12_345_x.py", "ashbo_LATE_13_346_x.py"],
        {"leeann_12": ("12", "", ""), "ashbo_13": ("13", "", "")},
    ),
    "Brightspace": (
        [
            "104-88 - Ann - Lee - Mar 4, 2026 926 PM/x.py",
            "104-88 - Ann - Lee - Mar 4, 2026 1026 PM/x.py",
            "105-88 - Bo Ash - Mar 4, 2026 926 PM/x.py",
            "index.html",
        ],
        {"Ann - Lee_104": ("104", "", "Ann - Lee"), "Bo Ash_105": ("105", "", "Bo Ash")},
    ),
    "Brightspace, flat": (
        ["104-88 - Ann Lee - Mar 4, 2026 926 PM - x.py"],
        {"Ann Lee_104": ("104", "", "Ann Lee")},
    ),
    "Blackboard": (
        [
            "My_Lab 1_alee_attempt_2026-03-04-21-26-10_x.py",
            "My_Lab 1_alee_attempt_2026-03-04-21-26-10.txt",
            "My_Lab 1_b_ash_attempt_2026-03-04-21-26-10_x.py",
        ],
        {"alee": ("", "alee", ""), "b_ash": ("", "b_ash", "")},
    ),
    "Sakai": (
        ["Lee, Ann(alee)/Submission attachment(s)/x.py", "Ash, Bo(bash)/x.py", "grades.csv"],
        {"alee": ("", "alee", "Ann Lee"), "bash": ("", "bash", "Bo Ash")},
    ),
    "Sakai, flat": (
        ["Lee, Ann(alee)_Submission attachment(s)_x.py"],
        {"alee": ("", "alee", "Ann Lee")},
    ),
}


@pytest.mark.parametrize(("names", "wanted"), DOWNLOADS.values(), ids=DOWNLOADS)
def test_download_is_read(steps, tmp_path, names, wanted):
    for name in names:
        if name.endswith((".py", "/x.py")):
            write(tmp_path / name.replace("x.py", FILE).replace("x-1.py", f"{FILE[:-3]}-1.py"))
        else:
            (tmp_path / name).write_text("not work", encoding="utf-8")
    found = intake.list_class(tmp_path).entries
    assert {one.student: (one.who.number, one.who.login, one.who.name) for one in found} == wanted
    for one in found:
        assert intake.read(one, steps).sources == {"step02_scores": source()}


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda one: one.example)
def test_example_is_read(layout):
    assert layout.read(layout.example, True) or layout.read(layout.example, False)


@pytest.mark.parametrize(
    ("name", "times"),
    [
        ("104-88 - Ann Lee - Mar {}/", ("4, 2026 926 PM", "5, 2026 1226 AM", "4, 2026 1159 PM")),
        ("L_a_attempt_2026-03-{}-21-26-10_", ("04", "11", "09")),
    ],
)
def test_latest_attempt_counts(steps, tmp_path, name, times):
    texts = {f"{name.format(time)}{FILE}": time for time in times}
    spread(tmp_path, texts)
    (entry,) = intake.list_class(tmp_path).entries
    assert intake.read(entry, steps).sources == {"step02_scores": times[1]}


YAML = """---
submission_5:
  :submitters:
  - :name: 'Ann O''Lee'
    :sid: '1001'
    :email: a@x.edu
  :created_at: 2026-03-04 21:26:10.1 Z
  :history:
  - :sid: '1002'
submission_6:
  :submitters:
  - :name: "Bo \\u00c4sh"
    :sid:
    :email: b@x.edu
submission_7:
  :submitters:
  - :name: Cy
    :sid: '1003'
  - :name: Di
    :sid: '1004'
submission_8:
  :submitters:
  - :name: '1001'
submission_9:
  :submitters:
  - :name: |-
      :sid: '1001'
    :sid: *x
"""


def test_gradescope_names_its_submitters(steps, tmp_path):
    for number in range(5, 10):
        write(tmp_path / f"submission_{number}" / FILE)
    (tmp_path / METADATA).write_text(YAML, encoding="utf-8")
    listing = intake.list_class(tmp_path)
    assert {one.student: (one.who.name, one.who.email) for one in listing.entries} == {
        "1001": ("Ann O'Lee", "a@x.edu"),
        "b@x.edu": ("Bo Äsh", "b@x.edu"),
        "submission_7": ("", ""),
        "submission_8": ("1001", ""),
        "submission_9": ("", ""),
    }
    assert {one.who.members for one in listing.entries} == {(), ("1003", "1004")}
    assert listing.ignored == {}


@pytest.mark.parametrize("text", ["", "\0", "submission_5:\n" * 9, "  - :sid: '1'", "- " * 10_000])
def test_odd_metadata_names_nobody(text):
    found = Download("Gradescope").read("submission_5", True)
    assert name_submitters([found], lambda name: text) == [found]


@pytest.mark.parametrize(
    ("folders", "around", "known", "wanted"),
    [
        (["lab1-a-lee", "lab1-bash"], "lab1-submissions", "", "GitHub"),
        (["cs1-lab1-alee", "cs1-lab1-bash"], "x", "alee bash", "GitHub"),
        (["team-a", "team-b"], "x", "", ""),
        (["Lee_Ann_alee_48", "Ash_Bo_bash_49"], "x", "48", "ILIAS"),
        (["ws26_1_lee_48", "ws26_1_ash_49"], "x", "", ""),
        (["submission_1", "submission_2"], "x", "", ""),
    ],
)
def test_names_that_others_have_too_need_a_sign(folders, around, known, wanted):
    found = find_download(folders, [], lambda platform, number: number in known.split(), around)
    assert found.platform == wanted
    if wanted == "GitHub":
        assert found.read(folders[1], True).who.number == "bash"


@pytest.mark.parametrize(
    "mark", ["_assignsubmission_file_", "_1_90000_", "_attempt_2026-01-01-00-00-00_"]
)
@pytest.mark.parametrize("count", [1, 30])
def test_names_of_files_do_not_change_the_platform(mark, count):
    """One student with many files chooses what follows the own mark."""
    own = "104-88 - Eve - Mar 4, 2026 926 PM - "
    files = [f"{own}{n}{mark}x.py" for n in range(count)]
    files += [f"{n}-88 - Ann - Mar 4, 2026 926 PM - x.py" for n in range(105, 108)]
    found = find_download([], files)
    assert found == Download("Brightspace")
    assert {found.read(name, False).student for name in files[:count]} == {"Eve_104"}


def test_name_of_a_file_hands_nothing_in_for_another_address():
    found = Download("Autolab").read("eve@x.edu_3_ann@x.edu_4_x.py", False)
    assert (found.student, found.who.email) == ("eve@x.edu", "eve@x.edu")


@pytest.mark.parametrize(("known", "login"), [("", "ash"), ("b_ash", "b_ash")])
def test_class_list_tells_where_a_title_ends(known, login):
    files = [f"Lab_1_b_{name}_attempt_2026-03-04-21-26-10_x.py" for name in ("ash", "oak")]
    found = find_download([], files, lambda platform, number: number == known)
    assert found.read(files[0], False).who.login == login


MANIFEST = """Name: Ann (Lee) (b_lee)\r
Assignment: Lab 1\r
\r
Submission Field:\r
\tOriginal filename: evil.py
\tFilename: Lab_1_cy_attempt_2026-03-04-21-26-10_x.py
Files:\r
\tOriginal filename: step02_scores.py\r
\tFilename: {}_x.py\r
"""
STAMP = "_attempt_2026-03-04-21-26-10"


@pytest.mark.parametrize(
    ("login", "wanted"), [("b_lee", "b_lee"), ("lee", "b_lee"), ("cy", "b_lee"), ("x", "b_lee")]
)
def test_manifest_tells_the_login_and_the_files(steps, tmp_path, login, wanted):
    """A manifest speaks for the files beside it only, whatever the student has typed there."""
    (tmp_path / f"Lab_1_b_lee{STAMP}.txt").write_bytes(
        MANIFEST.replace("(b_lee)", f"({login})").format(f"Lab_1_b_lee{STAMP}").encode("utf-8-sig")
    )
    (tmp_path / f"Lab_1_b_lee{STAMP}_x.py").write_text(source())
    (tmp_path / f"Lab_1_cy{STAMP}_x.py").write_text(source())
    found = {one.student: one for one in intake.list_class(tmp_path).entries}
    wanted = "lee" if login == "lee" else wanted
    assert sorted(found) == sorted([wanted, "cy"])
    assert [one.called for one in found["cy"].counting] == ["x.py"]
    assert FILE in {one.called for one in found[wanted].counting}
    assert intake.read(found[wanted], steps).sources == {"step02_scores": source()}


def test_zip_beside_a_download_from_blackboard_keeps_its_student(tmp_path):
    for name in (f"Lab_1_cy{STAMP}_x.py", f"Lab_1_b_lee{STAMP}_x.py", "bob.zip"):
        write(tmp_path / name)
    found = [one.student for one in intake.list_class(tmp_path).entries]
    assert found == ["b_lee", "bob", "cy"]
