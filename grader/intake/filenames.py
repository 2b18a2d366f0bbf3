"""Recognise file names: the step that a name clearly means, or a student's own module.

`step03_mask (1).py`, `Step03_Mask.py`, `step3 mask.py`, `step03_mask-Copy1.py`, `Copy of
step03_mask.py` and `step03_mask.py.txt` all mean step 3, written by a browser, an editor or a
person. Any other `.py` file is a module of the student's own, unless a step, NumPy or the standard
library has its name.
"""

from __future__ import annotations

import keyword
import re
import sys
import unicodedata
from collections.abc import Collection

from grader.steps.registry import Registry, Step

_ENDING = re.compile(r"\.py(?:\.txt)?", re.IGNORECASE)
_ADDITION = re.compile(
    r" ?\(\d{1,3}\)|( -)? (copy|kopie|copie|copia)( \(?\d{1,3}\)?)?|(-copy\d{0,2}|-\d{1,2})",
    re.IGNORECASE,
)
_NUMBER = re.compile(r" ?\(\d{1,3}\)|-\d{1,2}")
_COPY_OF = re.compile(r"^(copy of|kopie von|copie de|copia d[ei]) ", re.IGNORECASE)
_STEP = re.compile(r"step_?(\d{1,3})(?:_(\w+))?")
_TAKEN = frozenset({name.casefold() for name in sys.stdlib_module_names} | {"numpy", "exercises"})


def stem_of(name: str) -> str:
    """Return a source file's name without its ending; "" for any other file."""
    found = list(_ENDING.finditer(name))
    return name[: found[-1].start()] if found and found[-1].end() == len(name) else ""


def step_meant(name: str, registry: Registry) -> Step | None:
    """Return the step that a file's name clearly means; None for any other file.

    >>> from grader.steps.registry import load
    >>> step_meant("Step3 mask (1).py", load()).id
    'step03_mask'
    """
    if name in registry.by_filename:  # as nearly all are
        return registry.by_filename[name]
    stem = _COPY_OF.sub("", unicodedata.normalize("NFKC", stem_of(name.strip())[:100]))
    return _find_step(stem, registry) or _find_step(_without_addition(stem), registry)


def name_of_original(stem: str) -> str:
    """Return the name of the file that this one is a copy of, going by its name; or this name.

    >>> name_of_original("Copy of hw"), name_of_original("hw-Copy1"), name_of_original("hw")
    ('hw', 'hw', 'hw')
    """
    return _without_addition(_COPY_OF.sub("", stem))


def find_original(stem: str, names: Collection[str]) -> str:
    """Return the name of the file that this one is a copy of, if it is among these names.

    A word such as `Copy` says enough; a number alone may be that of a student or of a lesson.

    >>> find_original("hw (1)", {"hw"}), find_original("hw (1)", {"lab"})
    ('hw', 'hw (1)')
    >>> find_original("hw-Copy1", {"lab"}), find_original("Copy of hw-1", {"hw-1"})
    ('hw', 'hw-1')
    >>> find_original("Copy of hw (1)", {"Copy of hw"})
    'hw'
    """
    copied = _COPY_OF.sub("", stem)
    original = _without_addition(copied)
    number = _NUMBER.fullmatch(copied[len(original) :])
    originals = {_COPY_OF.sub("", name) for name in names}
    return copied if number and original not in originals else original


def _without_addition(stem: str) -> str:
    last = list(_ADDITION.finditer(stem))
    return stem[: last[-1].start()] if last and last[-1].end() == len(stem) else stem


def _find_step(stem: str, registry: Registry) -> Step | None:
    match = _STEP.fullmatch(re.sub(r"[\s_-]+", "_", stem.casefold()).strip("_"))
    if match is None:
        return None
    number, title = int(match[1]), match[2]
    steps = (step for step in registry.steps if step.number == number)
    return next((step for step in steps if title in (None, step.id.partition("_")[2])), None)


def module_name(name: str, registry: Registry) -> str:
    """Return the name under which a file is imported; "" if it cannot be imported or is a step."""
    stem = unicodedata.normalize("NFKC", name[: -len(".py")]) if name.endswith(".py") else ""
    importable = stem.isidentifier() and not keyword.iskeyword(stem) and stem[:2] != "__"
    return stem if importable and step_meant(name, registry) is None else ""


def is_taken(module: str, registry: Registry) -> bool:
    """Return whether a step, NumPy or the standard library has that name."""
    folded = module.casefold()
    return folded in _TAKEN or folded in {step.id for step in registry.steps}


def list_names(names: Collection[str], most: int = 4) -> str:
    """Return the first few of many names, for a sentence."""
    some = ", ".join(list(names)[:most])
    return f"{some} and {len(names) - most} more" if len(names) > most else some
