"""A class as one zip: what is read of it in place, and the folder that the class is in."""

import os
import stat
import zipfile
from contextlib import ExitStack

import pytest

from grader.intake import entries, folders_and_zips
from grader.intake.folders_and_zips import SubmissionError
from tests.support.handed_in import FILE, Unsaid, notebook, packed, source, spread


@pytest.fixture
def class_zip(tmp_path):
    """class_zip(): the class's zip, opened."""
    with ExitStack() as until:
        yield lambda: entries.open_class_zip(tmp_path / "c.zip", until)


def write_unsaid(folder, encoding, *names):
    """Write the class's zip, which does not tell the encoding of its names."""
    with zipfile.ZipFile(folder / "c.zip", "w") as file:
        for name in names:
            file.writestr(Unsaid(name, encoding), "x = 1\n")


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
    files = {f"hw/Ännä/{FILE}": source(), "hw/cy.ipynb": notebook(), "hw/notes.txt": "x"}
    files |= {"hw/ben.zip": (tmp_path / "ben.zip").read_bytes(), "__MACOSX/x": "litter"}
    packed(tmp_path / "c.zip", files)
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
    write_unsaid(tmp_path, encoding, f"{name}/{FILE}")
    assert names_in(class_zip()) == [f"{name}/{FILE}"]


@pytest.mark.parametrize("path", [f"{{}}/{FILE}", "{}.zip"])
def test_half_of_a_letter_is_no_sign_between_folders(tmp_path, class_zip, path):
    """In code pages of East Asia, a backslash is the second byte of some letters."""
    write_unsaid(tmp_path, "cp932", path.format("ソフィア"), path.format("ソラ"))
    found = [name.count("/") for name in names_in(class_zip())]
    assert found == [path.count("/")] * 2


def test_folders_may_be_told_apart_by_backslashes_after_any_letter(tmp_path, class_zip):
    write_unsaid(tmp_path, "cp850", f"André\\{FILE}", f"Anna\\{FILE}")
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


def test_zip_in_the_zip_that_is_too_large_is_its_students_alone(
    steps, tmp_path, class_zip, monkeypatch
):
    monkeypatch.setattr(folders_and_zips, "MAX_ARCHIVE", 100_000)
    packed(tmp_path / "huge.zip", {FILE: source(), "x.bin": os.urandom(60_000).hex()})
    packed(tmp_path / "ben.zip", {FILE: source()})
    files = {name: (tmp_path / name).read_bytes() for name in ("huge.zip", "ben.zip")}
    packed(tmp_path / "c.zip", files)
    found = reasons(steps, class_zip())
    assert "huge.zip is not read: its archives are larger than" in found.pop("huge")
    assert found == {"ben": ""}


@pytest.mark.parametrize("letter", ["ශ", "ä"])
def test_long_name_of_a_person_is_read(steps, tmp_path, class_zip, letter):
    long = f"{letter * 120}_4711_assignsubmission_file_"
    packed(tmp_path / "c.zip", {f"{long}/{FILE}": source(), f"Ben_2{long[-23:]}/{FILE}": source()})
    found = entries.list_class(class_zip()).entries
    assert {one.who.number for one in found} == {"4711", "2"}


def test_what_is_no_zip_is_told(tmp_path, class_zip):
    (tmp_path / "c.zip").write_bytes(b"PK\3\4")
    with pytest.raises(SubmissionError, match=r"c\.zip cannot be read: it is not a zip archive"):
        class_zip()


# What lies in the class's folder -> the folder that the class is in.
INSIDE = {
    "named by Moodle": (["hw/Anna_1_assignsubmission_file/{}"], "hw"),
    "named by Canvas": (["hw/anna_1_900001_{}"], "hw"),
    "two with work": (["hw/anna/{}", "hw/ben/{}"], "hw"),
    "a student's notebook": (["hw/anna/{}", "hw/ben/{}", "hw/eve.ipynb"], "hw"),
    "notebooks": (["hw/Anna Abel.ipynb", "hw/Ben Beck.ipynb", "hw/Cem Can.ipynb"], "hw"),
    "notebooks and a folder": (["hw/anna.ipynb", "hw/ben.ipynb", "hw/cem/{}"], "hw"),
    "notebooks with numbers": (["hw/student (1).ipynb", "hw/student (2).ipynb"], "hw"),
    "numbers like dates": (["hw/202311070101/{}", "hw/202311070102/{}"], "hw"),
    "one student": (["anna/{}"], ""),
    "one student's folder": (["anna/exercises/{}"], ""),
    "step files and earlier states": (["anna/{}", "anna/old/{}", "anna/older/{}"], ""),
    "exercises and an earlier state": (["anna/exercises/{}", "anna/old/{}"], ""),
    "a notebook": (["anna/one.ipynb", "anna/old/{}"], ""),
    "notebooks of steps": (["anna/step-1.ipynb", "anna/step02_scores.ipynb"], ""),
    "exercises and notebooks": (["anna/exercises/{}", "anna/notebooks/{}"], ""),
    "two students": (["anna/{}", "ben/{}"], ""),
    "one from Moodle": (["Anna_1_assignsubmission_file/{}"], ""),
}


@pytest.mark.parametrize(("names", "inner"), INSIDE.values(), ids=INSIDE)
def test_folder_that_the_class_is_in_is_found(steps, tmp_path, names, inner):
    files = {name.format(FILE): notebook() if "ipynb" in name else source() for name in names}
    spread(tmp_path, files)
    assert entries.class_folder(tmp_path, steps) == tmp_path / inner


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
