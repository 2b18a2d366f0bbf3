"""make watch: every save is seen, whichever way it is made, and judged at once."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from grader.cli import watching as watch
from tests.conftest import ROOT, STEPS
from tests.support.processes import interruptible
from tests.support.stubs import write_stubs

RIGHT = (ROOT / "solutions" / "step02_scores.py").read_text(encoding="utf-8")
WRONG = RIGHT + "\ndef attention_scores(q, k):\n    return q @ np.swapaxes(k, -1, -2)\n"


def look(paths):
    """What happens to the files, without a keyboard."""
    return watch.events(paths, lambda seconds: time.sleep(seconds) or "", 0.001)


def write_in_place(path, text):
    path.write_text(text, encoding="utf-8")


def write_beside_and_rename(path, text):
    other = path.with_suffix(".tmp")
    other.write_text(text, encoding="utf-8")
    other.replace(path)


def remove_and_write(path, text):
    path.unlink()
    path.write_text(text, encoding="utf-8")


@pytest.mark.parametrize("save", [write_in_place, write_beside_and_rename, remove_and_write])
def test_saves_are_seen(tmp_path, save):
    paths = [tmp_path / name for name in ("a.py", "b.py")]
    for path in paths:
        path.write_text("old", encoding="utf-8")
    seen = look(paths)
    timer = threading.Timer(0.05, save, (paths[1], "newer"))
    timer.start()
    assert next(seen) == [paths[1]]
    timer.join()


def test_emptied_file_is_no_save_until_it_is_written(tmp_path):
    path = tmp_path / "a.py"
    path.write_text("old", encoding="utf-8")
    seen = look([path])
    path.write_text("", encoding="utf-8")
    timer = threading.Timer(0.05, write_in_place, (path, "newer"))
    timer.start()
    assert next(seen) == [path]
    assert path.read_text(encoding="utf-8") == "newer"
    timer.join()


def test_file_that_vanishes_is_named_once(tmp_path, monkeypatch):
    monkeypatch.setattr(watch, "GONE", 0.05)
    path, other = tmp_path / "a.py", tmp_path / "b.py"
    path.write_text("old", encoding="utf-8")
    seen = look([path, other])
    path.unlink()
    assert next(seen) == watch.Gone(path)
    timer = threading.Timer(0.1, write_in_place, (other, "new"))
    timer.start()
    assert next(seen) == [other]
    timer.join()


def test_a_file_that_appears_is_a_save(tmp_path):
    seen = look([tmp_path / "late.py"])
    timer = threading.Timer(0.05, write_in_place, (tmp_path / "late.py", "x"))
    timer.start()
    assert next(seen) == [tmp_path / "late.py"]
    timer.join()


@pytest.fixture
def watching(tmp_path):
    """The real command on a copy of the stubs; its lines as they come."""
    folder = tmp_path / "mine"
    write_stubs(folder)
    process = subprocess.Popen(
        [sys.executable, "-u", "-W", "error", "-m", "grader", "watch", "--submission", folder],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        preexec_fn=interruptible,
    )
    yield folder, process
    process.send_signal(signal.SIGINT)
    rest = process.stdout.read()
    assert process.wait(timeout=60) == 0, rest
    assert "Traceback" not in rest
    process.stdout.close()


def read_until(process, words):
    lines = []
    for line in process.stdout:
        lines.append(line)
        if words in line:
            return "".join(lines)
    raise AssertionError("".join(lines))


def test_every_save_is_judged(watching):
    folder, process = watching
    read_until(process, "watching")
    write_in_place(folder / "step02_scores.py", WRONG)
    text = read_until(process, "Also failing")
    assert "Scaled scores        needs work" in text
    assert "Projections" not in text
    write_beside_and_rename(folder / "step02_scores.py", RIGHT)
    text = read_until(process, "Next:")
    assert "Scaled scores        passed" in text
    assert f"all {len(STEPS)} steps judged: {len(STEPS) - 1} to do" in text
    assert "Projections" not in text
