"""The page of a report as the command writes it, of real submissions and beside other kits."""

import os
import shutil
import subprocess
import sys

import pytest

from grader.report.html.page import page
from tests.conftest import ROOT, STEPS
from tests.unit.report.test_page import Tree


@pytest.fixture
def wrong(tmp_path):
    """A submission whose scores are not scaled, and which prints what nobody should."""
    folder = tmp_path / "a<b>&'"
    folder.mkdir()
    text = (ROOT / "solutions" / "step02_scores.py").read_text(encoding="utf-8")
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


def python(folder, *arguments, kit=ROOT):
    return subprocess.run(
        [sys.executable, "-W", "error", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(kit), "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        text=True,
        encoding="utf-8",
        stdin=subprocess.DEVNULL,
    )


def test_command_writes_the_page(tmp_path, wrong):
    arguments = ("-m", "grader", "check", "2", "--submission", wrong, "--html", "report.html")
    done = python(tmp_path, *arguments)
    assert (done.returncode, done.stderr) == (1, "")
    assert "Scaled scores" in Tree((tmp_path / "report.html").read_text(encoding="utf-8")).words


@pytest.mark.parametrize(
    ("file", "said"),
    [("no/such/report.html", "no/such: there is no such folder"), (".", ".: ")],
    ids=["no folder", "a folder"],
)
def test_page_that_cannot_be_written(tmp_path, wrong, file, said):
    done = python(tmp_path, *("-m", "grader", "check", "2", "--submission", wrong, "--html", file))
    assert done.returncode == 2
    assert done.stderr.startswith(f"nopeek: cannot use {said}")
    assert len(done.stderr.splitlines()) == 1


def test_templates_are_loaded_only_for_a_page(tmp_path):
    modules = "grader.cli.main, grader.report.text.terminal, grader.engine.grading"
    code = f"import sys, {modules}; print('jinja2' in sys.modules)"
    assert python(tmp_path, "-c", code).stdout == "False\n"


def test_page_works_where_the_kit_is_elsewhere(tmp_path):
    shutil.copytree(
        ROOT / "grader", tmp_path / "grader", ignore=shutil.ignore_patterns("__pycache__")
    )
    imports = "from grader.report import records; from grader.report.html import page"
    code = f"{imports}; print(page.page(records.Report(*'abc', 1, 'd', ())))"
    done = python(tmp_path, "-c", code, kit=tmp_path)
    assert done.stdout.startswith("<!DOCTYPE html>"), done.stderr
