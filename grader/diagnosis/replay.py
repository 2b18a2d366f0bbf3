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

import dis
import marshal
import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from grader.steps.tree import is_branch, leaves, map_leaves, pairs

Space = dict[str, Any]  # the names of a module, or of a mistake's
Call = dict[str, Any]
Suspect = dict[str, Any]  # a mistake, or two
Kept = dict[str, Any]  # held results by their marks

HANDLE = "(handle) "
FETCH = "(fetch)"
KINDS = {"b": "truth", "i": "integer", "u": "integer", "f": "float"}
FLOAT32 = 1e-4  # the relative tolerance of checks/tolerances.py, which a worker cannot import
TIGHTER = 1e-5
STORE_GLOBAL = dis.opmap["STORE_GLOBAL"]
CONSTANT = (
    *(type(None), int, float, complex, str, bytes, tuple, type, np.generic, np.ufunc),
    *(types.FunctionType, types.BuiltinFunctionType, types.ModuleType),
)
NUMPYS = (
    *("operands could not be broadcast", "could not broadcast", "non-broadcastable output"),
    *("matmul: ", "all the input array", "cannot reshape", "shapes (", "need at least one array"),
)


def replace_functions(module: Space, replacements: dict[str, str], rebind: Iterable[str]) -> Space:
    """Replace some of a module's functions; those in rebind see the replacements."""
    space = dict(module)
    for name in rebind:
        old = module[name]
        new = types.FunctionType(
            old.__code__, space, name, old.__defaults__, getattr(old, "__closure__", None)
        )
        new.__kwdefaults__ = old.__kwdefaults__
        space[name] = new
    space.update({name: module[other] for name, other in replacements.items()})
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


def error_key(error: Call) -> tuple[str, str]:
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


def note_refusals(module: Space, calls: list[Call]) -> None:
    """Note at the calls that raised which type of error right code raises there: `refused`.

    Right code goes through all calls with its own caches, because a mistake's may have another
    structure. If right code does not raise, but the words are those of a real refusal, the error
    was meant as a refusal: `refusing`. A worker keeps the calls, so they are gone through once.
    """
    raised = [call for call in calls if "raised" in call]
    if all("refused" in call for call in raised):
        return
    kept: Kept = {}
    for call in calls:
        call["refused"] = _find_error(module, call, kept)
    keys = {error_key(call) for call in raised if call["raised"] == call["refused"]}
    for call in raised:
        call["refusing"] = error_key(call) in keys


def _find_error(module: Space, call: Call, kept: Kept) -> str | None:
    """Return the type of error that a call raises, if it does; keep the result.

    A call that neither raised nor returned what others were given is not made.
    """
    held = "kept" in call or any(map(is_mark, leaves(call.get("value"))))
    if call["function"] == FETCH or not (held or "raised" in call):
        return None
    if not all(mark in kept for mark in _list_marks(call)):
        return None
    return find_outcome(module, call, kept).get("raised")


def find_outcome(space: Space, call: Call, kept: Kept) -> Call:
    """Return what comes of a call: `value`, `after` and `products`, or what it raised; keep it."""
    if call["function"] == FETCH:
        (mark,) = _list_marks(call)  # unknown if the function that returned it does not matter
        return {"value": kept.get(mark, call["value"])}
    try:
        got, after, products, held = ask(space[call["function"]], call, kept)
    except Exception as error:
        return {"raised": type(error).__name__, "words": str(error)}
    if "kept" in call:
        kept[call["kept"]] = held
    _keep(call.get("value"), got, kept)
    return {"value": got, "after": after, "products": products}


def answers(call: Call, came: Call) -> bool:
    """Return whether this came of the call when it was recorded, with the same arguments after."""
    if "raised" in came:
        right, seen = call.get("refused"), bool(call.get("passed"))
        return errors_agree(came, call, right, passed=seen, refusing=bool(call.get("refusing")))
    return "value" in call and all(
        is_same(call[name], came[name], call["tolerance"] if name == "value" else 0)
        for name in came
        if name in call
    )


def find_unexplained(module: Space, suspect: Suspect, calls: Iterable[Call]) -> Call | None:
    """Return the first relevant call that these functions do not answer as recorded."""
    space = replace_functions(module, suspect["replacements"], suspect["rebind"])
    kept: Kept = {}
    wanted = {*suspect["calls"], FETCH}
    asked = (call for call in calls if call["function"] in wanted)
    return next((c for c in asked if not answers(c, find_outcome(space, c, kept))), None)


def explains(module: Space, suspect: Suspect, calls: Iterable[Call]) -> bool:
    """Return whether these functions answer every relevant call as recorded."""
    return find_unexplained(module, suspect, calls) is None


def compare_parts(call: Call, usual: Call, came: Call) -> Iterator[tuple[bool, bool, bool]]:
    """Yield whether right code gives each part of an answer, a mistake gives it, and both agree.

    usual: what comes of the call with right code. came: with the mistake.
    """
    tolerance = call["tolerance"]
    if "value" not in call or "value" not in usual:
        yield answers(call, usual), answers(call, came), is_same(usual, came, tolerance)
        return
    theirs = {path: part for path, _, part in pairs(call["value"], came.get("value"))}
    for path, one, right in pairs(call["value"], usual["value"]):
        other = theirs.get(path)
        if not is_mark(one):
            given = _near(one, right, tolerance)
            yield given, _near(one, other, tolerance), _near(right, other, tolerance)


def find_effects(
    code: types.CodeType, calls: list[Call], span: Sequence[int], suspects: list[Suspect]
) -> list[list[Any]]:
    """Return which parts of the answers in the span are wrong, and the effect of each mistake.

    An effect is a list: which wrong parts the mistake changes, and whether it gives all answers. It
    is empty if the mistake changes a right part.
    """
    module, kept = run(code), Kept()
    wanted = {FETCH}.union(set.intersection(*(set(one["calls"]) for one in suspects)))
    note_refusals(module, calls)
    asked = [call for call in calls[slice(*span)] if call["function"] in wanted]
    both = [(call, find_outcome(module, call, kept)) for call in asked]
    parts = [right for call, usual in both for right, *_ in compare_parts(call, usual, usual)]
    wrong = [number for number, right in enumerate(parts) if not right]
    return [wrong, *(_find_effect(module, suspect, both) for suspect in suspects)]


def _find_effect(module: Space, suspect: Suspect, both: list[tuple[Call, Call]]) -> list[Any]:
    """Return the effect of one mistake. both: calls, each with what comes of it usually."""
    space, kept = replace_functions(module, suspect["replacements"], suspect["rebind"]), Kept()
    changed, explains, number = list[int](), True, 0
    for call, usual in both:
        came = find_outcome(space, call, kept)
        explains = explains and answers(call, came)
        for right, same, alike in compare_parts(call, usual, came):
            if right and not same:
                return []
            if not right and not alike:
                changed.append(number)
            number += 1
    return [changed, explains]


def tighter(call: Call) -> Call:
    """Demand a more exact answer; float32 is as exact as it can be."""
    exact = call["tolerance"] < FLOAT32
    return {**call, "tolerance": call["tolerance"] * TIGHTER} if exact else call


def run(code: types.CodeType) -> Space:
    """Run the code of the mistakes, and return the names that it defines."""
    module: Space = {"__name__": "mistakes"}
    exec(code, module)
    return module


def _may_change(value: Any) -> bool:
    return not isinstance(value, CONSTANT)


def remembers(module: Space, names: Iterable[str]) -> bool:
    """Return whether one of these functions may know of earlier calls.

    It does if it, or a function that it uses, stores a global name, draws at random, or looks up
    what can change.
    """
    waiting, seen = list(names), set[str]()
    while waiting:
        name = waiting.pop()
        value: Any = module.get(name)
        if name == "random" or _may_change(value):
            return True
        if name not in seen and getattr(value, "__globals__", None) is module:
            if any(map(_may_change, value.__defaults__ or ())):
                return True
            codes = [value.__code__]
            for code in codes:
                codes += [one for one in code.co_consts if isinstance(one, types.CodeType)]
                if STORE_GLOBAL in code.co_code[::2]:
                    return True
                waiting += code.co_names
        seen.add(name)
    return False


def is_given(code: types.CodeType, calls: list[Call], suspect: Suspect) -> bool:
    """Return whether code with this mistake, or right code, answers these calls as recorded."""
    module = run(code)
    note_refusals(module, calls)
    return explains(module, suspect, calls)


def survivors(
    code: types.CodeType,
    calls: list[Call],
    right: Suspect,
    span: Sequence[int],
    suspects: list[Suspect],
) -> list[int] | None:
    """Return the numbers of the suspects that explain all of their calls; None if right code does.

    If right code nearly does, only small digits decide. A suspect is a dict: `replacements`,
    `rebind`, and `calls`, the names of the relevant functions. right is a suspect without any
    mistake. A suspect has to explain the first call that right code does not, then those in the
    span, then all. If none is left, each that remembers earlier calls is tried in a module of its
    own: it may have met those of another.
    """
    module = run(code)
    note_refusals(module, calls)
    first = calls[slice(*span)]
    wrong = find_unexplained(module, right, first) or find_unexplained(run(code), right, calls)
    if wrong is None:
        calls = list(map(tighter, calls))
        wrong = find_unexplained(run(code), right, calls)
        if wrong is None:
            return None
        first = calls[slice(*span)]
    alone = [] if _list_marks(wrong) else [wrong]  # marks need the calls that made them
    some = [n for n, suspect in enumerate(suspects) if explains(module, suspect, alone)]
    some = [n for n in some if explains(module, suspects[n], first)]
    found = [n for n in some if explains(run(code), suspects[n], calls)]
    if not found:
        replacing = [suspect["replacements"].values() for suspect in suspects]
        some = [number for number, names in enumerate(replacing) if remembers(module, names)]
        found = [n for n in some if explains(run(code), suspects[n], calls)]
    if len(found) < 2:
        return found
    exact = [tighter(call) for call in calls]
    return [n for n in found if explains(run(code), suspects[n], exact)] or found


def reply(question: np.ndarray, calls: list[Call]) -> Any:
    """Answer a question on these calls: a function of this file, the code, and other arguments.

    The question is packed by `marshal`: thousands of suspects take long to read in the wire's
    format.
    """
    name, code, more = marshal.loads(question.tobytes())
    with np.errstate(all="ignore"):
        return globals()[name](marshal.loads(code), calls, *more)
