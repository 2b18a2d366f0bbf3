"""Files that are written whole or not at all: beside their place, then moved there."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path


def write_whole(path: Path, pieces: Iterable[str]) -> None:
    """Writes a text, piece by piece; a reader finds the old file or the new one, never a part.

    Characters that UTF-8 does not have are written as escapes. OSError if it cannot be written.
    """
    descriptor, name = tempfile.mkstemp(".new", f"{path.name[:40]}.", path.parent)
    beside = Path(name)
    try:
        with os.fdopen(
            descriptor, "w", encoding="utf-8", errors="backslashreplace", newline=""
        ) as file:
            file.writelines(pieces)
        beside.chmod(0o644)
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
