"""The text above each picture of a lesson, for those who look at it in a terminal."""

from __future__ import annotations

import json
import re
from pathlib import Path

from grader.notebooks.looks import CAPTIONS
from grader.steps.registry import Registry, Step
from grader.steps.stubs import SELF_STUDY, solution_of

_LOOK = re.compile(
    rf"^# %% \[markdown\][^\n]*{SELF_STUDY}[^\n]*\n# ## To look at: ([^\n]*)\n#\n(.*?)"
    rf"^# %% [^\n]*{SELF_STUDY}[^\n]*\n.*?^# look\.(\w+)\(",
    re.DOTALL | re.MULTILINE,
)


def read_captions(step: Step) -> dict[str, str]:
    """Return the title and the text above each picture of a lesson, by its name in `look`."""
    found = {}
    for title, text, name in _LOOK.findall(solution_of(step)):
        words = " ".join(line.removeprefix("#") for line in text.splitlines()).split()
        found[name] = f"{title[0].upper()}{title[1:]}\n{' '.join(words)}"
    return found


def build_captions(registry: Registry, path: Path = CAPTIONS) -> list[Path]:
    """Write the captions of all lessons, if they are out of date."""
    found = {name: text for step in registry.steps for name, text in read_captions(step).items()}
    text = json.dumps(found, indent=1, ensure_ascii=False) + "\n"
    if path.is_file() and path.read_text(encoding="utf-8") == text:
        return []
    path.write_text(text, encoding="utf-8")
    return [path]
