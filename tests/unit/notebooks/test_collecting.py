"""Which of a student's files nbgrader may copy."""

import os
import shutil
import tempfile
from pathlib import Path

import pytest

pytest.importorskip("nbgrader")

from nbgrader.converters import base
from nbgrader.coursedir import CourseDirectory

from grader.notebooks.nbgrader import collecting
from grader.notebooks.nbgrader.collecting import MAX_FILES, Collect, without_links

NOBODY = 65534


@pytest.fixture
def folder():
    """A folder that another user than this one can read, too."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def found(folder):
    with without_links():
        return {str(Path(file).relative_to(folder)) for file in base.find_all_files(str(folder))}


def test_file_that_cannot_be_read_is_not_copied(folder):
    for name in ("kept.txt", "secret.txt"):
        (folder / name).write_text("x")
    (folder / "secret.txt").chmod(0)
    user = os.geteuid()
    os.seteuid(user or NOBODY)  # root can read everything
    try:
        assert found(folder) == {"kept.txt"}
    finally:
        os.seteuid(user)


def test_folder_that_may_only_be_listed_is_passed_over(folder):
    (folder / "kept.txt").write_text("x")
    (folder / "data").mkdir()
    (folder / "data" / "a.txt").write_text("x")
    (folder / "data").chmod(0o444)
    user = os.geteuid()
    os.seteuid(user or NOBODY)
    try:
        assert found(folder) == {"kept.txt"}
    finally:
        os.seteuid(user)


PATTERNS = [".ipynb_checkpoints", "*.pyc", "__pycache__", ".*", "*.ipynb", "?.txt", "[ab]x"]
PLACES = ["", "sub/", "sub/deep/", "__pycache__/", ".ipynb_checkpoints/", ".git/", "ax/"]
NAMES = ["a.txt", "ab.txt", ".a.txt", "b.pyc", ".b.pyc", "n.ipynb", ".n.ipynb", "cx", "bx"]


@pytest.mark.parametrize("patterns", [[], PATTERNS, *([one] for one in PATTERNS)], ids=str)
def test_files_are_those_that_nbgrader_finds(folder, patterns):
    for place in PLACES:
        (folder / place).mkdir(exist_ok=True, parents=True)
        for name in NAMES:
            (folder / place / name).write_text("x")
    with without_links():
        ours = base.find_all_files(str(folder), patterns)
    assert sorted(ours) == sorted(base.find_all_files(str(folder), patterns))


def test_only_so_many_files_are_copied_and_modules_come_first(folder):
    """nbgrader compares each file with all others: 5,000 took five minutes."""
    for number in range(MAX_FILES):
        (folder / f"{number}").touch()
    (folder / "helper.py").touch()
    assert len(found(folder)) == MAX_FILES
    assert "helper.py" in found(folder)


@pytest.mark.parametrize("name", ["a\nb.txt", "\x1b[31m.txt", "\udcff.txt", "a\x07/b.txt"])
def test_file_whose_name_cannot_be_printed_is_not_copied(folder, name):
    (folder / "kept").mkdir()
    (folder / "kept" / "Zoë 1.txt").write_text("x")
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text("x")
    assert found(folder) == {"kept/Zoë 1.txt"}


def test_only_so_many_files_and_folders_are_collected(folder, monkeypatch, caplog):
    monkeypatch.setattr(collecting, "MAX_ENTRIES", 5)
    source = folder / "ada+step02_scores+2026-11-23 10:15:00.000000 UTC+x"
    for number in range(4):
        (source / f"{number}").mkdir(parents=True)
        (source / f"{number}.txt").touch()
        (source / "0" / f"{number}.txt").touch()
    (source / "z.ipynb").touch()
    Collect(coursedir=CourseDirectory()).do_copy(str(source), str(folder / "inbound"))
    copied = {str(path.relative_to(folder / "inbound")) for path in (folder / "inbound").rglob("*")}
    wanted = {"z.ipynb", *(f"{number}.txt" for number in range(4))}
    assert copied == {*wanted, collecting.TIME, collecting.SECRET}
    assert "only the first 5 of its files and folders are collected." in caplog.text
