"""Read the bibliography and the glossary, write their pages, and link citations."""

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from grader.steps.registry import read_toml

BIBLIOGRAPHY = Path(__file__).with_name("bibliography.toml")
GLOSSARY = Path(__file__).with_name("glossary.toml")
NOT_CITED = ("In", "About", "Since", "Until", "By", "Before", "After")  # words before a year
_NAME = r"[A-Z][A-Za-zÀ-ž-]+"
CITATION = re.compile(
    rf"\b{_NAME}(?:\s+et\s+al\.|(?:,\s+{_NAME})*\s+and\s+{_NAME})?\s+(?:19|20)\d\d\b"
)


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


def link_citations(text: str, page: str = "bibliography.md") -> str:
    """Return the text with each citation linked to its entry; code and links stay unchanged."""

    def link(match: re.Match[str]) -> str:
        work = find_work(re.sub(r"\s+", " ", match[0]))
        return f"[{match[0]}]({page}#{work.anchor})" if work else match[0]

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
    lines = [
        "# Glossary",
        "",
        "| word | meaning | in torch | first in |",
        "|---|---|---|---|",
    ]
    for term in read_terms():
        torch = f"`{term.torch}`" if term.torch else ""
        also = f" ({', '.join(term.also)})" if term.also else ""
        where = f"[step {term.step}]({pages[term.step]})"
        lines.append(f"| **{term.word}**{also} | {term.meaning} | {torch} | {where} |")
    return "\n".join(lines) + "\n"
