"""The explorer in a browser: with the keyboard, on a narrow screen, and while code changes."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import urllib.error
import urllib.request

import pytest
from click.testing import CliRunner
from playwright.sync_api import expect, sync_playwright

from grader.cli.main import cli
from tests.conftest import ROOT, STEPS
from tests.support.processes import interruptible

CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
SECONDS = 60
PROMPT = "it takes great courage to"
NO_MASK = "\ndef causal_mask(t_q, t_k=None): return np.ones((t_q, t_k or t_q), bool)\n"


@pytest.fixture(scope="module")
def mine(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mine")
    for step in STEPS[:13]:
        shutil.copy(ROOT / "solutions" / step.filename, folder)
    return folder


@pytest.fixture(scope="module")
def url(mine):
    """The address of an explorer of that folder."""
    options = ["--no-browser", "--submission", str(mine), "--prompt", PROMPT]
    process = subprocess.Popen(
        [sys.executable, "-u", "-m", "grader", "explore", *options],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        encoding="utf-8",
        start_new_session=True,
        preexec_fn=interruptible,
    )
    yield re.search(r"http://\S+", process.stdout.readline())[0]
    os.killpg(process.pid, signal.SIGINT)
    assert "The explorer has ended." in process.communicate(timeout=SECONDS)[0]


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def open_page(browser):
    """open_page(address, width, scheme): the page there, of which no script may fail."""
    opened, failures = [], []

    def open_page(address, width=1280, scheme="light"):
        page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
        page.set_default_timeout(SECONDS * 1000)
        page.on("pageerror", lambda error: failures.append(str(error)))
        page.goto(address)
        opened.append(page)
        return page

    yield open_page
    for page in opened:
        page.close()
    assert failures == []


def until(locator, text):
    expect(locator).to_contain_text(text, timeout=SECONDS * 1000)


@pytest.mark.parametrize("width", [400, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_page_fits_and_has_all_pictures(url, open_page, width, scheme):
    page = open_page(url, width, scheme)
    until(page.locator("#leaks-said"), "No prediction depends on a later word.")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("#heads [role=radio]").count() == 8
    assert page.locator("#attention svg g").count() == len(PROMPT.split()) ** 2
    assert page.locator("#next tbody tr").count() == 8
    if folder := os.environ.get("SCREENSHOTS"):
        page.screenshot(path=f"{folder}/explorer-{width}-{scheme}.png", full_page=True)


def test_eleven_words_fit_on_a_narrow_screen(url, open_page):
    page = open_page(url, 400)
    page.locator("#prompt").fill("it takes great courage to ask . the fox has a")
    page.keyboard.press("Enter")
    page.locator("#attention svg g").nth(11 * 11 - 1).wait_for()
    for name in ("attention", "leaks"):
        fits = "element => element.scrollWidth <= element.clientWidth"
        assert page.locator(f"#{name}").evaluate(fits)


def test_every_picture_has_its_numbers_as_a_table(url, open_page):
    page = open_page(url)
    for name in ("attention", "leaks", "cache"):
        page.locator(f"section:has(#{name}) .numbers summary").press("Enter")
        rows = page.locator(f"#{name}-numbers tbody tr")
        assert rows.count() == len(PROMPT.split())
        assert rows.first.is_visible()
    first = page.locator("#attention-numbers tbody tr").first.locator("td").all_inner_texts()
    assert first == ["1.000", "0", "0", "0", "0"]  # the first word has itself alone


def test_page_counts_from_0_as_the_lessons_do(url, open_page):
    page = open_page(url)
    page.locator("#heads [role=radio]").first.click()
    until(page.locator("#which"), "Layer 0, head 0, with the mask")
    names = page.locator("#heads [role=radio]").all_inner_texts()
    assert names == [f"{layer}.{head}" for layer in range(2) for head in range(4)]
    masks = " ".join(page.locator("#masks").inner_text().split())
    assert masks == "Now it runs with a mask in layer 0 layer 1"
    first = page.locator("#attention svg g title").first.text_content()
    assert first == "“it” (position 0) takes 100 % from “it” (position 0)"
    page.locator("#after").press("Home")
    assert page.locator("#after").get_attribute("aria-valuetext") == "“it” (position 0)"


def test_keyboard_alone_chooses_heads_words_and_masks(url, open_page):
    page = open_page(url)
    page.locator("#heads [aria-checked=true]").focus()
    for _ in range(5):
        page.keyboard.press("ArrowRight")
    until(page.locator("#which"), "Layer 1, head 1, with the mask")
    page.locator("#after").focus()
    page.keyboard.press("Home")
    until(page.locator("#so-far"), "it …")
    page.locator("#fed").focus()
    page.keyboard.press("End")
    until(page.locator("#cache"), "Your cache now holds 960 numbers, 192 of them new.")
    page.get_by_role("checkbox", name="layer 1").focus()
    page.keyboard.press("Space")
    until(page.locator("#leaks-said"), "It peeks in 10 places")
    until(page.locator("#which"), "without the mask")
    page.locator("#prompt").fill("the fox has a")
    page.keyboard.press("Enter")
    until(page.locator("#so-far"), "the …")
    assert page.locator("#attention svg g").count() == 16


def test_model_that_was_trained_to_peek_is_splendid_and_writes_nonsense(url, open_page):
    page = open_page(url)
    page.get_by_label("without it").check()
    for layer in ("layer 0", "layer 1"):
        page.get_by_role("checkbox", name=layer).uncheck()
    until(page.locator("#loss"), "It peeks, so this loss is worth nothing.")
    loss = float(re.search(r"[\d.]+\d", page.locator("#loss").inner_text())[0])
    assert loss < 0.1
    for layer in ("layer 0", "layer 1"):
        page.get_by_role("checkbox", name=layer).check()
    until(page.locator("#leaks-said"), "No prediction depends on a later word.")
    honest = float(re.search(r"[\d.]+\d", page.locator("#loss").inner_text())[0])
    assert honest > 1


def test_page_follows_the_code_and_shows_its_bug(url, mine, open_page):
    page = open_page(url)
    until(page.locator("#leaks-said"), "No prediction depends on a later word.")
    path = mine / "step03_mask.py"
    right = path.read_text(encoding="utf-8")
    try:
        path.write_text(right + NO_MASK, encoding="utf-8")
        first = (
            "It peeks in 10 places: the prediction after “it” (position 0) changes when “takes” "
        )
        until(page.locator("#leaks-said"), first + "(position 1) is replaced.")
        path.write_text(right + "\nthis is no Python\n", encoding="utf-8")
        until(page.locator("#problem"), "raised SyntaxError")
        assert page.locator("#problem").inner_text().count("step03_mask.py") == 1
    finally:
        path.write_text(right, encoding="utf-8")
    until(page.locator("#leaks-said"), "No prediction depends on a later word.")
    assert page.locator("#problem").is_hidden()


BAD_PROMPTS = {
    "": "Type at least one word.",
    "a zebra": "The model has never seen 'zebra'",
    "the " * 25: "You typed 25 words: type at most 24.",
    "<img src=x onerror=alert(1)>": "The model has never seen '<img'",
}


def test_words_that_cannot_be_shown_are_answered_in_a_sentence(url, open_page):
    page = open_page(url)
    for prompt, said in BAD_PROMPTS.items():
        page.locator("#prompt").fill(prompt)
        page.keyboard.press("Enter")
        until(page.locator("#problem"), said)
    assert page.locator("img").count() == 0


def ask(address, data=None, **headers):
    """The status of an answer."""
    request = urllib.request.Request(address, data=data, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=SECONDS) as reply:
            return reply.status
    except urllib.error.HTTPError as error:
        return error.code


def test_only_the_page_itself_may_ask(url):
    base, key = url.split("?")
    question = json.dumps({"prompt": PROMPT}).encode()
    assert ask(url) == 200
    assert ask(base) == 403
    assert ask(f"{base}?key=wrong") == 403
    assert ask(url, Host="evil.example") == 403
    assert ask(f"{base}ask?key=wrong", question) == 403
    assert ask(f"{base}ask?{key}", question) == 200
    assert ask(f"{base}ask?{key}", b"no JSON") == 400
    assert ask(f"{base}ask?{key}", b"[1]") == 200
    assert ask(f"{base}other?{key}") == 404


def test_first_head_is_one_that_looks_at_the_word_to_come(mine, tmp_path, open_page):
    file = tmp_path / "explorer.html"
    options = ["explore", "--submission", str(mine), "--html", str(file)]
    assert CliRunner().invoke(cli, options).exit_code == 0
    page = open_page(file.as_uri())
    assert page.locator("#next tbody th").first.inner_text() == "lamp"
    lamp = page.locator("#attention-numbers thead th", has_text="lamp")
    column = lamp.evaluate("cell => cell.cellIndex")
    last = page.locator("#attention-numbers tbody tr").last.locator("> *").nth(column)
    assert float(last.text_content()) > 0.5


def test_page_in_a_file_needs_nothing_else(mine, tmp_path, open_page):
    file = tmp_path / "explorer.html"
    options = ["--submission", str(mine), "--prompt", PROMPT, "--html", str(file)]
    subprocess.run(
        [sys.executable, "-m", "grader", "explore", *options],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=True,
        capture_output=True,
    )
    page = open_page(file.as_uri())
    page.get_by_role("checkbox", name="layer 0").uncheck()
    until(page.locator("#leaks-said"), "It peeks in 10 places")
    assert not page.get_by_role("button", name="Show").is_visible()
    assert page.get_by_text("This page holds the answers for these words only.").is_visible()
    assert page.locator("#whose").inner_text().endswith("/. Every step is there.")
    assert "http" not in file.read_text(encoding="utf-8").replace("http-equiv", "").replace(
        "http://www.w3.org/2000/svg", ""
    )
