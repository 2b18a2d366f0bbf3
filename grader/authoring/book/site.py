"""Build the site: write the source that MkDocs needs, and run MkDocs."""

import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from grader.authoring.book import sources
from grader.authoring.book.pages import inline, lesson_page, preface_page
from grader.report.problem import Problem
from grader.steps.paths import ROOT
from grader.steps.quiz import PREFACE_TEXT
from grader.steps.registry import ROMAN, Registry, Step
from grader.steps.stubs import solution_of

DOCS = ROOT / "docs"
FIGURES = DOCS / "figures"
FILES = Path(__file__).with_name("files")
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
THEME: dict[str, Any] = {
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
}
EXTENSIONS: list[Any] = [
    *("admonition", "attr_list", "md_in_html", "tables", "pymdownx.details"),
    {"pymdownx.highlight": {"anchor_linenums": False}},
    *("pymdownx.superfences", "pymdownx.inlinehilite"),
    {"toc": {"permalink": True}},
]


def build_book(registry: Registry, out: Path) -> None:
    """Write the site into a folder. Raise Problem if MkDocs fails."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder)
        write_source(registry, source)
        settings = source / "mkdocs.yml"
        settings.write_text(json.dumps(_settings(registry, out), indent=1), encoding="utf-8")
        done = subprocess.run(
            [sys.executable, "-m", "mkdocs", "build", "--quiet", "--config-file", str(settings)],
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
    if done.returncode:
        raise Problem(f"MkDocs could not build the book:\n{done.stderr.strip()}")


def write_source(registry: Registry, folder: Path) -> None:
    """Write the pages from which MkDocs makes the site into `folder/docs`."""
    docs = folder / "docs"
    shutil.copytree(DOCS, docs, ignore=shutil.ignore_patterns("lessons"))
    assets = docs / "assets"
    assets.mkdir(exist_ok=True)
    for path in sorted(FILES.iterdir()):
        shutil.copy(path, assets / path.name)
    for name, text in _pages(registry):
        (docs / name).write_text(text, encoding="utf-8")


def _pages(registry: Registry) -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each generated page."""
    texts = [("Step 0", PREFACE_TEXT.name, PREFACE_TEXT.read_text(encoding="utf-8"))]
    texts += [(f"step {one.number}", f"{one.id}.md", _prose(one)) for one in registry.steps]
    yield PREFACE_TEXT.name, preface_page(PREFACE_TEXT, sources.link_citations)
    for step in registry.steps:
        yield f"{step.id}.md", lesson_page(step, FIGURES, sources.link_citations)
    yield "bibliography.md", sources.bibliography_page(texts)
    yield "glossary.md", sources.glossary_page([page for _, page, _ in texts])
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


def _prose(step: Step) -> str:
    """Return a lesson's text without comment marks, so that lines join."""
    return "\n".join(line.removeprefix("# ") for line in solution_of(step).splitlines())


def _settings(registry: Registry, out: Path) -> dict[str, Any]:
    return {
        "site_name": "nopeek",
        "site_description": "Masked self-attention, built step by step",
        "docs_dir": "docs",
        "site_dir": str(out.resolve()),
        "use_directory_urls": False,
        "theme": THEME,
        "markdown_extensions": EXTENSIONS,
        "plugins": ["search", "offline"],
        # The name tells the offline plugin that there is one: it then fetches none.
        "extra": {"polyfills": ["assets/iframe-worker.js"], "generator": False},
        "extra_css": ["assets/book.css"],
        "extra_javascript": ["assets/quiz.js"],
        "nav": _nav(registry),
        "validation": {"links": {"not_found": "info", "unrecognized_links": "ignore"}},
    }


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
