"""Every known mistake is rejected by its check in both suites and named; fair variants pass.

One pass answers all of this: each variant is judged once with the hidden checks and once with the
visible ones, which name causes.
"""

import ast
import builtins

import pytest

from grader.answer_key.variants import FAIR, MISTAKES, read
from grader.authoring.proof import CHUNK, Naming, explain_outcome, outcomes, prove
from grader.engine.grading import make_grader
from grader.steps.paths import ROOT
from tests.conftest import SEED, STEPS, with_needed
from tests.support.sampling import sample, ways

pytestmark = pytest.mark.usefixtures("no_check_breaks_down")

SUITES = ("hidden", "visible")
# Nothing else that is known stays silent: what draws numbers of its own cannot be replayed.
SILENT = {"out_dropout_at_eval", "gen_global_rng", "gen_global_rng_generate", "gen_u_made_up"}
SILENT |= {"gen_global_rng_writing", "gen_u_made_up_writing", "block_dropout", "ffn_dropout"}
SILENT |= {"mlm_own_random_ids", "mlm_own_random_numbers"}
# What these give depends on the calls before, which a replay of one function does not repeat.
SILENT |= {"softmax_memoised_on_shape", "softmax_sums_pile_up"}
SILENT |= {"np_memoised_on_shape", "np_module_state_self"}
# On the visible inputs it cannot be told from the mistake that it is taken for.
MISTAKEN = {"loss_ignore_index_used_as_index"}


def few_at_a_time(folder, kind):
    """The sampled variants of that folder, those of a step a few in each test, and their suites."""
    cases = []
    for step in STEPS:
        chosen = sample(kind, read(folder, step), lambda one: one.body, lambda one: one.step)
        for first in range(0, len(chosen), CHUNK):
            few = chosen[first : first + CHUNK]
            suites = ways(f"groups of {kind} in another suite", SUITES, few[0].body)
            cases.append(pytest.param(step, few, suites, id=f"{step.id}-{few[0].name}"))
    return pytest.mark.parametrize(("step", "few", "suites"), cases)


def not_as_wanted(grader, step, variants, few=lambda step, variant: None):
    """The variants with another outcome. few: the only checks that one is put to, if not all."""
    found = {}
    for one in variants:
        checks = few(step, one)
        (finding,) = prove(grader, step.narrow_to(checks) if checks else step, [one])
        found |= {} if finding.ok else {one.name: finding.failed}
    return found


def named_check(step, variant):
    """The check that catches a mistake, and the checks that it needs."""
    return with_needed(step, variant.caught_by)


def checks_of_function(step, variant):
    """The checks of the functions that a mistake replaces, and the checks that they need."""
    own = [check.id for name in variant.replacements for check in step.function(name).checks]
    return set().union(*(with_needed(step, check) for check in [variant.caught_by, *own]))


@few_at_a_time(MISTAKES, "known mistakes")
def test_mistakes_are_rejected_by_their_check_and_named_rightly(
    steps, host, grader_of, step, few, suites
):
    if "hidden" in suites:
        assert not_as_wanted(grader_of("hidden", step), step, few, named_check) == {}
    if "visible" not in suites:
        return
    if step.part > 2:  # there nobody has read yet which causes are named, and whether rightly
        visible = grader_of("visible", step)
        assert not_as_wanted(visible, step, few, checks_of_function) == {}
        return
    caught_by = {variant.name: variant.caught_by for variant in few}
    found = outcomes(steps, host, step, MISTAKES, "visible", SEED, caught_by)
    assert [explain_outcome(one) for one in found if caught_by[one.name] not in one.failed] == []
    right = (Naming.RIGHT, Naming.ALIKE)
    assert {one.name for one in found if one.named and one.naming not in right} <= MISTAKEN
    assert {one.name for one in found if not one.named} <= SILENT


@few_at_a_time(FAIR, "fair variants")
def test_fair_variants_pass_both_suites_without_a_cause(steps, host, grader_of, step, few, suites):
    if "hidden" in suites:
        assert not_as_wanted(grader_of("hidden", step), step, few) == {}
    if "visible" not in suites:
        return
    names = [one.name for one in few]
    found = outcomes(steps, host, step, FAIR, "visible", SEED, names)
    assert [line for one in found if (line := explain_outcome(one))] == []
    assert {one.kind for one in found} == {"fair"}


# With this seed, the sizes of two visible cases are no longer equal to each other.
UNEQUAL = 4_633_410_578_094_927


def test_bias_that_is_told_by_its_length_is_rejected_whatever_the_sizes_become(steps, host):
    step = steps.find("step21_grouped_heads")
    guessed = [one for one in read(MISTAKES, step) if one.id == "bias_axes_guessed"]
    grader = make_grader(steps, host, "hidden", UNEQUAL, [step])
    assert len(guessed) == 2
    assert not_as_wanted(grader, step, guessed, named_check) == {}


def test_no_mistake_calls_itself_in_place_of_right_code():
    """It would only ever end in a RecursionError."""
    found = []
    for step in STEPS:
        for one in read(MISTAKES, step):
            nodes = ast.walk(ast.parse(one.body))
            calls = [node.func for node in nodes if isinstance(node, ast.Call)]
            if {call.id for call in calls if isinstance(call, ast.Name)} & set(one.replacements):
                found.append(one.name)
    assert found == []


def names(tree):
    """The names that a module's code reads, and those that it gives to something."""
    read_ones, given = set(), set(dir(builtins))
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Load()):
                read_ones.add(name)
            case ast.Name(id=name) | ast.arg(arg=name) | ast.alias(asname=str(name)):
                given.add(name)
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.alias(name=name):
                given.add(name)
            case ast.ExceptHandler(name=str(name)):
                given.add(name)
    return read_ones, given


@pytest.mark.parametrize("folder", [MISTAKES, FAIR], ids=lambda folder: folder.name)
@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.id)
def test_variants_use_no_name_that_nobody_defines(step, folder):
    """A NameError is rejected by every check, so nothing else would tell."""
    solution, variants = ROOT / "solutions" / step.filename, folder / step.filename
    text = "\n".join(path.read_text(encoding="utf-8") for path in (solution, variants))
    read_ones, given = names(ast.parse(text))
    assert read_ones - given == set()
