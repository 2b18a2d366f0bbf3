"""What the tests of reading share."""

import os

import pytest

from grader.intake import entries as intake


@pytest.fixture
def read(steps, tmp_path):
    """read(student): what counts of a student of the class folder."""

    def read(student):
        entries = {entry.student: entry for entry in intake.list_class(tmp_path).entries}
        return intake.read(entries[student], steps)

    return read


@pytest.fixture
def ordinary_user():
    """Root may open everything, so it becomes somebody else for the test."""
    me = os.geteuid()
    if me == 0:
        os.seteuid(65534)
    yield
    os.seteuid(me)
