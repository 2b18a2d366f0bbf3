"""The book in a browser, opened from a folder: pages, questions, search, light and dark."""

import re
from dataclasses import asdict

import pytest
from playwright.sync_api import expect

from grader.authoring.book.site import build_book
from grader.steps import quiz
from grader.steps.registry import read_toml

pytestmark = pytest.mark.long

PAGES = ("index", "step00_whole_picture", "step03_mask", "step12_decoder", "glossary")


@pytest.fixture(scope="module")
def site(tmp_path_factory, steps):
    folder = tmp_path_factory.mktemp("book")
    build_book(steps, folder)
    return folder


@pytest.fixture
def visit(site, open_page):
    """visit(name, width, scheme): a page of the book."""
    return lambda name, *how: open_page((site / f"{name}.html").as_uri(), *how)


@pytest.mark.parametrize("width", [400, 1280])
@pytest.mark.parametrize("name", PAGES)
def test_page_fits_its_width(visit, name, width):
    page = visit(name, width)
    expect(page.locator("h1")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    figures = page.locator(".figures")
    assert figures.evaluate_all("all => all.filter(e => e.scrollWidth > e.clientWidth + 1)") == []


NARROW = ("step02_scores", "step06_loss", "step07_kv_cache", "step09_heads")  # long formulas


@pytest.mark.parametrize("width", [400, 1280])
@pytest.mark.parametrize("name", NARROW)
def test_formulas_fit_and_so_does_code_on_a_wide_screen(visit, name, width):
    page = visit(name, width)
    wide = "found => found.filter(e => e.scrollWidth > e.clientWidth + 1).length"
    assert page.locator(".formula math").first.bounding_box()["height"] > 10
    assert page.locator(".formula").evaluate_all(wide) == 0
    if width == 1280:
        assert page.locator("pre > code").evaluate_all(wide) == 0


def test_first_page_has_a_picture_a_start_and_the_parts(visit):
    page = visit("index")
    expect(page.get_by_role("img", name="The map of the course")).to_be_visible()
    assert page.locator(".parts > div").count() == 4
    page.get_by_role("link", name="Start here").click()
    expect(page.locator("h1")).to_contain_text("The whole picture")
    assert page.locator(".figures svg").count() == 3
    forbidden = page.locator('.figures path[stroke-dasharray="5 4"]').count()
    assert page.locator(".figures text", has_text=re.compile("^✗$")).count() == forbidden == 6
    assert "all arrows " not in page.locator("article").inner_text()  # the copy in letters


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1280])
def test_samples_of_all_pictures_are_drawn(visit, width, scheme):
    page = visit("pictures", width, scheme)
    drawings = page.locator("article svg[role=img]")
    assert drawings.count() == 8
    ink, ground = (
        page.locator(name).first.evaluate(f"e => getComputedStyle(e).{key}")
        for name, key in (("article svg text", "fill"), ("body", "backgroundColor"))
    )
    assert ink != ground
    for drawing in drawings.all():
        assert drawing.bounding_box()["width"] <= width - 24


def test_question_answers_in_the_page_and_is_remembered(visit):
    page = visit("step03_mask", 400)
    form = page.locator('form[id="3b"]')
    for given, says in (
        ("1048576", "Not yet. Your answer looks like this mistake: The mask allows everything."),
        ("many", "The answer is one number."),
        ("524,800", "Right. "),
    ):
        form.locator("input").fill(given)
        form.locator("button").click()
        expect(form.locator("output")).to_contain_text(says)
    page.reload()
    assert form.locator("input").input_value() == "524,800"
    expect(form.locator("output")).to_contain_text("Right. ")
    expect(page.locator('form[id="3g"] output')).to_be_empty()


def test_open_question_shows_an_answer_to_compare(visit):
    page = visit("step03_mask")
    form = page.locator('form[id="3g"]')
    form.locator("button").click()
    expect(form.locator("output")).to_contain_text("One good answer: The mask sets")


def test_every_answer_is_marked_as_the_kit_marks_it(visit, steps):
    page = visit("step03_mask")
    for step in (quiz.PREFACE, *steps.steps):
        path = quiz.FOLDER / f"{step.id}.toml"
        for entry in read_toml(path)["question"] if path.is_file() else ():
            question = asdict(quiz.read_question(entry))
            given = [(entry.get("answer", ""), True, entry["why"])]
            for one in entry.get("wrong", ()):
                like = "Your answer looks like this mistake: " if "from" in one else ""
                given.append((one["answer"], False, like + one["why"]))
            for answer, right, why in given:
                marked = page.evaluate("([q, a]) => markAnswer(q, a)", [question, answer])
                assert marked == {"right": right, "why": why}, (entry["id"], answer)


def test_search_works_from_a_folder(visit):
    page = visit("index")
    page.locator("input.md-search__input").click()
    page.locator("input.md-search__input").press_sequentially("perplexity")
    expect(page.locator(".md-search-result__item").first).to_be_visible()


@pytest.mark.parametrize(("scheme", "dark"), [("light", False), ("dark", True)])
def test_page_is_light_or_dark_as_the_reader_has_it(visit, scheme, dark):
    page = visit("step03_mask", 1280, scheme)
    page.wait_for_function("document.body.getAttribute('data-md-color-scheme')")
    color = page.evaluate("getComputedStyle(document.body).backgroundColor")
    red = int(color.split("(")[1].split(",")[0])
    assert (red < 128) is dark
