"""Keep the visible checks' scripts in a folder, for the next command.

There is one file for each step. It counts only for the very kit that wrote it, on this Python and
NumPy. A file that cannot be read or written is ignored: the checks are then run call by call.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
import zlib
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from grader.engine.kit_digest import list_places
from grader.engine.scripts import Script
from grader.isolation import wire
from grader.isolation.client import DIGEST
from grader.report.files import replacing

MAX_BYTES = 64 * 2**20  # of a file, unpacked


class KeptScripts:
    """The files in one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @cached_property
    def mark(self) -> bytes:
        """Return a digest of the sizes and times of all that verdicts depend on."""
        state = hashlib.blake2b(f"{sys.version} {np.__version__}".encode(), digest_size=DIGEST)
        for entry in sorted(_list_entries(), key=lambda entry: entry.path):
            found = entry.stat()
            state.update(f"{entry.path} {found.st_size} {found.st_mtime_ns}\0".encode())
        return state.digest()

    def read(self, step: str) -> dict[str, Script]:
        """Return the scripts of a step's checks; none if there is no file that counts."""
        try:
            data = (self.folder / step).read_bytes()
            if data[:DIGEST] != self.mark:
                return {}
            packed = zlib.decompressobj()
            unpacked = packed.decompress(data[DIGEST:], MAX_BYTES)
            if not packed.eof:
                return {}
            return {name: _unpack(script) for name, script in wire.decode(unpacked).items()}
        except (OSError, zlib.error, wire.ProtocolError, LookupError, TypeError, AttributeError):
            return {}

    def write(self, step: str, scripts: Mapping[str, Script]) -> None:
        """Write the scripts of a step's checks, if that is possible."""
        packed = wire.encode({name: _pack(script) for name, script in scripts.items()})
        with contextlib.suppress(OSError):
            self.folder.mkdir(exist_ok=True)
            with replacing(self.folder / step) as beside:
                beside.write_bytes(self.mark + zlib.compress(packed, 1))


def _list_entries() -> Iterator[os.DirEntry[str]]:
    """Yield all files that verdicts depend on, without sorting out those that never matter."""
    places = [str(path) for path in list_places()]
    while places:
        with os.scandir(places.pop()) as entries:
            for entry in entries:
                if not entry.is_dir():
                    yield entry
                elif entry.name != "__pycache__":
                    places.append(entry.path)


def _pack(script: Script) -> dict[str, Any]:
    return {
        "asked": [_as_array(one) for one in script.several.requests],
        "sent": [_as_array(one) for one in script.several.sent],
        "shared": _as_array(script.several.shared),
        "whole": script.is_whole,
        "passed": [_as_array(one) for one in script.passed],
    }


def _unpack(data: Mapping[str, Any]) -> Script:
    asked, sent = ([one.tobytes() for one in data[name]] for name in ("asked", "sent"))
    script = Script(asked, sent, data["shared"].tobytes())
    script.is_whole = data["whole"]
    script.passed = {one.tobytes() for one in data["passed"]}
    return script


def _as_array(data: bytes) -> Any:
    return np.frombuffer(data, np.uint8)
