"""Learn from a few more calls: the same question in a new process, or with one argument replaced.

If a result does not move when an argument is replaced, it does not depend on that argument. If a
result is right when nothing was asked before, it is wrong because something was kept.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.checks.compare import as_array
from grader.checks.tolerances import EXACT, FLOAT32, Tolerance
from grader.diagnosis.properties.case_outcomes import Fact, Tried, differ, whole
from grader.diagnosis.properties.conditions import is_very_large, lead, length
from grader.diagnosis.properties.survey import PATIENCE, agrees
from grader.isolation import Host
from grader.isolation.client import CallFailed, Program, Raised, Worker
from grader.isolation.wire import Handle
from grader.steps.inputs import as_single, map_arrays
from grader.steps.tree import leaves, map_leaves, walk

Array = NDArray[Any]
ASKED = 3  # questions that are asked once more, each in a new process
ASKED_TOKENS = 12  # the same for token ids, which a draw may repeat by chance
CASES = 2  # cases in which an argument must make no difference
UNMOVED = 1e-12
# Right code does not depend on the bias of the keys: a softmax takes it out again.
IDLE = ("b_k",)
MASKS = ("mask", "padding")
SIZES = ("length", "source", "vocabulary", "d_model", "d_k", "d_v", "d_ff")
TEXTS = "What do two sequences share? Each needs a new cache of its own."
STATE = "What does the function keep from one call to the next, or draw at random?"


def find_facts(host: Host, program: Program, function: str, tried: Sequence[Tried]) -> list[Fact]:
    """Return patterns in a function's wrong results, found by a few more calls."""
    if (state := find_state(host, program, function, tried)) is not None:
        return [state]
    idle = find_idle(host, program, function, tried)
    return [idle] if idle else []


def find_state(host: Host, program: Program, function: str, tried: Sequence[Tried]) -> Fact | None:
    """Return the fact that wrong answers change when nothing was asked before."""
    wrong = [one for one in whole(tried) if not one.right and not one.error and _may_be_asked(one)]
    most = ASKED_TOKENS if wrong and _is_token(wrong[0]) else ASKED
    asked = [(one, _ask_alone(host, program, function, one)) for one in wrong[:most]]
    right = [got is not None and agrees(one.expected, got, _within(one)) for one, got in asked]
    if asked and all(right):
        says = "In a new process this is right: an earlier call changes the result."
        return Fact("state", says, STATE)
    others = sum(got is not None and differ(one.got, got) for one, got in asked)
    if not others:
        return None
    cases = "1 case" if others == 1 else f"{others} cases"
    says = f"In {cases} the same call returned something else when it was made again."
    return Fact("answers_differ", says, STATE)


def find_kept(tried: Sequence[Tried], alone: Callable[[str], Sequence[Tried]]) -> Fact | None:
    """Return the fact that a chunk is right if a process was asked only about its sequence.

    alone: surveys one check, with a new process for each sequence. A chunk's cache comes out of the
    process itself, so the chunk cannot be asked again by itself.
    """
    wrong = [one for one in tried if not one.right and "chunk" in one.sizes]
    for check in list(dict.fromkeys(one.check for one in wrong))[:ASKED]:
        again = {(one.part, one.key): one for one in reversed(alone(check))}
        before = [again.get((one.part, one.key)) for one in wrong if one.check == check]
        asked = [one for one in before if one is not None]
        if asked and all(one.right for one in asked):
            says = "In a new process this is right: an earlier sequence changes the result."
            return Fact("state", says, TEXTS)
    return None


def _within(one: Tried) -> Tolerance:
    return FLOAT32 if one.single else EXACT


def _is_token(one: Tried) -> bool:
    """Return whether the case's result is a single whole number."""
    result = as_array(one.expected)
    return result is not None and result.dtype.kind in "iu" and result.size == 1


def _may_be_asked(one: Tried) -> bool:
    """Return whether the case's arguments are those of a single call."""
    handles = any(isinstance(leaf, Handle) for leaf in leaves(list(one.arguments.values())))
    return not (one.part or one.laid or handles or "chunk" in one.sizes or "chunks" in one.sizes)


def _ask_alone(host: Host, program: Program, function: str, one: Tried) -> Any:
    """Return the answer of a new process, or None if it has none."""
    worker = Worker(host, time.monotonic() + host.limits.call_seconds)
    try:
        worker.load(program)
        given = map_arrays(one.arguments, as_single) if one.single else one.arguments
        return worker.call(function, (), dict(given)).value
    except (Raised, CallFailed):
        return None
    finally:
        worker.close()


def find_idle(host: Host, program: Program, function: str, tried: Sequence[Tried]) -> Fact | None:
    """Return the arguments, or parts of params, that make no difference to the result."""
    cases = [one for one in whole(tried) if not one.right and _is_telling(one)]
    if len(cases) < CASES:
        return None
    worker = Worker(host, time.monotonic() + PATIENCE * host.limits.call_seconds)
    try:
        worker.load(program)
        found = [_find_unmoved(worker, function, one) for one in cases[:CASES]]
    except CallFailed:
        return None
    finally:
        worker.close()
    names = [name for name in found[0] if all(name in others for others in found)]
    return _say_idle(names, len(found[0])) if names else None


def _say_idle(names: Sequence[str], most: int) -> Fact | None:
    if len(names) > max(3, most // 2):
        return None
    told = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
    which = "it" if len(names) == 1 else "them"
    return Fact(
        "idle_" + "_".join(names),
        f"Where it is wrong, it does not depend on {told}: other numbers there give the same "
        "result.",
        f"Search your function for {told}: which line uses {which}, and what becomes of that?",
    )


def _is_telling(one: Tried) -> bool:
    """Return whether right code would move if any array among this case's arguments changed.

    It does not if a size is too small: a softmax over one key is always 1.
    """
    result = as_array(one.expected)
    sizes = {**one.sizes, "length": length(one)}
    small = any(
        isinstance(size, int) and size < (2 if name[0] in "ts" else 3)
        for name, size in sizes.items()
        if name[0] == "t" or name in SIZES
    )
    masks = [value for name, value in one.arguments.items() if name.endswith(MASKS)]
    choices = [int(mask.sum(axis=-1).max(initial=0)) for mask in masks if mask is not None]
    return (
        _may_be_asked(one)
        and one.error is None
        and result is not None
        and result.dtype.kind == "f"
        and not (one.single or small or is_very_large(one) or "silent" in one.sizes)
        and min(choices, default=2) > 1
        and len(lead(one)) < 2
    )


def _groups(arguments: Mapping[str, Any]) -> dict[str, list[Array]]:
    """Return the arrays by name: all b_v of all blocks."""
    found: dict[str, list[Array]] = {}
    for path, leaf in walk(dict(arguments)):
        keys = [key for key in path if isinstance(key, str)]
        name = ".".join(keys[-2:] if keys[-1] in ("gain", "bias") else keys[-1:])
        if isinstance(leaf, np.ndarray) and leaf.ndim and leaf.dtype.kind in "fb":
            found.setdefault(name, []).append(leaf)
    return {name: arrays for name, arrays in found.items() if name not in IDLE}


def _find_unmoved(worker: Worker, function: str, one: Tried) -> list[str]:
    """Return the names whose arrays can be replaced without changing the result."""
    before = as_array(one.got)
    if before is None:
        return []
    found = []
    for name, arrays in _groups(one.arguments).items():
        try:
            got = worker.call(function, (), _replace(one.arguments, arrays)).value
        except Raised:
            continue
        after = as_array(got)
        if after is not None and after.shape == before.shape and _is_unmoved(before, after):
            found.append(name)
    return found


def _is_unmoved(before: Array, after: Array) -> bool:
    return bool(np.allclose(before, after, UNMOVED, UNMOVED, equal_nan=True))


def _replace(arguments: Mapping[str, Any], arrays: Sequence[Array]) -> Any:
    """Return the arguments with other numbers in these of their arrays."""

    def other(leaf: Any) -> Any:
        if not any(leaf is one for one in arrays):
            return leaf
        draw = np.random.default_rng(leaf.size)
        bools = leaf.dtype.kind == "b"
        return ~leaf if bools else leaf + draw.normal(size=leaf.shape).astype(leaf.dtype)

    return map_leaves(arguments, other)
