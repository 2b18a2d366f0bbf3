"""Build the site: write the pages that MkDocs needs, and run MkDocs.

A lesson's page comes from its solution file: text, stubs, figures and questions. A lesson writes
its formulas so that they can be read in a Python file. `formulas.toml` has the TeX of each. The
book gets MathML, which browsers draw without a script.
"""

import itertools
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

import jupytext
import latex2mathml.converter

from grader.report.problem import Problem
from grader.steps.paths import ROOT
from grader.steps.quiz import KINDS, PREFACE, PREFACE_TEXT, Question, questions
from grader.steps.registry import ROMAN, Registry, Step, read_toml
from grader.steps.stubs import FIGURE, find_defined, remove_solutions, solution_of

DOCS = ROOT / "docs"
FIGURES = DOCS / "figures"
FILES = Path(__file__).with_name("files")
_LOOK = re.compile(r"^look\.(\w+)\(", re.MULTILINE)
HINT = """\
!!! tip "How to try it"
    Write it in `exercises/{filename}`, then run `make check STEP={number}`. In a notebook, open
    `{id}.ipynb` with `make lab`. `make look STEP={number}` draws what your functions do."""
NO_SCRIPT = "<noscript>The questions need JavaScript. `make quiz` asks them too.</noscript>"
UNTIMED = "`make look STEP={number}` draws this with your functions, on your machine."
FORMULAS = Path(__file__).with_name("formulas.toml")
BIBLIOGRAPHY = Path(__file__).with_name("bibliography.toml")
GLOSSARY = Path(__file__).with_name("glossary.toml")
NOT_CITED = ("In", "About", "Since", "Until", "By", "Before", "After")  # words before a year
_NAME = r"[A-Z][A-Za-zÀ-ž-]+"
CITATION = re.compile(
    rf"\b{_NAME}(?:\s+et\s+al\.|(?:,\s+{_NAME})*\s+and\s+{_NAME})?\s+(?:19|20)\d\d\b"
)
BLOCK = re.compile(r"(?:^    .*\n?(?:\n(?=    ))?)+", re.MULTILINE)
# The guides in the order of the menu; guides that are not listed here come last.
GUIDES = (
    *("student", "self-study", "commands", "pictures", "instructor", "nbgrader"),
    *("sandbox", "report-format", "performance", "extending", "architecture", "decisions"),
)
PICTURES = "pictures.md"  # the guide that shows drawings, which take the page's own colours
_IMAGE = re.compile(r"!\[.*\]\(((?:figures|lessons)/\S+)\)")
# What the first page of the book begins with, below its first paragraph.
HOME = """\
<p><a class="md-button md-button--primary" href="step00_whole_picture.html">Start here</a></p>

{figure}
<div class="parts" markdown>
{parts}
</div>
"""
PART = """\
<div markdown>
**Part {roman}, {title}**: [steps {first.number}]({first.id}.md) to {last.number}. After it you can

{can}
</div>
"""
SETTINGS: dict[str, Any] = {
    "site_name": "nopeek",
    "site_description": "Masked self-attention, built step by step",
    "docs_dir": "docs",
    "use_directory_urls": False,
    "theme": {
        "name": "material",
        "font": False,  # fonts of the system: nothing is fetched
        "features": [
            *("navigation.footer", "navigation.sections", "navigation.top"),
            *("toc.integrate", "search.highlight", "content.code.copy"),  # code of 100 letters fits
        ],
        "palette": [
            {
                "media": "(prefers-color-scheme: light)",
                "scheme": "default",
                "primary": "indigo",
                "toggle": {"icon": "material/weather-night", "name": "Switch to dark"},
            },
            {
                "media": "(prefers-color-scheme: dark)",
                "scheme": "slate",
                "primary": "indigo",
                "toggle": {"icon": "material/weather-sunny", "name": "Switch to light"},
            },
        ],
    },
    "markdown_extensions": [
        *("admonition", "attr_list", "md_in_html", "tables", "pymdownx.details"),
        {"pymdownx.highlight": {"anchor_linenums": False}},
        *("pymdownx.superfences", "pymdownx.inlinehilite"),
        {"toc": {"permalink": True}},
    ],
    "plugins": ["search", "offline"],
    # The name tells the offline plugin that there is one: it then fetches none.
    "extra": {"polyfills": ["assets/iframe-worker.js"], "generator": False},
    "extra_css": ["assets/book.css"],
    "extra_javascript": ["assets/quiz.js"],
    "validation": {"links": {"not_found": "info", "unrecognized_links": "ignore"}},
}


@dataclass(frozen=True)
class Work:
    """A work that a lesson cites; cited: other forms in which lessons cite it."""

    key: str
    authors: str
    year: int
    title: str
    venue: str
    link: str
    cited: tuple[str, ...] = ()

    @property
    def anchor(self) -> str:
        """Return its anchor on the page of the bibliography."""
        return re.sub(r"[^a-z0-9]+", "-", self.key.lower()).strip("-")


@dataclass(frozen=True)
class Term:
    """A word of the lessons; step: the step that introduces it, in bold."""

    word: str
    step: int
    meaning: str
    torch: str = ""
    also: tuple[str, ...] = field(default=())


@cache
def read_works() -> tuple[Work, ...]:
    """Return the bibliography in order of authors."""
    entries = read_toml(BIBLIOGRAPHY)["work"]
    works = [Work(**{**one, "cited": tuple(one.get("cited", ()))}) for one in entries]
    return tuple(sorted(works, key=lambda work: (work.authors, work.year)))


@cache
def read_terms() -> tuple[Term, ...]:
    """Return the glossary in order of its words."""
    entries = read_toml(GLOSSARY)["term"]
    terms = [Term(**{**one, "also": tuple(one.get("also", ()))}) for one in entries]
    return tuple(sorted(terms, key=lambda term: term.word.lower()))


def find_citations(text: str) -> list[str]:
    """Return the works that a text cites, as it writes them, each on one line."""
    found = (re.sub(r"\s+", " ", one) for one in CITATION.findall(text))
    return [one for one in found if one.split()[0] not in NOT_CITED]


def find_work(citation: str) -> Work | None:
    """Return the work with this citation, or None if the bibliography has none."""
    known = {name: work for work in read_works() for name in (work.key, *work.cited)}
    return known.get(citation)


def link_citations(text: str) -> str:
    """Return the text with each citation linked to its entry; code and links stay unchanged."""

    def link(match: re.Match[str]) -> str:
        work = find_work(re.sub(r"\s+", " ", match[0]))
        return f"[{match[0]}](bibliography.md#{work.anchor})" if work else match[0]

    parts = itertools.groupby(text.splitlines(), lambda line: line.startswith(("    ", "<div")))
    joined = ((is_code, "\n".join(lines)) for is_code, lines in parts)
    return "\n".join(part if is_code else CITATION.sub(link, part) for is_code, part in joined)


def bibliography_page(lessons: Sequence[tuple[str, str, str]]) -> str:
    """Return the page. lessons: the title, the page and the text of each lesson."""
    lines = ["# Bibliography", "", "Every work that a lesson cites, and where it is cited.", ""]
    for work in read_works():
        names = {work.key, *work.cited}
        places = [
            f"[{title}]({page})"
            for title, page, text in lessons
            if names & set(find_citations(text))
        ]
        lines += [
            f'<a id="{work.anchor}"></a>',
            f"**{work.authors} {work.year}.** [{work.title}]({work.link}). {work.venue}.",
            f"Cited in {', '.join(places)}." if places else "",
            "",
        ]
    return "\n".join(lines)


def glossary_page(pages: Sequence[str]) -> str:
    """Return the page. pages: the page of each lesson, by its step's number."""
    lines = ["# Glossary", "", "| word | meaning | in torch | first in |", "|---|---|---|---|"]
    for term in read_terms():
        torch = f"`{term.torch}`" if term.torch else ""
        also = f" ({', '.join(term.also)})" if term.also else ""
        where = f"[step {term.step}]({pages[term.step]})"
        lines.append(f"| **{term.word}**{also} | {term.meaning} | {torch} | {where} |")
    return "\n".join(lines) + "\n"


@cache
def read_formulas() -> Mapping[str, str]:
    """Return the TeX of each formula, by its text."""
    return {entry["text"]: entry["tex"] for entry in read_toml(FORMULAS)["formula"]}


def render_mathml(tex: str) -> str:
    """Return the MathML of a formula; parts with a wide space between them may wrap there."""
    parts = tex.split(r"\qquad")
    return "".join(latex2mathml.converter.convert(part, display="block") for part in parts)


def unindent(block: str) -> str:
    """Return the lines of an indented block without their indentation."""
    return "\n".join(line[4:] for line in block.rstrip().splitlines())


def typeset(text: str) -> str:
    """Return the text with MathML in place of every indented block that is a known formula."""
    known = read_formulas()

    def replace(match: re.Match[str]) -> str:
        tex = known.get(unindent(match[0]))
        if tex is None:
            return match[0]
        return f'<div class="formula" tabindex="0">{render_mathml(tex)}</div>\n'

    return BLOCK.sub(replace, text)


def lesson_page(step: Step) -> str:
    """Return the page of a step."""
    return "\n\n".join([*_cells(step), *_forms(step)]) + "\n"


def _forms(step: Step) -> list[str]:
    """Return the questions about a lesson, below their heading."""
    forms = [question_form(one) for one in questions(step)]
    return ["## Questions", "They earn no points.", NO_SCRIPT, *forms] if forms else []


def _cells(step: Step) -> Iterator[str]:
    cells = jupytext.reads(remove_solutions(solution_of(step)), fmt="py:percent").cells
    for number, cell in enumerate(cells):
        if cell.cell_type == "markdown":
            yield link_citations(typeset(cell.source))
            if number == 0:
                yield HINT.format(filename=step.filename, number=step.number, id=step.id)
        elif looks := _LOOK.findall(cell.source):
            for look in looks:
                found = sorted(FIGURES.glob(f"{step.id}-{look}-*.svg"))
                yield inline(*found) if found else UNTIMED.format(number=step.number)
        else:
            title = f' title="exercises/{step.filename}"' if find_defined(cell.source, step) else ""
            yield f"```python{title}\n{cell.source}\n```"


def inline(*files: Path) -> str:
    """Return drawings, side by side, in the page's own colours."""
    drawn = "".join(path.read_text(encoding="utf-8").strip() for path in files)
    return f'<div class="figures">{drawn}</div>\n'


def preface_page() -> str:
    """Return the page of step 0, with its figures and questions."""
    text, folder = PREFACE_TEXT.read_text(encoding="utf-8"), PREFACE_TEXT.parent
    text = FIGURE.sub(lambda found: inline(*sorted(folder.glob(f"{found[1]}*.svg"))), text)
    return "\n\n".join([link_citations(typeset(text)), *_forms(PREFACE)]) + "\n"


def question_form(question: Question) -> str:
    """Return a question as a form, which answers without a server."""
    data = asdict(question)
    name = f"answer-{question.id}"
    if question.kind == "choice":
        field = "".join(
            f'<label><input type="radio" name="{name}" value="{letter}"> {escape(text)}</label>'
            for letter, text in question.options.items()
        )
    else:
        listed = "".join(f"<li>{k}) {escape(v)}</li>" for k, v in question.options.items())
        tag = "textarea rows=3" if question.kind in ("open", "matrix") else 'input type="text"'
        end = "</textarea>" if tag.startswith("textarea") else ""
        field = (
            f'<ul>{listed}</ul><label for="{name}">{KINDS[question.kind][0].capitalize()}</label>'
        )
        field += f'<{tag} id="{name}" name="{name}" autocomplete="off">{end}'
    button = "Show one good answer" if question.kind == "open" else "Answer"
    # One line, because Markdown leaves HTML alone only up to the next empty line.
    return (
        f'<form class="question" id="{question.id}" data-question="{escape(json.dumps(data))}">'
        f"<p><b>{question.id}</b> {escape(question.ask)}</p><div>{field}</div>"
        f'<button type="submit">{button}</button><output aria-live="polite"></output></form>'
    )


def build_book(registry: Registry, out: Path) -> None:
    """Write the site into a folder. Raise Problem if MkDocs fails."""
    with tempfile.TemporaryDirectory() as folder:
        docs, settings = Path(folder, "docs"), Path(folder, "mkdocs.yml")
        shutil.copytree(DOCS, docs, ignore=shutil.ignore_patterns("lessons"))
        shutil.copytree(FILES, docs / "assets", dirs_exist_ok=True)
        for name, text in _pages(registry):
            (docs / name).write_text(text, encoding="utf-8")
        own = {"site_dir": str(out.resolve()), "nav": _nav(registry)}
        settings.write_text(json.dumps({**SETTINGS, **own}, indent=1), encoding="utf-8")
        done = subprocess.run(
            [sys.executable, "-m", "mkdocs", "build", "--quiet", "--config-file", str(settings)],
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
    if done.returncode:
        raise Problem(f"MkDocs could not build the book:\n{done.stderr.strip()}")


def _pages(registry: Registry) -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each generated page."""
    texts = [("Step 0", PREFACE_TEXT.name, PREFACE_TEXT.read_text(encoding="utf-8"))]
    yield PREFACE_TEXT.name, preface_page()
    for step in registry.steps:
        # Without comment marks, so that lines join.
        prose = re.sub(r"^# ", "", solution_of(step), flags=re.MULTILINE)
        texts.append((f"step {step.number}", f"{step.id}.md", prose))
        yield f"{step.id}.md", lesson_page(step)
    yield "bibliography.md", bibliography_page(texts)
    yield "glossary.md", glossary_page([page for _, page, _ in texts])
    text = (DOCS / PICTURES).read_text(encoding="utf-8")
    yield PICTURES, _IMAGE.sub(lambda found: inline(DOCS / found[1]), text)
    title, first, rest = (DOCS / "index.md").read_text(encoding="utf-8").split("\n\n", 2)
    yield "index.md", "\n\n".join([title, first, _begin(registry), rest])


def _begin(registry: Registry) -> str:
    """Return where to start, a picture of the course, and its parts."""
    parts = [
        PART.format(
            roman=ROMAN[part.number],
            title=part.title,
            first=steps[0],
            last=steps[-1],
            can="\n".join(f"- {text}" for text in part.can),
        )
        for part in registry.parts
        if (steps := registry.of(part))
    ]
    return HOME.format(
        figure=inline(PREFACE_TEXT.with_name("step00-map.svg")), parts="\n".join(parts)
    )


def _nav(registry: Registry) -> list[Any]:
    parts: list[Any] = [{"Home": "index.md"}, {"0 The whole picture": "step00_whole_picture.md"}]
    for part in registry.parts:
        steps = [one for one in registry.steps if one.part == part.number]
        pages = [{f"{one.number} {one.title}": f"{one.id}.md"} for one in steps]
        parts.append({f"{ROMAN[part.number]}: {part.title}": pages})
    return [
        *parts,
        {"Glossary": "glossary.md"},
        {"Bibliography": "bibliography.md"},
        {"Guides": [f"{name}.md" for name in find_guides()]},
    ]


def find_guides(folder: Path = DOCS) -> list[str]:
    """Return the names of the existing guides, in the order of the menu."""
    found = {path.stem for path in folder.glob("*.md")} - {"index"}
    return [name for name in GUIDES if name in found] + sorted(found - {*GUIDES})
