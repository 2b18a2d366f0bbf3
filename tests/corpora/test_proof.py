"""Every known mistake is rejected by the check that names it; every fair variant is accepted."""

import ast
import builtins

import pytest

from grader.answer_key.variants import FAIR, MISTAKES
from grader.authoring.proof import checks_of_function, named_check, prove
from grader.steps.paths import ROOT
from tests.conftest import SEED, STEPS

pytestmark = pytest.mark.usefixtures("no_check_breaks_down")


def not_as_wanted(findings):
    return {f"{one.variant.kind} {one.variant.name}": one.failed for one in findings if not one.ok}


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.id)
def test_hidden_checks_reject_mistakes_and_accept_fair_variants(steps, host, step):
    assert not_as_wanted(prove(steps, host, "hidden", SEED, [step], few=named_check)) == {}


# test_accuracy.py puts the variants of the others to all visible checks, for their causes.
@pytest.mark.parametrize("step", [s for s in STEPS if s.part > 2], ids=lambda step: step.id)
def test_visible_checks_reject_mistakes_and_accept_fair_variants(steps, host, step):
    assert not_as_wanted(prove(steps, host, "visible", SEED, [step], few=checks_of_function)) == {}


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
