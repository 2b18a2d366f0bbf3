"""The figures of the diagnosis, through the code of the command that prints them."""

from dataclasses import replace

import pytest
from click.testing import CliRunner

from grader.answer_key.variants import MISTAKES, read
from grader.authoring import accuracy_table
from grader.authoring.accuracy import DOUBLE, SINGLE, Naming, Outcome, judge_unseen, outcomes
from grader.authoring.accuracy_table import Figures, explain_outcome
from grader.cli import main
from tests.conftest import SEED, STEPS

pytestmark = pytest.mark.usefixtures("no_check_breaks_down")

# Nothing else that is known stays silent: what draws numbers of its own cannot be replayed.
SILENT = {"out_dropout_at_eval", "gen_global_rng", "gen_global_rng_generate", "gen_u_made_up"}
SILENT |= {"gen_global_rng_writing", "gen_u_made_up_writing", "block_dropout", "ffn_dropout"}
SILENT |= {"mlm_own_random_ids", "mlm_own_random_numbers"}
# On the visible inputs it cannot be told from the mistake that it is taken for.
MISTAKEN = {"loss_ignore_index_used_as_index"}


# Of Parts III and IV nobody has read yet which causes are named, and whether rightly.
READ = [step for step in STEPS if step.part <= 2]


def few_at_a_time(kind):
    """The variants of that kind, a few in each test."""
    every = [(s, t) for s in READ for t in accuracy_table.tasks(s, kind, DOUBLE, "visible", SEED)]
    ids = [f"{step.id}-{task.first}" for step, task in every]
    return pytest.mark.parametrize(("step", "task"), every, ids=ids)


@few_at_a_time("mistake")
def test_mistakes_are_named_rightly(steps, host, step, task):
    found = outcomes(steps, host, task)
    caught_by = {variant.name: variant.caught_by for variant in read(MISTAKES, step)}
    assert [explain_outcome(one) for one in found if caught_by[one.name] not in one.failed] == []
    right = (Naming.RIGHT, Naming.ALIKE)
    assert {one.name for one in found if one.named and one.naming not in right} <= MISTAKEN
    assert {one.name for one in found if not one.named} <= SILENT


@few_at_a_time("fair")
def test_fair_variants_are_not_named_at_all(steps, host, step, task):
    found = outcomes(steps, host, task)
    assert [line for one in found if (line := explain_outcome(one))] == []
    assert {one.kind for one in found} == {"fair"}


@pytest.mark.parametrize("step", [STEPS[1], STEPS[3]], ids=lambda step: step.id)
def test_mistakes_are_named_in_float32_too(steps, host, step):
    def run(tasks):
        return [outcomes(steps, host, task) for task in tasks[::2]]

    # With SEED, large scores in float32 cancel, and the order of a sum decides their digits.
    mistakes, fair = accuracy_table.figures(run, [step], SINGLE, "hidden", SEED + 1)
    assert [explain_outcome(o) for o in mistakes.outcomes if not o.failed and not o.plain] == []
    assert mistakes.kept
    assert fair.kept


def test_unseen_programs_are_counted(steps, host):
    found = judge_unseen(steps, host, STEPS[1])
    assert Figures("unseen", tuple(found)).rejected == len(found) > 5


RIGHT = Outcome("step02_scores", "mistake", "no_scale", "a", ("agree",), ("a",), Naming.RIGHT)
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
        ([RIGHT, replace(MISSED, plain=True)], True),
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
    assert len(found.row) == len(accuracy_table.HEADER) <= 80


@pytest.mark.parametrize(("rows", "status"), [([RIGHT], 0), ([MISSED], 1)])
def test_command_prints_rows_and_says_whether_the_promise_is_kept(monkeypatch, rows, status):
    found = [(DOUBLE, Figures("step02_scores", tuple(rows)))]
    monkeypatch.setattr(accuracy_table, "all_figures", lambda *_: iter(found))
    result = CliRunner().invoke(main.cli, ["proof", "2", "--causes", "--seed", "5"])
    assert result.exit_code == status
    assert found[0][1].row in result.output
    assert "hidden checks, seed 5" in result.output
