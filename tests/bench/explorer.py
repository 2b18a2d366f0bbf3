"""Measure the explorer: the first page after the command, and a picture after a save."""

from __future__ import annotations

import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from grader.steps.paths import ROOT

ROUNDS, SAVES = 5, 11
FIRST, AGAIN = 2.0, 0.5  # seconds that are wanted
POLL = 0.15  # seconds between two questions of the page about the code; half of it on average
EDITED = "step11_block.py"


def begin(home: Path) -> tuple[subprocess.Popen[str], str]:
    """Return the command, and the address that it printed."""
    process = subprocess.Popen(
        [sys.executable, "-m", "grader", "explore", "--no-browser"],
        cwd=home,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    return process, process.stdout.readline().rpartition(" ")[2].strip()


def get(url: str, data: bytes | None = None) -> bytes:
    """Return what the server answers."""
    with urllib.request.urlopen(urllib.request.Request(url, data)) as answer:
        return bytes(answer.read())


def measure_first(home: Path) -> tuple[float, float]:
    """Return seconds from the command to the whole first page, and processor seconds."""
    used, start = _used(), time.perf_counter()
    process, url = begin(home)
    assert b'"words"' in get(url)
    seconds = time.perf_counter() - start
    process.terminate()
    process.wait()
    return seconds, _used() - used


def _used() -> float:
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def measure_saves(home: Path) -> list[float]:
    """Return seconds from each save to the data of the new picture."""
    process, url = begin(home)
    asked = {"prompt": "the fox has a key . the owl has a map", "masked": [True, True]}
    file = home / "exercises" / EDITED
    text, found = file.read_text(encoding="utf-8"), []
    version = get(url.replace("/?", "/version?"))
    for number in range(SAVES):
        file.write_text(f"{text}\n# {number}\n", encoding="utf-8")
        start = time.perf_counter()
        while (now := get(url.replace("/?", "/version?"))) == version:
            time.sleep(0.001)
        version = now
        data = json.loads(get(url.replace("/?", "/ask?"), json.dumps(asked).encode()))
        found.append(time.perf_counter() - start)
        assert "weights" in data, data
    process.terminate()
    process.wait()
    return found


def main() -> None:
    """Print both times, and what is wanted."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        shutil.copytree(ROOT / "solutions", home / "exercises")
        first = [measure_first(home) for _ in range(ROUNDS)]
        saves = measure_saves(home)
    seconds = statistics.median(wall for wall, _ in first)
    spent = statistics.median(used for _, used in first)
    again = statistics.median(saves)
    print(f"first page        {seconds:5.2f} s (processor {spent:.2f} s), wanted {FIRST:g} s")
    print(f"save to new data  {again:5.2f} s, and {POLL / 2:g} s until the page asks: ", end="")
    print(f"{again + POLL / 2:.2f} s, wanted {AGAIN:g} s")


if __name__ == "__main__":
    main()
