"""Which of a student's files nbgrader may copy."""

import os
import shutil
import tempfile
from pathlib import Path

import pytest

pytest.importorskip("nbgrader")

from nbgrader.converters import base

from grader.notebooks.nbgrader.collecting import without_links

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


@pytest.mark.parametrize("name", ["a\nb.txt", "\x1b[31m.txt", "\udcff.txt", "a\x07/b.txt"])
def test_file_whose_name_cannot_be_printed_is_not_copied(folder, name):
    (folder / "kept").mkdir()
    (folder / "kept" / "Zoë 1.txt").write_text("x")
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text("x")
    assert found(folder) == {"kept/Zoë 1.txt"}
