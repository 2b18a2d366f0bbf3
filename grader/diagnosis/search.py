"""Find the known mistake that gives exactly these numbers in every call of the attempt.

The known mistakes of a function run in a worker of their own. They answer the same calls as the
student's function, in the same order. A mistake that answers every call as the student's code did
is the cause, or has the same effect. If there is none, mistakes in the functions that it calls are
tried, then two at once, unless the function gives nothing but tokens, or calls one that fails. If
none of these fits, the report names no cause: silence is better than a guess.
"""

import itertools
import marshal
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from grader.checks.tolerances import EXACT, FLOAT32
from grader.diagnosis.calls import FETCH, Call, Log, Symptoms, has_read_only, holds_single
from grader.diagnosis.cause_sentences import name_shared
from grader.diagnosis.library import Library, Suspect, find_used
from grader.diagnosis.replay import HANDLE, is_mark
from grader.isolation.client import CallFailed, Program, Raised, Worker, compile_source
from grader.isolation.wire import Counted, Foreign, Handle
from grader.report.records import Diagnosis
from grader.steps.paths import PACKAGE
from grader.steps.registry import Step
from grader.steps.tree import leaves, map_leaves

REPLAY, TREE = PACKAGE / "diagnosis" / "replay.py", PACKAGE / "steps" / "tree.py"
NOTHING = Suspect(())  # right code
FOREIGN = "(foreign)"
MAX_PAIRS = 2000


class Replay:
    """Calls of a student's code, which right code and known mistakes answer in a worker.

    Use it in a `with` block, whose end is the worker's. The calls are sent once. A worker that dies
    or takes too long is replaced for the next question.
    """

    def __init__(self, library: Library, step: Step, calls: Sequence[Call]) -> None:
        self.library = library
        self.step = step
        self.calls = calls
        self._opaque = {call.function for call in calls if call.opaque}
        self._running: tuple[Worker, Handle] | None = None

    def __enter__(self) -> "Replay":
        return self

    def __exit__(self, *raised: object) -> None:
        """End the worker, if there is one."""
        if self._running is not None:
            self._running[0].close()

    def explaining(
        self, function: str, suspects: Sequence[Suspect], span: tuple[int, int] = (0, 0)
    ) -> list[Suspect] | None:
        """Return suspects that reproduce all calls. Return None if right code does so too.

        span: the calls to compare first.
        """
        if not suspects:
            return []
        right, *replayed = self._describe(function, [NOTHING, *suspects])
        numbers = self._ask("survivors", suspects, right, list(span), replayed)
        return None if numbers is None else [suspects[number] for number in numbers]

    def pair(
        self, function: str, suspects: Sequence[Suspect], span: tuple[int, int]
    ) -> list[Suspect]:
        """Return pairs that may reproduce the calls in the span.

        Neither mistake changes a right part of an answer there by itself. Together they change all
        wrong parts, or one of them gives all answers, and the other shows in later calls only.
        """
        if not suspects:
            return []
        replayed = self._describe(function, suspects)
        wrong, *effects = self._ask("find_effects", suspects, list(span), replayed)
        known = [(one, *effect) for one, effect in zip(suspects, effects, strict=True) if effect]
        pairs = (
            Suspect(one.variants + other.variants)
            for (one, changes, explains), (other, also, alone) in itertools.combinations(known, 2)
            if one.replacements.keys() != other.replacements.keys()
            and ((changes and also and {*changes, *also} == {*wrong}) or explains or alone)
        )
        return list(itertools.islice(pairs, MAX_PAIRS))

    def is_given(self, function: str, suspect: Suspect = NOTHING) -> bool:
        """Return whether code with a mistake, or right code, answers as the student's code did."""
        return bool(self._ask("is_given", [suspect], *self._describe(function, [suspect])))

    def _describe(self, function: str, suspects: Sequence[Suspect]) -> list[dict[str, Any]]:
        """Return the data on suspects that the replay needs: code, and which calls matter."""
        own = {f.name for f in self.library.registry.find(self.step.id).functions}
        source = self.library.right[self.step.id][0]
        used = sorted((find_used(source, function) | {function}) & own)
        return [
            {
                "replacements": one.replacements,
                "rebind": [] if function in one.replacements else used,
                "calls": sorted({function, *one.replacements} | self._opaque),
            }
            for one in suspects
        ]

    def _ask(self, name: str, suspects: Sequence[Suspect], *more: Any) -> Any:
        """Return the answer of a function of the replay. Raise CallFailed if there is none."""
        library = self.library
        until = time.monotonic() + library.host.limits.step_seconds
        if self._running is None or not self._running[0].alive:
            worker = Worker(library.host, until)
            try:
                worker.load(self._program())
                self._running = worker, worker.hold(list(_records(self.calls)))
            except BaseException:
                worker.close()
                raise
        worker, calls = self._running
        worker.deadline = min(until, library.host.deadline)
        code, _ = compile_source(library.text(self.step, suspects), "<mistakes>")
        question = np.frombuffer(marshal.dumps((name, code, more)), np.uint8)
        return worker.call("reply", [question, calls], {}).value

    def _program(self) -> Program:
        """Return the replay, and the earlier steps that the replayed code needs."""
        # No later step's: a worker that outlived its end must not find the answers to come.
        library = self.library
        earlier = [one.id for one in library.registry.before(self.step)]
        needed = {name: library.right[name] for name in earlier if name in library.right}
        text = REPLAY.read_text(encoding="utf-8").replace("grader.steps.tree", "exercises.tree")
        needed |= {"replay": (text, "<replay>"), "tree": (TREE.read_text("utf-8"), "<tree>")}
        return Program("replay", {name: compile_source(*one) for name, one in needed.items()})


def _records(calls: Sequence[Call]) -> Iterator[dict[str, Any]]:
    """Yield the calls as data. A held result that is read again has the marks that it had."""
    held: dict[Any, dict[str, Any]] = {}
    for record in map(_record, calls):
        if "kept" in record:
            held[record["kept"]] = record
        if record["function"] == FETCH and (first := held.get(record["given"][0][0])):
            value = _with_marks(first.get("value"), record["value"])
            record |= {"value": value, "tolerance": first["tolerance"]}
        yield record


def _record(call: Call) -> dict[str, Any]:
    """Return a call as data for the replay."""
    given = map_leaves([[*call.args], dict(call.kwargs)], _mark)
    record = {
        "function": call.function,
        "given": given,
        "tolerance": FLOAT32.rtol if holds_single(call) else EXACT.rtol,
        "counted": any(isinstance(leaf, Counted) for leaf in leaves(given)),
        **{name: map_leaves(more, _mark) for name, more in call.more.items()},
    }
    if "kept" in record:
        record["kept"] = _mark(Handle(record["kept"]))
    if "after" in record:
        record["after"] = _with_marks(given, record["after"])
    if isinstance(call.outcome, Raised):
        return {**record, "raised": call.outcome.type, "words": call.outcome.text}
    return {**record, "value": map_leaves(call.outcome, _mark)}


def _mark(leaf: Any) -> Any:
    """Return a handle as data. What cannot be sent equals nothing; nor does a forged handle."""
    if isinstance(leaf, Handle):
        return f"{HANDLE}{leaf.number}"
    return FOREIGN if isinstance(leaf, Foreign) or is_mark(leaf) else leaf


def _with_marks(told: Any, got: Any) -> Any:
    """Return a result with the marks that the recorded one has."""
    if is_mark(told):
        return told
    if isinstance(told, (list, tuple)) and isinstance(got, (list, tuple)) and len(told) == len(got):
        return [_with_marks(*both) for both in zip(told, got)]
    if isinstance(told, dict) and isinstance(got, dict):
        return {key: _with_marks(told.get(key), value) for key, value in got.items()}
    return got


# All functions that write into their arguments fail with the same message.
WRITES = Diagnosis(
    "np_input_mutated",
    "Look for +=, -=, /=, [...] = and out=: whose array stands on the left?",
    "The function writes into an array that it was given.",
)


def writes_into(symptoms: Symptoms) -> Diagnosis | None:
    """Return the diagnosis of code whose first failing check ended at a read-only argument.

    What `np.broadcast_to` and others return is read-only, too, and was not given.
    """
    raised = [c for c in symptoms.log.of(symptoms.checks[0]) if isinstance(c.outcome, Raised)]
    failed = raised and "read-only" in raised[-1].outcome.text and has_read_only(raised[-1])
    return WRITES if failed else None


def diagnose(
    replay: Replay,
    symptoms: Symptoms,
    named: list[Suspect],
    list_later: Callable[[], Log],
    *,
    pairs: bool,
) -> Diagnosis | None:
    """Return the cause of the first failing check, if it is known and explains all other calls.

    named: the causes found in the step so far; this one is added. list_later: ask for the calls in
    all cases of the failing checks, which end at the first wrong result. pairs: whether it may be
    two mistakes at once.
    """
    if not symptoms.log.whole:
        return None  # the few remaining calls could come from any code
    if (found := writes_into(symptoms)) is not None:
        return found
    for suspects in _list_suspects(replay, symptoms, named, pairs):
        try:
            fits = replay.explaining(symptoms.function, suspects, symptoms.first)
        except CallFailed:
            continue  # a diagnosis that fails must not hide the failed check
        if fits is None:
            return None  # right code does all of that too: what is wrong cannot be compared
        if fits := _confirm(fits, replay, symptoms, list_later):
            return name_shared(fits, replay.step, named)
    return None


def _list_suspects(
    replay: Replay, symptoms: Symptoms, named: list[Suspect], pairs: bool
) -> Iterator[list[Suspect]]:
    """Yield single mistakes, most likely first, and then two at once."""
    library, step, function = replay.library, replay.step, symptoms.function
    yield from library.suspects(step, function, named)
    if pairs:
        try:
            fit = replay.pair(function, library.plain(step, function), symptoms.first)
        except CallFailed:
            return
        yield fit


def _confirm(
    fits: list[Suspect], replay: Replay, symptoms: Symptoms, list_later: Callable[[], Log]
) -> list[Suspect]:
    """Return the causes that also give the results of later cases, where earlier ones say little.

    Code that mixes up sizes raises, whatever else it does. So exceptions alone speak only for one
    mistake in the step itself. One in an earlier step must not contradict what came; and two
    mistakes must give a wrong result that came, too. A check of a function that goes on from a
    state ends at its first wrong result, and later ones may tell mistakes apart.
    """
    step = replay.step
    own = {function.name for function in step.functions}
    alone = [one for one in fits if len(one.variants) == 1]
    goes_on = any(name[0] == "*" for name in step.function(symptoms.function).returns)
    sure = [one for one in alone if own.issuperset(one.replacements) and not goes_on]
    if len(sure) == len(fits) or not (goes_on or symptoms.only_raised()):
        return fits
    log, function = list_later(), symptoms.function
    # How much work it was, was compared before; here the results count.
    calls = [
        replace(call, more={name: more for name, more in call.more.items() if name != "products"})
        for check in log.spans
        for call in log.of(check)
    ]
    if not calls:
        return sure
    try:
        with Replay(replay.library, step, calls) as again:
            more = [one for one in alone if one not in sure and again.is_given(function, one)]
            others = [one for one in fits if one not in alone]
            return [*sure, *more, *(again.explaining(function, others) or ())]
    except CallFailed:
        return sure
