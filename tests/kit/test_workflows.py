"""The workflows for GitHub: thin, so what they can get wrong is the names of targets."""

import re

import pytest

from .conftest import ROOT

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflow_runs_targets_and_variables_that_there_are(path):
    calls = re.findall(r"\bmake ([a-z]+)((?: [A-Z]+=\S+)*)", path.read_text(encoding="utf-8"))
    assert calls
    for target, settings in calls:
        assert re.search(rf"^{target}:", MAKEFILE, re.MULTILINE), target
        for name in re.findall(r"([A-Z]+)=", settings):
            assert re.search(rf"^{name} \?=", MAKEFILE, re.MULTILINE), name


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflow_writes_no_input_into_a_command(path):
    text = path.read_text(encoding="utf-8")
    assert re.findall(r"run:.*\$\{\{|^ {10,}.*\$\{\{ inputs", text, re.MULTILINE) == []


def test_every_python_that_is_promised_is_tried():
    text = (ROOT / ".github" / "workflows" / "check.yml").read_text(encoding="utf-8")
    promised = ["3.10", "3.11", "3.12", "3.13"]
    assert re.findall(r"python: \[(.*)\]", text) == [", ".join(f'"{p}"' for p in promised)] * 2
    pyproject = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert f'requires-python = ">={promised[0]}"' in pyproject
