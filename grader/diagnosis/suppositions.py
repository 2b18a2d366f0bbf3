"""Give right code a changed input, and see whether it answers as the student's code did.

A known mistake has to be written by hand. A **supposition** is generated: right code with one
argument replaced, in it or in a function that it calls. If that reproduces every call, the
statement is true whatever the student wrote, and it usually identifies the line: `with b_q = 0
throughout`.
"""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from grader.report.records import PROPERTY

if TYPE_CHECKING:
    from grader.answer_key.variants import Variant

PRELUDE = """
import inspect as _inspect
import numpy as _np

def _supposed(function, args, kwargs, change):
    given = _inspect.signature(function).bind(*args, **kwargs)
    given.apply_defaults()
    return function(**change(dict(given.arguments)))

def _replaced(tree, way, how):
    if isinstance(tree, list):
        return [_replaced(item, way, how) for item in tree]
    if not isinstance(tree, dict):
        return tree
    first, rest = way[0], way[1:]
    return {
        key: (how(item) if not rest else _replaced(item, rest, how))
        if key == first and item is not None
        else _replaced(item, way, how)
        for key, item in tree.items()
    }

def _exchanged(tree, one, other):
    if isinstance(tree, list):
        return [_exchanged(item, one, other) for item in tree]
    if not isinstance(tree, dict):
        return tree
    names = {one: other, other: one} if one in tree and other in tree else {}
    return {key: _exchanged(tree[names.get(key, key)], one, other) for key in tree}

def _without(array, place):
    array = _np.array(array)
    array[place] = 0
    return array

def _causal(mask):
    rows, columns = mask.shape[-2:]
    return mask & _np.tri(rows, columns, columns - rows, dtype=bool)
"""
ROWS = "every row of {name}"
ARRAYS = {
    "zero": ("a * 0", "{name} = 0 throughout"),
    "ones": ("a * 0 + 1", "{name} = 1 throughout"),
    "backwards_-2": ("a[..., ::-1, :]", "{name} reversed along axis -2"),
    "backwards_-1": ("a[..., ::-1]", "{name} reversed along axis -1"),
    "transposed": ("_np.swapaxes(a, -1, -2)", "{name} transposed"),
    "negated": ("-a", "the sign of {name} changed"),
    "late_-2": ("_np.roll(a, 1, -2)", "{name} shifted forward by one along axis -2, cyclically"),
    "early_-2": ("_np.roll(a, -1, -2)", "{name} shifted back by one along axis -2, cyclically"),
    "late_-1": ("_np.roll(a, 1, -1)", "{name} shifted forward by one along axis -1, cyclically"),
    "early_-1": ("_np.roll(a, -1, -1)", "{name} shifted back by one along axis -1, cyclically"),
    "length": (
        "a / _np.linalg.norm(a, axis=-1, keepdims=True)",
        f"{ROWS} divided by its length",
    ),
    "centred": ("a - a.mean(axis=-1, keepdims=True)", f"the mean of {ROWS} subtracted"),
    "no_last_-1": ("_without(a, (..., -1))", "the last entry of {name} along axis -1 set to 0"),
    "no_first_-1": ("_without(a, (..., 0))", "the first entry of {name} along axis -1 set to 0"),
    "no_last_-2": (
        "_without(a, (..., -1, slice(None)))",
        "the last entry of {name} along axis -2 set to 0",
    ),
    "no_first_-2": (
        "_without(a, (..., 0, slice(None)))",
        "the first entry of {name} along axis -2 set to 0",
    ),
    "first_row": ("a * 0 + a[..., :1, :]", "the first row of {name} in place of every row"),
    "sizes": ("abs(a)", "every number of {name} made positive"),
    "double": ("2 * a", "{name} doubled"),
    "half": ("a / 2", "{name} halved"),
    "whole": ("_np.trunc(a)", "{name} truncated to whole numbers"),
    "wide": ("a * _np.sqrt(a.shape[-1])", "{name} times the square root of its width"),
    "narrow": ("a / _np.sqrt(a.shape[-1])", "{name} divided by the square root of its width"),
}
MASKS = {
    "inverted": ("~a", "True and False swapped in {name}"),
    "everything": ("a | True", "{name} = True throughout"),
    "causal": ("_causal(a)", "{name} made causal as well"),
    "transposed": ("_np.swapaxes(a, -1, -2)", "{name} transposed"),
}
IDS = ("zero", "backwards_-1", "late_-1", "early_-1")
NUMBERS = {
    "one_more": ("a + 1", "{name} + 1"),
    "one_less": ("a - 1", "{name} - 1"),
    "double": ("2 * a", "2 · {name}"),
    "half": ("a / 2", "{name} / 2"),
    "root": ("a ** 0.5", "the square root of {name}"),
    "square": ("a ** 2", "{name} squared"),
    "inverse": ("1 / a", "1 / {name}"),
}
LISTS = {
    "backwards": ("a[::-1]", "{name} in reverse order"),
    "first": ("[a[0] for _ in a]", "the first of {name} in place of each"),
    "no_last": ("a[:-1]", "{name} without the last"),
    "no_first": ("a[1:]", "{name} without the first"),
}
RESULTS = {
    "zero": ("_right(*args, **kwargs) * 0", "gives 0 throughout"),
    "negated": ("-_right(*args, **kwargs)", "returns its result with the opposite sign"),
    "left_out": (
        "next(iter([*args, *kwargs.values()]))",
        "returns its input unchanged",
    ),
}
PARTS = ("zero", "negated", "backwards_-2", "late_-2", "early_-2", "transposed")
HINT = "Follow {name} through {function}: which line uses it, and how does it get there?"


def _as_name(text: str) -> str:
    """Return a harmless name for any key of a tree, because that code runs outside the sandbox."""
    return re.sub(r"\W", "_", text.replace("-", "m"), flags=re.ASCII)


def _function(step: str, function: str, name: str, id: str, body: str, says: str) -> Variant:
    """Return right code of that function with a changed input."""
    from grader.answer_key.variants import Variant  # a student's bundle has none

    own = _as_name(f"supposed_{function}_{id}")
    text = f"_right_{own} = {function}\n\ndef {own}(*args, **kwargs):\n    return {body}\n"
    return Variant(
        "mistake",
        f"{PROPERTY}supposed_{id}",
        own,
        step,
        {function: own},
        PRELUDE,
        text.replace("_right(", f"_right_{own}("),
        says=says,
        hint=HINT.format(name=name, function=function),
    )


def _given(
    step: str, function: str, name: str, id: str, change: str, words: str, *, part: bool = False
) -> Variant:
    """Return right code of a function that is given something else.

    part: whether the function is one that is called, perhaps rightly, with a wrong argument.
    """
    own = _as_name(f"_right_supposed_{function}_{id}")
    body = f"_supposed({own}, args, kwargs, lambda given: {change})"
    says = f"{function} gives what right code gives with {words}."
    if part:
        says = f"The results are those of right code in which {function} is given {words}."
    return _function(step, function, name, id, body, says)


def _kinds(value: Any) -> Mapping[str, tuple[str, str]]:
    """Return the changes that can be supposed of such a value."""
    match value:
        case np.ndarray() if value.dtype.kind == "b":
            return MASKS
        case np.ndarray() if value.dtype.kind in "iu":
            return {id: ARRAYS[id] for id in IDS}
        case np.ndarray():
            return ARRAYS
        case list():
            return LISTS
        case int() | float() if not isinstance(value, bool):
            return NUMBERS
    return {}


def _ways(tree: Any, before: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield the paths under which a tree holds something, each with one example."""
    if isinstance(tree, Mapping):
        for key, item in tree.items():
            way = (*before[-1:], key) if key in ("gain", "bias") and before else (key,)
            yield way, item
            yield from _ways(item, (*before, key))
    elif isinstance(tree, list) and tree:
        yield from _ways(tree[0], before)


def _siblings(tree: Any) -> Iterator[tuple[str, str]]:
    """Yield the names of two things that are side by side and could be exchanged."""
    if isinstance(tree, Mapping):
        yield from itertools.combinations([key for key in tree if key != "cache"], 2)
        for item in tree.values():
            yield from _siblings(item)
    elif isinstance(tree, list) and tree:
        yield from _siblings(tree[0])


def suppose_arguments(step: str, function: str, given: Mapping[str, Any]) -> list[Variant]:
    """Return right code of a function with one of its arguments changed, by name."""
    found = {}
    for way, value in reversed(list(_ways(given))):
        name = ".".join(way)
        is_id = way[-1].endswith("_id")  # half an id means nothing
        for id, (how, words) in () if is_id else _kinds(value).items():
            change = f"_replaced(given, {way!r}, lambda a: {how})"
            told = words.format(name=name)
            found[name, id] = _given(step, function, name, f"{id}_{name}", change, told)
    for one, other in dict.fromkeys(_siblings(given)):
        change = f"_exchanged(given, {one!r}, {other!r})"
        id, words = f"exchanged_{one}_{other}", f"{one} and {other} swapped"
        found[one, other] = _given(step, function, one, id, change, words)
    return list(found.values())


@cache
def _parameters(source: str, function: str) -> tuple[tuple[str, str], ...]:
    """Return a function's parameters, each with the text of its default, or ""."""
    bodies = {n.name: n for n in ast.parse(source).body if isinstance(n, ast.FunctionDef)}
    if function not in bodies:
        return ()
    names = [argument.arg for argument in bodies[function].args.args]
    defaults = [ast.unparse(value) for value in bodies[function].args.defaults]
    return tuple(zip(names, [""] * (len(names) - len(defaults)) + defaults, strict=True))


def suppose_defaults(step: str, function: str, source: str, *, part: bool = False) -> list[Variant]:
    """Return right code of a function that ignores one of its optional arguments."""
    found = []
    for name, default in _parameters(source, function):
        if default:
            words = f"no {name}" if default == "None" else f"{name} at its default, {default}"
            change = f"{{**given, {name!r}: {default}}}"
            id = f"default_{name}"
            found.append(_given(step, function, name, id, change, words, part=part))
    return found


def suppose_parts(step: str, function: str, source: str) -> list[Variant]:
    """Return right code of a called function that returns, or is given, something else."""
    found = suppose_defaults(step, function, source, part=True)
    for name, default in _parameters(source, function):
        for id in PARTS if not default else ():
            how, words = ARRAYS[id]
            change = f"_replaced(given, ({name!r},), lambda a: {how})"
            told = words.format(name=name)
            found.append(_given(step, function, name, f"{id}_{name}", change, told, part=True))
    for id, (body, words) in RESULTS.items():
        says = f"The results are those of right code in which {function} {words}."
        found.append(_function(step, function, function, id, body, says))
    return found


def arguments_of(source: str, function: str, calls: Sequence[Any]) -> dict[str, Any]:
    """Return one example of each argument in a function's calls, by name."""
    names = [name for name, _ in _parameters(source, function)]
    found: dict[str, Any] = {}
    for call in calls:
        given = {**dict(zip(names, call.args)), **call.kwargs}
        for name, value in given.items():
            array = getattr(value, "array", value)  # laid out otherwise, or counted
            if array is not None:
                found.setdefault(name, array)
    return found
