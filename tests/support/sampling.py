"""Choose what `make test` and `make same` run: all with ALL=1, otherwise an answer in minutes.

Of each corpus a tenth is judged, chosen by its programs' content, so that each commit chooses the
same, and whatever belongs to a step whose files the working tree changes. Tests marked `long` are
left out. What was left out is counted, and said at the end.
"""

import hashlib
import os
import re
import subprocess
from collections import Counter
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
ALL = bool(os.environ.get("NOPEEK_TEST_ALL"))
SHARE = 10
STEP = re.compile(r"step\d\d_\w+?(?=\.|/|$)")

left_out = Counter()


def sample(kind, programs, content, step=lambda program: ""):
    """Return the programs to judge. content: gives a program's text; step: the id of its step."""
    if ALL:
        return list(programs)
    chosen = [one for one in programs if step(one) in changed_steps() or _is_chosen(content(one))]
    left_out[kind] += len(programs) - len(chosen)
    return chosen


def ways(kind, names, text):
    """Return the ways in which to judge a program: one, chosen by its text, or all of them."""
    if ALL:
        return names
    left_out[kind] += len(names) - 1
    return [names[_number(text) // SHARE % len(names)]]


def _is_chosen(text):
    return _number(text) % SHARE == 0


def _number(text):
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:4], "big")


@cache
def changed_steps():
    """Return the ids of the steps of which a file differs from the last commit."""
    command = ["git", "status", "--porcelain", "--no-renames"]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):  # no checkout: nothing is known to differ
        return frozenset()
    return frozenset(STEP.findall(done.stdout))


def say_left_out(counts, target="test"):
    """Return a sentence about what a target of make left out, or an empty text."""
    if not sum(counts.values()):
        return ""
    parts = ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items()) if count)
    return f"Left out: {parts}. `make {target} ALL=1` runs everything."
