"""Note what a student's code does that is refused where a class is graded.

Python's own imports are not noted, nor its tracebacks and warnings, which read lines of code.
"""

import functools
import os
import sys
import threading
from collections.abc import Callable, Collection
from types import FrameType
from typing import Any

FILE, THREAD = "uses a file", "starts a thread"
KINDS = {
    FILE: "open os.listdir os.scandir os.mkdir os.rmdir os.remove os.rename os.link os.symlink "
    "os.truncate os.chdir os.chmod os.utime os.chown",
    "starts a process": "os.fork os.forkpty os.exec os.system os.spawn os.posix_spawn "
    "os.startfile subprocess.Popen",
    THREAD: "_thread.start_new_thread _thread.start_joinable_thread",
    "uses a socket": "socket.__new__ socket.getaddrinfo socket.gethostbyname",
}
EVENTS = {event: does for does, events in KINDS.items() for event in events.split()}
SILENT = ("stat", "lstat", "access", "readlink", "statvfs")  # look for files without an event
TRACEBACKS = ("linecache.py", "traceback.py", "warnings.py")
MAX_NOTED = 8


class Audit:
    """Collects notes: what is done, and in which line of which of these files."""

    def __init__(self, files: Collection[str]) -> None:
        self.files = files
        self.noted: list[tuple[str, str, int]] = []

    def begin(self) -> None:
        """Note from now on, for as long as this process lives."""
        for name in SILENT:
            if hasattr(os, name):
                setattr(os, name, self.wrap(getattr(os, name), FILE))
        # Not every version of Python tells of threads.
        vars(threading)["Thread"].start = self.wrap(threading.Thread.start, THREAD)
        sys.addaudithook(self.hear)

    def wrap(self, function: Callable[..., Any], does: str) -> Callable[..., Any]:
        """Return a function that is noted when it is called."""

        @functools.wraps(function)
        def noted(*args: Any, **kwargs: Any) -> Any:
            self.note(does)
            return function(*args, **kwargs)

        return noted

    def hear(self, event: str, args: tuple[Any, ...]) -> None:
        """Note an event if it is one of those."""
        if event in EVENTS:
            self.note(EVENTS[event])

    def note(self, does: str) -> None:
        """Note what the innermost of these files does, unless Python does it for itself."""
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and len(self.noted) < MAX_NOTED:
            file = frame.f_code.co_filename
            if file in self.files:
                note = (does, file, frame.f_lineno)
                self.noted += [note] if note not in self.noted else []
                return
            if file.startswith("<frozen importlib") or file.endswith(TRACEBACKS):
                return
            frame = frame.f_back
