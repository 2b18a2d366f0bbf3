"""What is collected from nbgrader's exchange, and which times and ids nbgrader can have."""

from datetime import datetime

import pytest

pytest.importorskip("nbgrader")

from nbgrader.coursedir import CourseDirectory

from grader.notebooks.nbgrader import collecting
from grader.notebooks.nbgrader.collecting import FIRST, ODD, Collect, is_id, read_time


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("2026-11-05 10:00:00 UTC", datetime(2026, 11, 5, 10)),
        ("2026-11-05 10:00:00.123456 UTC\n", datetime(2026, 11, 5, 10, 0, 0, 123456)),
        ("tomorrow", None),
        ("", None),
        ("1.1" * 300_000, None),
        ("9999-12-31 23:59:59 UTC", None),
        ("2026-11-05 10:00:00 UTC" + " " * 100, None),
    ],
    ids=["a time", "exact", "a word", "nothing", "long", "the end of the calendar", "spaces"],
)
def test_time_is_read_at_once(text, time):
    assert read_time(text) == time


@pytest.mark.parametrize(
    "name", [*(f"a{mark}b" for mark in ODD), *(f"{mark}b" for mark in FIRST), "a\nb", "\udcff", ""]
)
def test_id_that_nbgrader_confuses_is_refused(name):
    assert not is_id(name)


@pytest.mark.parametrize("name", ["ada", "a+b@x.org", "O'Neill Zoë", "a_b (2)", "a=b"])
def test_usual_id_is_taken(name):
    assert is_id(name)


@pytest.mark.parametrize("count", [9, 10])
def test_only_so_many_files_and_folders_are_collected(tmp_path, monkeypatch, caplog, count):
    monkeypatch.setattr(collecting, "BLOCK", 11_000_000)
    source = tmp_path / "ada+step02_scores+2026-11-23 10:15:00.000000 UTC+x"
    (source / "deep").mkdir(parents=True)
    for number in range(count - 1):
        (source / "deep" / f"{number}.txt").touch()
    Collect(coursedir=CourseDirectory()).do_copy(str(source), str(tmp_path / "inbound"))
    assert (tmp_path / "inbound").exists() == (count == 9)
    told = "is not collected: it has more than 100,000 kB, or too many files and folders."
    assert (told in caplog.text) == (count == 10)
