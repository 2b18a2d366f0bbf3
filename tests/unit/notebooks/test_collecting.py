"""What collecting leaves behind when it is stopped in the middle of a submission."""

import pytest

pytest.importorskip("nbgrader")

from grader.notebooks.nbgrader.collecting import Collect


class Stopped(Collect):
    """Is killed after it has copied the half of a notebook."""

    def _copy(self, src, dest):
        dest.mkdir(parents=True)
        (dest / "hw.ipynb").write_text('{"cells": [')
        raise KeyboardInterrupt


class Done(Collect):
    def _copy(self, src, dest):
        dest.mkdir()
        (dest / "hw.ipynb").write_text("whole")


NAME = "ada+hw+2026-11-01 10:00:00 UTC+0"


def test_part_of_a_submission_does_not_count_as_collected(tmp_path):
    """nbgrader would not collect it again, and grade the half of a notebook."""
    target = tmp_path / "submitted" / "ada" / "hw"
    with pytest.raises(KeyboardInterrupt):
        Stopped.__new__(Stopped).do_copy(str(tmp_path / NAME), str(target))
    assert not target.exists()
    Done.__new__(Done).do_copy(str(tmp_path / NAME), str(target))
    assert (target / "hw.ipynb").read_text() == "whole"
    assert (target / "timestamp.txt").read_text() == "2026-11-01 10:00:00 UTC"
    assert [path.name for path in target.parent.iterdir()] == ["hw"]
