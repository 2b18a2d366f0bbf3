"""Write files whole or not at all, and zips that are the same every time.

Notes are small files beside a learner's work. Nothing depends on them.
"""

import contextlib
import errno
import json
import re
import secrets
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield an empty file that takes the place of another one when the block ends well.

    So a reader finds either the old file or the new one, never a part. Who may read a file that is
    replaced stays as it was; the user's own settings decide on a new one. Raise OSError if the file
    cannot be written. A device or a pipe, such as /dev/null, is never replaced.
    """
    is_other = path.exists() and not path.is_file() and not path.is_dir()
    if is_other or path.absolute().parent == Path("/dev"):  # there may be links to files
        raise OSError(errno.EINVAL, "it is not a regular file", str(path))
    if not path.parent.is_dir():
        raise OSError(errno.ENOENT, "there is no such folder", str(path.parent))
    beside = path.parent / f"{path.name[:40]}.{secrets.token_hex(8)}.new"
    try:
        beside.touch(exist_ok=False)
        mode = path.stat().st_mode & 0o777 if path.exists() else None
        if mode is not None:
            beside.chmod(mode | 0o200)  # a file that nobody may write is replaced, too
        yield beside
        if mode is not None:
            beside.chmod(mode)
        beside.replace(path)
    except BaseException as error:
        beside.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename in (None, str(beside)) and error.strerror:
            error.filename = str(path)  # the user has never seen the other name
        raise


def write_whole(path: Path, pieces: Iterable[str]) -> None:
    """Write a text whole or not at all, as `replacing` does.

    Characters that UTF-8 does not have are written as escapes.
    """
    with (
        replacing(path) as beside,
        beside.open("w", encoding="utf-8", errors="backslashreplace", newline="") as file,
    ):
        file.writelines(pieces)


def write_changed(texts: Mapping[Path, str]) -> list[Path]:
    """Write the files that are missing or differ from these texts, and return their paths."""
    written = []
    for path, text in texts.items():
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, [text])
            written.append(path)
    return written


def read_notes(path: Path) -> dict[str, Any]:
    """Return the notes in a file; none if it cannot be read, for whatever reason."""
    with contextlib.suppress(OSError, ValueError, RecursionError):
        data = json.loads(path.read_text(encoding="utf-8"))
        return data if isinstance(data, dict) else {}
    return {}


def write_notes(path: Path, data: dict[str, Any]) -> None:
    """Write notes, if that is possible."""
    with contextlib.suppress(OSError):
        write_whole(path, [json.dumps(data, indent=1) + "\n"])


def put(archive: zipfile.ZipFile, name: str, data: bytes, *, runs: bool = False) -> None:
    """Add a file to a zip. runs: whether it is executable.

    Characters that UTF-8 does not have, as in names from another system, are written as `_`.
    """
    entry = zipfile.ZipInfo(re.sub("[\ud800-\udfff]", "_", name))  # of 1980, the same each time
    entry.create_system = 3  # the mode that follows is one of Unix
    entry.external_attr = (0o100755 if runs else 0o100644) << 16
    archive.writestr(entry, data, zipfile.ZIP_DEFLATED)
