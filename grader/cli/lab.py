"""The command `lab`: open JupyterLab on the self-study notebooks, with settings of its own."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from typing import Any

import click

from grader.cli.paths import show_path
from grader.report.problem import Problem, need
from grader.steps.commands import spell_command, spell_install
from grader.steps.paths import EXERCISES, HOME
from grader.steps.quiz import PREFACE, find_lesson
from grader.steps.registry import load

NOTEBOOKS = HOME / "notebooks"
FOLDER = HOME / ".jupyter"  # JupyterLab's own
# Files that JupyterLab starts with, below the folder of its own. The third keeps out the menu of an
# nbgrader in the same environment, for nothing in that is for a learner.
SETTINGS: dict[str, dict[str, object]] = {
    "settings/@jupyterlab/apputils-extension/notification.jupyterlab-settings": {
        "fetchNews": "false",
        "checkForUpdates": False,
    },
    # Show the full names of the notebooks.
    "settings/@jupyterlab/filebrowser-extension/browser.jupyterlab-settings": {
        "showLastModifiedColumn": False
    },
    "config/labconfig/page_config.json": {"disabledExtensions": {"@jupyter/nbgrader": True}},
}
# Variables that keep the user's own settings untouched, and a folder below it for each.
FOLDERS = {
    "JUPYTER_CONFIG_DIR": "config",
    "JUPYTER_DATA_DIR": "data",
    "JUPYTER_RUNTIME_DIR": "runtime",
    "JUPYTERLAB_SETTINGS_DIR": "settings",
    "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
    "IPYTHONDIR": "ipython",
}
PATIENCE = 10.0  # seconds for a server that has to end
# The file browser does not list its usual exceptions, and an instructor's course.
UNLISTED = ["__pycache__", "*.pyc", "*.pyo", ".DS_Store", "*~", "nbgrader"]
HOW = (
    "--ServerApp.contents_manager_class=grader.notebooks.contents.Contents",
    "--LabApp.news_url=None",
    "--LabApp.check_for_updates_class=jupyterlab.handlers.announcements.NeverCheckForUpdate",
)


def _choose_page(more: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    """Return the page to open, and the other arguments.

    It is the notebook of the step that the first argument names, or of the first unfinished step:
    step 0, if nothing was checked yet.
    """
    from grader.learner.journal import Journal

    registry = load()
    with contextlib.suppress(ValueError, IndexError):
        named = find_lesson(registry, more[0])
        if not (NOTEBOOKS / f"{named.id}.ipynb").is_file():
            raise Problem(f"there is no notebook {named.id}.ipynb in {show_path(NOTEBOOKS)}")
        return f"/lab/tree/{named.id}.ipynb", more[1:]
    journal = Journal(EXERCISES)
    passed = journal.find_passed()
    steps = registry.steps if "last" in journal.read() else (PREFACE,)
    todo = next((f"{step.id}.ipynb" for step in steps if step.id not in passed), "")
    return f"/lab/tree/{todo}" if todo and (NOTEBOOKS / todo).is_file() else "/lab", more


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("more", nargs=-1, type=click.UNPROCESSED)
def lab(more: tuple[str, ...]) -> None:
    """Open the notebooks in JupyterLab, which receives all options: --no-browser, --port=8889.

    The first one is that of a step, if you name it, or of the first step that you have not passed.
    """
    how = spell_install("lab", "'nopeek[lab]'")
    need("jupyterlab", f"JupyterLab is not installed: {how}")
    if not NOTEBOOKS.is_dir():
        raise Problem(f"there are no notebooks here: run `{spell_command('build')}`")
    page, more = _choose_page(more)
    for name, settings in SETTINGS.items():
        path = FOLDER / name
        if not path.exists():  # the user may have changed it
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(settings, indent=1) + "\n", encoding="utf-8")
    command = [sys.executable, "-m", "jupyterlab", f"--ServerApp.root_dir={NOTEBOOKS}"]
    command += [f"--ContentsManager.hide_globs={UNLISTED}", f"--LabApp.default_url={page}", *HOW]
    # In a container one often is root; JupyterLab would refuse.
    command += ["--allow-root"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    folders = {name: str(FOLDER / part) for name, part in FOLDERS.items()}
    sys.exit(_run([*command, *more], env={**os.environ, **folders}, cwd=NOTEBOOKS))


def _run(command: list[str], **how: Any) -> int:
    """Run a server until it ends, and end it, with its kernels, if this process has to end."""
    process = subprocess.Popen(command, **how)
    for name in ("SIGTERM", "SIGHUP"):  # Windows has no second
        if number := getattr(signal, name, None):
            signal.signal(number, lambda received, frame: sys.exit(128 + received))
    try:
        return process.wait()
    except KeyboardInterrupt:
        click.echo("JupyterLab has ended.")
        return 0
    finally:
        if process.poll() is None:
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(PATIENCE)
