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
    "grader": (
        "grader.cli.main",
        "grader.cli.kit.grade",
        "grader.cli.kit.export",
        "grader.engine.grading",
        "grader.isolation.probe",
        "grader.classroom.likeness",
        "grader.classroom.overview",
        "grader.classroom.side_by_side",
        "grader.classroom.work_page",
        "grader.report.text.terminal",
    ),
}
# The variables that these read when they run. Others may be read when something is imported, so
# a command for which another one differs from those of the tests is no fork.
READ_LATE = {"HOME", "IPYTHONDIR", "PATH", "PYTEST_CURRENT_TEST", "TMPDIR"}
READ_LATE |= {"JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR"}
STRICT = ("-W", "error")
VARIABLES = {"PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"}

_lock = threading.Lock()
_forking = {}


def run(module, *arguments, cwd, env=None, forked=True, stderr=subprocess.STDOUT, options=()):
    """Run `python -m module …`; what subprocess.run returns, with the output as text.

    options: none of Python's, or STRICT. forked: False starts the command whatever it is.
    """
    assert tuple(options) in ((), STRICT)
    env = {**os.environ, **VARIABLES} if env is None else env
    arguments = [str(argument) for argument in arguments]
    command = [sys.executable, *options, "-m", module, *arguments]
    process = _process(module, Path(cwd), env) if forked else None
    if process is None:
        return subprocess.run(
            command,
            cwd=cwd,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=stderr,
            encoding="utf-8",
            check=False,
        )
    where = {"cwd": str(Path(cwd).resolve()), "env": env}
    request = {"module": module, "arguments": arguments, "options": options, **where}
    out, err, status = process.ask(request, apart=stderr == subprocess.PIPE)
    return subprocess.CompletedProcess(command, int(status), out, err)


def _process(module, cwd, env):
    """Return the process that forks for a module, if it can for a command here."""
    early = {name: value for name, value in env.items() if name not in READ_LATE}
    if not sys.platform.startswith("linux") or early.get("PYTHONPATH") != str(ROOT):
        return None
    if _is_a_home(cwd.resolve()):
        return None
    with _lock:
        if module not in _forking:
            _forking[module] = _Forking(IMPORTS.get(module, ()), early)
    return _forking[module] if _forking[module].early == early else None


def _is_a_home(cwd):
    """Return whether a command finds exercises here, as the kit looks for them at once."""
    above = (folder for folder in (cwd, *cwd.parents) if folder != ROOT)
    return any((folder / "exercises").is_dir() for folder in above)


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

    def ask(self, request, apart):
        """Have a command run; what it said, on stderr too if that is apart, and its status."""
        pipes = [os.pipe() for _ in range(3 if apart else 2)]
        reads, writes = zip(*pipes)
        null = os.open(os.devnull, os.O_RDONLY)
        try:
            standard = [null, writes[0], writes[-2]]
            message = [json.dumps(request).encode()]
            socket.send_fds(self.control, message, [*standard, writes[-1]])
        finally:
            for one in (null, *writes):
                os.close(one)
        out, *err, status = _read_all(reads)
        return _text(out), _text(err[0]) if apart else None, status


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
    return io.TextIOWrapper(io.BytesIO(said), encoding="utf-8").read()
