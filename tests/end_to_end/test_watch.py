"""make watch: every save is seen, whichever way it is made."""

import time
from functools import partial

import pytest

from grader.cli import watching as watch


def look(paths, *deeds):
    """What happens to the files while these deeds are done, one between two looks."""
    left = iter(deeds)

    def wait():
        next(left, partial(time.sleep, 0.001))()
        return ""

    return watch.events({path: watch.mark(path) for path in paths}, wait)


def write_in_place(path, text):
    path.write_text(text, encoding="utf-8")


def write_beside_and_rename(path, text):
    other = path.with_suffix(".tmp")
    other.write_text(text, encoding="utf-8")
    other.replace(path)


def remove_and_write(path, text):
    path.unlink()
    path.write_text(text, encoding="utf-8")


@pytest.fixture
def paths(tmp_path):
    paths = [tmp_path / name for name in ("a.py", "b.py")]
    for path in paths:
        path.write_text("old", encoding="utf-8")
    return paths


@pytest.mark.parametrize("save", [write_in_place, write_beside_and_rename, remove_and_write])
def test_saves_are_seen(paths, save):
    assert next(look(paths, partial(save, paths[1], "newer"))) == [paths[1]]


def test_emptied_file_is_no_save_until_it_is_written(paths):
    seen = look(paths, *(partial(write_in_place, paths[0], text) for text in ("", "newer")))
    assert next(seen) == [paths[0]]
    assert paths[0].read_text(encoding="utf-8") == "newer"


def test_file_that_vanishes_is_named_once(paths, monkeypatch):
    monkeypatch.setattr(watch, "GONE", 0.05)
    seen = look(paths, paths[0].unlink)
    assert next(seen) == [paths[0]]
    write_in_place(paths[1], "new")
    assert next(seen) == [paths[1]]


def test_a_file_that_appears_is_a_save(tmp_path):
    late = tmp_path / "late.py"
    assert next(look([late], partial(write_in_place, late, "x"))) == [late]


def test_without_a_terminal_no_letter_is_read(tmp_path, monkeypatch):
    with (tmp_path / "input").open("w+", encoding="utf-8") as file:
        monkeypatch.setattr("sys.stdin", file)
        assert watch.wait_for_key() == ""
    monkeypatch.setattr("sys.stdin", None)
    assert watch.wait_for_key() == ""
