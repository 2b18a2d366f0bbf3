"""The figures of the diagnosis, through the code of the command that prints them."""

from dataclasses import replace

import pytest
from click.testing import CliRunner

from grader.authoring import proof
from grader.authoring.proof import Diagnosed, Figures, Naming, explain_outcome, judge_unseen
from grader.cli import main
from tests.conftest import STEPS

pytestmark = pytest.mark.usefixtures("no_check_breaks_down")


@pytest.mark.long
def test_unseen_programs_are_counted(steps, host):
    found = judge_unseen(steps, host, STEPS[1])
    assert Figures("unseen", tuple(found)).rejected == len(found) > 5


RIGHT = Diagnosed("step02_scores", "mistake", "no_scale", "a", ("agree",), ("a",), Naming.RIGHT)
WRONG = replace(RIGHT, named=("b!",), naming=Naming.WRONG)
SILENT_ONE = replace(RIGHT, named=(), naming=Naming.SILENT)
MISSED = replace(SILENT_ONE, failed=())
FAIR = replace(MISSED, kind="fair")


@pytest.mark.parametrize(
    ("found", "kept"),
    [
        ([RIGHT] * 49 + [WRONG], True),
        ([RIGHT] * 48 + [WRONG], False),
        ([RIGHT, SILENT_ONE], True),
        ([RIGHT, replace(WRONG, naming=Naming.UNREAD)], False),
        ([RIGHT, MISSED], False),
        ([FAIR], True),
        ([FAIR, replace(FAIR, failed=("agree",))], False),
        ([FAIR, replace(FAIR, named=("a!",), naming=Naming.WRONG)], False),
    ],
)
def test_promise_is_kept_or_not(found, kept):
    assert Figures("some", tuple(found)).kept is kept


@pytest.mark.parametrize(
    ("outcome", "line"),
    [
        (RIGHT, None),
        (WRONG, " x step02  mistake no_scale (a): named b"),
        (SILENT_ONE, " - step02  mistake no_scale (a): no cause"),
        (MISSED, " x step02  mistake no_scale: no check rejects it"),
        (FAIR, None),
        (
            replace(FAIR, failed=("agree",), named=("a!",)),
            " x step02  fair no_scale: rejected by agree; named a",
        ),
    ],
)
def test_what_needs_a_look_is_told_in_a_line(outcome, line):
    assert explain_outcome(outcome) == line


def test_row_counts_what_became_of_each():
    found = Figures("some", (RIGHT, WRONG, SILENT_ONE, MISSED))
    assert found.row.split() == ["some", "4", "3", "2", "1", "0", "1", "2"]
    assert len(found.row) == len(proof.CAUSES_HEADER) <= 80


@pytest.mark.parametrize(("rows", "status"), [([RIGHT], 0), ([MISSED], 1)])
def test_command_prints_rows_and_says_whether_the_promise_is_kept(monkeypatch, rows, status):
    found = [Figures("step02_scores", tuple(rows))]
    monkeypatch.setattr(proof, "all_figures", lambda *_: iter(found))
    result = CliRunner().invoke(main.cli, ["proof", "2", "--causes", "--seed", "5"])
    assert result.exit_code == status
    assert found[0].row in result.output
    assert "hidden checks, seed 5" in result.output
