"""Test the material of the book: its sources, its words, its formulas and its figures."""

import re

import pytest

pytest.importorskip("latex2mathml")

from grader.authoring import figures
from grader.authoring.book import site
from grader.authoring.book.site import FIGURES, find_guides, lesson_page, preface_page
from grader.steps.quiz import PREFACE_TEXT
from grader.steps.registry import DATA
from grader.steps.stubs import remove_solutions, solution_of
from tests.conftest import STEPS

LESSONS = {step.number: solution_of(step) for step in STEPS}
MACHINE = ("peeking",)  # drawn from as many steps of training as there was time for
# Ordinary words too: what counts is that the lesson of such a term introduces it.
ORDINARY = {"training", "token", "id", "head", "memory", "key", "value", "query", "attention"}


def prose(step):
    """A lesson's text without code, comment marks and the map, and with lines joined."""
    if step == 0:
        text = PREFACE_TEXT.read_text(encoding="utf-8")
    else:
        cells = re.split(r"^# %%", LESSONS[step], flags=re.MULTILINE)
        texts = [cell.partition("\n")[2] for cell in cells if cell.startswith(" [markdown]")]
        text = "\n\n".join(re.sub(r"^# ?", "", one, flags=re.MULTILINE) for one in texts)
    text = re.sub(r"^\*The course:.*?\n\n", "\n", text, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"^(#|\||    ).*$", "", text, flags=re.MULTILINE)


def paragraphs(step):
    return [re.sub(r"\s+", " ", one) for one in re.split(r"\n\s*\n", prose(step))]


def test_every_citation_has_an_entry():
    texts = [PREFACE_TEXT.read_text(encoding="utf-8")]
    texts += [re.sub(r"\n# ?", "\n", text) for text in LESSONS.values()]
    texts += [path.read_text(encoding="utf-8") for path in sorted(DATA.glob("step*.toml"))]
    cited = {one for text in texts for one in site.find_citations(text)}
    assert len(cited) > 40
    assert sorted(one for one in cited if site.find_work(one) is None) == []
    used = {site.find_work(one) for one in cited}
    assert [work.key for work in site.read_works() if work not in used] == []


def test_entry_of_a_work_is_whole():
    for work in site.read_works():
        assert work.key.endswith(str(work.year))
        assert work.authors.split()[0].rstrip(",") == work.key.split()[0]
        assert work.title
        assert work.venue
        assert re.fullmatch(r"https://\S+", work.link)
    anchors = [work.anchor for work in site.read_works()]
    assert len(set(anchors)) == len(anchors)


def test_citation_over_a_line_break_is_linked():
    text = "As Vaswani et al.\n2017 say.\n\n    Vaswani et al. 2017\n"
    linked = site.link_citations(text)
    assert linked.startswith("As [Vaswani et al.\n2017](bibliography.md#vaswani-et-al-2017) say.")
    assert linked.endswith("\n    Vaswani et al. 2017")


@pytest.mark.parametrize("term", site.read_terms(), ids=lambda term: term.word)
def test_term_is_bold_where_it_comes_first(term):
    """Before that, a paragraph may use it only if it says which step explains it."""
    bold = re.compile(rf"\*\*{re.escape(term.word)}s?\*\*", re.IGNORECASE)
    assert any(bold.search(one) for one in paragraphs(term.step))
    if term.word in ORDINARY:
        return
    word = re.compile(rf"(?<![\w-]){re.escape(term.word)}s?(?![\w-])", re.IGNORECASE)
    early = [
        one
        for step in range(term.step)
        for one in paragraphs(step)
        if word.search(one) and not re.search(r"[Ss]teps? \d|\*\*After this", one)
    ]
    assert early == []


def test_every_formula_stands_in_a_lesson():
    texts = [PREFACE_TEXT.read_text(encoding="utf-8")]
    texts += [re.sub(r"^# ?", "", text, flags=re.MULTILINE) for text in LESSONS.values()]
    blocks = {block for text in texts for block in map(site.unindent, site.BLOCK.findall(text))}
    assert [text for text in site.read_formulas() if text not in blocks] == []


@pytest.mark.parametrize("text", site.read_formulas())
def test_formula_can_be_typeset(text):
    math = site.render_mathml(site.read_formulas()[text])
    assert math.startswith("<math")
    assert "\\" not in math


def test_committed_figures_are_up_to_date(steps):
    drawn = figures.draw_figures(steps)
    assert {path.name for path in drawn} == {path.name for path in FIGURES.glob("*.svg")}
    stale = [
        path.name
        for path, text in drawn.items()
        if not any(name in path.name for name in MACHINE)
        and not figures.same_drawing(path.read_text(encoding="utf-8"), text)
    ]
    assert stale == [], "figures are out of date: run `make build`"


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.id)
def test_page_of_a_lesson_has_no_solution_and_no_key(step):
    page = lesson_page(step)
    for body in re.findall(r"### BEGIN SOLUTION\n(.*?)### END", LESSONS[step.number], re.DOTALL):
        told = [line.strip() for line in body.splitlines() if len(line.strip()) > 12]
        shown = remove_solutions(LESSONS[step.number])
        assert [line for line in told if line in page and line not in shown] == []
    assert page.count("raise NotImplementedError()") == len(step.functions)


def test_page_of_step_0_has_its_figure_and_questions():
    page = preface_page()
    assert page.count("<svg ") == 3
    assert "<!-- figure" not in page
    assert page.count('class="question"') == 10


def test_guides_that_are_there_are_in_the_menu_in_order(tmp_path):
    for name in ("index", "extending", "student", "zebra"):
        (tmp_path / f"{name}.md").touch()
    assert find_guides(tmp_path) == ["student", "extending", "zebra"]
