"""Test how files are written."""

import os
import stat
import zipfile
from pathlib import Path

import pytest

from grader.report.files import put, replacing, write_changed, write_whole


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_new_file_is_for_whom_the_user_allows(tmp_path):
    """Grades on a machine that students use as well."""
    before = os.umask(0o077)
    try:
        write_whole(tmp_path / "grades.csv", ["anna,5\n"])
    finally:
        os.umask(before)
    assert mode(tmp_path / "grades.csv") == 0o600


@pytest.mark.parametrize("before", [0o640, 0o440], ids=["private", "which nobody may write"])
def test_file_that_is_replaced_keeps_its_mode(tmp_path, before):
    path = tmp_path / "overrides.csv"
    path.write_text("old")
    path.chmod(before)
    write_whole(path, ["new"])
    assert (path.read_text(), mode(path)) == ("new", before)


def test_nothing_is_left_of_a_file_that_could_not_be_written(tmp_path):
    def pieces():
        yield "a"
        raise ValueError("no more")

    with pytest.raises(ValueError, match="no more"):
        write_whole(tmp_path / "x", pieces())
    assert list(tmp_path.iterdir()) == []


def test_zip_that_could_not_be_written_leaves_the_one_before(tmp_path):
    path = tmp_path / "feedback.zip"
    path.write_bytes(b"old")

    def fill():
        with replacing(path) as whole, zipfile.ZipFile(whole, "w") as file:
            put(file, "anna.html", b"a page")
            raise OSError("no room")

    with pytest.raises(OSError, match="no room"):
        fill()
    assert [(one.name, one.read_bytes()) for one in tmp_path.iterdir()] == [(path.name, b"old")]


def test_name_that_is_not_utf_8_is_a_name_in_a_zip(tmp_path):
    """A student chose the name, and another system wrote it."""
    with zipfile.ZipFile(tmp_path / "feedback.zip", "w") as file:
        put(file, "abel_1201_9000001_\udcff.py", b"# Points: 7")
        assert file.namelist() == ["abel_1201_9000001__.py"]


def test_device_or_pipe_is_not_replaced(tmp_path):
    """As root, `--out /dev/null` would take the device away from the whole machine."""
    pipe, link = tmp_path / "pipe", tmp_path / "link"
    os.mkfifo(pipe)
    link.symlink_to(pipe)
    for path in (pipe, link):
        with pytest.raises(OSError, match="it is not a regular file"):
            write_whole(path, ["text"])
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert link.is_symlink()
    assert {*tmp_path.iterdir()} == {pipe, link}


def test_missing_folder_is_named(tmp_path):
    with pytest.raises(OSError, match="there is no such folder") as found:
        write_whole(tmp_path / "none" / "x.csv", ["x"])
    assert found.value.filename == str(tmp_path / "none")


def test_error_names_the_file_that_the_user_knows(tmp_path, monkeypatch):
    def refuse(path, **more):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "touch", refuse)
    with pytest.raises(PermissionError) as found:
        write_whole(tmp_path / "x.csv", ["x"])
    assert found.value.filename == str(tmp_path / "x.csv")


def test_only_texts_that_differ_are_written(tmp_path):
    texts = {tmp_path / "a" / "b": "new", tmp_path / "c": "kept"}
    (tmp_path / "c").write_text("kept")
    assert write_changed(texts) == [tmp_path / "a" / "b"]
    assert (tmp_path / "a" / "b").read_text() == "new"
    assert write_changed(texts) == []
