"""How fast the explorer is: the first page, a save that changes the picture, and a chosen word.

The clock of the first page starts with the command. That of a save starts before the file is
written, and stops when the browser has drawn the change.
"""

import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from grader.steps import registry
from grader.steps.paths import ROOT
from tests.support.stubs import write_solutions

ROUNDS = 9
CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
AIMS = {"first page": 2000, "a save": 500, "a chosen word": 50}  # milliseconds
NO_MASK = "\ndef causal_mask(t_q, t_k=None): return np.ones((t_q, t_k or t_q), bool)\n"
SAID = {False: "No word looks at a later word.", True: "It must not see them."}
CHOOSE = """at => { const start = performance.now(); choose({ at });
    document.body.offsetHeight; return performance.now() - start }"""


def measure(page: Page, folder: Path) -> dict[str, list[float]]:
    """Seconds of each kind."""
    start = time.perf_counter()
    words = ["-m", "grader", "explore", "--no-browser", "--submission", str(folder)]
    pipe = {"stdout": subprocess.PIPE, "encoding": "utf-8"}
    process = subprocess.Popen([sys.executable, *words], cwd=ROOT, **pipe)
    try:
        page.goto(re.search(r"http://\S+", process.stdout.readline())[0])
        page.get_by_text(SAID[False]).wait_for()
        first, saves = time.perf_counter() - start, []
        path = folder / "step03_mask.py"
        right = path.read_text(encoding="utf-8")
        for number in range(1, 2 * ROUNDS + 1):
            wrong = number % 2 == 1
            time.sleep(0.3)  # somebody is thinking
            start = time.perf_counter()
            path.write_text(right + NO_MASK * wrong, encoding="utf-8")
            page.locator("#hero-says", has_text=SAID[wrong]).wait_for()
            saves.append(time.perf_counter() - start)
        chosen = [page.evaluate(CHOOSE, number % 12) / 1e3 for number in range(4 * ROUNDS)]
    finally:
        process.terminate()
        process.wait()
    return dict(zip(AIMS, ([first], saves, chosen), strict=True))


def main() -> None:
    """Prints medians in milliseconds, beside what they are to be."""
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        write_solutions(Path(name), registry.load().steps[:18])
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        found = measure(browser.new_page(), Path(name))
        browser.close()
    print("the explorer, medians in milliseconds, and the aim")
    for kind, times in found.items():
        print(f"  {kind:<16}{1e3 * statistics.median(times):>8.0f}{AIMS[kind]:>8}")


if __name__ == "__main__":
    main()
