"""Explain an exception of Python or NumPy in words: which axes met, which value is None, ...

An explanation is given only if the exception's own words make it certain. Of those words, only
lengths are repeated. In the hidden suite, only lengths of the arguments are.
"""

import itertools
import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from grader.checks.compare import WORDS
from grader.isolation.client import Raised
from grader.steps.registry import load, read_toml

Shape = tuple[int, ...]
MAX_TOLD = 8  # lengths in one sentence of the hidden suite, two shapes of four axes
LAST = load().last_axis


@dataclass(frozen=True)
class Lengths:
    """Names for the lengths in a call, from the sizes of its case, and from its shapes.

    sizes: those of each case that it may come from; a length has a name if all of them give it.
    visible: whether all lengths may be repeated, or only those of arguments. keys: the keys of
    params. earlier: the files of the earlier steps' functions, without `.py`. cells: whether the
    code comes from a notebook, of which some statements are left out. options: the names of the
    call's optional arguments.
    """

    sizes: Sequence[Mapping[str, Any]]
    shapes: Sequence[Shape]
    visible: bool
    keys: Sequence[str] = ()
    earlier: Mapping[str, str] = field(default_factory=dict)
    cells: bool = False
    options: Collection[str] = ()

    def may_say(self, *lengths: int) -> bool:
        """Return whether these lengths may be repeated."""
        known = {1, *(n for shape in self.shapes for n in shape)}
        return self.visible or (len(lengths) <= MAX_TOLD and known.issuperset(lengths))

    def label(self, length: int, axis: int | None = None) -> str:
        """Return the length, with the case's size that equals it: `5 (T_k is 5)`.

        Return only the number if several sizes equal it, or if that size cannot be on this axis.
        Numbers of features and tokens are on the last axis, and batches never are. axis: from the
        end, if known.
        """
        found = {
            frozenset(name for size, name in _name_lengths(sizes) if size == length)
            for sizes in self.sizes
        }
        names = found.pop() if len(found) == 1 else frozenset()
        name = min(names) if len(names) == 1 else ""
        misplaced = axis is not None and (name == "batch" if axis == -1 else name in LAST)
        if length == 1 or misplaced or not name:
            return str(length)
        return f"{length} ({name} is {length})"

    def meet(self, one: int, other: int, axis: int | None = None) -> str:
        """Say that two lengths met, on that axis if it is known."""
        return f"{self.label(one, axis)} met {self.label(other, axis)}"


def _name_lengths(sizes: Mapping[str, object]) -> Iterator[tuple[int, str]]:
    """Yield every length that a case's sizes may give to an array, with its name or "".

    A nameless length removes the name of any size that is as large, because either may be meant.
    """
    for name, size in sizes.items():
        lengths = [n for n in (size if isinstance(size, tuple) else (size,)) if _is_length(n)]
        word = "batch" if name in ("batch", "lead") else WORDS.get(name, "")
        yield from ((length, word) for length in lengths)
        if isinstance(size, tuple) and not word:
            yield from ((length, "") for length in itertools.accumulate(lengths))
    of_all = [sizes.get(name) for name in ("n_heads", "d_head")]
    if all(_is_length(n) for n in of_all):
        yield math.prod(of_all), "d_model"  # type: ignore[arg-type]
    t, n_new = sizes.get("t"), sizes.get("n_new")
    if isinstance(t, int) and isinstance(n_new, int):
        yield from ((t + more, "") for more in range(1, n_new + 1))


def _is_length(size: object) -> bool:
    return isinstance(size, int) and not isinstance(size, bool)


def arrays_of(value: Any, name: str = "") -> dict[str, Shape]:
    """Return the shapes of all arrays in a nest of arguments, by name."""
    if isinstance(value, Mapping):
        found: dict[str, Shape] = {}
        for key, item in value.items():
            found |= arrays_of(item, key)
        return found
    array = getattr(value, "array", value)
    return {name: array.shape} if isinstance(array, np.ndarray) else {}


def sizes_of(
    made: Sequence[tuple[Mapping[str, Shape], Mapping[str, Any]]], shapes: Mapping[str, Shape]
) -> list[dict[str, Any]]:
    """Return the sizes of each case with these shapes."""
    most = {"t_max": shapes["position"][0]} if shapes.get("position") else {}
    return [
        {**sizes, **most}
        for theirs, sizes in made
        if all(shapes[name] == shape for name, shape in theirs.items() if name in shapes)
    ]


Words = Callable[[re.Match[str], Lengths], str]
MODULES = ("math", "numpy", "random", "copy", "itertools", "functools", "collections")
DROPPED = (
    " One has an axis more: a sum or a maximum drops its axis unless keepdims=True, and "
    "an index may leave one of length 1."
)
CALLED = "A function was called with more, fewer or other arguments than it takes."
EINSUM = "In an einsum one letter, or the dots, must stand for the same length everywhere: {met}."
STACKS = (
    "In a matrix product the axes in front of the last two must fit: of {one} and {other}, {met}."
)
SANDBOX = "Where code is graded, it cannot start threads or programs, use files or a network."
MOST = 9  # axes; a larger number in an exception's words could be anything


def _shape(text: str) -> Shape:
    return tuple(1 if part == "newaxis" else int(part) for part in re.findall(r"\w+", text))


def _find_clash(
    shapes: Sequence[str], known: Lengths, inner: int = 0
) -> tuple[Shape, Shape, int] | None:
    """Return two shapes that do not fit, and the last axis along which they do not.

    inner: how many axes at the end may differ. Return None if the lengths may not be repeated.
    """
    for one, other in itertools.combinations(map(_shape, shapes), 2):
        for axis in range(1 + inner, min(len(one), len(other)) + 1):
            lengths = {one[-axis], other[-axis]} - {1}
            if len(lengths) > 1 and known.may_say(*one, *other):
                return one, other, -axis
    return None


def _fill(says: str, match: re.Match[str], known: Lengths) -> str:
    """Return a sentence with the numbers of an exception's words, if all may be repeated."""
    given, lengths = dict[str, Any](), list[int]()
    for name, text in match.groupdict().items():
        given[name] = _shape(text) if name[:6] == "shape_" else int(text)
        if name[:2] != "n_":
            lengths += given[name] if name[:6] == "shape_" else [given[name]]
        elif given[name] > MOST:
            return ""
    if not known.may_say(*lengths):
        return ""
    if "first" in given:
        given["met"] = known.meet(given["first"], given["second"])
    return says.format(**given)


def _broadcast(match: re.Match[str], known: Lengths) -> str:
    found = _find_clash(re.findall(r"\(([\d, ]*)\)", match[0]), known)
    if found is None:
        return ""
    one, other, axis = found
    short, long = sorted((one, other), key=len)
    dropped = short and any(short == long[:n] + long[n + 1 :] for n in range(len(long)))
    met = known.meet(one[axis], other[axis], axis)
    return f"{one} and {other} do not fit: at axis {axis}, {met}.{DROPPED if dropped else ''}"


def _say_clash(says: str, shapes: Sequence[str], known: Lengths, inner: int = 0) -> str:
    """Return a sentence with two shapes that do not fit, and the lengths that met."""
    found = _find_clash(shapes, known, inner)
    if found is None:
        return ""
    one, other, axis = found
    return says.format(one=one, other=other, met=known.meet(one[axis], other[axis]))


def _bounds(match: re.Match[str], known: Lengths) -> str:
    axis, size = int(match[1]), int(match[2])
    if axis > MOST or not known.may_say(size):
        return ""
    # Where several arguments are as long there, which of them it was is not known.
    holders = [shape for shape in known.shapes if shape[axis : axis + 1] == (size,)]
    long = known.label(size) if len(holders) < 2 else str(size)
    return f"Axis {axis} is {long} long, and the code asks for a place beyond it."


def _key(match: re.Match[str], known: Lengths) -> str:
    if match[1] in known.keys or not known.keys:
        return ""
    return f"The dict has no such key; params has {', '.join(known.keys)}."


def _unnamed(match: re.Match[str], known: Lengths) -> str:
    if match[1] == "np":
        where = "at the left margin of a cell" if known.cells else "above it"
        return f"The line `import numpy as np` is missing {where}."
    if match[1] in known.earlier:
        line = f"from exercises.{known.earlier[match[1]]} import {match[1]}"
        return f"It is a function of an earlier step: `{line}` is missing above it."
    if match[1] in MODULES:
        return f"The line `import {match[1]}` is missing above it."
    skipped = ", or only in a statement of the notebook that is skipped" if known.cells else ""
    return f"A name is used there that was never assigned{skipped}."


def _unexpected(match: re.Match[str], known: Lengths) -> str:
    if match[1] not in known.options:
        return CALLED
    return f"It is called with {match[1]}=, and has no parameter of that name."


BY: Mapping[str, Words] = {
    "bounds": _bounds,
    "broadcast": _broadcast,
    "called": lambda match, known: CALLED,
    "einsum": lambda match, known: _say_clash(
        EINSUM, re.findall(r"->\(([\w, ]*)\)", match[0]), known
    ),
    "key": _key,
    "sandbox": lambda match, known: SANDBOX,
    "stacks": lambda match, known: _say_clash(STACKS, match.groups(), known, inner=2),
    "unexpected": _unexpected,
    "unnamed": _unnamed,
}


_read_rules = cache(partial(read_toml, Path(__file__).with_name("exceptions.toml")))


def explain(failure: Raised, known: Lengths) -> str:
    """Return a sentence that explains the exception, if anything is certain."""
    told = f"{failure.type}: {failure.text.strip()}"
    for rule in _read_rules()["rule"]:
        if match := re.fullmatch(rule["error"], told, re.DOTALL):
            word = BY.get(rule.get("by", ""))
            return word(match, known) if word else _fill(rule["says"], match, known)
    return ""
