"""What the tests of reading share."""

import pytest

from grader.intake import entries as intake


@pytest.fixture
def read(steps, tmp_path):
    """read(student): what counts of a student of the class folder."""

    def read(student):
        entries = {entry.student: entry for entry in intake.survey(tmp_path).entries}
        return intake.read(entries[student], steps)

    return read
