"""The explorer in a browser: with the keyboard, on a narrow screen, and while code changes."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner
from playwright.sync_api import expect

from grader.cli.main import cli
from tests.conftest import ROOT, STEPS
from tests.end_to_end.conftest import SECONDS
from tests.support.processes import interruptible
from tests.support.stubs import write_solutions, write_stubs

PROMPT = "it takes great courage to"
NO_SCALE = "\ndef attention_scores(q, k): return q @ np.swapaxes(k, -1, -2)\n"
NO_MASK = "\ndef causal_mask(t_q, t_k=None): return np.ones((t_q, t_k or t_q), bool)\n"


@pytest.fixture(scope="module")
def mine(tmp_path_factory):
    return write_solutions(tmp_path_factory.mktemp("mine"), STEPS[:18])


def write_page(folder, *options):
    """Write the page of that folder's code beside it."""
    file = folder / "explorer.html"
    words = ["explore", "--submission", str(folder), "--html", str(file), *options]
    done = CliRunner().invoke(cli, words)
    assert done.exit_code == 0, done.output
    return file


@pytest.fixture(scope="module")
def url(mine):
    """The address of an explorer of that folder."""
    command = [sys.executable, "-u", "-m", "grader", "explore", "--no-browser"]
    process = subprocess.Popen(
        [*command, "--submission", str(mine), "--prompt", PROMPT],
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


def until(locator, text):
    expect(locator).to_contain_text(text)


@contextlib.contextmanager
def written_below(path, text):
    """A file of code with this below it, for a while."""
    right = path.read_text(encoding="utf-8")
    path.write_text(right + text, encoding="utf-8")
    try:
        yield
    finally:
        path.write_text(right, encoding="utf-8")


# The texts of pictures that reach beyond their picture.
CUT = """() => [...document.querySelectorAll(".picture svg")].flatMap((svg) => {
  const room = svg.getBoundingClientRect();
  return [...svg.querySelectorAll("text:not([hidden])")].filter((text) => {
    const box = text.getBoundingClientRect();
    return box.left < room.left - 1 || box.right > room.right + 1 || box.top < room.top - 1
      || box.bottom > room.bottom + 1;
  }).map((text) => text.textContent);
})"""
# The names in the first picture whose neighbour on the right begins before they end.
TOUCHING = """() => {
  const rows = [[], []];
  document.querySelectorAll("#hero-picture text.pick").forEach((text, i) => rows[i % 2].push(text));
  return rows.flatMap((row) => row.filter((text, i) => i + 1 < row.length
    && text.getBoundingClientRect().right > row[i + 1].getBoundingClientRect().left)
    .map((text) => text.textContent));
}"""
PICTURES = ("qkv", "scores", "masked", "softmax", "output", "next", "leaks", "cache", "backward")


@pytest.mark.parametrize("width", [400, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_page_fits_and_has_all_pictures(url, open_page, width, scheme):
    page = open_page(url, width, scheme)
    until(page.locator("#leaks-says"), "No prediction depends on a later word.")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("#heads [role=radio]").count() == 8
    for name in ("hero", *PICTURES):
        svg = page.locator(f"#{name}-picture svg").first
        assert svg.is_visible()
        assert svg.get_attribute("aria-label")
        assert svg.bounding_box()["width"] <= width - 40
    assert page.evaluate(CUT) == []


@pytest.mark.long
def test_slider_follows_the_words_of_which_24_fit_on_a_narrow_screen(url, open_page):
    page = open_page(url, 400)
    for prompt in ("the fox", "the fox has a key . " * 4):
        page.locator("#prompt").fill(prompt)
        page.keyboard.press("Enter")
        until(page.locator("#so-far"), f"{prompt.strip()} …")
        assert page.locator("#at").input_value() == str(len(prompt.split()) - 1)
    until(page.locator("#cache-says"), "Attention gets 24 keys.")
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    assert page.evaluate(CUT) == []
    words = page.locator("#hero-picture text.pick").all_text_contents()
    assert len({word.partition("%")[0] for word in words[::2]}) == 24  # a word may come twice
    assert page.evaluate(TOUCHING) == []


# How far from the dot of its word each arrow and each grey line ends.
ENDS = """() => {
  const all = (kind) => [...document.querySelectorAll(`#hero-picture .${kind}`)];
  const dots = all("dot").map((dot) => [dot.cx.baseVal.value, dot.cy.baseVal.value]);
  const end = (path, at) => {
    const { x, y } = path.getPointAtLength(at);
    return Math.min(...dots.map(([cx, cy]) => Math.hypot(cx - x, cy - y)));
  };
  return [...all("tip").map((path) => end(path, 0)), ...all("other").map((path) => end(path, 1e6))];
}"""


def test_arrows_end_at_the_word_that_looks(url, open_page):
    page = open_page(url)
    ends = page.evaluate(ENDS)
    assert len(ends) > 5
    assert max(ends) <= 4
    until(page.locator("#hero-note"), "from the word that is looked at to the word that looks.")


def test_chances_are_words_where_they_are_tiny(url, open_page):
    page = open_page(url)
    chances = page.evaluate("[0, 1e-14, 0.0005, 0.1234, 0.9999, NaN].map(percent)")
    assert chances == ["0 %", "less than 0.01 %", "0.05 %", "12.3 %", "100 %", "not a number"]


@pytest.mark.long
def test_boxes_are_named_after_the_functions_and_have_their_numbers_as_tables(url, open_page):
    page = open_page(url)
    names = [one.inner_text() for one in page.locator("#flow h3").all()]
    assert names == [
        "1. split_heads, multi_head_attention queries, keys and values, step 9",
        "2. attention_scores scores, step 2",
        "3. causal_mask, apply_mask what softmax gets, step 3",
        "4. softmax weights, step 4",
        "5. attention_output, attention output, step 5",
        "6. decoder_block, decoder_logits next word, step 11, 12",
    ]
    for name in PICTURES:
        page.locator(f"#{name} summary").press("Enter")
        page.locator(f"#{name} .numbers td").first.wait_for()
    first = page.locator("#softmax .numbers tbody tr").first.locator("td").all_inner_texts()
    assert first == ["1.000", "0", "0", "0", "0"]  # the first word has itself alone
    rows = page.locator("#masked .numbers tbody tr").first.locator("td").all_inner_texts()
    assert rows[1:] == ["−∞"] * 4


@pytest.mark.long
def test_every_picture_can_be_saved_in_its_colours(url, open_page):
    page = open_page(url, scheme="dark")
    for name in PICTURES:
        with page.expect_download() as saved:
            page.locator(f"#{name} button", has_text="Save as SVG").first.click()
        text = saved.value.path().read_text(encoding="utf-8")
        root = ElementTree.fromstring(text)
        assert root.tag.endswith("svg")
        assert "rgb(15, 20, 26)" in text  # its own background
        assert "var(" not in text


def as_number(text):
    return float(text.replace("−", "-"))


def numbers_in(part, column="last-child"):
    """The numbers in a column of a table."""
    return [as_number(one) for one in part.locator(f"td:{column}").all_inner_texts()]


def test_numbers_add_up_on_screen_to_what_was_returned(url, open_page):
    page = open_page(url)
    for feature in range(8):
        page.evaluate("feature => choose({ at: 4, key: feature % 5, feature })", feature)
        score, weight, output = parts = page.locator("#zoom-parts > div").all()
        for part, pattern, near in (
            (score, r"Sum (\S+), divided by √", 1e-9),
            (weight, r"the sum (\S+):", 2e-3),
            (output, r"Sum (\S+)", 1e-9),
        ):
            total = as_number(re.search(pattern, part.inner_text())[1])
            assert sum(numbers_in(part)) == pytest.approx(total, abs=near)
        columns = (numbers_in(score, f"nth-last-child({place})") for place in (3, 2, 1))
        for q, k, product in zip(*columns, strict=True):
            assert q * k == pytest.approx(product, abs=6e-4)
        total, root, quotient = re.search(
            r"Sum (\S+), divided by √(\d+): (\S+)", score.inner_text()
        ).groups()
        assert as_number(total) / int(root) ** 0.5 == pytest.approx(as_number(quotient), abs=6e-4)
        for part, digits in zip(parts, (3, 4, 3), strict=True):
            text = part.inner_text()
            worked = re.search(r"(?:: |Sum )(−?[\d.]*\d)\.?(?: The max .*)?\n", text)[1]
            returned = re.search(r"✓ Your \w+ returned (\S+)\.$", text)[1]
            assert round(as_number(worked), digits) == pytest.approx(
                round(as_number(returned), digits), abs=1e-9
            )
    assert page.locator("#zoom .bad").count() == 0


@pytest.mark.long
def test_keyboard_alone_chooses_heads_words_pairs_and_masks(url, open_page):
    page = open_page(url)
    page.locator("#heads [aria-checked=true]").focus()
    page.keyboard.press("ArrowLeft")
    page.locator("#heads [aria-checked=true]").press("ArrowRight")
    chosen = page.locator("#heads [aria-checked=true]").inner_text()
    until(page.locator("#hero-name"), f"{chosen}, with the mask")
    page.locator("#at").focus()
    page.keyboard.press("Home")
    until(page.locator("#so-far"), "it …")
    assert page.locator("#at").get_attribute("aria-valuetext") == "“it” (position 0)"
    page.locator("#softmax-picture").press("ArrowDown")
    until(page.locator("#zoom-name"), "“takes” (position 1) looks at")
    page.locator("#fed").press("Home")
    until(page.locator("#cache-says"), "Your cache now holds 192 numbers, 192 of them new.")
    page.get_by_role("checkbox", name="layer 1").focus()
    page.keyboard.press("Space")
    until(page.locator("#leaks-says"), "The model peeks in 10 places")
    assert page.evaluate("document.activeElement.type") == "checkbox"
    page.locator("#prompt").fill("the fox has a")
    page.keyboard.press("Enter")
    until(page.locator("#leaks-says"), "The model peeks in 6 places")


GUIDE = {
    "Take away layer 0’s mask": r"10 pairs leak: .* The loss on your words .*: \S+ → \S+\.",
    "See the model that was trained without": r"from the future\. .* → 0\.0\d+\. A loss that peeks",
    "Put a mask on that model": r"knows nothing\. The loss on your words .*: 0\.0\d+ → [1-9]",
    "Fill the cache word by word": r"^Each word is read once\.",
}


@pytest.mark.long
@pytest.mark.parametrize("title", GUIDE)
def test_guided_button_tells_what_was_measured(url, open_page, title):
    page = open_page(url)
    page.get_by_role("button", name=title).click()
    expect(page.locator("#told")).to_have_text(re.compile(GUIDE[title]))
    page.get_by_role("button", name="Reset").click()
    until(page.locator("#leaks-says"), "No prediction depends on a later word.")
    expect(page.locator("#told")).to_be_hidden()


@pytest.mark.long
def test_part_one_has_its_own_model(url, open_page):
    page = open_page(url)
    page.locator("#prompt").fill("the owl has")
    page.get_by_label("one layer, one head").check()
    until(page.locator("#hero-name"), "one layer, one head, with the mask")
    until(page.locator("#qkv-name"), "project_qkv")
    assert page.locator("#heads [role=radio]").count() == 0
    page.get_by_role("button", name="Take away the mask").click()
    until(page.locator("#told"), "3 pairs leak")
    heads = page.locator("#verdict li:not(:has(a))").all_text_contents()
    assert heads == ["You took away the mask:"]  # by a button: nothing is wrong with the code


@pytest.mark.long
def test_page_follows_the_code_and_shows_its_bug(url, mine, open_page):
    page = open_page(url)
    until(page.locator("#leaks-says"), "No prediction depends on a later word.")
    path = mine / "step03_mask.py"
    with written_below(path, NO_MASK):
        first = "The model peeks in 10 places: the prediction after “it” (position 0) changes when "
        until(page.locator("#leaks-says"), first + "“takes” (position 1) is replaced.")
        until(page.locator("#hero-says"), "to words that come after it. It must not see them.")
        assert page.locator("#hero-picture .arrow.peeks").count() > 0
    with written_below(path, "\nthis is no Python\n"):
        until(page.locator("#problem"), "raised SyntaxError")
        told = page.locator("#problem").inner_text()
        assert told.count("step03_mask.py") == 1
        assert told.endswith(". These are the pictures of the last code that ran.")
        for says in page.locator(".box-says, #hero-says, .returned").all():
            assert not says.is_visible()
    until(page.locator("#leaks-says"), "No prediction depends on a later word.")
    assert page.locator("#problem").is_hidden()


def test_forgotten_scale_is_seen_at_the_scores(url, mine, open_page):
    page = open_page(url)
    with written_below(mine / "step02_scores.py", NO_SCALE):
        until(page.locator("#scores-says"), "✗ q·k/√d_k is")
        until(page.locator("#zoom-parts .bad"), "✗ Your attention_scores returned")
    until(page.locator("#zoom-parts"), "✓ Your attention_scores returned")


BAD_PROMPTS = {
    "": "You typed 0 words: type from 1 to 24.",
    "a zebra": "The model does not know 'zebra'. Its words: . ? a",
    "the " * 200: "You typed 200 words: type from 1 to 24.",
    "<img src=x onerror=alert(1)>": "The model does not know '<', 'img', 'src'",
}


def test_words_that_cannot_be_shown_are_answered_beside_them(url, open_page):
    page = open_page(url)
    for prompt, said in BAD_PROMPTS.items():
        page.locator("#prompt").fill(prompt)
        page.keyboard.press("Enter")
        until(page.locator("#unread"), said)
        until(page.locator("#unread"), f"The pictures are those of “{PROMPT}”.")
    assert page.locator("img").count() == 0
    assert page.locator("#problem").is_hidden()
    assert page.locator("#main.old").count() == 0
    page.get_by_role("checkbox", name="layer 0").uncheck()  # the page still answers
    until(page.locator("#leaks-says"), "The model peeks in 10 places")


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


@pytest.mark.long
def test_first_head_is_one_that_looks_at_the_word_to_come(mine, open_page):
    page = open_page(write_page(mine).as_uri())
    assert page.locator("#next-picture text.strong").text_content() == "lamp"
    until(page.locator("#zoom-name"), "“the” (position 11) looks at “lamp” (position 5)")


@pytest.mark.parametrize("width", [400, 1280])
def test_unwritten_steps_are_grey(tmp_path, open_page, width):
    folder = write_solutions(write_stubs(tmp_path / "mine"), STEPS[:2])
    page = open_page(write_page(folder).as_uri(), width)
    grey = [one.get_attribute("id") for one in page.locator("#flow .grey").all()]
    assert grey == ["masked", "softmax", "output", "next"]
    until(page.locator("#masked-says"), "Still to be written: causal_mask (step 3), apply_mask")
    until(page.locator("#zoom-parts"), "✓ Your attention_scores returned")
    until(page.locator("#leaks-says"), "Write masked_self_attention (step 5)")
    page.get_by_role("button", name="Fill the cache word by word").click()
    until(page.locator("#told"), "Write new_cache (step 7), and it appears here.")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_forgotten_mask_of_step_5_is_the_first_thing_seen(tmp_path, open_page):
    write_solutions(tmp_path, STEPS[:5])
    path = tmp_path / "step05_output.py"
    right = path.read_text(encoding="utf-8")
    path.write_text(right.replace("scores = apply_mask(scores, mask)", "pass"), encoding="utf-8")
    page = open_page(write_page(tmp_path).as_uri())
    until(page.locator("#hero-says"), "to words that come after it. It must not see them.")
    assert page.locator("#hero-picture path.peeks").count() > 10
    until(page.locator("#masked-says"), "are not hidden. Your code does not call apply_mask")
    told = page.locator("#verdict a")
    assert told.first.bounding_box()["y"] < 200  # without a word on where to look
    links = told.evaluate_all("all => all.map((one) => one.hash)")
    assert links == ["#hero", "#masked", "#softmax", "#leaks"]
    opacity = "all => all.map((one) => Number(one.getAttribute('fill-opacity')))"
    depths = page.locator("#softmax-picture path.leak").evaluate_all(opacity)
    assert min(depths) < 0.3 < 0.7 < max(depths)  # a small leak and a large one
    headings = page.locator("#zoom-parts .wide").evaluate_all(
        """all => all.filter((one) => one.scrollTop > 0).map((one) =>
        one.querySelector("th").getBoundingClientRect().top - one.getBoundingClientRect().top)"""
    )
    assert headings
    assert min(headings) >= 0


SHIFTED = "\ndef causal_mask(t_q): return np.tri(t_q, k={}, dtype=bool)\n"
DIVIDES_BY_0 = """
def softmax(scores, axis=-1):
    powers = np.exp(scores)
    return powers / powers.sum(axis=axis, keepdims=True)
"""


@pytest.mark.parametrize(
    ("shift", "softmax", "told"),
    [
        (-1, "", "? Each word is hidden from itself: a word must see itself and those before it."),
        (-1, "", "? “the” (position 0) may look at nothing: its row has no weights."),
        (-1, DIVIDES_BY_0, "~ The weights of “the” (position 0) are not numbers (NaN)."),
        (1, "", "✗ Each word also sees the next one: the scores one position ahead"),
    ],
    ids=["hidden from itself", "no weights", "not numbers", "next word"],
)
def test_mask_off_by_one_is_described(tmp_path, open_page, shift, softmax, told):
    write_solutions(tmp_path, STEPS[:4])
    mask, weights = tmp_path / "step03_mask.py", tmp_path / "step04_softmax.py"
    with written_below(mask, SHIFTED.format(shift)), written_below(weights, softmax):
        page = open_page(write_page(tmp_path, "--prompt", "the owl has").as_uri())
    until(page.locator("#verdict"), told)
    sign, count = ("?", 3) if shift < 0 else ("✗", 2)
    assert page.locator("#masked-picture .sign").all_text_contents() == [sign] * count


def test_page_in_a_file_needs_nothing_else(mine, open_page):
    file = write_page(mine, "--prompt", PROMPT)
    page = open_page(file.as_uri())
    page.get_by_role("checkbox", name="layer 0").uncheck()
    until(page.locator("#leaks-says"), "The model peeks in 10 places")
    assert not page.get_by_role("button", name="Show").is_visible()
    assert page.get_by_text("This page holds the answers for these words only.").is_visible()
    assert page.locator("#whose").inner_text().startswith("The code in ")
    text = file.read_text(encoding="utf-8").replace("http-equiv", "")
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "")
