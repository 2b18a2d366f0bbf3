"""Names that others have chosen: shown in a sentence, or made into a file's name."""

from __future__ import annotations

import hashlib
import re

MAX_SHOWN = 80
PLAIN = re.compile(r"[a-z0-9][a-z0-9@+._-]{0,59}(?<!\.)")
RESERVED = re.compile(r"(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9])(\..*)?")


def show_name(name: str) -> str:
    """Return the name as one short line of text that a sentence may hold.

    What cannot be printed (line ends, marks that turn the direction of writing, bytes that are not
    text) is shown as �. It is not escaped for any format.
    """
    text = "".join(letter if letter.isprintable() else "�" for letter in name[: MAX_SHOWN + 1])
    return text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 1] + "…"


def safe_name(student: str) -> str:
    """Return a file's name for a student's id: at most 100 characters, fit for every system.

    A plain id (small letters, digits, `@ + . _ -`, up to 60) is its own name. Any other gets what
    is readable of it, `~` and 128 bits of its hash, so no two ids have the same name, not even
    where a file system takes capital letters for small ones or composes accents.

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
