"""Share one Chromium among the tests of a module, and pages that ask nobody else and do not fail.

Pages are of files, or of a server on this machine.
"""

import os

import pytest

from grader.intake.submission import read_folder
from tests.conftest import ROOT

SECONDS = 90
OWN = ("file:", "data:", "blob:", "http://127.0.0.1:", "ws://127.0.0.1:")


@pytest.fixture(scope="session")
def right(steps):
    """The solutions, as a submission."""
    return read_folder(ROOT / "solutions", steps)


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import expect, sync_playwright  # which most tests here do not need

    program = os.environ.get("CHROMIUM", "/usr/bin/chromium")
    expect.set_options(timeout=SECONDS * 1000)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def open_page(browser):
    """open_page(address, width, scheme): the page there, whose scripts must not fail."""
    opened, failures, asked = [], [], []

    def open_page(address, width=1280, scheme="light"):
        size = {"width": width, "height": 900}
        page = browser.new_page(viewport=size, color_scheme=scheme)
        opened.append(page)
        page.set_default_timeout(SECONDS * 1000)
        page.on("pageerror", lambda error: failures.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(address)
        return page

    yield open_page
    for page in opened:
        page.close()
    assert failures == []
    assert [url for url in asked if not url.startswith(OWN)] == []
