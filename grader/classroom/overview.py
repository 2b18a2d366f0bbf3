"""Write the instructor's page of a class: one HTML file that needs no network and no script."""

import base64
import hashlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from markupsafe import Markup

from grader.classroom.summary import Row, Summary
from grader.report.html.page import template
from grader.report.names import safe_name
from grader.report.records import SIGNS, Alike, Status
from grader.report.sanitize import one_line

NAMED = 10  # students shown for a mistake
LISTED = 200  # and when unfolded; the table of all students lists everyone
MAX_NAME = 80
FOLDED = 300  # a longer table of students is folded up at first


def file(student: str) -> str:
    """Return the name of a student's pages, for a link."""
    return quote(f"{safe_name(student)}.html", safe="")


def short(name: str) -> str:
    """Return a shortened name; the student's page has the whole name."""
    return one_line(name, MAX_NAME) or "(no name)"


def _script() -> Markup:
    return Markup(Path(__file__).with_name("overview.js").read_text(encoding="utf-8"))


def fingerprint() -> str:
    """Return the hash of the page's script, by which a policy allows it and no other."""
    return base64.b64encode(hashlib.sha256(_script().encode()).digest()).decode()


def marks(row: Row, steps: Iterable[str]) -> str:
    """Return a sign for each step: ✓ passed, ✗ needs work, – not attempted."""
    return "".join(SIGNS[row.marks[step]][0] if step in row.marks else " " for step in steps)


def count_passed(row: Row) -> int:
    """Return how many steps passed."""
    return sum(mark is Status.PASSED for mark in row.marks.values())


def pairs(alike: Iterable[Alike]) -> list[tuple[tuple[str, ...], list[tuple[int, Alike]]]]:
    """Return each pair of similar students once, with all similarities; the most alike first.

    Each similarity comes with its place, which names the page that `serve` has of it.
    """
    found: dict[tuple[str, ...], list[tuple[int, Alike]]] = {}
    for place, one in enumerate(alike):
        found.setdefault(tuple(sorted(one.students)), []).append((place, one))
    return sorted(found.items(), key=lambda item: (-len(item[1]), -item[1][0][1].share))


def class_page(summary: Summary, alike: Iterable[Alike], about: Mapping[str, Any]) -> Iterator[str]:
    """Yield the page in pieces. alike: similar work for a person to compare, without effect.

    about: the assignment's title, deadline (due) and steps; the suite, and when it was graded;
    strays: files of nobody; unmatched: work of nobody on the class list. Both have the reasons.
    """
    data: dict[str, Any] = {
        "summary": summary,
        "spread": summary.spread,
        "alike": pairs(alike),
        "about": about,
        "script": _script(),
        "fingerprint": fingerprint(),
        "sizes": {"NAMED": NAMED, "LISTED": LISTED, "FOLDED": FOLDED},
        **{use.__name__: use for use in (file, short, marks, count_passed)},
    }
    return template("overview.html", Path(__file__).parent).generate(data)
