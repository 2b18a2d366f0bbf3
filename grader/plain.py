"""A student's text made harmless to hold: nothing hidden in it, nothing endless, always encodable.

Escaping for the format at hand (HTML, XML, CSV) comes after, where it is written.
"""

from __future__ import annotations

import hashlib
import re

MAX_TEXT = 4000
MAX_LINE = 500
_SAFE_NAME = re.compile(r"[a-z0-9_][a-z0-9._@+-]{0,99}", re.ASCII)
_DEVICES = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?", re.ASCII)


def _shown(char: str, kept: str) -> str:
    return char if char.isprintable() or char in kept else ascii(char)[1:-1]


def visible(text: str, limit: int = MAX_TEXT, kept: str = "\n\t") -> str:
    """A text in which nothing is hidden, reordered or endless.

    Characters that do not print, lone surrogates among them, are written as escapes, all but those
    kept.
    """
    left = len(text) - limit
    cut = text if left <= 0 else f"{text[:limit]} … ({left:,} more characters)"
    return "".join(_shown(char, kept) for char in cut)


def one_line(text: str, limit: int = MAX_LINE) -> str:
    """The same on one line."""
    return visible(text, limit, kept="")


def file_name(student: str) -> str:
    """A file name, without ending, that is safe everywhere and that no other student gets.

    Lower-case letters, digits and `_.@+-` stay; any other id, and one that some system gives a
    meaning, gets a readable rest and a hash after `~`, which no plain name contains.
    """
    plain = _SAFE_NAME.fullmatch(student) and not _DEVICES.fullmatch(student)
    if plain and not student.endswith("."):
        return student
    rest = re.sub(r"[^a-z0-9]+", "-", student[:200].lower()).strip("-")[:40]
    digest = hashlib.sha256(student.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{rest or 'student'}~{digest[:20]}"
