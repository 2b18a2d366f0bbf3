"""Replay a student's calls on known mistakes. A worker loads this file and the mistakes as text.

Like the worker, this file needs only the standard library and NumPy, besides `steps/tree.py`, which
is sent with it. A call is a dict with `function`, `args`, `kwargs`, `tolerance`, and `value`; or
`raised`, a type, and its `words`. If they were requested, it also has `before` (the first args and
kwargs, whose arrays were then refilled), `after` (args and kwargs after the call), `products`, and
`kept`. `kept` is the number under which the result was held, or the first result if there is a
`before`. `counted` says whether any array counts products, and `passed` is there if the check that
made the call passed. A call of FETCH has the later value of a held result. Objects that only
student code looks into are written `{HANDLE: number}`, with the numbers that they had when the
calls were recorded.
"""

from __future__ import annotations

import dis
import marshal
import types
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from grader.steps.tree import is_branch, leaves, map_leaves, pairs

Space = dict[str, Any]  # the names of a module, or of a mistake's
Call = dict[str, Any]
Cause = dict[str, Any]
Kept = dict[int, Any]  # held results by number

HANDLE = "handle of"
FETCH = "(fetch)"
FOREIGN = "a foreign object"
MORE = 4  # calls after a wrong one; few checks make more then
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


def is_mark(value: Any) -> bool:
    """Return whether it stands for an object that only student code looks into."""
    return isinstance(value, dict) and (HANDLE in value or FOREIGN in value)


def _is_handle(value: Any) -> bool:
    return isinstance(value, dict) and HANDLE in value


def _near(one: Any, other: Any, tolerance: float) -> bool:
    """Return whether two leaves are the same, including types of numbers, NaN and infinities."""
    numbers = (np.ndarray, np.generic, bool, int, float)
    if not isinstance(one, numbers) or not isinstance(other, numbers):
        return type(one) is type(other) and not is_branch(one) and bool(one == other)
    a, b = np.asarray(one), np.asarray(other)
    if a.shape != b.shape or KINDS.get(a.dtype.kind) != KINDS.get(b.dtype.kind):
        return False
    a, b = a.astype(float, copy=False), b.astype(float, copy=False)
    apart = np.abs(a - b)
    if (apart > tolerance + tolerance * np.abs(b)).any():  # as for most mistakes
        return False
    finite = bool(np.isfinite(apart).all())
    return finite or np.allclose(a, b, rtol=tolerance, atol=tolerance, equal_nan=True)


def is_same(told: Any, got: Any, tolerance: float) -> bool:
    """Return whether two results are the same, but for what only student code looks into."""
    both = pairs(told, got, is_mark)
    return all(is_mark(one) or _near(one, other, tolerance) for _, one, other in both)


def _take(value: Any, kept: Kept) -> Any:
    return kept.get(value[HANDLE], value) if _is_handle(value) else value


def _keep(told: Any, got: Any, kept: Kept) -> list[tuple[Any, Any]]:
    """Keep the opaque parts of a result under their recorded numbers. Return the other parts."""
    places = [both for _, *both in pairs(told, got, is_mark)]
    kept.update({told[HANDLE]: got for told, got in places if _is_handle(told)})
    return [(told, got) for told, got in places if not _is_handle(told)]


def _agrees(expected: Any, got: Any, tolerance: float, kept: Kept) -> bool:
    """Return whether a result is the recorded one; keep its opaque parts under their numbers."""
    return all(_near(*both, tolerance) for both in _keep(expected, got, kept))


def _fresh(value: Any) -> Any:
    """Copy writable arrays, dicts and lists, because a mistake may change them."""
    return map_leaves(value, _copy)


def _copy(leaf: Any) -> Any:
    writable = isinstance(leaf, np.ndarray) and leaf.flags.writeable
    return leaf.copy() if writable else leaf


def _same_error(error: Exception, call: Call) -> bool:
    """Return whether a mistake's error is the recorded one."""
    mine = {"raised": type(error).__name__, "words": str(error)}
    right, seen = call.get("refused"), bool(call.get("passed"))
    return errors_agree(mine, call, right, seen, bool(call.get("refusing")), _refuses(error))


def errors_agree(
    one: Call, came: Call, right: str | None, passed: bool, refusing: bool, refuses: bool
) -> bool:
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
    broke = breaks(came)
    if right == came["raised"]:
        return passed or refuses != broke
    return refusing and refuses and not broke


def breaks(error: Call) -> bool:
    """Return whether NumPy found that shapes do not fit, where code may also refuse."""
    return bool(error["words"].startswith(NUMPYS))


def wording(error: Call) -> tuple[str, str]:
    """Return an error's type, and its words without the numbers in them."""
    return error["raised"], "".join(one for one in error["words"] if not one.isdigit())


def _refuses(error: Exception) -> bool:
    """Return whether an error comes from a `raise` in the submitted text, not from NumPy."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return False
    code = trace.tb_frame.f_code
    sent = code.co_filename.startswith("<")
    return sent and code.co_code[trace.tb_lasti] == dis.opmap["RAISE_VARARGS"]


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


def ask(function: Callable[..., Any], call: Call, kept: Kept) -> tuple[Any, list[Any], int, Any]:
    """Return a call's result, the arguments after it, and the products that were counted.

    The last item is the result to be kept: that of the first call if the arrays were then refilled.
    """
    args = [_take(_fresh(value), kept) for value in call["args"]]
    kwargs = {name: _fresh(value) for name, value in call["kwargs"].items()}
    if "before" in call:
        first, named = call["before"]
        first, named = list(map(_fresh, first)), _fresh(named)
        held = function(*first, **named)
        args = [refill(old, new) for old, new in zip(first, args)]
        kwargs = refill(named, kwargs)
    given = leaves([args, kwargs]) if call.get("counted") else ()
    kind: Any = next((type(one) for one in given if hasattr(one, "products")), None)
    if kind:
        kind.products = 0
    got = function(*args, **kwargs)
    held = held if "before" in call else got
    return got, [args, kwargs], kind.products if kind else 0, held


def _has_held(call: Call, kept: Kept) -> bool:
    """Return whether all held results among a call's arguments are available."""
    values = [*call["args"], *call.get("before", [()])[0]]
    return all(value[HANDLE] in kept for value in values if _is_handle(value))


def with_refusals(module: Space, calls: list[Call]) -> list[Call]:
    """Add to the calls that raised the type of error that right code raises there: `refused`.

    Right code goes through all calls with its own caches, because a mistake's may have another
    structure. If right code does not raise, but the words are those of a real refusal, the error
    was meant as a refusal: `refusing`.
    """
    if not any("raised" in call for call in calls):
        return calls
    seen = _with_right_errors(module, calls)
    raised = [call for call in seen if "raised" in call]
    words = {wording(call) for call in raised if call["raised"] == call.get("refused")}
    return [
        {**call, "refusing": True} if "raised" in call and wording(call) in words else call
        for call in seen
    ]


def _with_right_errors(module: Space, calls: list[Call]) -> list[Call]:
    kept: Kept = {}
    seen = []
    for call in calls:
        if call["function"] != FETCH and _has_held(call, kept):
            try:
                got, _, _, _ = ask(module[call["function"]], call, kept)
                _keep(call.get("value"), got, kept)
            except Exception as error:
                call = {**call, "refused": type(error).__name__}
        seen.append(call)
    return seen


def answers(space: Space, call: Call, kept: Kept) -> bool:
    """Return whether these functions answer the call as recorded, and leave the same arguments."""
    if call["function"] == FETCH:
        number = call["args"][0][HANDLE]  # unknown if the function that returned it does not matter
        return number not in kept or is_same(call["value"], kept[number], call["tolerance"])
    try:
        got, after, products, held = ask(space[call["function"]], call, kept)
    except Exception as error:
        return _same_error(error, call)
    if "kept" in call:
        kept[call["kept"]] = held
    return (
        "value" in call
        and _agrees(call["value"], got, call["tolerance"], kept)
        and bool(products == call.get("products", products))
        and ("after" not in call or _leaves(call, *after))
    )


def _leaves(call: Call, args: list[Any], kwargs: Any) -> bool:
    """Return whether arguments became the recorded ones; opaque parts may be anything."""
    given, (after, named) = [*call["args"], call["kwargs"]], call["after"]
    both = zip(given, [*after, named], [*args, kwargs])
    return all(_is_handle(value) or is_same(one, other, 0) for value, one, other in both)


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


def _stands_alone(call: Call) -> bool:
    """Return whether a call needs no result of an earlier one."""
    values = [*call["args"], *call.get("before", [()])[0]]
    return call["function"] != FETCH and not any(map(_is_handle, values))


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
    last = [call for call in first[-1:] if _stands_alone(call)]  # the wrong one, in most checks
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


def list_outcomes(
    code: types.CodeType, causes: list[Cause], calls: list[Call], spans: list[list[int]]
) -> list[Any]:
    """Return what code with each mistake does in each span, until soon after a wrong answer.

    This is the outcome, how many products were counted, and whether an argument was written into,
    or None if that was not asked. Objects that only student code looks into become their marks.
    """
    found = []
    for cause in causes:
        space = bind_places(run(code), cause["places"], cause["rebind"])
        kept: Kept = {}
        found.append([_list_until_wrong(space, calls[slice(*span)], kept) for span in spans])
    return found


def _list_until_wrong(space: Space, calls: list[Call], kept: Kept) -> list[Any]:
    found: list[Any] = []
    left = len(calls)
    for call in calls:
        outcome, products, touched = _do(space, call, kept)
        found.append([outcome, products, touched])
        left -= 1
        if not _is_recorded(outcome, call) or products != call.get("products", products) or touched:
            left = min(left, MORE)
        if not left:
            break
    return found


def _is_recorded(outcome: Any, call: Call) -> bool:
    if "raised" in call:
        return isinstance(outcome, dict) and outcome.get("raised") == call["raised"]
    return is_same(call["value"], outcome, call["tolerance"])


def _do(space: Space, call: Call, kept: Kept) -> tuple[Any, int, bool | None]:
    if call["function"] == FETCH:
        return with_marks(call["value"], kept.get(call["args"][0][HANDLE])), 0, None
    try:
        got, after, products, held = ask(space[call["function"]], call, kept)
    except Exception as error:
        return {"raised": type(error).__name__, "words": str(error)}, 0, None
    if "kept" in call:
        kept[call["kept"]] = held
    _keep(call.get("value"), got, kept)
    touched = not _leaves(call, *after) if "after" in call else None
    return with_marks(call.get("value"), got), products, touched


def with_marks(told: Any, got: Any) -> Any:
    """Return a result with the marks that the recorded one has."""
    if is_mark(told):
        return told
    if isinstance(told, (list, tuple)) and isinstance(got, (list, tuple)) and len(told) == len(got):
        return [with_marks(*both) for both in zip(told, got)]
    if isinstance(told, dict) and isinstance(got, dict):
        return {key: with_marks(told.get(key), value) for key, value in got.items()}
    return got


def reply(question: np.ndarray, calls: list[Call]) -> Any:
    """Answer one of three questions on these calls: its name, the code, and its other arguments.

    The question is packed by `marshal`: thousands of causes take long to read in the wire's format.
    """
    name, code, right, more = marshal.loads(question.tobytes())
    with np.errstate(all="ignore"):
        if name == "is_given":
            return is_given(marshal.loads(code), right, calls)
        if name == "list_outcomes":
            return list_outcomes(marshal.loads(code), more[0], calls, more[1])
        return survivors(marshal.loads(code), right, calls, *more)
