"""Turn students' sources into tokens with copydetect, in a process of its own with a deadline.

A lexer consists of many regular expressions, and a source may be written to keep one busy forever.
So the lexer runs where it can be ended. A source that hangs it is not compared; all others are.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
from collections.abc import Iterator
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING

from grader.steps.paths import pass_on_kit

if TYPE_CHECKING:
    from multiprocessing.context import SpawnProcess

SECONDS = 5.0  # a thousand times what a source takes
START_SECONDS = 120.0  # importing copydetect loads matplotlib, which first looks at all fonts
MEMORY = 2 << 30


def _limit_memory() -> None:
    with contextlib.suppress(ImportError, ValueError, OSError):  # there is none on Windows
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def _serve(channel: Connection) -> None:
    """Answer each source with its tokens, in a separate process, until the channel closes."""
    os.environ.update(MPLBACKEND="agg", OPENBLAS_NUM_THREADS="1")
    from copydetect.utils import filter_code

    _limit_memory()
    with contextlib.suppress(EOFError, ConnectionError):  # the channel closes, or its owner died
        channel.send_bytes(b"ready")
        while True:
            source = channel.recv_bytes().decode("utf-8", "surrogatepass")
            text, _ = filter_code(source, "source.py", "python")
            channel.send_bytes(text.encode("utf-8", "surrogatepass"))


class Lexer:
    """Turns sources into tokens: names are `V`, functions `F`, strings `S`; no comments."""

    def __init__(self, seconds: float = SECONDS) -> None:
        self.seconds = seconds
        self._running: tuple[SpawnProcess, Connection] | None = None

    def tokens(self, source: str) -> str | None:
        """Return the tokens, or None if the lexer fails or takes too long."""
        _, channel = self._running or self._start()
        try:
            channel.send_bytes(source.encode("utf-8", "surrogatepass"))
            if channel.poll(self.seconds):
                return channel.recv_bytes().decode("utf-8", "surrogatepass")
        except (EOFError, OSError):
            pass
        self.close()
        return None

    def _start(self) -> tuple[SpawnProcess, Connection]:
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=_serve, args=(theirs,), daemon=True)
        with pass_on_kit():
            process.start()
        theirs.close()
        self._running = process, ours
        with contextlib.suppress(EOFError, OSError):
            if ours.poll(START_SECONDS) and ours.recv_bytes() == b"ready":
                return self._running
        self.close()
        raise ImportError("copydetect cannot be loaded: pip install copydetect")

    def close(self) -> None:
        """End the process, busy or not."""
        if self._running is not None:
            process, channel = self._running
            self._running = None
            channel.close()
            process.kill()
            process.join()


@contextlib.contextmanager
def start_lexer(seconds: float = SECONDS) -> Iterator[Lexer]:
    """Yield a lexer, which starts its process with the first source, and end it afterwards."""
    lexer = Lexer(seconds)
    try:
        yield lexer
    finally:
        lexer.close()
