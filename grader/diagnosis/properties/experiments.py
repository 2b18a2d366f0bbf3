"""Put wrong code through more calls than its checks made, which stop at the first wrong result.

The check functions are called once more, on a worker of their own. Their cases note a result
instead of judging it. So a statement about wrong results rests on every case.

A few more calls ask the same question in a new process, or with one argument replaced. If a result
does not move when an argument is replaced, and that of right code does, it does not depend on that
argument. If a result is right when nothing was asked before, it is wrong because something was
kept.
"""

import contextlib
import copy
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.checks.compare import as_array
from grader.checks.laws.cases import Case
from grader.checks.student import Student, StudentFunction
from grader.checks.suites import CheckFunction, Given
from grader.checks.tolerances import FLOAT32, Tolerance
from grader.diagnosis.calls import Log
from grader.diagnosis.properties.case_outcomes import Fact, Tried, agrees, whole
from grader.diagnosis.properties.conditions import is_very_large
from grader.isolation import Host
from grader.isolation.client import Answer, CallFailed, Program, Raised, Worker
from grader.isolation.wire import Handle, Laid
from grader.steps.inputs import as_single, digest, map_arrays
from grader.steps.registry import Function, Step
from grader.steps.tree import leaves, map_leaves, walk

PATIENCE = 3  # calls
Array = NDArray[Any]
ASKED = 12  # questions that are asked once more: random ids would be right in a few by chance
CHECKS = 3  # checks that are asked once more, each in a new process
CASES = 2  # cases in which an argument must make no difference
UNMOVED = 1e-12
STATE = "What does the function keep from one call to the next, or draw at random?"
TEXTS = "What do two sequences share? Each needs a new cache of its own."
TRIED = 6  # wrong cases in which right code is asked what makes a difference


class CaseNotes:
    """The calls of a function, and the results that cases noted.

    start: starts a worker. apart: whether each cache is made in a worker of its own, which has
    answered nothing before.
    """

    def __init__(
        self, function: Function, start: Callable[[], Worker], *, apart: bool = False
    ) -> None:
        self.start = start
        self.apart = apart
        self.worker: Worker | None = None
        self.names = function.returns
        self.tried: list[Tried] = []
        self.error: Raised | None = None
        self.laid = False
        self.check = ""
        self.log = Log()
        self.lost = ""

    def ask(self, function: str, *args: Any, **options: Any) -> Answer:
        """Return the answer, or an empty one if the code raised, so that the check continues."""
        self.error = None
        self.laid = any(isinstance(value, Laid) for value in leaves(args))
        if self.worker is None or (self.apart and all(options["opaque"])):
            self.close()
            self.worker = self.start()
        try:
            answer = self.worker.call(function, *args, **options)
        except Raised as raised:
            self.error = raised
            if any(options["opaque"]):
                self.lost = self.check  # later calls need the state that is missing now
            return Answer(None)
        if self.lost != self.check:
            self.log.note(function, args, options, answer)
        return answer

    def fetch(self, handle: Handle | None) -> Any:
        """Return a kept result as it is now; nothing if the code raised instead."""
        if handle is None or self.worker is None:
            return None
        value = self.worker.fetch(handle)
        if self.lost != self.check:
            self.log.note_again(handle, value)
        return value

    def close(self) -> None:
        """End the worker, if there is one."""
        if self.worker is not None:
            self.worker.close()

    def note(self, case: Case, expected: Any, got: Any, tolerance: Tolerance) -> None:
        """Note one result, or each of several by itself."""
        names = [name for name in self.names if not name.startswith("*")]
        several = isinstance(expected, tuple) and isinstance(got, (tuple, list))
        several = several and len(got) == len(expected) == len(names)
        # Of several steps of training, each has all results.
        if not several or any(isinstance(one, tuple) for one in expected):
            names, expected, got = [""], [expected], [got]
        single = tolerance.rtol == FLOAT32.rtol
        where = [case.sizes.get(name) for name in ("chunks", "chunk")]
        # The right result tells apart what follows from the same arguments, as training's steps do.
        key = digest([case.arguments, *where, single, self.laid, expected])
        for part, right, came in zip(names, expected, got, strict=True):
            fits = self.error is None and agrees(right, came, tolerance)
            one = Tried(part, case.arguments, case.sizes, right, came, fits, single, self.laid)
            self.tried.append(replace(one, error=self.error, key=key, check=self.check))


def try_all_cases(
    host: Host,
    program: Program,
    step: Step,
    function: Function,
    checks: Sequence[CheckFunction],
    given: Given,
    *,
    apart: bool = False,
) -> CaseNotes:
    """Return what the code does in all cases of these checks, with the suite's own sizes.

    It takes no longer than a few calls may take, so later cases can be missing. apart: make each
    cache in a process of its own, which has answered nothing before.
    """
    deadline = time.monotonic() + PATIENCE * host.limits.call_seconds

    def start() -> Worker:
        worker = Worker(host, deadline)
        worker.load(program)
        return worker

    given, found = copy.copy(given), CaseNotes(function, start, apart=apart)
    given.witness = found.note
    student = Student(step, found.ask, found.fetch)
    with contextlib.closing(found):
        for check in checks:
            found.check, first = check.id, len(found.log.calls)
            # Laws that are about something else than values end here as they may.
            with contextlib.suppress(Exception):
                check.run(student, given)
            found.log.spans[found.check] = first, len(found.log.calls)
    return found


@dataclass(frozen=True)
class Subject:
    """The function that is asked a few more times.

    right: the same program with right code in its place, if the kit has any.
    """

    host: Host
    function: Function
    program: Program
    right: Program | None = None

    def ask(self, worker: Worker, arguments: Mapping[str, Any]) -> Any:
        """Return the result."""
        return StudentFunction(self.function, worker.call)(**arguments)


def find_state(subject: Subject, tried: Sequence[Tried]) -> Fact | None:
    """Return the fact that what came out wrong is right if nothing was asked before."""
    wrong = [one for one in whole(tried) if not one.right and not one.error and _may_be_asked(one)]
    again = (agrees(one.expected, _ask_alone(subject, one), one.tolerance) for one in wrong[:ASKED])
    if not wrong or not all(again):
        return None
    says = "In a new process this is right: an earlier call changes the result."
    return Fact("state", says, STATE)


def find_kept(tried: Sequence[Tried], alone: Callable[[str], Sequence[Tried]]) -> Fact | None:
    """Return the fact that a chunk is right if a process was asked about its sequence only.

    alone: tries a check's cases, with a new process for each sequence. A chunk's cache comes out of
    the process itself, so the chunk cannot be asked again by itself.
    """
    wrong = [one for one in tried if not one.right and "chunk" in one.sizes]
    for check in list(dict.fromkeys(one.check for one in wrong))[:CHECKS]:
        keys = {one.key for one in wrong if one.check == check}
        again = [one.right for one in alone(check) if one.key in keys]
        if again and all(again):
            says = "In a new process this is right: an earlier sequence changes the result."
            return Fact("state", says, TEXTS)
    return None


def _may_be_asked(one: Tried) -> bool:
    """Return whether the case's arguments are those of a single call."""
    handles = any(isinstance(leaf, Handle) for leaf in leaves(list(one.arguments.values())))
    return not (one.part or one.laid or handles or "chunk" in one.sizes or "chunks" in one.sizes)


def _ask_alone(subject: Subject, one: Tried) -> Any:
    """Return the answer of a new process, or None if it has none."""
    try:
        with _open(subject, 1) as worker:
            worker.load(subject.program)
            given = map_arrays(one.arguments, as_single) if one.single else one.arguments
            return subject.ask(worker, given)
    except CallFailed:
        return None


def _open(subject: Subject, calls: int) -> contextlib.closing[Worker]:
    """Return a worker for about so many calls, which a `with` block ends."""
    host = subject.host
    return contextlib.closing(Worker(host, time.monotonic() + calls * host.limits.call_seconds))


def find_idle(subject: Subject, tried: Sequence[Tried]) -> Fact | None:
    """Return the arguments, or parts of params, that make a difference to right code only."""
    cases = [one for one in whole(tried) if not one.right and not one.error and not one.single]
    cases = [one for one in cases if _may_be_asked(one) and _is_real(one.got)]
    cases = [one for one in cases if not is_very_large(one)]  # what is saturated hardly moves
    if subject.right is None or len(cases) < CASES:
        return None
    try:
        with _open(subject, PATIENCE) as worker:
            worker.load(subject.right)
            moving = [(one, _find_names(subject, worker, one, moved=True)) for one in cases[:TRIED]]
        telling = sorted(moving, key=lambda both: -len(both[1]))[:CASES]
        with _open(subject, PATIENCE) as worker:
            worker.load(subject.program)
            idle = [
                both[1] & _find_names(subject, worker, both[0], moved=False) for both in telling
            ]
    except CallFailed:
        return None
    names = [name for name in _groups(cases[0].arguments) if all(name in one for one in idle)]
    return _say_idle(names, min(len(names) for _, names in telling)) if names else None


def _is_real(result: Any) -> bool:
    array = as_array(result)
    return array is not None and array.dtype.kind == "f" and bool(np.isfinite(array).all())


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


def _groups(arguments: Mapping[str, Any]) -> dict[str, list[Array]]:
    """Return the arrays by name: all b_v of all blocks."""
    found: dict[str, list[Array]] = {}
    for path, leaf in walk(dict(arguments)):
        keys = [key for key in path if isinstance(key, str)]
        name = ".".join(keys[-2:] if keys[-1] in ("gain", "bias") else keys[-1:])
        if isinstance(leaf, np.ndarray) and leaf.ndim and leaf.dtype.kind in "fb":
            found.setdefault(name, []).append(leaf)
    return found


def _find_names(subject: Subject, worker: Worker, one: Tried, *, moved: bool) -> set[str]:
    """Return the names whose arrays change the result if they are replaced, or those that do not.

    Neither holds where one of the results is not finite.
    """
    before, found = subject.ask(worker, one.arguments), set()
    for name, arrays in _groups(one.arguments).items():
        try:
            after = subject.ask(worker, _replace(one.arguments, arrays))
        except Raised:
            continue
        if _is_real(before) and _is_real(after) and np.shape(before) == np.shape(after):
            same = np.allclose(before, after, UNMOVED, UNMOVED)
            found |= {name} if moved != same else set()
    return found


def _replace(arguments: Mapping[str, Any], arrays: Sequence[Array]) -> Any:
    """Return the arguments with other numbers in these of their arrays."""

    def other(leaf: Any) -> Any:
        if not any(leaf is one for one in arrays):
            return leaf
        draw = np.random.default_rng(leaf.size)
        bools = leaf.dtype.kind == "b"
        return ~leaf if bools else leaf + draw.normal(size=leaf.shape).astype(leaf.dtype)

    return map_leaves(arguments, other)
