"""make watch: every save is seen, whichever way it is made."""

import contextlib
import threading
import time

import pytest

from grader.cli import watching as watch


def look(paths):
    """What happens to the files, without a keyboard."""
    marks = {path: watch.mark(path) for path in paths}
    return watch.events(marks, lambda seconds: time.sleep(seconds) or "", 0.001)


@contextlib.contextmanager
def soon(save, *what):
    """Save a file in a moment."""
    timer = threading.Timer(0.05, save, what)
    timer.start()
    yield
    timer.join()


def write_in_place(path, text):
    path.write_text(text, encoding="utf-8")


def write_beside_and_rename(path, text):
    other = path.with_suffix(".tmp")
    other.write_text(text, encoding="utf-8")
    other.replace(path)


def remove_and_write(path, text):
    path.unlink()
    path.write_text(text, encoding="utf-8")


@pytest.mark.parametrize("save", [write_in_place, write_beside_and_rename, remove_and_write])
def test_saves_are_seen(tmp_path, save):
    paths = [tmp_path / name for name in ("a.py", "b.py")]
    for path in paths:
        path.write_text("old", encoding="utf-8")
    seen = look(paths)
    with soon(save, paths[1], "newer"):
        assert next(seen) == [paths[1]]


def test_emptied_file_is_no_save_until_it_is_written(tmp_path):
    path = tmp_path / "a.py"
    path.write_text("old", encoding="utf-8")
    seen = look([path])
    path.write_text("", encoding="utf-8")
    with soon(write_in_place, path, "newer"):
        assert next(seen) == [path]
    assert path.read_text(encoding="utf-8") == "newer"


def test_file_that_vanishes_is_named_once(tmp_path, monkeypatch):
    monkeypatch.setattr(watch, "GONE", 0.05)
    path, other = tmp_path / "a.py", tmp_path / "b.py"
    path.write_text("old", encoding="utf-8")
    seen = look([path, other])
    path.unlink()
    assert next(seen) == [path]
    with soon(write_in_place, other, "new"):
        assert next(seen) == [other]


def test_a_file_that_appears_is_a_save(tmp_path):
    seen = look([tmp_path / "late.py"])
    with soon(write_in_place, tmp_path / "late.py", "x"):
        assert next(seen) == [tmp_path / "late.py"]


def test_without_a_terminal_no_letter_is_read(tmp_path, monkeypatch):
    with (tmp_path / "input").open("w+", encoding="utf-8") as file:
        monkeypatch.setattr("sys.stdin", file)
        assert watch.wait_for_key(0.001) == ""
    monkeypatch.setattr("sys.stdin", None)
    assert watch.wait_for_key(0.001) == ""
