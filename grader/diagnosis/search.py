"""Find the known mistake that gives exactly these numbers in every call of the attempt.

The known mistakes of a function run in a worker of their own. They answer the same calls as the
student's function, in the same order. A mistake that answers every call as the student's code did
is the cause, or has the same effect. If there is none, mistakes in the functions that it calls are
tried, then two at once, unless the function gives nothing but tokens. If none of these fits, the
report names no cause: silence is better than a guess.
"""

from __future__ import annotations

import ast
import contextlib
import itertools
import marshal
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from grader.checks.tolerances import EXACT, FLOAT32
from grader.isolation import Host
from grader.isolation.client import CallFailed, Program, Raised, Worker, compile_source
from grader.isolation.wire import Counted, Foreign, Handle, Laid
from grader.report.records import BUT_FOR, PROPERTY, Diagnosis
from grader.steps.inputs import digest
from grader.steps.paths import PACKAGE
from grader.steps.registry import Registry, Step
from grader.steps.tree import leaves

if TYPE_CHECKING:
    from grader.answer_key.variants import Variant

MAX_PAIRS = 6000
GUESSED = 4  # pairs of mistakes that fit alike
MOST_SUPPOSED = 3  # suppositions that fit alike; where more do, hardly anything matters
REPLAY = PACKAGE / "diagnosis" / "replay.py"
FOREIGN = "a foreign object"
HANDLE = "handle of"  # as in the replay, which like the worker is only ever sent as text
FETCH = "(fetch)"
TWO = "At least two things differ"


# All functions that write into their arguments fail with the same message.
WRITES = Diagnosis(
    "np_input_mutated",
    "Look for +=, -=, /=, [...] = and out=: whose array stands on the left?",
    "The function writes into an array that it was given.",
)


@dataclass(frozen=True)
class Call:
    """A call of a student's function, and its outcome: a value or an exception.

    more: what the check requested. This is the first of two calls with the same arrays (`before`),
    the arguments afterwards (`after`), the counted `products`, and the number under which the
    result was `kept`. Reading a kept result again is a call of FETCH. Later it also holds whether
    the check has `passed`.
    """

    function: str
    args: Sequence[Any]
    kwargs: Mapping[str, Any]
    opaque: bool
    outcome: Any
    more: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Log:
    """The calls of an attempt, in order, and which check made each.

    titles: the checks' own sentences, for the reader. whole: whether these are all calls, or only
    those since a process ended unexpectedly.
    """

    calls: list[Call] = field(default_factory=list)
    spans: dict[str, tuple[int, int]] = field(default_factory=dict)
    titles: dict[str, str] = field(default_factory=dict)
    whole: bool = True

    def of(self, check: str) -> Sequence[Call]:
        """Return the calls that the check made."""
        return self.calls[slice(*self.spans.get(check, (0, 0)))]

    def with_passed(self, checks: Sequence[str]) -> Log:
        """Return the calls, with those of these checks marked as passed."""
        calls = list(self.calls)
        for start, stop in (self.spans.get(check, (0, 0)) for check in checks):
            calls[start:stop] = [
                replace(call, more={**call.more, "passed": True}) for call in calls[start:stop]
            ]
        return replace(self, calls=calls)

    def fingerprint(self, check: str) -> str:
        """Return an exact digest of the check's results, or "" if it got no values."""
        outcomes = [call.outcome for call in self.of(check)]
        if not outcomes or any(isinstance(outcome, Raised) for outcome in outcomes):
            return ""
        return digest([_without_numbers(outcome) for outcome in outcomes])


@dataclass(frozen=True)
class Failure:
    """A function's failing checks, in their order, and all calls of the attempt."""

    function: str
    checks: Sequence[str]
    log: Log

    @property
    def first(self) -> tuple[int, int]:
        """Return where the calls of the first failing check begin and end."""
        return self.log.spans.get(self.checks[0], (0, 0))


@dataclass(frozen=True)
class Cause:
    """Mistakes that together give the same results as the student's code."""

    variants: tuple[Variant, ...]

    @property
    def places(self) -> dict[str, str]:
        """Return which code replaces which function."""
        return {name: other for variant in self.variants for name, other in variant.places.items()}

    @property
    def diagnosis(self) -> Diagnosis:
        """Return the name for the report."""
        first = self.variants[0]
        if len(self.variants) == 1:
            return Diagnosis(first.id, first.hint, first.says)
        ids = " + ".join(variant.id for variant in self.variants)
        says = " ".join(variant.says for variant in self.variants)
        hint = " ".join(variant.hint for variant in self.variants)
        return Diagnosis(ids, hint, f"{TWO}. {says}")


def _without_numbers(outcome: Any) -> Any:
    """Return the outcome with all handles alike, because their numbers count earlier results."""
    match outcome:
        case Handle():
            return Handle
        case tuple() | list():
            return [_without_numbers(item) for item in outcome]
        case dict():
            return {key: _without_numbers(item) for key, item in outcome.items()}
    return outcome


def _read_mistakes(step: Step) -> tuple[Variant, ...]:
    """Return the known mistakes of a step; none in a student's bundle, which has no reader."""
    from grader.answer_key.variants import MISTAKES, read

    return read(MISTAKES, step)


def _alone(variant: Variant) -> Cause:
    return Cause((variant,))


class Library:
    """The known mistakes of a step and of the steps before it, and right solutions."""

    def __init__(self, host: Host, registry: Registry, right: Mapping[str, str]) -> None:
        self.host = host
        self.registry = registry
        self.right = {name: (source, f"<{name}>") for name, source in right.items()}

    def causes(
        self, step: Step, function: str, named: Sequence[Cause] = (), *, pairs: bool = True
    ) -> Iterator[list[Cause]]:
        """Yield possible causes for a function, most likely first: itself, a part, two parts.

        named: the causes found in other functions of the step. A function that calls one of these
        is likely to be wrong because of it. So they come even before the function's own mistakes,
        and one mistake then explains both functions.
        """
        singles = [variant for variant in _read_mistakes(step) if function in variant.places]
        used = find_used(self.right[step.id][0], function)
        yield [
            *(c for c in named if used & set(c.places)),
            *map(_alone, singles),
        ]
        parts = self._parts(step, used)
        near = [variant for part in parts for variant in part if variant.step == step.id]
        far = [variant for part in parts for variant in part if variant.step != step.id]
        # Apart: of a step that uses many others there are so many that time may run out.
        yield list(map(_alone, near))
        yield list(map(_alone, far))
        if pairs:
            yield self._pair(parts)

    def _pair(self, parts: Sequence[Sequence[Variant]]) -> list[Cause]:
        """Return two mistakes at once, in two of these functions."""
        plain = [[variant for variant in part if self._plain(variant)] for part in parts]
        pairs = (
            Cause((one, other))
            for first, second in itertools.combinations(plain, 2)
            for one, other in itertools.product(first, second)
        )
        return list(itertools.islice(pairs, MAX_PAIRS))

    def suppose_inputs(self, step: Step, failure: Failure) -> Iterator[list[Cause]]:
        """Yield right code with changed inputs: for the function itself, then for its parts."""
        from grader.diagnosis import suppositions

        source, function = self.right[step.id][0], failure.function
        own = [call for call in failure.log.calls if call.function == function]
        given = suppositions.arguments_of(source, function, own)
        yield [
            *map(_alone, suppositions.suppose_arguments(step.id, function, given)),
            *map(_alone, suppositions.suppose_defaults(step.id, function, source)),
        ]
        if not gave_numbers(failure):
            return
        steps = [*self.registry.before(step), self.registry.find(step.id)]
        owners = {f.name: owner.id for owner in steps for f in owner.functions}
        used = sorted(find_used(source, function) & set(owners))
        parts = [
            suppositions.suppose_parts(owners[name], name, self.right[owners[name]][0])
            for name in used
            if owners[name] in self.right
        ]
        yield [_alone(variant) for part in parts for variant in part]

    def _plain(self, variant: Variant) -> bool:
        """Return whether a function is wrong on simple cases, which makes two mistakes unlikely."""
        function = self.registry.find(variant.step).function(variant.replaces)
        return len(variant.places) == 1 and variant.caught_by == function.checks[0].id

    def _parts(self, step: Step, names: frozenset[str]) -> list[list[Variant]]:
        """Return the known mistakes of these functions, in any step."""
        # All functions of the step, also where it was narrowed to one of them.
        steps = [*self.registry.before(step), self.registry.find(step.id)]
        owners = {f.name: owner for owner in steps for f in owner.functions if f.name in names}
        return [
            [v for v in _read_mistakes(owner) if v.replaces == name]
            for name, owner in owners.items()
        ]

    @contextlib.contextmanager
    def replay(self, step: Step, calls: Sequence[Call]) -> Iterator[Replay]:
        """Yield a replay of these calls of the student's code, and end its worker afterwards."""
        replay = Replay(self, step, calls)
        try:
            yield replay
        finally:
            replay.close()

    def text(self, step: Step, causes: Sequence[Cause]) -> str:
        """Return the solution, followed by the variants under their own names."""
        known = {variant.name: variant for cause in causes for variant in cause.variants}
        preludes = dict.fromkeys(variant.prelude for variant in known.values())
        imports = [f"from exercises.{e.id} import *" for e in self.registry.before(step)]
        bodies = [variant.body for variant in known.values()]
        return "\n\n".join([*imports, self.right[step.id][0], *preludes, *bodies])

    def program(self, step: Step) -> Program:
        """Return the replay, and the earlier steps that the replayed code needs."""
        # No later step's: a worker that outlived its end must not find the answers to come.
        needed = {e.id: self.right[e.id] for e in self.registry.before(step) if e.id in self.right}
        needed["replay"] = (REPLAY.read_text(encoding="utf-8"), "<replay>")
        sources = {name: (compile_source(*source), source[1]) for name, source in needed.items()}
        return Program("replay", sources)


class Replay:
    """Calls of a student's code, which right code and known mistakes answer in a worker.

    The calls are sent once. A worker that dies or takes too long is replaced for the next question.
    """

    def __init__(self, library: Library, step: Step, calls: Sequence[Call]) -> None:
        self.library = library
        self.step = step
        self.calls = calls
        self._opaque = {call.function for call in calls if call.opaque}
        self._running: tuple[Worker, Handle] | None = None

    def explaining(
        self, function: str, causes: Sequence[Cause], span: tuple[int, int] = (0, 0)
    ) -> list[Cause]:
        """Return causes that reproduce all calls. Return none if right code does so too.

        span: the calls to compare first.
        """
        if not causes:
            return []
        right, *replayed = self._describe_causes(function, [Cause(()), *causes])
        numbers = self._ask("survivors", causes, right, [list(span), replayed])
        return [causes[number] for number in numbers]

    def nearly(self, failure: Failure, causes: Sequence[Cause]) -> list[tuple[Cause, str, bool]]:
        """Return causes that reproduce every call except those of one failing check, not the first.

        Each comes with that check, and with whether right code answers there as the cause does.
        """
        if not causes:
            return []
        spans = {check: list(failure.log.spans.get(check, (0, 0))) for check in failure.checks[1:]}
        right, *replayed = self._describe_causes(failure.function, [Cause(()), *causes])
        found = self._ask("nearly", causes, right, [spans, list(failure.first), replayed])
        return [(causes[number], check, alike) for number, check, alike in found]

    def is_right(self, function: str) -> bool:
        """Return whether correct code answers the calls as the student's code did."""
        (right,) = self._describe_causes(function, [Cause(())])
        return bool(self._ask("is_right", (), right, []))

    def _describe_causes(self, function: str, causes: Sequence[Cause]) -> list[dict[str, Any]]:
        """Return the data on causes that the replay needs: their code, and which calls matter."""
        own = {f.name for f in self.library.registry.find(self.step.id).functions}
        source = self.library.right[self.step.id][0]
        used = sorted((find_used(source, function) | {function}) & own)
        return [
            {
                "places": cause.places,
                "rebind": [] if function in cause.places else used,
                "calls": sorted({function, *cause.places} | self._opaque),
                "pair": len(cause.variants) == 2,
                "supposed": any(variant.id.startswith(PROPERTY) for variant in cause.variants),
            }
            for cause in causes
        ]

    def _ask(
        self, name: str, causes: Sequence[Cause], right: dict[str, Any], more: list[Any]
    ) -> Any:
        """Return the answer of a function of the replay. Raise CallFailed if there is none."""
        library = self.library
        until = time.monotonic() + library.host.limits.step_seconds
        if self._running is None or not self._running[0].alive:
            worker = Worker(library.host, until)
            try:
                worker.load(library.program(self.step))
                self._running = worker, worker.hold([_record(call) for call in self.calls])
            except BaseException:
                worker.close()
                raise
        worker, calls = self._running
        worker.deadline = min(until, library.host.deadline)
        code = compile_source(library.text(self.step, causes), "<mistakes>")
        question = np.frombuffer(marshal.dumps((name, code, right, more)), np.uint8)
        return worker.call("reply", [question, calls], {}).value

    def close(self) -> None:
        """End the worker, if there is one."""
        if self._running is not None:
            self._running[0].close()


@lru_cache(maxsize=64)
def find_used(source: str, function: str) -> frozenset[str]:
    """Return the names that a function of the kit uses, directly or indirectly.

    They stay in memory, so `list_used` is there for students' sources.
    """
    return list_used(ast.parse(source), function)


def _list_read(function: ast.FunctionDef | None) -> set[str]:
    """Return the names that a function reads, without those of its own variables."""
    nodes = list(ast.walk(function)) if function else []
    names = [node for node in nodes if isinstance(node, ast.Name)]
    own = {node.id for node in names if not isinstance(node.ctx, ast.Load)}
    own |= {node.arg for node in nodes if isinstance(node, ast.arg)}
    return {node.id for node in names} - own


def list_used(tree: ast.Module, function: str) -> frozenset[str]:
    """Return the names that a function of that module uses, directly or indirectly."""
    bodies = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    found: set[str] = set()
    waiting = [function]
    while waiting:
        names = _list_read(bodies.get(waiting.pop()))
        waiting += (names & bodies.keys()) - found
        found |= names
    return frozenset(found - {function})


def _record(call: Call) -> dict[str, Any]:
    """Return a call as data for the replay."""
    given = leaves([*call.args, *call.kwargs.values()])
    record = {
        "function": call.function,
        "args": [_mark_handles(value) for value in call.args],
        "kwargs": dict(call.kwargs),
        "tolerance": FLOAT32.rtol if holds_single(call) else EXACT.rtol,
        "counted": any(isinstance(leaf, Counted) for leaf in given),
        **{name: _mark_left(value) for name, value in call.more.items()},
    }
    if isinstance(call.outcome, Raised):
        return {**record, "raised": f"{call.outcome.type}: {call.outcome.text}"}
    return {**record, "value": _mark_result(call.outcome)}


def _mark_handles(value: Any) -> Any:
    """Return an argument with its handles as data."""
    return {HANDLE: value.number} if isinstance(value, Handle) else value


def _mark_left(value: Any) -> Any:
    """Return a call's changed arguments, without the parts that only student code looks into."""
    match value:
        case Handle() | Foreign():
            return {FOREIGN: ""}
        case tuple() | list():
            return [_mark_left(item) for item in value]
        case dict():
            return {key: _mark_left(item) for key, item in value.items()}
    return value


def _mark_result(value: Any) -> Any:
    """Return a result with its handles as data. A value that cannot be sent equals nothing.

    Nor does a dict that could be mistaken for a handle.
    """
    match value:
        case Handle():
            return _mark_handles(value)
        case Foreign():
            return {FOREIGN: ""}
        case dict():
            if HANDLE in value or FOREIGN in value:
                return {FOREIGN: ""}
            return {key: _mark_result(item) for key, item in value.items()}
        case tuple() | list():
            return [_mark_result(item) for item in value]
    return value


def _is_single(leaf: Any) -> bool:
    """Return whether it is a float32 array, wrapped or not, which gives float32 results."""
    array = leaf.array if isinstance(leaf, (Laid, Counted)) else leaf
    return isinstance(array, np.ndarray) and array.dtype == np.float32


def holds_single(call: Call) -> bool:
    """Return whether there are float32 numbers among its arguments."""
    return any(map(_is_single, leaves([*call.args, *call.kwargs.values()])))


def gave_numbers(failure: Failure) -> bool:
    """Return whether the function ever returned finite numbers of a kind that need not be whole.

    The same few tokens, and NaN everywhere, always come from some of thousands of pairs or hundreds
    of suppositions.
    """
    own = [call.outcome for call in failure.log.calls if call.function == failure.function]
    return any(_is_real(leaf) and bool(np.isfinite(leaf).any()) for leaf in leaves(own))


def gave_nothing_finite(failure: Failure) -> bool:
    """Return whether each failing check ended at a result of infinity and NaN only.

    Many mistakes give these, so they speak for none of them.
    """
    calls = [failure.log.of(check) for check in failure.checks]
    ends = [[c.outcome for c in some if c.function == failure.function][-1:] for some in calls]
    numbers = [[leaf for leaf in leaves(end) if _is_real(leaf)] for end in ends]
    return all(some and not any(np.isfinite(one).any() for one in some) for some in numbers)


def gave_plain_words_only(failure: Failure) -> bool:
    """Return whether each call of the function raised an exception without a number in its words.

    Such words, as of a wrong type, come from hundreds of suppositions.
    """
    own = [call.outcome for call in failure.log.calls if call.function == failure.function]
    return all(isinstance(one, Raised) and not re.search(r"\d", one.text) for one in own)


def is_guess(known: Diagnosis, failure: Failure) -> bool:
    """Return whether a known mistake is less likely than one in a failing function that is called.

    So is one that only infinity and NaN speak for, and so are two mistakes at once.
    """
    return known.says.startswith(TWO) or gave_nothing_finite(failure)


def _is_real(leaf: object) -> bool:
    return isinstance(leaf, float) or (isinstance(leaf, np.ndarray) and leaf.dtype.kind == "f")


def has_read_only(call: Call) -> bool:
    """Return whether there are read-only arrays among its arguments."""
    given = leaves([*call.args, *call.kwargs.values()])
    return any(isinstance(leaf, Laid) and not leaf.writable for leaf in given)


def writes_into(failure: Failure) -> Diagnosis | None:
    """Return the diagnosis of code whose first failing check ended at a read-only argument.

    What `np.broadcast_to` and others return is read-only, too, and was not given.
    """
    raised = [c for c in failure.log.of(failure.checks[0]) if isinstance(c.outcome, Raised)]
    failed = raised and "read-only" in raised[-1].outcome.text and has_read_only(raised[-1])
    return WRITES if failed else None


def diagnose(replay: Replay, failure: Failure, named: list[Cause]) -> Diagnosis | None:
    """Return the cause of the first failing check, if it is known and explains all other calls.

    named: the causes found in the step so far; this one is added.
    """
    library, step = replay.library, replay.step
    if step.id not in library.right or not failure.log.whole:
        return None  # the few remaining calls could come from any code
    if (found := writes_into(failure)) is not None:
        return found
    pairs = gave_numbers(failure)
    for causes in library.causes(step, failure.function, named, pairs=pairs):
        try:
            fits = replay.explaining(failure.function, causes, failure.first)
        except CallFailed:
            continue  # a diagnosis that fails must not hide the failed check
        if fits:
            return _name_shared(fits, named)
    return _but_for_one_check(replay, failure)


def suppose(replay: Replay, failure: Failure, named: list[Cause]) -> Diagnosis | None:
    """Return the changed input with which right code answers all calls as the student's code did.

    named: the causes found in the step so far; this one is added.
    """
    library, step = replay.library, replay.step
    if step.id not in library.right or not failure.log.whole or gave_plain_words_only(failure):
        return None
    for causes in library.suppose_inputs(step, failure):
        try:
            fits = replay.explaining(failure.function, causes, failure.first)
        except CallFailed:
            continue
        if fits:
            return _name_supposed(fits, named)
    return None


def _name_shared(fits: Sequence[Cause], named: list[Cause]) -> Diagnosis | None:
    """Return the name of the first cause that fits; if many pairs share one mistake, only that one.

    If very many mistakes fit beside it, their effect cannot be seen, and each would be a guess.
    """
    pairs = {frozenset(v.id for v in cause.variants) for cause in fits}
    shared = frozenset.intersection(*pairs)
    if len(pairs) < GUESSED or len(shared) != 1:
        named.append(fits[0])
        return fits[0].diagnosis
    one = next(v for v in fits[0].variants if v.id in shared)
    says = f"{TWO}, and this is one of them. {one.says}"
    return Diagnosis(one.id, one.hint, says)


def _name_supposed(fits: Sequence[Cause], named: list[Cause]) -> Diagnosis | None:
    """Return the first supposition that fits, or nothing if so many fit that none means much."""
    if len(fits) > MOST_SUPPOSED:
        return None
    named.append(fits[0])
    return fits[0].diagnosis


def may_leave_one(failure: Failure) -> bool:
    """Return whether a cause may leave a failing check unexplained: any but the check of values."""
    return len(failure.checks) > 1 and bool(failure.log.fingerprint(failure.checks[0]))


def but_for(cause: Diagnosis, check: str, *, passes: bool) -> Diagnosis:
    """Return the cause, with a note on the unexplained check, whose title is given.

    passes: whether code with this mistake passes that check.
    """
    # Perhaps only the same mistake, which differs at an edge.
    unlike = "would pass it" if passes else "has other results there"
    more = f'{BUT_FOR} "{check}" fails too, and this mistake alone {unlike}.'
    return replace(cause, says=f"{cause.says} {more}")


def _but_for_one_check(replay: Replay, failure: Failure) -> Diagnosis | None:
    """Return the cause that explains all but one check, which a second mistake explains.

    Only if the first failing check got values, and only from mistakes of one name.
    """
    if not may_leave_one(failure):
        return None
    singles = next(replay.library.causes(replay.step, failure.function))
    try:
        found = replay.nearly(failure, singles)
    except CallFailed:
        return None
    if len({cause.diagnosis.misconception for cause, _, _ in found}) != 1:
        return None
    cause, check, alike = found[0]
    return but_for(cause.diagnosis, failure.log.titles.get(check, check), passes=alike)
