"""An assignment in JupyterLab, in a browser: Validate shows what is wrong."""

import contextlib
import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

import pytest
from playwright.sync_api import sync_playwright

from tests.conftest import ROOT
from tests.support.courses import NBGRADER, filled_in, surroundings

CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
STEP = "step02_scores"
UNSCALED = (
    "import numpy as np\n\n\ndef attention_scores(q, k):\n    return q @ np.swapaxes(k, -1, -2)\n"
)
SECONDS = 180


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def answers(url):
    with contextlib.suppress(urllib.error.URLError, ConnectionError, TimeoutError):
        return urllib.request.urlopen(url, timeout=5).status == 200
    return False


@contextlib.contextmanager
def lab(folder, variables):
    """JupyterLab on a folder; where it is."""
    url = f"http://127.0.0.1:{(port := free_port())}"
    with (folder / "lab.log").open("wb") as log:
        process = subprocess.Popen(
            [
                *(sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root"),
                *(f"--ServerApp.port={port}", f"--ServerApp.root_dir={folder}"),
                *("--IdentityProvider.token=", "--ServerApp.password="),
            ],
            cwd=folder,
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        try:
            tries = SECONDS
            while not answers(f"{url}/api") and process.poll() is None and tries:
                tries -= 1
                time.sleep(1)
            yield url
        finally:
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(30)
            process.kill()  # it may wait for a kernel that does not end
            process.wait()


@pytest.fixture
def browser():
    with sync_playwright() as started:
        found = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield found
        found.close()


def put(folder, source):
    """A student's notebook with this work."""
    path = NBGRADER / "source" / STEP / f"{STEP}.ipynb"
    notebook = filled_in(json.loads(path.read_text(encoding="utf-8")), source)
    (folder / f"{STEP}.ipynb").write_text(json.dumps(notebook), encoding="utf-8")


def validated(page, url):
    """Return the text of the dialog that Validate opens."""
    page.goto(f"{url}/lab/tree/{STEP}.ipynb?reset")
    page.wait_for_selector(".jp-Notebook .jp-Cell")
    page.get_by_text("Validate", exact=True).first.click()
    dialog = page.locator(".jp-Dialog", has_text="Validation Results")
    dialog.wait_for()
    text = dialog.inner_text()
    dialog.get_by_role("button", name="Ok").click()
    return text


@pytest.mark.long
def test_validate_shows_what_is_wrong_and_then_what_is_right(tmp_path, browser):
    page = browser.new_page()
    page.set_default_timeout(SECONDS * 1000)
    with lab(tmp_path, surroundings(tmp_path / "jupyter")) as url:
        put(tmp_path, UNSCALED)
        wrong = validated(page, url)
        put(tmp_path, (ROOT / "solutions" / f"{STEP}.py").read_text(encoding="utf-8"))
        right = validated(page, url)
    assert "attention_scores: 6 of 8 visible checks failed." in wrong
    assert "The scores are not divided by √d_k." in wrong
    assert "Success! Your notebook passes all the tests." in right
