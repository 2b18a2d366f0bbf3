"""The command that opens JupyterLab, as far as it can be tested without a browser."""

import ast
import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from grader.cli import lab
from grader.cli.main import cli
from grader.learner.journal import Journal
from tests.conftest import ROOT, STEPS
from tests.support.processes import running, soon


@pytest.fixture
def called(monkeypatch, tmp_path):
    """Runs `lab` with these options; what JupyterLab would have been started with."""
    calls = []
    monkeypatch.setattr(lab, "_run", lambda *a, **k: calls.append((a[0], k)) or 0)
    monkeypatch.setattr(lab, "FOLDER", tmp_path)

    def called(*options):
        done = CliRunner().invoke(cli, ["lab", *options])
        return done, calls[-1] if calls else None

    return called


@pytest.mark.parametrize(("user", "root"), [(0, ["--allow-root"]), (1000, [])])
def test_lab_hands_on_its_options(called, monkeypatch, user, root):
    monkeypatch.setattr("os.geteuid", lambda: user, raising=False)
    given = ["--no-browser", "--port", "9999", "--debug"]
    done, (command, _) = called(*given)
    assert done.exit_code == 0
    assert command[1:3] == ["-m", "jupyterlab"]
    assert command[-len(root + given) :] == root + given


def first_page(call):
    (found,) = (one for one in call[0] if one.startswith("--LabApp.default_url="))
    return found.partition("=")[2]


def test_lab_opens_the_first_unfinished_lesson(called, monkeypatch, tmp_path):
    monkeypatch.setattr(lab, "EXERCISES", tmp_path)
    assert first_page(called()[1]) == "/lab/tree/step00_whole_picture.ipynb"
    steps = {step.id: {"passed": True} for step in STEPS}
    for left in ("step01_projections", "step09_heads"):
        Journal(tmp_path).write({"steps": {**steps, left: {"passed": False}}, "last": 0.0})
        assert first_page(called()[1]) == f"/lab/tree/{left}.ipynb"
    Journal(tmp_path).write({"steps": steps, "last": 0.0})
    assert first_page(called()[1]) == "/lab"


def test_lab_opens_the_lesson_that_was_named(called, monkeypatch, tmp_path):
    for name, lesson in {"3": "step03_mask", "0": "step00_whole_picture"}.items():
        for options in ([name], [name, "--debug"], [name, "--", "--debug"]):
            command = (call := called(*options)[1])[0]
            assert first_page(call) == f"/lab/tree/{lesson}.ipynb"
            assert name not in command
    monkeypatch.setattr(lab, "NOTEBOOKS", tmp_path)
    done, _ = called("3")
    assert done.exit_code == 2
    assert "there is no notebook step03_mask.ipynb" in done.output
    assert first_page(called()[1]) == "/lab"


def test_lab_asks_for_no_news_and_keeps_settings_that_were_changed(called, tmp_path):
    _, (command, _) = called()
    assert "--LabApp.news_url=None" in command
    (file,) = tmp_path.rglob("notification.jupyterlab-settings")
    assert json.loads(file.read_text(encoding="utf-8"))["fetchNews"] == "false"
    file.write_text('{"fetchNews": "true"}', encoding="utf-8")
    called()
    assert file.read_text(encoding="utf-8") == '{"fetchNews": "true"}'


def test_lab_shows_nothing_of_nbgrader_and_nothing_of_the_users_own(called, tmp_path):
    _, (command, how) = called()
    named = [how["env"][name] for name in how["env"] if name.startswith(("JUPYTER", "IPYTHON"))]
    assert len(named) == 6
    assert all(value.startswith(str(tmp_path)) for value in named)
    (hidden,) = (one for one in command if one.startswith("--ContentsManager.hide_globs="))
    assert {"nbgrader", "__pycache__"} <= set(ast.literal_eval(hidden.partition("=")[2]))
    file = Path(how["env"]["JUPYTER_CONFIG_DIR"]) / "labconfig" / "page_config.json"
    disabled = json.loads(file.read_text(encoding="utf-8"))["disabledExtensions"]
    assert disabled == {"@jupyter/nbgrader": True}


@pytest.mark.parametrize(
    ("lacking", "found", "told"),
    [
        ("importlib.util.find_spec", lambda name: None, "JupyterLab is not installed: run `make"),
        ("grader.cli.lab.NOTEBOOKS", Path("none"), "there are no notebooks here: run `make build`"),
    ],
    ids=["JupyterLab", "notebooks"],
)
def test_lab_says_what_is_not_there(called, monkeypatch, lacking, found, told):
    monkeypatch.setattr(lacking, found)
    done, call = called()
    assert (done.exit_code, call) == (2, None)
    assert told in done.output


def test_lab_that_is_ended_ends_its_server(tmp_path):
    """Not only its own process: the server would keep its port, and the kernels their memory."""
    program = (
        "import sys; from grader.cli import lab; lab._run([sys.executable, '-c', sys.argv[1]])"
    )
    note = f"open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid()))"
    server = f"import os, time; {note}; time.sleep(60)"
    process = subprocess.Popen([sys.executable, "-c", program, server], cwd=ROOT)
    assert soon(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text())
    pid = int((tmp_path / "pid").read_text())
    process.terminate()
    assert process.wait(30) == 128 + signal.SIGTERM
    assert soon(lambda: not running(pid))
