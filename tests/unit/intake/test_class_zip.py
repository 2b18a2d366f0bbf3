"""A class as one zip: what is read of it in place, and the folder that the class is in."""

import os
import stat
import zipfile
from contextlib import ExitStack

import pytest

from grader.intake import entries, search
from grader.intake.folders import SubmissionError
from tests.support.handed_in import FILE, Unsaid, notebook, packed, source, spread


@pytest.fixture
def class_zip(tmp_path):
    """class_zip(): the class's zip, opened."""
    with ExitStack() as until:
        yield lambda: entries.open_class_zip(tmp_path / "c.zip", until)


def names_in(place):
    """The paths of all files below a place."""
    folders, files = place.names()
    deeper = [f"{name}/{path}" for name in folders for path in names_in(place.into(name))]
    return sorted([*files, *deeper])


def reasons(steps, place):
    """Why each student cannot be graded, or a step of theirs; "" where nothing is wrong."""
    found = {}
    for entry in entries.list_class(place).entries:
        try:
            found[entry.student] = "".join(entries.read(entry, steps).refused.values())
        except SubmissionError as error:
            found[entry.student] = str(error)
    return found


def test_class_is_read_in_place(steps, tmp_path, class_zip):
    packed(tmp_path / "ben.zip", {f"work/{FILE}": source()})
    with zipfile.ZipFile(tmp_path / "c.zip", "w") as file:
        file.writestr(f"hw/Ännä/{FILE}", source())
        file.write(tmp_path / "ben.zip", "hw/ben.zip")
        file.writestr("hw/cy.ipynb", notebook())
        file.writestr("hw/notes.txt", "x")
        file.writestr("__MACOSX/x", "litter")
    inner = entries.class_folder(class_zip(), steps)
    listing = entries.list_class(inner)
    assert [entry.student for entry in listing.entries] == ["ben", "cy", "Ännä"]
    assert list(listing.ignored) == ["notes.txt"]
    assert inner.path == tmp_path / "c.zip" / "hw"
    for entry in listing.entries:
        assert list(entries.read(entry, steps).sources) == ["step02_scores"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ben.zip", "c.zip"]


@pytest.mark.parametrize(
    ("name", "encoding"),
    [
        ("Björn Müller", "utf-8"),
        ("Bjo\u0308rn", "utf-8"),
        ("李伟_4713", "utf-8"),
        ("Søren Ønskær", "cp850"),
        ("Björn", "cp437"),
    ],
)
def test_names_whose_encoding_the_zip_does_not_tell_are_read(tmp_path, class_zip, name, encoding):
    with zipfile.ZipFile(tmp_path / "c.zip", "w") as file:
        file.writestr(Unsaid(f"{name}/{FILE}", encoding), "x = 1\n")
    assert names_in(class_zip()) == [f"{name}/{FILE}"]


@pytest.mark.parametrize("path", [f"{{}}/{FILE}", "{}.zip"])
def test_half_of_a_letter_is_no_sign_between_folders(tmp_path, class_zip, path):
    """In code pages of East Asia, a backslash is the second byte of some letters."""
    with zipfile.ZipFile(tmp_path / "c.zip", "w") as file:
        for name in ("ソフィア", "ソラ"):
            file.writestr(Unsaid(path.format(name), "cp932"), "x = 1\n")
    found = [name.count("/") for name in names_in(class_zip())]
    assert found == [path.count("/")] * 2


def test_folders_may_be_told_apart_by_backslashes_after_any_letter(tmp_path, class_zip):
    with zipfile.ZipFile(tmp_path / "c.zip", "w") as file:
        for name in ("André", "Anna"):
            file.writestr(Unsaid(f"{name}\\{FILE}", "cp850"), "x = 1\n")
    assert names_in(class_zip()) == [f"André/{FILE}", f"Anna/{FILE}"]


@pytest.mark.parametrize("depth", [5, 50, 30_000])
def test_path_that_is_too_deep_is_its_students_alone(steps, tmp_path, class_zip, depth):
    packed(tmp_path / "c.zip", {f"anna/{'d/' * depth}{FILE}": "x", f"ben/{FILE}": source()})
    found = reasons(steps, class_zip())
    assert "d/d/d/d/d/ is not read: it is more than 4 folders down" in found.pop("anna")
    assert found == {"ben": ""}


LINKED = {f"anna/{FILE}": f"{FILE} cannot be read", "anna.zip": "anna.zip is not read"}


@pytest.mark.parametrize(("name", "reason"), LINKED.items(), ids=LINKED)
def test_link_in_the_zip_is_not_followed(steps, tmp_path, class_zip, name, reason):
    with zipfile.ZipFile(tmp_path / "c.zip", "w") as file:
        info = zipfile.ZipInfo(name)
        info.external_attr = (stat.S_IFLNK | 0o777) << 16
        file.writestr(info, "/etc/passwd")
    assert reasons(steps, class_zip()) == {"anna": f"{reason}: it is not a regular file"}


def test_file_that_is_too_large_is_its_students_alone(steps, tmp_path, class_zip):
    huge = {f"huge/{FILE}": os.urandom(1_000_001).hex()[:1_000_001]}
    packed(tmp_path / "c.zip", {f"anna/{FILE}": source(), **huge, f"ben/{FILE}": source()})
    found = reasons(steps, class_zip())
    assert "longer than 1,000,000 bytes" in found.pop("huge")
    assert found == {"anna": "", "ben": ""}


def test_zip_in_the_zip_that_is_too_large_is_its_students_alone(
    steps, tmp_path, class_zip, monkeypatch
):
    monkeypatch.setattr(search, "MAX_ARCHIVE", 100_000)
    packed(tmp_path / "huge.zip", {FILE: source(), "x.bin": os.urandom(60_000).hex()})
    packed(tmp_path / "ben.zip", {FILE: source()})
    with zipfile.ZipFile(tmp_path / "c.zip", "w") as file:
        for name in ("huge.zip", "ben.zip"):
            file.write(tmp_path / name, name)
    found = reasons(steps, class_zip())
    assert "huge.zip is not read: its archives are larger than" in found.pop("huge")
    assert found == {"ben": ""}


@pytest.mark.parametrize("letter", ["ශ", "ä"])
def test_long_name_of_a_person_is_read(steps, tmp_path, class_zip, letter):
    long = f"{letter * 120}_4711_assignsubmission_file_"
    packed(tmp_path / "c.zip", {f"{long}/{FILE}": source(), f"Ben_2{long[-23:]}/{FILE}": source()})
    found = entries.list_class(class_zip()).entries
    assert {one.who.number for one in found} == {"4711", "2"}


@pytest.mark.parametrize("data", [b"", b"PK\3\4", b"\0" * 100])
def test_what_is_no_zip_is_told(tmp_path, class_zip, data):
    (tmp_path / "c.zip").write_bytes(data)
    with pytest.raises(SubmissionError, match=r"c.zip cannot be read: it is not a zip archive"):
        class_zip()


# The folder that the class is in.

OUTER = {
    "named by Moodle": ["hw/Anna_1_assignsubmission_file/{}"],
    "named by Canvas": ["hw/anna_1_900001_{}"],
    "two with work": ["hw/anna/{}", "hw/ben/{}"],
    "a student's notebook": ["hw/anna/{}", "hw/ben/{}", "hw/eve.ipynb"],
    "notebooks": ["hw/Anna Abel.ipynb", "hw/Ben Beck.ipynb", "hw/Cem Can.ipynb"],
    "notebooks and a folder": ["hw/anna.ipynb", "hw/ben.ipynb", "hw/cem/{}"],
    "notebooks with numbers": ["hw/student-01.ipynb", "hw/student-02.ipynb"],
    "notebooks that Windows has numbered": ["hw/student (1).ipynb", "hw/student (2).ipynb"],
    "numbers of 3 digits": ["hw/101/{}", "hw/102/{}"],
    "numbers like dates": ["hw/202311070101/{}", "hw/202311070102/{}"],
    "numbers that are no dates": ["hw/20231307-0101/{}", "hw/20231307-0102/{}"],
}
ITSELF = {
    "one student": ["anna/{}"],
    "one student's folder": ["anna/exercises/{}"],
    "exercises and an earlier state": ["anna/exercises/{}", "anna/old/{}"],
    "step files and earlier states": ["anna/{}", "anna/old/{}", "anna/older/{}"],
    "a notebook": ["anna/one.ipynb", "anna/old/{}"],
    "notebooks with the numbers of steps": ["anna/step-1.ipynb", "anna/step-2.ipynb"],
    "notebooks named by steps": ["anna/step01_projections.ipynb", "anna/step02_scores.ipynb"],
    "exercises and notebooks": ["anna/exercises/{}", "anna/notebooks/{}"],
    "two students": ["anna/{}", "ben/{}"],
    "nbgrader": ["anna/hw1/{}"],
    "one from Moodle": ["Anna_1_assignsubmission_file/{}"],
}


def written(name):
    return notebook() if name.endswith(".ipynb") else source()


@pytest.mark.parametrize("names", OUTER.values(), ids=OUTER)
def test_folder_around_the_class_is_looked_into(steps, tmp_path, names):
    spread(tmp_path, {name.format(FILE): written(name) for name in names})
    assert entries.class_folder(tmp_path, steps) == tmp_path / "hw"


@pytest.mark.parametrize("names", ITSELF.values(), ids=ITSELF)
def test_student_is_not_taken_for_a_class(steps, tmp_path, names):
    spread(tmp_path, {name.format(FILE): written(name) for name in names})
    assert entries.class_folder(tmp_path, steps) == tmp_path


# When work was handed in.


@pytest.mark.parametrize(
    ("folder", "text", "wanted"),
    [
        ("anna/hw1", "2026-11-20 23:59:59.123456 UTC", "2026-11-20T23:59:59+00:00"),
        # Then `grade` says that it does not read it. Else late work silently keeps its points.
        ("anna/hw1", "2026-11-20 23:59:59.123456 CET", "2026-11-20 23:59:59.123456 CET"),
        ("Anna Abel_123_assignsubmission_file", "1999-11-20 23:59:59 UTC", ""),
    ],
    ids=["nbgrader's", "in another zone", "a student's"],
)
def test_time_that_nbgrader_noted_is_taken(tmp_path, folder, text, wanted):
    spread(tmp_path, {f"{folder}/{FILE}": source(), f"{folder}/timestamp.txt": f"{text}\n"})
    (entry,) = entries.list_class(tmp_path).entries
    assert entry.who.submitted == wanted
