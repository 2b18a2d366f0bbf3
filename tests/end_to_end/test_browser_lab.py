"""JupyterLab in a browser: a lesson as a learner has it, and an assignment of nbgrader."""

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request

import pytest
from playwright.sync_api import expect

from tests.conftest import ROOT
from tests.end_to_end.conftest import SECONDS
from tests.support import kernels
from tests.support.courses import NBGRADER, filled_in, surroundings
from tests.support.stubs import solution_text

NOTEBOOK = "step02_scores.ipynb"
WRONG = """def attention_scores(q, k):
return q @ np.swapaxes(k, -1, -2)"""
DARK = {"@jupyterlab/apputils-extension/themes.jupyterlab-settings": '{"theme": "JupyterLab Dark"}'}


@pytest.fixture
def serve(tmp_path):
    """serve(options, variables): the address of a JupyterLab that Python runs, until the end."""
    started = []

    def serve(options, variables):
        with socket.socket() as one:
            one.bind(("127.0.0.1", 0))
            port = one.getsockname()[1]
        with (tmp_path / "lab.log").open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", *(option.format(port=port) for option in options)],
                env=variables,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        started.append(process)
        url, deadline = f"http://127.0.0.1:{port}/lab", time.monotonic() + SECONDS
        while True:
            with contextlib.suppress(OSError), urllib.request.urlopen(url, timeout=5):
                return url
            assert time.monotonic() < deadline, "JupyterLab did not start"
            time.sleep(0.2)

    yield serve
    for process in started:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(30)


@pytest.fixture
def lab(tmp_path, serve):
    """lab(settings): the address of a JupyterLab as `make lab` starts it, with own notebooks."""
    home = kernels.home(tmp_path / "home")
    leftovers = shutil.ignore_patterns("nbgrader", ".ipynb_checkpoints")
    shutil.copytree(ROOT / "notebooks", home / "notebooks", ignore=leftovers)

    def start(settings=()):
        for name, text in dict(settings).items():
            path = home / ".jupyter" / "settings" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        more = ("--", "--allow-root", "--IdentityProvider.token=")
        command = ["grader", "lab", "--no-browser", "--port={port}", *more]
        return serve(command, kernels.variables(home))

    return start


@pytest.fixture
def page(browser):
    page = browser.new_page(viewport={"width": 1280, "height": 1000})
    page.set_default_timeout(SECONDS * 1000)
    yield page
    page.close()


def cell_with(page, text):
    """The code cell whose text begins like that."""
    return page.locator(".jp-CodeCell").filter(has=page.locator(".cm-content", has_text=text)).first


def run_all(page):
    """Runs all cells: chosen again where JupyterLab, still starting, has dropped the command."""
    first = page.locator(".jp-CodeCell .jp-InputPrompt").first
    for _ in range(5):
        page.get_by_role("menuitem", name="Run", exact=True).click()
        page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
        with contextlib.suppress(AssertionError):
            expect(first).to_have_text(re.compile(r"\[(\*|\d+)\]"), timeout=SECONDS * 1000 / 5)
            return
    raise AssertionError("JupyterLab runs no cell")


def run(page, cell, text=None):
    """Runs a cell as it is, or with that text."""
    cell.locator(".cm-content").click()
    if text is not None:
        page.keyboard.press("Control+a")
        page.keyboard.type(text)
    page.keyboard.press("Control+Enter")


@pytest.mark.long
@pytest.mark.parametrize("settings", [{}, DARK], ids=["light", "dark"])
def test_lesson_in_a_browser(lab, page, settings):
    page.goto(f"{lab(settings)}/tree/{NOTEBOOK}?reset")
    page.locator(".jp-MarkdownOutput h1", has_text="Step 2 — Scaled scores").wait_for()
    page.locator(".jp-Notebook-ExecutionIndicator[data-status=idle]").first.wait_for()
    page.wait_for_timeout(1000)  # the kernel is there, so JupyterLab has added its details
    expect(page.locator(".jp-mod-dirty")).to_have_count(0)  # the mark of an unsaved notebook
    expect(page.get_by_text("official Jupyter news")).to_have_count(0)
    expect(page.get_by_role("menuitem", name="Nbgrader")).to_have_count(0)
    names = page.locator(".jp-DirListing-itemText")
    expect(names.filter(has_text="step14_masked_lm.ipynb")).to_be_visible()
    expect(names.filter(has_text="nbgrader")).to_have_count(0)
    run_all(page)
    check = cell_with(page, 'check("attention_scores")')
    expect(check.locator(".nopeek")).to_contain_text("not attempted")
    whole = cell_with(page, "check()")
    expect(whole.locator(".nopeek")).to_contain_text("Write the functions")

    function = cell_with(page, "def attention_scores")
    run(page, function, WRONG)
    run(page, check)
    expect(check.locator(".nopeek")).to_contain_text("not divided by √d_k")
    expect(check.locator("td.wrong").first).to_be_visible()
    expect(check.locator(".nopeek code").first).to_have_css("background-color", "rgba(0, 0, 0, 0)")

    page.keyboard.press("Escape")
    page.keyboard.press("Control+b")
    page.set_viewport_size({"width": 400, "height": 1000})
    title = check.locator(".check-row h4").first
    title.scroll_into_view_if_needed()
    assert title.bounding_box()["width"] > 180
    page.set_viewport_size({"width": 1280, "height": 1000})

    run(page, function, WRONG + " / q.shape[-1] ** 0.5")
    run(page, check)
    expect(check.locator(".nopeek")).to_contain_text("passed")
    picture = cell_with(page, "look.scores")
    run(page, picture)
    expect(picture.locator("svg[role=img]")).to_be_visible()
    run(page, whole)
    expect(whole.locator(".nopeek")).to_contain_text("All of it passes")


@pytest.mark.long
def test_validate_shows_what_is_wrong_and_then_what_is_right(tmp_path, serve, page):
    root = ("--ServerApp.port={port}", f"--ServerApp.root_dir={tmp_path}", "--ServerApp.password=")
    options = ["jupyterlab", "--no-browser", "--allow-root", *root, "--IdentityProvider.token="]
    url = serve(options, surroundings(tmp_path / "jupyter"))
    step = NOTEBOOK.removesuffix(".ipynb")
    notebook = json.loads((NBGRADER / "source" / step / NOTEBOOK).read_text(encoding="utf-8"))
    unscaled = f"import numpy as np\n\n\n{WRONG}\n".replace("\nreturn", "\n    return")
    found = []
    for source in (unscaled, solution_text(step)):
        (tmp_path / NOTEBOOK).write_text(json.dumps(filled_in(notebook, source)), encoding="utf-8")
        page.goto(f"{url}/tree/{NOTEBOOK}?reset")
        page.wait_for_selector(".jp-Notebook .jp-Cell")
        page.get_by_text("Validate", exact=True).first.click()
        dialog = page.locator(".jp-Dialog", has_text="Validation Results")
        dialog.wait_for()
        found.append(dialog.inner_text())
        dialog.get_by_role("button", name="Ok").click()
    assert "attention_scores: needs work, 0/7 points" in found[0]
    assert "The scores are not divided by √d_k." in found[0]
    assert "Success! Your notebook passes all the tests." in found[1]
