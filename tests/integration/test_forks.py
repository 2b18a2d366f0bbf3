"""Commands that tests run in forks: nothing tells them from commands that are started."""

import os
import subprocess
import sys
import threading

import pytest

from tests.conftest import ROOT
from tests.support import forks, processes

pytestmark = pytest.mark.skipif(not processes.LINUX, reason="other systems fork nothing")
TELLING = "tests.support.telling"
OUTERMOST = '  File "<string>", line 1, in <module>\n'  # in a traceback: what the fork has left


def variables(folder):
    return {**os.environ, **forks.VARIABLES, "HOME": str(folder)}


@pytest.mark.parametrize("stderr", [subprocess.STDOUT, subprocess.PIPE], ids=["as one", "apart"])
@pytest.mark.parametrize("options", [(), forks.STRICT], ids=["lenient", "strict"])
@pytest.mark.parametrize("end", ["0", "3", "a last word", "raise", "kill"])
def test_fork_is_given_what_a_command_is_given(tmp_path, end, options, stderr):
    env = {**variables(tmp_path), "TMPDIR": str(tmp_path)}
    more = {"cwd": tmp_path, "env": env, "options": options, "stderr": stderr}
    started, forked = (
        forks.run(TELLING, end, "ä b", forked=forked, **more) for forked in (False, True)
    )
    assert forked.args == started.args
    assert forked.stdout.replace(OUTERMOST, "") == started.stdout
    assert (forked.stderr or "").replace(OUTERMOST, "") == (started.stderr or "")
    assert forked.returncode == started.returncode
    assert started.returncode == {"0": 0, "3": 3, "kill": -9}.get(end, 1)
    assert '"arguments"' in started.stdout


def test_command_with_other_variables_is_started(tmp_path):
    env = variables(tmp_path)
    assert forks.run(TELLING, "0", cwd=tmp_path, env=env).returncode == 0
    assert forks._process(TELLING, tmp_path, env)
    for more in ({"PYTHONHASHSEED": "0"}, {"PYTHONPATH": str(tmp_path)}):
        assert forks._process(TELLING, tmp_path, {**env, **more}) is None


def test_command_in_a_folder_with_exercises_is_started(tmp_path):
    """The kit looks for them when it is imported."""
    (tmp_path / "exercises").mkdir()
    (tmp_path / "within").mkdir()
    for folder in (tmp_path, tmp_path / "within"):
        assert forks._process(TELLING, folder, variables(tmp_path)) is None


def test_several_run_at_a_time(tmp_path):
    assert forks.run(TELLING, "0", cwd=tmp_path, env=variables(tmp_path)).returncode == 0
    before, found = processes.descriptors(), []

    def run(number):
        env = variables(tmp_path / number)
        found.append((number, forks.run(TELLING, number, cwd=tmp_path, env=env).returncode))

    threads = [threading.Thread(target=run, args=(str(number),)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert processes.descriptors() == before
    assert sorted(found) == [(str(number), number) for number in range(8)]


def test_forking_process_ends_with_the_tests(tmp_path):
    """However they end."""
    program = (
        "import os, sys, pathlib\n"
        "from tests.support import forks\n"
        "where = pathlib.Path(sys.argv[1])\n"
        "env = {**os.environ, **forks.VARIABLES}\n"
        f"print(forks.run('{TELLING}', '0', cwd=where, env=env).returncode)\n"
        f"print(forks._forking['{TELLING}'].process.pid, flush=True)\n"
        "os.kill(os.getpid(), 9)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    status, number = done.stdout.split()
    assert status == "0"
    assert processes.gone(int(number))
