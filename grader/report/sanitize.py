"""Make text and names that other people chose harmless: nothing hidden, nothing endless.

Escaping for a format (HTML, XML, CSV) follows where the text is written.
"""

import hashlib
import re
from collections.abc import Collection

MAX_TEXT = 4000
MAX_LINE = 500
PLAIN = re.compile(r"[a-z0-9][a-z0-9@+._-]{0,59}(?<!\.)")
RESERVED = re.compile(r"(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9])(\..*)?")


def visible(text: str, limit: int = MAX_TEXT, kept: str = "\n\t") -> str:
    """Return a text in which nothing is hidden, reordered or endless.

    Characters that do not print, such as lone surrogates, are written as escapes. Characters in
    `kept` stay.
    """
    left = len(text) - limit
    cut = text if left <= 0 else f"{text[:limit]} … ({left:,} more characters)"
    plain = cut
    for char in kept:
        plain = plain.replace(char, "")
    if plain.isprintable():  # nearly always true, and a page has thousands of texts
        return cut
    return "".join(
        char if char.isprintable() or char in kept else ascii(char)[1:-1] for char in cut
    )


def one_line(text: str, limit: int = MAX_LINE) -> str:
    """Return the text on one line."""
    return visible(text, limit, kept="")


def list_names(names: Collection[str], most: int = 4) -> str:
    """Return the first few of many names, for a sentence."""
    some = ", ".join(list(names)[:most])
    return f"{some} and {len(names) - most} more" if len(names) > most else some


def safe_name(student: str) -> str:
    """Return a file name for a student's id: at most 100 characters, valid on every system.

    A plain id (up to 60 lower-case letters, digits and `@ + . _ -`) is its own name. The name of
    any other id is its readable characters, `~` and 128 bits of its hash. So two ids never share a
    name, even if a file system ignores case or composes accents.

    >>> safe_name("alice")
    'alice'
    >>> safe_name("Alice")
    'alice~3bc51062973c458d5a6f2d8d64a02324'
    """
    if PLAIN.fullmatch(student) and not RESERVED.fullmatch(student):
        return student
    digest = hashlib.sha256(student.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    readable = re.sub(r"[^a-z0-9]+", "_", student[:200].lower())[:60].strip("_")
    return f"{readable}~{digest}" if readable else f"student~{digest}"
