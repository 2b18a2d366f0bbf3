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
    inside: dict[str, dict[str, list[str]]] = {}
    for array in filter(is_nested, arrays):
        name, part, *rest = array.name.split(".")
        key, bracket, number = part.partition("[")
        told = f"[{number}" if bracket else "" if rest else str(array.shape)
        inside.setdefault(name, {}).setdefault(key, []).append(told)
    return "; ".join(
        f"{name}: {', '.join(_part(key, told) for key, told in parts.items())}"
        for name, parts in inside.items()
    )


def _part(key: str, told: Sequence[str]) -> str:
    """Return a part of an argument: an array by its shape, a list by its length, or a name."""
    if told[0].startswith("["):
        return count_words(len({*told}), key.removesuffix("s"))
    return f"{key} {told[0]}".rstrip()
