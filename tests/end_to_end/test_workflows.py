"""The workflows for GitHub: thin, so what they can get wrong is the names of targets."""

import os
import re
import subprocess
import textwrap

import pytest

from tests.conftest import ROOT

FOLDER = ROOT / ".github" / "workflows"
TEXTS = {path.stem: path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.yml"))}
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_workflow_runs_targets_and_variables_that_there_are(text):
    calls = re.findall(r"\bmake ([a-z]+)((?: [A-Z]+=\S+)*)", text)
    assert calls
    for target, settings in calls:
        assert re.search(rf"^{target}:", MAKEFILE, re.MULTILINE), target
        for name in re.findall(r"([A-Z]+)=", settings):
            assert re.search(rf"^{name} \?=", MAKEFILE, re.MULTILINE), name


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_workflow_writes_no_input_into_a_command(text):
    assert re.findall(r"run:.*\$\{\{|^ {10,}.*\$\{\{ inputs", text, re.MULTILINE) == []


def test_every_python_that_is_promised_is_tried():
    promised = ["3.10", "3.11", "3.12", "3.13"]
    listed = ", ".join(f'"{version}"' for version in promised)
    assert re.findall(r"python: \[(.*)\]", TEXTS["check"]) == [listed] * 2
    pyproject = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert f'requires-python = ">={promised[0]}"' in pyproject


# What stands for GitHub's program: alice has work, bob's folder has another name, carol's
# repository cannot be cloned, dan has a link to a file of somebody else's.
GH = """#!/bin/sh
if [ "$2" = list ]; then
  printf '%s\\n' attention-alice attention-bob attention-carol attention-dan attention- other-eve
  exit
fi
cat > /dev/null
case $3 in
  */attention-alice) mkdir -p "$4/exercises"; echo 1 > "$4/exercises/step02_scores.py" ;;
  */attention-bob) mkdir -p "$4/work" ;;
  */attention-dan) mkdir -p "$4/exercises"; ln -s /etc/passwd "$4/exercises/step02_scores.py" ;;
  *) echo "not found" >&2; exit 1 ;;
esac
"""


def collected(tmp_path, gh, folder):
    """The output of the step that collects, and the files that it has collected."""
    script = TEXTS["grade"].partition("- name: Collect")[2].partition("run: |\n")[2]
    script = textwrap.dedent(script.partition("\n      - ")[0])
    program = tmp_path / "bin" / "gh"
    program.parent.mkdir()
    program.write_text(gh)
    program.chmod(0o755)
    env = {"ORGANISATION": "school", "ASSIGNMENT": "attention-", "FOLDER": folder}
    env["PATH"] = f"{program.parent}{os.pathsep}{os.environ['PATH']}"
    command = ["bash", "-e", "-c", script]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.glob("class/**/*"))
    return done.stdout, found


def test_class_is_collected_also_where_a_repository_is_not_as_it_should_be(tmp_path):
    said, found = collected(tmp_path, GH, "exercises")
    students = ["class/alice", "class/alice/step02_scores.py", "class/bob", "class/carol"]
    assert found == [*students, "class/dan"]
    assert "attention-bob has no folder exercises" in said


def test_link_to_another_repository_is_not_followed(tmp_path):
    gh = """#!/bin/sh
[ "$2" = list ] && printf '%s\\n' attention-alice attention-mallory && exit
case $3 in
  */attention-alice) mkdir -p "$4/src/exercises"; echo 1 > "$4/src/exercises/step02_scores.py" ;;
  *) mkdir "$4"; ln -s ../attention-alice/src "$4/src" ;;
esac
"""
    said, found = collected(tmp_path, gh, "src/exercises")
    assert found == ["class/alice", "class/alice/step02_scores.py", "class/mallory"]
    assert "attention-mallory has no folder src/exercises" in said


def test_token_is_not_there_while_students_code_is_graded():
    above, _, below = TEXTS["grade"].partition("- name: Collect")
    assert "CLASS_TOKEN }}" not in above
    assert below.index("CLASS_TOKEN }}") < below.index("run: |")


def test_files_have_the_same_line_ends_on_windows():
    assert "\n* text=auto eol=lf\n" in (ROOT / ".gitattributes").read_text(encoding="utf-8")
