"""Run a command of Python in a fork of a process that has imported what such commands import.

`python -m nbgrader` spends nearly two seconds on its imports, the same ones every time. So the fork
server of `multiprocessing` imports them once. A fork has the folder, variables, arguments, output
and status of a command of its own. Where that is not possible, the command is started as usual.
"""

import atexit
import multiprocessing
import os
import runpy
import subprocess
import sys
import tempfile
import warnings
from multiprocessing import forkserver
from pathlib import Path

import pytest

from tests.conftest import ROOT

# What the commands of nbgrader and grader import, sooner or later.
IMPORTS = (
    *("nbgrader.apps", "nbconvert.exporters", "tests.support.alembic_heads"),
    *(f"grader.notebooks.nbgrader.{name}" for name in ("autograding", "collecting", "lateness")),
    *("grader.cli.main", "grader.cli.kit.grade", "grader.cli.kit.export"),
    *("grader.engine.grading", "grader.isolation.probe", "grader.report.text.terminal"),
    *("grader.classroom.likeness", "grader.classroom.overview", "grader.classroom.publishing"),
    "grader.classroom.serving",
)
STRICT = ("-W", "error")
VARIABLES = {"PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"}
# Python or the kit reads these before a fork could give them.
EARLY = ("PYTHON", "NOPEEK_")


def run(module, *arguments, cwd, env=None, forked=True, stderr=subprocess.STDOUT, options=()):
    """Run `python -m module …`; what subprocess.run returns, with the output as text.

    options: none of Python's, or STRICT. forked: False starts the command whatever it is.
    """
    env = {**os.environ, **VARIABLES} if env is None else env
    words = [str(argument) for argument in arguments]
    command = [sys.executable, *options, "-m", module, *words]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        apart = err if stderr == subprocess.PIPE else out
        if forked and _can_fork(Path(cwd).resolve(), env):
            outputs = [f"/proc/{os.getpid()}/fd/{file.fileno()}" for file in (out, apart)]
            status = _fork(module, words, str(Path(cwd).resolve()), env, options, outputs)
        else:
            files = {"stdin": subprocess.DEVNULL, "stdout": out, "stderr": apart}
            status = subprocess.run(command, cwd=cwd, env=env, check=False, **files).returncode
        said, told = map(_text, (out, err))
    return subprocess.CompletedProcess(command, status, said, told if apart is err else None)


def _text(file):
    file.seek(0)
    return file.read().decode("utf-8").replace("\r\n", "\n")


def _can_fork(cwd, env):
    """Return whether a fork can be what the command would be.

    The kit looks for exercises above its folder when it is imported.
    """
    usual = {**os.environ, **VARIABLES}
    early = {name for name in {*usual, *env} if name.startswith(EARLY)}
    above = (folder for folder in (cwd, *cwd.parents) if folder != ROOT)
    return (
        sys.platform.startswith("linux")
        and all(env.get(name) == usual.get(name) for name in early - {"PYTEST_CURRENT_TEST"})
        and not any((folder / "exercises").is_dir() for folder in above)
    )


def _fork(*command):
    """Run the command in a fork; its status."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(IMPORTS))
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {**VARIABLES, "OPENBLAS_NUM_THREADS": "1"}.items():
            patch.setenv(name, value)
        forkserver.ensure_running()
    process = context.Process(target=_become, args=command)
    process.start()
    process.join()
    status = process.exitcode
    process.close()
    return status


def _become(module, words, cwd, env, options, outputs):
    """Be the command, in the fork."""
    for number, path in enumerate([os.devnull, *outputs]):
        descriptor = os.open(path, os.O_RDWR | os.O_APPEND)
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    tempfile.tempdir = None
    sys.path[0] = cwd
    sys.argv[:] = ["-m", *words]
    sys.orig_argv[:] = [sys.executable, *options, "-m", module, *words]
    if options:
        sys.warnoptions[:] = ["error"]
        warnings.simplefilter("error")
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    finally:
        atexit._run_exitfuncs()
