"""Find what a lesson says that its reader can do afterwards."""

from __future__ import annotations

import re

from grader.report.text.sheet import clean

# As every lesson has it in its head: `# - ` begins an item, and `#   ` goes on with it.
_ABILITIES = re.compile(r"^# \*\*After this you can\*\*\n#\n((?:# (?:- |  ).*\n)+)", re.MULTILINE)
_LONGEST = 200


def find_abilities(lesson: str) -> list[str]:
    """Return what the lesson says that its reader can do afterwards; none if that was deleted."""
    found = _ABILITIES.search(lesson)
    text = re.sub(r"\n#  +", " ", found[1]) if found else ""
    return [clean(line[4:].rstrip(",. "))[:_LONGEST] for line in text.splitlines()]
