"""Summarise nested parameters: a decoder has dozens of arrays, too many to read one by one."""

from __future__ import annotations

import re
from collections.abc import Sequence

from grader.report.influences import count_words
from grader.report.records import Array

WAY = re.compile(r"\w+(\.\w+(\[\d+\])*)+")


def is_nested(array: Array) -> bool:
    """Return whether the name is a path inside an argument: `params.blocks[0].ln_1.gain`."""
    return WAY.fullmatch(array.name) is not None


def nest_text(arrays: Sequence[Array]) -> str:
    """Return a summary of the nested arguments: `params: embedding (5, 4), 2 blocks, ln_f`."""
    inside: dict[str, list[Array]] = {}
    for array in arrays:
        if is_nested(array):
            inside.setdefault(array.name.partition(".")[0], []).append(array)
    return "; ".join(f"{name}: {', '.join(_parts(mine))}" for name, mine in inside.items())


def _parts(arrays: Sequence[Array]) -> list[str]:
    """Return the parts of an argument: an array by shape, a list by length, a dict by name."""
    lists: dict[str, set[str]] = {}
    dicts: dict[str, list[Array]] = {}
    for array in arrays:
        part = array.name.split(".")[1]
        name, bracket, number = part.partition("[")
        if bracket:
            lists.setdefault(name, set()).add(number)
        dicts.setdefault(name, []).append(array)
    return [
        count_words(len(lists[name]), name.removesuffix("s"))
        if name in lists
        else _part(name, mine)
        for name, mine in dicts.items()
    ]


def _part(name: str, arrays: Sequence[Array]) -> str:
    """Return `embedding (5, 4)`, or a dict's first matrix: `feed_forward (w_in (4, 6), …)`."""
    if arrays[0].name.count(".") == 1:
        return f"{name} {arrays[0].shape}"
    matrices = [array for array in arrays if len(array.shape) > 1]
    if not matrices:
        return name
    return f"{name} ({matrices[0].name.rpartition('.')[2]} {matrices[0].shape}, …)"
