"""Find the known mistake that gives exactly these numbers in every call of the attempt.

The known mistakes of a function run in a worker of their own. They answer the same calls as the
student's function, in the same order. A mistake that answers every call as the student's code did
is the cause, or has the same effect. If there is none, mistakes in the functions that it calls are
tried, then two at once, unless the function gives nothing but tokens, or calls one that fails. If
none of these fits, the report names no cause: silence is better than a guess.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace

from grader.diagnosis.calls import Log, Symptoms, has_read_only
from grader.diagnosis.library import Suspect
from grader.diagnosis.replay_client import Replay
from grader.diagnosis.wording import name_shared
from grader.isolation.client import CallFailed, Raised
from grader.report.records import Diagnosis

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
            return [*sure, *more, *again.explaining(function, others)]
    except CallFailed:
        return sure
