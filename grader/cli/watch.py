"""Watch step files by checking them again and again.

File events get lost on network drives, in WSL and in containers. Checking a dozen files takes less
than a tenth of a millisecond.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

INTERVAL = 0.005
GONE = 1.0  # seconds without a file, after which its editor is not just writing it anew
Mark = tuple[int, int, int] | None


def _mark(path: Path) -> Mark:
    """Return a value that changes when a file is saved, in whatever way the editor does it."""
    try:
        found = path.stat()
    except OSError:
        return None
    if not found.st_size:  # an editor or a copy has emptied the file, and not written it yet
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def saves(paths: Sequence[Path], interval: float = INTERVAL) -> Iterator[list[Path]]:
    """Yield the files of each save, and wait for a file that is missing."""
    return (found for found in events(paths, _sleep, interval) if isinstance(found, list))


def _sleep(seconds: float) -> str:
    time.sleep(seconds)
    return ""


@dataclass(frozen=True)
class Gone:
    """A file that was there and is not any more."""

    path: Path


def events(
    paths: Sequence[Path], wait: Callable[[float], str], interval: float = INTERVAL
) -> Iterator[list[Path] | Gone | str]:
    """Yield the files of each save, a file that is gone, and the keys that `wait` returns."""
    return _later({path: _mark(path) for path in paths}, wait, interval)


def _later(
    marks: dict[Path, Mark], wait: Callable[[float], str], interval: float
) -> Iterator[list[Path] | Gone | str]:
    """Yield everything that has happened since those marks were taken."""
    since: dict[Path, float] = {}
    while True:
        if key := wait(interval):
            yield key
        new = {path: _mark(path) for path in marks}
        changed = [path for path in marks if new[path] and new[path] != marks[path]]
        if changed:
            marks.update({path: new[path] for path in changed})
            yield changed
        for path in [path for path in marks if marks[path] and not new[path]]:
            if time.monotonic() - since.setdefault(path, time.monotonic()) > GONE:
                del since[path]
                if not path.exists():
                    marks[path] = None
                    yield Gone(path)
        since = {path: at for path, at in since.items() if not new[path]}
