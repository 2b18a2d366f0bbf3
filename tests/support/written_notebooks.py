"""Read `tests/corpora/notebooks`: notebooks as people write them, in percent format.

A line `# %%` begins a cell; `[markdown]` or a `grade_id` may follow it. The first line names the
steps whose functions are there.
"""

import json
import re
from dataclasses import dataclass

from tests.conftest import ROOT

FOLDER = ROOT / "tests" / "corpora" / "notebooks"
RIGHT_ONES = sorted((FOLDER / "right").glob("*.ipy"))
WRONG_ONES = sorted((FOLDER / "wrong").glob("*.ipy"))


@dataclass(frozen=True)
class Written:
    """steps: the numbers of the steps; data: the notebook's file."""

    steps: tuple[str, ...]
    data: bytes

    @classmethod
    def read(cls, path):
        text = path.read_text(encoding="utf-8")
        steps = text.partition("\n")[0].rpartition("Steps: ")[2].split(", ")
        parts = re.split(r"^# %% ?(.*)\n", f"# %%\n{text}", flags=re.MULTILINE)[1:]
        cells = [_cell(*one) for one in zip(parts[::2], parts[1::2], strict=True)]
        book = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
        return cls(tuple(steps), json.dumps(book).encode())


def _cell(tag, text):
    kind = "markdown" if tag == "[markdown]" else "code"
    named = {"nbgrader": {"grade_id": tag, "solution": True}}
    named = {} if tag in ("", "[markdown]") else named
    return {"cell_type": kind, "metadata": named, "source": text}
