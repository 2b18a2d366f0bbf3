"""Run the kernel's side: its history, and the judge process that it asks.

A kernel imports this module, so it needs only the standard library.
"""

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from grader.steps.paths import ROOT

END_SECONDS = 0.5
DIED = "the judge has ended without an answer; the next call starts a new one."


class JudgeError(Exception):
    """The reason for a missing answer, in one sentence."""


class KernelJudge:
    """A judge that stays ready from its first question until the kernel ends.

    It shares only two pipes with the kernel, so nothing that happens there can confuse it.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.process: subprocess.Popen[str] | None = None
        self.leaving: list[subprocess.Popen[str]] = []  # to be waited for, not to be lost
        self.ready = False
        self.lock = threading.Lock()

    def start(self) -> None:
        """Start the process, without waiting until it is ready."""
        if self.process is not None and self.process.poll() is None:
            return
        self.stop()
        self.ready = False
        self.leaving = [process for process in self.leaving if process.poll() is None]
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115  # open as long as the process
        self.process = subprocess.Popen(
            [sys.executable, "-m", "grader.notebooks.standby", str(self.folder)],
            cwd=ROOT,
            env={**os.environ, "PYTHONIOENCODING": "utf-8"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            encoding="utf-8",
            start_new_session=True,  # so that interrupting the kernel does not reach it
        )

    def ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return the answer. Raise JudgeError if there is none."""
        with self.lock:
            try:
                self.start()
                if not self.ready:
                    self._line("the judge did not start")
                    self.ready = True
                assert self.process is not None
                assert self.process.stdin is not None
                self.process.stdin.write(json.dumps(request) + "\n")
                self.process.stdin.flush()
                answer = json.loads(self._line(DIED))
            except OSError:
                self.stop()
                raise JudgeError(DIED) from None
            except BaseException:  # an interrupt: an answer would come too late
                self.stop()
                raise
        if not isinstance(answer, dict) or "problem" in answer:
            raise JudgeError(answer["problem"])
        return answer

    def stop(self) -> None:
        """Close its input, so that it ends."""
        if self.process is not None:
            for pipe in (self.process.stdin, self.process.stdout):
                if pipe is not None:
                    with contextlib.suppress(OSError):
                        pipe.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(END_SECONDS)
            self.leaving.append(self.process)
            self.process = None
            self.errors.close()

    def _line(self, otherwise: str) -> str:
        assert self.process is not None
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if line.endswith("\n"):
            return line
        self.errors.seek(0)
        said = self.errors.read()[-2000:].decode(errors="replace").strip().splitlines()
        self.stop()
        raise JudgeError(f"{otherwise} ({said[-1]})" if said else otherwise)


class History:
    """The history of a kernel: the text of every executed cell, and its id if known."""

    def __init__(self, shell: Any) -> None:
        self.shell = shell
        self.ids: dict[int, str] = {}
        self.deleted: set[str] = set()
        on = shell.events.register
        on("pre_run_cell", lambda info: self._note(info, len(self.texts)))
        on("post_run_cell", lambda result: self._note(result.info, len(self.texts) - 1))

    @property
    def texts(self) -> list[str]:
        """Return every text by its number; the first one is empty."""
        manager = self.shell.history_manager
        return list(manager.input_hist_raw) if manager is not None else []

    def runs(self) -> list[list[Any]]:
        """Return number, cell and text of every execution."""
        return [
            [number, self.ids.get(number, ""), text]
            for number, text in enumerate(self.texts)
            if number and text
        ]

    def _note(self, info: Any, number: int) -> None:
        """Note which cell JupyterLab executes, and which cells were deleted."""
        cell = getattr(info, "cell_id", None)
        if cell and info.store_history:
            self.ids[number] = cell
        parent: dict[str, Any] = getattr(self.shell, "get_parent", dict)() or {}
        self.deleted |= set(parent.get("metadata", {}).get("deletedCells") or ())


def forget_exercises(shell: Any) -> None:
    """Let each cell import the exercise files anew: another notebook may have saved them since."""

    def forget(info: Any) -> None:
        for name in [one for one in sys.modules if one.partition(".")[0] == "exercises"]:
            del sys.modules[name]

    shell.events.register("pre_run_cell", forget)
