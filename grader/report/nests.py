"""Nested parameters in few words: a decoder has dozens of arrays, which nobody reads one by one."""

from __future__ import annotations

import re
from collections.abc import Sequence

from grader.report.influences import count_words
from grader.report.records import Array

WAY = re.compile(r"\w+(\.\w+(\[\d+\])*)+")


def is_nested(array: Array) -> bool:
    """Return whether its name is the way to it inside an argument: `params.blocks[0].ln_1.gain`."""
    return WAY.fullmatch(array.name) is not None


def nest_text(arrays: Sequence[Array]) -> str:
    """Return what is in the nested arguments: `params: embedding (5, 4), 2 blocks, ln_f`."""
    inside: dict[str, list[Array]] = {}
    for array in arrays:
        if is_nested(array):
            inside.setdefault(array.name.partition(".")[0], []).append(array)
    return "; ".join(f"{name}: {', '.join(_parts(mine))}" for name, mine in inside.items())


def _parts(arrays: Sequence[Array]) -> list[str]:
    """Return an argument's parts: an array by shape, a list by length, a dict by name."""
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
    """Return `embedding (5, 4)`, or of a dict `feed_forward (w_in (4, 6), …)`: its first matrix."""
    if arrays[0].name.count(".") == 1:
        return f"{name} {arrays[0].shape}"
    matrices = [array for array in arrays if len(array.shape) > 1]
    if not matrices:
        return name
    return f"{name} ({matrices[0].name.rpartition('.')[2]} {matrices[0].shape}, …)"
