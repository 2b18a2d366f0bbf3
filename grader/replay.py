"""Replays a student's calls on known mistakes. Loaded into a worker as text, beside the mistakes.

On the standard library and NumPy alone, like the worker. A call is a dict: `function`, `args`,
`kwargs`, `value` or `raised`, and `tolerance`. Objects that only student code looks into are
written `{HANDLE: number}`, with the numbers that they had when the calls were recorded.
"""

import types

import numpy as np

HANDLE = "handle of"


def bound(module, places, rebind):
    """The module's names, with some functions replaced; those in rebind see the replacements."""
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


def same(one, other, tolerance):
    """Whether two results are the same, NaN and infinities included."""
    if isinstance(one, (tuple, list)) and isinstance(other, (tuple, list)):
        pairs = zip(one, other)
        return len(one) == len(other) and all(same(a, b, tolerance) for a, b in pairs)
    numbers = (np.ndarray, np.generic, bool, int, float)
    if not isinstance(one, numbers) or not isinstance(other, numbers):
        return type(one) is type(other) and one == other
    a, b = np.asarray(one), np.asarray(other)
    if a.shape != b.shape or (a.dtype.kind == "b") != (b.dtype.kind == "b"):
        return False
    return np.allclose(
        a.astype(float), b.astype(float), rtol=tolerance, atol=tolerance, equal_nan=True
    )


def _taken(value, kept):
    if isinstance(value, dict) and HANDLE in value:
        return kept[value[HANDLE]]
    return value


def _agrees(expected, got, tolerance, kept):
    """Whether a result is the recorded one; what was opaque in that is kept under its number."""
    if isinstance(expected, dict) and HANDLE in expected:
        kept[expected[HANDLE]] = got
        return True
    if isinstance(expected, (tuple, list)):
        same_kind = isinstance(got, (tuple, list)) and len(got) == len(expected)
        return same_kind and all(_agrees(a, b, tolerance, kept) for a, b in zip(expected, got))
    return same(expected, got, tolerance)


def _fresh(value):
    """Writable copies of what came writable: a mistake may change its arguments."""
    if isinstance(value, np.ndarray) and value.flags.writeable:
        return value.copy()
    if isinstance(value, dict) and HANDLE not in value:
        return {key: _fresh(item) for key, item in value.items()}
    return value


def _same_error(error, call, module):
    """Whether a mistake's error is the recorded one.

    An error of the same type may have any cause, one in the same words has this one. Where right
    code raises too, the words are anybody's own and the type is enough.
    """
    kind, _, words = call.get("raised", ": ").partition(": ")
    if type(error).__name__ != kind:
        return False
    if str(error) == words:
        return True
    try:
        module[call["function"]](*map(_fresh, call["args"]), **_fresh(call["kwargs"]))
    except Exception as right:
        return type(right).__name__ == kind
    return False


def explains(space, calls, module):
    """Whether these functions answer every call as it was answered."""
    kept = {}
    for call in calls:
        args = [_taken(_fresh(value), kept) for value in call["args"]]
        kwargs = {name: _fresh(value) for name, value in call["kwargs"].items()}
        try:
            got = space[call["function"]](*args, **kwargs)
        except Exception as error:
            if not _same_error(error, call, module):
                return False
            continue
        if "value" not in call or not _agrees(call["value"], got, call["tolerance"], kept):
            return False
    return True


def survivors(module, calls, causes):
    """The numbers of the causes that explain all of their calls; without a call, there is none.

    A cause is a dict: `places`, `rebind`, and `calls`, the names of the functions that matter.
    """
    found = []
    with np.errstate(all="ignore"):
        for number, cause in enumerate(causes):
            own = [call for call in calls if call["function"] in cause["calls"]]
            space = bound(module, cause["places"], cause["rebind"])
            if own and explains(space, own, module):
                found.append(number)
    return found
