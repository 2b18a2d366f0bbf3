"""Find what a lesson says that its reader can do afterwards."""

from __future__ import annotations

import re

from grader.steps.registry import Step
from grader.steps.stubs import stub_of

# As every lesson has it in its head: `# - ` begins an item, and `#   ` goes on with it.
_ABILITIES = re.compile(r"^# \*\*After this you can\*\*\n#\n((?:# (?:- |  ).*\n)+)", re.MULTILINE)


def find_abilities(step: Step) -> list[str]:
    """Return what the step's lesson says that its reader can do afterwards."""
    return read_abilities(stub_of(step))


def read_abilities(lesson: str) -> list[str]:
    """Return the items below "After this you can"; none if the lesson has no such list."""
    found = _ABILITIES.search(lesson)
    text = re.sub(r"\n#  +", " ", found[1]) if found else ""
    return [line[4:].rstrip(",. ") for line in text.splitlines()]
