"""Read single keys from a terminal, and restore the terminal on every exit.

Without a terminal whose settings can be changed, there are no keys.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import time
from types import FrameType
from typing import Any

try:
    import termios
    import tty
except ImportError:  # Windows
    termios = None  # type: ignore[assignment]

ENDINGS = ("SIGTERM", "SIGHUP")


class Keyboard:
    """The keys of the terminal on standard input, read without Enter while it is entered."""

    def __init__(self, file: Any = None) -> None:
        self.file = sys.stdin if file is None else file
        self.before: list[Any] | None = None
        self.handlers: dict[int, Any] = {}

    @property
    def works(self) -> bool:
        """Return whether keys can be read."""
        return self.before is not None

    def __enter__(self) -> Keyboard:
        with contextlib.suppress(Exception):  # no terminal, or a closed input
            if termios is not None and self.file.isatty() and sys.stdout.isatty():
                self.before = termios.tcgetattr(self.file.fileno())
                self._listen()
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self.handlers.items():
            signal.signal(number, handler)
        self._restore()
        self.before = None

    def _listen(self) -> None:
        tty.setcbreak(self.file.fileno())
        for name in ENDINGS:
            self._handle(getattr(signal, name), self._end)
        self._handle(signal.SIGTSTP, self._pause)
        self._handle(signal.SIGCONT, self._resume)

    def _handle(self, number: int, handler: Any) -> None:
        self.handlers.setdefault(number, signal.signal(number, handler))

    def _restore(self) -> None:
        if self.before is not None:
            with contextlib.suppress(OSError, termios.error):
                termios.tcsetattr(self.file.fileno(), termios.TCSADRAIN, self.before)

    def _end(self, number: int, frame: FrameType | None) -> None:
        """Exit through every `finally`, as an interrupt does."""
        raise SystemExit(128 + number)

    def _pause(self, number: int, frame: FrameType | None) -> None:
        """Stop as Ctrl-Z would, with the terminal restored."""
        self._restore()
        os.kill(os.getpid(), signal.SIGSTOP)

    def _resume(self, number: int, frame: FrameType | None) -> None:
        with contextlib.suppress(OSError, termios.error):
            tty.setcbreak(self.file.fileno())

    def wait(self, seconds: float) -> str:
        """Return the key that is pressed within that time, else ""."""
        if not self.works:
            time.sleep(seconds)
            return ""
        ready, _, _ = select.select([self.file], [], [], seconds)
        if not ready:
            return ""
        data = os.read(self.file.fileno(), 1)
        if not data:  # the terminal is gone
            raise KeyboardInterrupt
        return data.decode(errors="replace").lower()
