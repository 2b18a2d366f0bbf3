"""Files as the kit writes them: whole or not at all, and zips that are the same every time."""

from __future__ import annotations

import os
import tempfile
import zipfile
from collections.abc import Iterable
from pathlib import Path

LONG_AGO = (1980, 1, 1, 0, 0, 0)  # so that the same files make the same zip


def write_whole(path: Path, pieces: Iterable[str]) -> None:
    """Write a text in pieces, so that a reader finds the old file or the new one, never a part.

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


def put(archive: zipfile.ZipFile, name: str, data: bytes, *, runs: bool = False) -> None:
    """Add a file to a zip. runs: whether it is executable."""
    entry = zipfile.ZipInfo(name, LONG_AGO)
    entry.create_system = 3  # the mode that follows is one of Unix
    entry.external_attr = (0o100755 if runs else 0o100644) << 16
    entry.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(entry, data)
