"""Write the instructor's page of a class: one HTML file that needs no network and no script."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from markupsafe import Markup

from grader.classroom.summary import BINS, Row, Spread, Summary
from grader.report.html.page import SIGNS, template
from grader.report.names import safe_name
from grader.report.records import Alike, Status
from grader.report.sanitize import one_line

NAMED = 10  # students shown for a mistake
LISTED = 200  # and when unfolded; the table of all students lists everyone
MAX_NAME = 80
FOLDED = 300  # a longer table of students is folded up at first
WIDTH, HEIGHT, TOP, FOOT = 640, 220, 24, 28  # of the drawing, its upper and lower margin


@dataclass(frozen=True)
class Bar:
    """One bar of the distribution, in the drawing's units, with its text."""

    x: float
    y: float
    width: float
    height: float
    count: int
    label: str


@dataclass(frozen=True)
class RunFacts:
    """The assignment and the run that a page is about. strays: files of nobody, with reasons."""

    title: str = "the class"
    due: str = ""
    suite: str = "hidden"
    steps: tuple[str, ...] = ()
    when: str = ""
    strays: Mapping[str, str] = field(default_factory=dict)
    work: str = ""
    """The folder with everybody's source beside the verdicts, if there is one."""
    unmatched: Mapping[str, str] = field(default_factory=dict)
    """Work that nobody on the class list is known to have written, with the reasons."""


def bars(spread: Spread) -> list[Bar]:
    """Return the distribution of the scores; the longest bar takes the whole height."""
    wide, high = WIDTH / BINS, HEIGHT - TOP - FOOT
    scale = high / max(spread.bins)
    return [
        Bar(
            round(i * wide + 3, 2),
            round(TOP + high - count * scale, 2),
            round(wide - 6, 2),
            round(count * scale, 2),
            count,
            f"{100 * i // BINS}–{100 * (i + 1) // BINS} %",
        )
        for i, count in enumerate(spread.bins)
    ]


def link(file: str) -> str:
    """Return the link from the class page to a student's page."""
    return f"feedback/{quote(file, safe='')}.html"


def short(name: str) -> str:
    """Return a shortened name; the student's page has the whole name."""
    return one_line(name, MAX_NAME) or "(no name)"


def _script() -> Markup:
    text = (Path(__file__).with_name("overview.js")).read_text(encoding="utf-8")
    return Markup(text)


def _fingerprint(script: str) -> str:
    """Return the script's hash, by which the page's own policy allows it and no other."""
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def script_policy() -> str:
    """Return the part of a content policy that allows this page's script and no other."""
    return f"script-src 'sha256-{_fingerprint(_script())}'"


def marks(row: Row, steps: Iterable[str]) -> str:
    """Return a sign for each step: ✓ passed, ✗ needs work, – not attempted."""
    return "".join(SIGNS[row.marks[step]][0] if step in row.marks else " " for step in steps)


def count_passed(row: Row) -> int:
    """Return how many steps passed."""
    return sum(mark is Status.PASSED for mark in row.marks.values())


def pairs(alike: Iterable[Alike]) -> list[tuple[tuple[str, ...], list[Alike]]]:
    """Return each pair of similar students once, with all similarities; the most alike first."""
    found: dict[tuple[str, ...], list[Alike]] = {}
    for one in alike:
        found.setdefault(tuple(sorted(one.students)), []).append(one)
    return sorted(found.items(), key=lambda item: (-len(item[1]), -item[1][0].share))


def class_page(
    summary: Summary,
    alike: Iterable[Alike] = (),
    about: RunFacts | None = None,
    sides: Mapping[Alike, str] | None = None,
) -> Iterator[str]:
    """Yield the page in pieces. alike: similar work for a person to compare, without effect.

    sides: links to the pages that show similar work side by side.
    """
    script, spread = _script(), summary.spread
    data: dict[str, Any] = {
        "summary": summary,
        "spread": spread,
        "bars": bars(spread) if spread else [],
        "alike": pairs(alike),
        "sides": sides or {},
        "about": about or RunFacts(),
        "script": script,
        "fingerprint": _fingerprint(script),
        "sizes": {"NAMED": NAMED, "LISTED": LISTED, "FOLDED": FOLDED},
        "drawing": {"width": WIDTH, "height": HEIGHT, "foot": FOOT},
        "link": link,
        "safe_name": safe_name,
        "short": short,
        "marks": marks,
        "count_passed": count_passed,
    }
    return template("overview.html", Path(__file__).parent).generate(data)
