"""Test that generated files say what the solutions say, and give nothing away."""

import json
import shutil
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from grader.answer_key.variants import MISTAKES, read
from grader.authoring import build, proof
from grader.authoring.build import record, same_values
from grader.cli.main import cli
from grader.steps import stubs
from grader.steps.paths import VALUES
from grader.steps.stubs import BuildError, stub
from tests.conftest import STEPS

SOLUTION = '''"""Text."""
import numpy as np


def double(x):
    """Twice x."""
    ### BEGIN SOLUTION
    secret = 2 * x
    return secret
    ### END SOLUTION


### BEGIN SOLUTION
class Helper:
    pass
### END SOLUTION


def last(x):
    return x
'''


def test_stub_asks_where_the_solution_was():
    text = stub(SOLUTION)
    assert "secret" not in text
    assert "Helper" not in text
    assert "    # Write your code here.\n    raise NotImplementedError()\n" in text
    assert text.count("NotImplementedError") == 1
    compile(text, "stub", "exec")
    with pytest.raises(BuildError, match="no partner"):
        stub(SOLUTION.replace("    ### END SOLUTION\n", ""))


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.id)
def test_stored_values_are_what_torch_computes(steps, step):
    new = json.loads(json.dumps(record(steps, step)))
    stored = json.loads((VALUES / f"{step.id}.json").read_text(encoding="utf-8"))
    assert same_values(stored, new), f"values/{step.id}.json is out of date: run `make build`"


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ({"a": [1.0]}, {"a": [1.0 + 1e-14]}, True),
        ({"b_k": [0.014997656249118214]}, {"b_k": [0.014997656245591068]}, True),
        ({"a": [1.0]}, {"a": [1.0 + 1e-9]}, False),
        ({"a": [1.0]}, {"b": [1.0]}, False),
        ({"a": [1.0]}, {"a": [1.0, 2.0]}, False),
        ({"a": [True]}, {"a": [False]}, False),
        ({"a": [float("inf")]}, {"a": [float("inf")]}, True),
    ],
)
def test_same_values_forgives_rounding_only(old, new, same):
    assert same_values(old, new) is same


@pytest.fixture
def workshop(tmp_path, monkeypatch, steps):
    """A place to build in, with the stubs already there."""
    monkeypatch.setattr(build, "STUBS", tmp_path)
    monkeypatch.setattr(stubs, "EXERCISES", tmp_path)
    monkeypatch.setattr(build, "BUILT", tmp_path / ".built.json")
    build.build_stubs(steps)
    return tmp_path


def test_build_writes_nothing_twice_and_keeps_a_students_work(workshop, steps, monkeypatch):
    assert build.build_stubs(steps) == []
    path, untouched = (workshop / step.filename for step in STEPS[:2])
    path.write_text("my work\n", encoding="utf-8")
    monkeypatch.setattr(build, "stubs", lambda _: {path: "new\n", untouched: "new\n"})
    assert build.build_stubs(steps) == [path, untouched]
    (kept,) = workshop.glob("*.bak")
    assert kept.name == path.name + ".1.bak"
    assert kept.read_text(encoding="utf-8") == "my work\n"


def test_reset_keeps_every_old_file(workshop):
    path = workshop / STEPS[0].filename
    for number in (1, 2):
        path.write_text(f"attempt {number}\n", encoding="utf-8")
        kept = stubs.reset(STEPS[0])
        assert kept.name == f"{path.name}.{number}.bak"
        assert kept.read_text(encoding="utf-8") == f"attempt {number}\n"
    assert stubs.reset(STEPS[0]) is None
    path.unlink()
    assert stubs.reset(STEPS[0]) is None
    assert path.exists()


def test_reset_of_a_part_brings_back_all_its_steps(workshop):
    shutil.rmtree(stubs.EXERCISES)
    done = CliRunner().invoke(cli, ["reset", "part2"])
    assert done.exit_code == 0, done.output
    names = [step.filename for step in STEPS if step.part == 2]
    assert sorted(path.name for path in stubs.EXERCISES.iterdir()) == names
    assert done.output.splitlines() == [f"exercises/{name} is the stub again." for name in names]


def test_reset_says_what_it_cannot_write(workshop):
    shutil.rmtree(stubs.EXERCISES)
    stubs.EXERCISES.touch()
    done = CliRunner().invoke(cli, ["reset", "2"])
    assert done.exit_code == 2
    assert done.output.startswith(f"nopeek: cannot use {stubs.EXERCISES}")


def test_only_new_mistakes_are_judged_for_the_check_that_catches_them(steps, monkeypatch):
    """The first mistake of step 2 is new here, and the first check rejects it."""
    step = STEPS[1]
    first, *others = read(MISTAKES, step)
    new = SimpleNamespace(**{**vars(first), "caught_by": "", "submission": first.submission})
    monkeypatch.setattr(proof, "read", lambda folder, step: (new, *others))
    wanted = {variant.name: variant.caught_by for variant in (first, *others)}
    assert proof.find_checks(steps, step) == wanted
