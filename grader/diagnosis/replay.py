"""Replay a student's calls on known mistakes. A worker loads this file and the mistakes as text.

Like the worker, this file needs only the standard library and NumPy, besides `steps/tree.py`, which
is sent with it. A call is a dict with `function`, `given`, a list of args and kwargs, `tolerance`,
and `value`; or `raised`, a type, and its `words`. If requested, it also has `before` (what was
given first, whose arrays were then refilled), `after` (what was given, after the call), `products`,
and `kept`, the mark of the result, or of the first result if there is a `before`.
`counted` says whether any array counts products, and `passed` is there if the check that made the
call passed. A call of FETCH has the later value of a held result. An object that only student code
looks into is a text, its mark: HANDLE and the number that it had when the calls were recorded.
"""

from __future__ import annotations

import marshal
import types
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from grader.steps.tree import is_branch, leaves, map_leaves, pairs

Space = dict[str, Any]  # the names of a module, or of a mistake's
Call = dict[str, Any]
Cause = dict[str, Any]
Kept = dict[str, Any]  # held results by their marks

HANDLE = "(handle) "
FETCH = "(fetch)"
KINDS = {"b": "truth", "i": "integer", "u": "integer", "f": "float"}
FLOAT32 = 1e-4  # the relative tolerance of checks/tolerances.py, which a worker cannot import
TIGHTER = 1e-5
NUMPYS = (
    *("operands could not be broadcast", "could not broadcast", "non-broadcastable output"),
    *("matmul: ", "all the input array", "cannot reshape", "shapes (", "need at least one array"),
)


def bind_places(module: Space, places: dict[str, str], rebind: Iterable[str]) -> Space:
    """Replace some of a module's functions; those in rebind see the replacements."""
    space = dict(module)
    for name in rebind:
        old = module[name]
        new = types.FunctionType(
            old.__code__, space, name, old.__defaults__, getattr(old, "__closure__", None)
        )
        new.__kwdefaults__ = old.__kwdefaults__
        space[name] = new
    space.update({name: module[other] for name, other in places.items()})
    return space


def is_mark(leaf: Any) -> bool:
    """Return whether it stands for an object that only student code looks into."""
    return isinstance(leaf, str) and leaf.startswith(HANDLE)


def _near(one: Any, other: Any, tolerance: float) -> bool:
    """Return whether two leaves are the same, including types of numbers, NaN and infinities."""
    numbers = (np.ndarray, np.generic, bool, int, float)
    if not isinstance(one, numbers) or not isinstance(other, numbers):
        return type(one) is type(other) and not is_branch(one) and bool(one == other)
    a, b = np.asarray(one), np.asarray(other)
    if a.shape != b.shape or KINDS.get(a.dtype.kind) != KINDS.get(b.dtype.kind):
        return False
    return bool(np.allclose(a, b, rtol=tolerance, atol=tolerance, equal_nan=True))


def is_same(told: Any, got: Any, tolerance: float) -> bool:
    """Return whether two results are the same, but for what only student code looks into."""
    return all(is_mark(one) or _near(one, other, tolerance) for _, one, other in pairs(told, got))


def _keep(told: Any, got: Any, kept: Kept) -> None:
    """Keep the opaque parts of a result under their marks."""
    kept.update({one: other for _, one, other in pairs(told, got) if is_mark(one)})


def _fresh(given: Any, kept: Kept) -> Any:
    """Copy writable arrays, dicts and lists, which a mistake may change; put in what was kept."""

    def copy(leaf: Any) -> Any:
        if isinstance(leaf, np.ndarray):
            return leaf.copy() if leaf.flags.writeable else leaf
        return kept.get(leaf, leaf) if is_mark(leaf) else leaf

    return map_leaves(given, copy)


def _same_error(error: Exception, call: Call) -> bool:
    """Return whether a mistake's error is the recorded one."""
    mine = {"raised": type(error).__name__, "words": str(error)}
    right, seen = call.get("refused"), bool(call.get("passed"))
    return errors_agree(mine, call, right, passed=seen, refusing=bool(call.get("refusing")))


def errors_agree(one: Call, came: Call, right: str | None, *, passed: bool, refusing: bool) -> bool:
    """Return whether two errors are the same.

    Errors of the same type may have different causes, but the same words mean the same cause. If
    right code raises too (the type `right`), the words may be anything. The type is enough then if
    both refuse or both break, or if the check asked only for the type (`passed`). It is also enough
    if both refuse although right code does not (`refusing`).
    """
    if "raised" not in came or one["raised"] != came["raised"]:
        return False
    if one["words"] == came["words"]:
        return True
    if right == came["raised"]:
        return passed or breaks(one) == breaks(came)
    return refusing and not breaks(one) and not breaks(came)


def breaks(error: Call) -> bool:
    """Return whether NumPy found that shapes do not fit, where code may also refuse."""
    return bool(error["words"].startswith(NUMPYS))


def wording(error: Call) -> tuple[str, str]:
    """Return an error's type, and its words without the numbers in them."""
    return error["raised"], "".join(one for one in error["words"] if not one.isdigit())


def refill(old: Any, new: Any) -> Any:
    """Put the new values into the old arrays, and those into the old dicts and lists."""
    if isinstance(old, np.ndarray):
        old[...] = new
        return old
    if isinstance(old, dict):
        values = {key: refill(old.get(key), value) for key, value in new.items()}
        old.clear()  # drop an argument that only the first call had
        old.update(values)
        return old
    if isinstance(old, list):
        old[:] = [refill(*pair) for pair in zip(old, new)]
        return old
    return new


def ask(function: Callable[..., Any], call: Call, kept: Kept) -> tuple[Any, Any, int, Any]:
    """Return a call's result, what was given after it, and the products that were counted.

    The last item is the result to be kept: that of the first call if the arrays were then refilled.
    """
    given = _fresh(call["given"], kept)
    if "before" in call:
        before = list(_fresh(call["before"], kept))
        held = function(*before[0], **before[1])
        given = refill(before, given)
    arrays = leaves(given) if call.get("counted") else ()
    kind: Any = next((type(one) for one in arrays if hasattr(one, "products")), None)
    if kind:
        kind.products = 0
    got = function(*given[0], **given[1])
    return got, given, kind.products if kind else 0, held if "before" in call else got


def _list_marks(call: Call) -> list[str]:
    """Return the marks of the held results among a call's arguments."""
    return list(filter(is_mark, leaves([call["given"], call.get("before")])))


def with_refusals(module: Space, calls: list[Call]) -> list[Call]:
    """Add to the calls that raised the type of error that right code raises there: `refused`.

    Right code goes through all calls with its own caches, because a mistake's may have another
    structure. If right code does not raise, but the words are those of a real refusal, the error
    was meant as a refusal: `refusing`.
    """
    if not any("raised" in call for call in calls):
        return calls
    kept: Kept = {}
    errors = [_find_error(module, call, kept) for call in calls]
    both = [(call, error) for call, error in zip(calls, errors) if "raised" in call]
    words = {wording(call) for call, error in both if call["raised"] == error}
    return [
        {**call, "refused": error, "refusing": wording(call) in words} if "raised" in call else call
        for call, error in zip(calls, errors)
    ]


def _find_error(module: Space, call: Call, kept: Kept) -> str | None:
    """Return the type of error that a call raises, if it does; keep the result."""
    if call["function"] == FETCH or not all(mark in kept for mark in _list_marks(call)):
        return None
    try:
        got, _, _, _ = ask(module[call["function"]], call, kept)
    except Exception as error:
        return type(error).__name__
    _keep(call.get("value"), got, kept)
    return None


def answers(space: Space, call: Call, kept: Kept) -> bool:
    """Return whether these functions answer the call as recorded, and leave the same arguments."""
    if call["function"] == FETCH:
        (mark,) = _list_marks(call)  # unknown if the function that returned it does not matter
        return mark not in kept or is_same(call["value"], kept[mark], call["tolerance"])
    try:
        got, after, products, held = ask(space[call["function"]], call, kept)
    except Exception as error:
        return _same_error(error, call)
    if "kept" in call:
        kept[call["kept"]] = held
    _keep(call.get("value"), got, kept)
    return (
        "value" in call
        and is_same(call["value"], got, call["tolerance"])
        and bool(products == call.get("products", products))
        and ("after" not in call or is_same(call["after"], after, 0))
    )


def explains(module: Space, cause: Cause, calls: Iterable[Call]) -> bool:
    """Return whether these functions answer every relevant call as recorded."""
    space = bind_places(module, cause["places"], cause["rebind"])
    kept: Kept = {}
    wanted = {*cause["calls"], FETCH}
    asked = (call for call in calls if call["function"] in wanted)
    return all(answers(space, call, kept) for call in asked)


def tighter(call: Call) -> Call:
    """Demand a more exact answer; float32 is as exact as it can be."""
    exact = call["tolerance"] < FLOAT32
    return {**call, "tolerance": call["tolerance"] * TIGHTER} if exact else call


def run(code: types.CodeType) -> Space:
    """Run the code of the mistakes, and return the names that it defines."""
    module: Space = {"__name__": "mistakes"}
    exec(code, module)
    return module


def is_given(code: types.CodeType, cause: Cause, calls: list[Call]) -> bool:
    """Return whether code with this mistake, or right code, answers these calls as recorded."""
    module = run(code)
    return explains(module, cause, with_refusals(module, calls))


def survivors(
    code: types.CodeType,
    right: Cause,
    calls: list[Call],
    span: Sequence[int],
    causes: list[Cause],
) -> list[int]:
    """Return the numbers of the causes that explain all of their calls; none if right code does.

    If right code nearly does, only small digits decide. A cause is a dict: `places`, `rebind`,
    `calls`, the names of the relevant functions, and `pair`, whether it is two mistakes. right is a
    cause without places. A cause that does not explain the calls in the span, the last one first,
    is not tried on the others. If none is left, each mistake is tried in a module of its own: one
    that remembers earlier calls may have met those of another.
    """
    module = run(code)
    calls = with_refusals(run(code), calls)
    first = calls[slice(*span)]
    if explains(module, right, first) and explains(run(code), right, calls):
        calls = list(map(tighter, calls))
        if explains(run(code), right, calls):
            return []
        first = calls[slice(*span)]
    last = [call for call in first[-1:] if not _list_marks(call)]  # the wrong one, in most checks
    some = [n for n, cause in enumerate(causes) if explains(module, cause, last)]
    some = [n for n in some if explains(module, causes[n], first)]
    found = [n for n in some if explains(run(code), causes[n], calls)]
    if not found:
        single = [number for number, cause in enumerate(causes) if not cause.get("pair")]
        found = [n for n in single if explains(run(code), causes[n], calls)]
    if len(found) < 2:
        return found
    exact = [tighter(call) for call in calls]
    return [n for n in found if explains(run(code), causes[n], exact)] or found


def reply(question: np.ndarray, calls: list[Call]) -> Any:
    """Answer one of two questions on these calls: its name, the code, and its other arguments.

    The question is packed by `marshal`: thousands of causes take long to read in the wire's format.
    """
    name, code, right, more = marshal.loads(question.tobytes())
    with np.errstate(all="ignore"):
        if name == "is_given":
            return is_given(marshal.loads(code), right, calls)
        return survivors(marshal.loads(code), right, calls, *more)
