"""Watching step files, by looking at them again and again.

File events get lost on network drives, in WSL and in containers, and a look at a dozen files costs
less than a tenth of a millisecond.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path

INTERVAL = 0.01
Mark = tuple[int, int, int] | None


def _mark(path: Path) -> Mark:
    """Return what changes when a file is saved, whichever way the editor does it."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def saves(paths: Sequence[Path], interval: float = INTERVAL) -> Iterator[list[Path]]:
    """Yield the files of each save, and wait for a file that is missing."""
    return _later({path: _mark(path) for path in paths}, interval)


def _later(marks: dict[Path, Mark], interval: float) -> Iterator[list[Path]]:
    """Yield the saves since those marks were taken, even before the first one is asked for."""
    while True:
        time.sleep(interval)
        new = {path: _mark(path) for path in marks}
        changed = [path for path in marks if new[path] and new[path] != marks[path]]
        if changed:
            marks.update({path: new[path] for path in changed})
            yield changed
