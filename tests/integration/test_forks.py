"""Commands that tests run in forks do what commands that are started do."""

import os
import subprocess

import pytest

from tests.support import forks, processes

pytestmark = pytest.mark.skipif(not processes.LINUX, reason="other systems fork nothing")
PROGRAM = """
import os, sys, tempfile
print(sys.argv[1:], os.getcwd(), tempfile.gettempdir(), os.environ["HOME"], __name__)
print([os.isatty(number) for number in range(3)], sys.warnoptions, repr(sys.stdin.read()))
print("to stderr", file=sys.stderr, flush=True)
end = sys.argv[1]
if end == "kill":
    sys.stdout.flush()
    os.kill(os.getpid(), 9)
sys.exit(int(end) if end.isdigit() else end)
"""


@pytest.fixture
def run(tmp_path):
    """run(end, ...): the program in a fork, and as it is started."""
    (tmp_path / "telling.py").write_text(PROGRAM)
    env = {**os.environ, **forks.VARIABLES, "HOME": "/nowhere", "TMPDIR": str(tmp_path)}

    def run(*words, **more):
        kinds = (True, False)
        return [
            forks.run("telling", *words, cwd=tmp_path, env=env, forked=k, **more) for k in kinds
        ]

    return run


@pytest.mark.parametrize("stderr", [subprocess.STDOUT, subprocess.PIPE], ids=["as one", "apart"])
@pytest.mark.parametrize("options", [(), forks.STRICT], ids=["lenient", "strict"])
def test_fork_is_given_what_a_command_is_given(run, options, stderr):
    for end, status in {"0": 0, "3": 3, "a last word": 1, "kill": -9}.items():
        forked, started = run(end, "ä b", options=options, stderr=stderr)
        assert vars(forked) == vars(started)
        assert forked.returncode == status
        assert "ä b" in forked.stdout


def test_command_with_other_variables_or_beside_exercises_is_started(tmp_path):
    env = {**os.environ, **forks.VARIABLES}
    assert forks._can_fork(tmp_path, env)
    for name in ("PYTHONHASHSEED", "PYTHONPATH", "NOPEEK_HOME"):
        assert not forks._can_fork(tmp_path, {**env, name: "0"})
    (tmp_path / "exercises" / "within").mkdir(parents=True)
    for folder in (tmp_path, tmp_path / "exercises" / "within"):
        assert not forks._can_fork(folder, env)
