"""The page of a report as the command writes it, of real submissions and beside other kits."""

import os
import shutil
import subprocess
import sys

import pytest

from grader.report.html.page import page
from tests.conftest import ROOT, SOLUTIONS, STEPS
from tests.support.commands import run_strictly
from tests.unit.report.test_page import Tree


@pytest.fixture
def wrong(tmp_path):
    """A submission whose scores are not scaled, and which prints what nobody should."""
    folder = tmp_path / "a<b>&'"
    folder.mkdir()
    text = SOLUTIONS["step02_scores"]
    right = "return q @ k_transposed / d_k**0.5"
    assert right in text
    text = text.replace(right, "print('<i>\\x1b[1m'); return q @ k_transposed")
    (folder / "step02_scores.py").write_text(text, encoding="utf-8")
    return folder


def test_page_of_a_real_report(grade, wrong):
    html = page(grade(wrong, only=STEPS[1:2]))
    tree = Tree(html)
    assert "nopeek report: a<b>&'" in tree.words
    assert "attention_scores(q, k)" in tree.words
    assert "Hint. What happens to the size of a dot product" in tree.words
    assert "Output and warnings of your code <i>\\x1b[1m" in tree.words
    assert len(tree.all("td", class_="wrong")) > 10
    assert "<i>" not in html


def test_page_of_a_hidden_report_has_no_evidence(grade, wrong):
    tree = Tree(page(grade(wrong, suite="hidden", only=STEPS[1:2])))
    assert "All 4 values are wrong." in tree.words
    assert tree.all("table") == []
    assert "Output and warnings" not in tree.words
    assert "<i>" not in tree.words


def test_command_writes_the_page(tmp_path, wrong):
    words = ("check", "2", "--submission", wrong, "--html", "report.html")
    done = run_strictly(*words, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (1, "")
    assert "Scaled scores" in Tree((tmp_path / "report.html").read_text(encoding="utf-8")).words


def python(code, kit=ROOT):
    env = {**os.environ, "PYTHONPATH": str(kit), "PYTHONIOENCODING": "utf-8"}
    command = [sys.executable, "-W", "error", "-c", code]
    return subprocess.run(command, cwd=kit, env=env, capture_output=True, text=True).stdout


def test_templates_are_loaded_only_for_a_page():
    modules = "grader.cli.main, grader.report.text.terminal, grader.engine.grading"
    assert python(f"import sys, {modules}; print('jinja2' in sys.modules)") == "False\n"


def test_page_works_where_the_kit_is_elsewhere(tmp_path):
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "grader", tmp_path / "grader", ignore=ignored)
    imports = "from grader.report import records; from grader.report.html import page"
    code = f"{imports}; print(page.page(records.Report(*'abc', 1, 'd', ())))"
    assert python(code, kit=tmp_path).startswith("<!DOCTYPE html>")
