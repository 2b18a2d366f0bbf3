"""Share one Chromium among the tests of a module."""

import os

import pytest


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright  # which most tests here do not need

    program = os.environ.get("CHROMIUM", "/usr/bin/chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()
