"""Run a command of Python in a fork of a process that has imported what such commands import.

`python -m nbgrader` spends nearly two seconds on its imports, the same ones every time. So one
process for each kind of command does that once, and forks a child for each command, which has the
folder, variables, arguments, output and status of a command of its own. Where that is not
possible, the command is started as usual.
"""

import atexit
import io
import json
import os
import selectors
import socket
import subprocess
import sys
import threading
from pathlib import Path

from tests.conftest import ROOT
from tests.support import forked as other_side

# What the commands of a module import, sooner or later.
IMPORTS = {
    "nbgrader": (
        "nbgrader.apps",
        "nbconvert.exporters",
        "grader.notebooks.nbgrader.autograding",
        "grader.notebooks.nbgrader.collecting",
        "grader.notebooks.nbgrader.lateness",
        "tests.support.alembic_heads",
    ),
}
# The variables that these read when they run. Others may be read when something is imported, so
# a command for which another one differs from those of the tests is no fork.
READ_LATE = {"HOME", "IPYTHONDIR", "PATH", "PYTEST_CURRENT_TEST", "TMPDIR"}
READ_LATE |= {"JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR"}

_lock = threading.Lock()
_forking = {}


def run(module, *arguments, cwd, env, forked=True):
    """Run `python -m module …`; what subprocess.run returns, with all that it said in stdout."""
    arguments = [str(argument) for argument in arguments]
    command = [sys.executable, "-m", module, *arguments]
    process = _process(module, env) if forked else None
    if process is None:
        return subprocess.run(
            command,
            cwd=cwd,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
    request = {"module": module, "arguments": arguments, "cwd": str(cwd), "env": env}
    said, status = process.ask(request)
    return subprocess.CompletedProcess(command, int(status), _text(said))


def _process(module, env):
    """Return the process that forks for a module, if it has these variables."""
    early = {name: value for name, value in env.items() if name not in READ_LATE}
    if not sys.platform.startswith("linux") or early.get("PYTHONPATH") != str(ROOT):
        return None
    with _lock:
        if module not in _forking:
            _forking[module] = _Forking(IMPORTS.get(module, ()), early)
    return _forking[module] if _forking[module].early == early else None


class _Forking:
    """The process that forks, seen from the tests."""

    def __init__(self, modules, early):
        self.early = early
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        self.control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, "-c", other_side.PROGRAM, str(theirs.fileno()), *modules],
                cwd=ROOT,
                env={**early, "HOME": os.devnull, "PATH": path},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
            )
        atexit.register(self._close)

    def _close(self):
        self.control.close()
        self.process.wait()

    def ask(self, request):
        """Have a command run; what it said, and its status."""
        null = os.open(os.devnull, os.O_RDONLY)
        reads, (said, status) = zip(os.pipe(), os.pipe())
        try:
            given = [null, said, said, status]
            socket.send_fds(self.control, [json.dumps(request).encode()], given)
        finally:
            for one in (null, said, status):
                os.close(one)
        return _read_all(reads)


def _read_all(descriptors):
    """Return what arrives on each of these until their ends, and close them."""
    found = {one: bytearray() for one in descriptors}
    with selectors.DefaultSelector() as waiting:
        for one in descriptors:
            waiting.register(one, selectors.EVENT_READ)
        while waiting.get_map():
            for key, _ in waiting.select():
                piece = os.read(key.fd, 2**16)
                found[key.fd] += piece
                if not piece:
                    waiting.unregister(key.fd)
                    os.close(key.fd)
    return list(found.values())


def _text(said):
    return io.TextIOWrapper(io.BytesIO(said)).read()
