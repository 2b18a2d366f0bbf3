"""Facts about wrong results that fit no known mistake.

A fact must hold for every wrong result. It must mean something for at least two of them, or for
three if they are single numbers. It states an observation and names no cause.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from grader.checks.compare import KINDS, as_array
from grader.diagnosis.properties.case_outcomes import (
    NOTHING,
    Fact,
    Pair,
    Tried,
    agrees,
    distinct,
    enough,
    list_pairs,
)
from grader.diagnosis.properties.conditions import circumstance
from grader.diagnosis.properties.patterns import PARTLY, PLACES, WHOLE, digits
from grader.report.records import PROPERTY, Diagnosis
from grader.steps.tree import is_branch, name_path, pairs

MOST_NAMED = 5
TYPES = "Which type does an array get from np.zeros, and a number from float?"
TRUTH = "What does ~ or & make of these numbers, and what of True and False?"
CUT = "Where does each result begin and end, and how wide is each weight?"
Way = tuple[str, ...]


def other_kind(found: Sequence[Pair]) -> Fact | None:
    """Return that numbers have the wrong type, if nothing else is wrong."""
    kinds = [(pair.kind, pair.got_kind) for pair in found if pair.other_kind]
    if not kinds or len(kinds) < len(found) or len(set(kinds)) > 1:
        return None
    kind, other = kinds[0]
    types = f"{KINDS[other]} where {KINDS[kind]} are expected"
    hint = TRUTH if kind == "b" else TYPES
    if not all(pair.only_kind for pair in found):
        return Fact("type", f"The type is wrong: {types}. Some values are wrong too.", hint)
    if kind == "b":
        types = "1 and 0 where True and False are expected"
    return Fact("type", f"Every value is right; only the type is not: {types}.", hint)


def are_cut_elsewhere(tried: Sequence[Tried]) -> Fact | None:
    """Return that several results together hold the right numbers, but are cut at other places."""
    questions: dict[str, dict[str, Tried]] = {}
    for one in tried:
        if one.error is None:
            questions.setdefault(one.key, {})[one.part] = one
    wrong = [found for found in questions.values() if not all(one.right for one in found.values())]
    if len(wrong) < 2 or not all(map(_is_cut_elsewhere, wrong)):
        return None
    names = ", ".join(wrong[0])
    says = f"Side by side, {names} hold the right numbers; they are only cut apart elsewhere."
    return Fact("cut", says, CUT)


def _is_cut_elsewhere(found: Mapping[str, Tried]) -> bool:
    expected = [as_array(one.expected) for one in found.values()]
    got = [as_array(one.got) for one in found.values()]
    arrays = [one for one in (*expected, *got) if one is not None and one.ndim]
    half = len(found)
    if half < 2 or len(arrays) < 2 * half or len({one.shape[:-1] for one in arrays}) > 1:
        return False
    whole, came = (np.concatenate(some, axis=-1) for some in (arrays[:half], arrays[half:]))
    return agrees(whole, came, next(iter(found.values())).tolerance)


def parts_at_fault(tried: Sequence[Tried], raised: bool) -> Fact | None:
    """Return which of several results, or of the arrays in them, are right in every case.

    raised: whether there are cases without a result.
    """
    good, bad, listed = dict[Way, None](), dict[Way, None](), set[bool]()
    for one in distinct(tried):
        for path, leaf, got in () if one.error else pairs(one.expected, one.got):
            expected, came = as_array(leaf), as_array(got)
            if expected is None or came is None:
                return None
            listed.add(path != () and isinstance(path[0], int))
            if np.abs(expected.astype(float)).max(initial=0) < NOTHING:
                continue  # right of itself, as is the gradient of the keys' bias
            way = tuple(key for key in (one.part, *path) if isinstance(key, str) and key)
            (good if agrees(leaf, came, one.tolerance) else bad)[way] = None
    wrong_cases = {one.key for one in tried if not one.right and one.error is None}
    if len(listed) > 1:
        return None  # laws return the arrays in lists and dicts of their own
    sound = _shortened([way for way in good if way not in bad], bad)
    if len(wrong_cases) < 2 or not sound or len(sound) > MOST_NAMED:
        return None
    faulty = _shortened(bad, [way for way in good if way not in bad])
    said = ", ".join(faulty) if len(faulty) <= MOST_NAMED else "the rest"
    where = "where it returns" if raised else "in every case"
    says = f"Right {where}: {', '.join(sound)}. Wrong: {said}."
    return Fact("parts", says, f"Which lines compute what is wrong, but not {sound[0]}?")


def _shortened(ways: Iterable[Way], others: Collection[Way]) -> list[str]:
    """Return the names of arrays; if all arrays of a branch are named, only the branch's name."""
    found: dict[str, None] = {}
    for way in ways:
        branches = (way[:depth] for depth in range(1, len(way) + 1))
        alone = (b for b in branches if not any(other[: len(b)] == b for other in others))
        found[name_path(next(alone, way))] = None
    return list(found)


def describe_wrong(
    tried: Sequence[Tried], takes: Sequence[str], first: Fact | None = None
) -> Diagnosis | None:
    """Return a sentence or two about all wrong results of a function, or nothing.

    Each of several results is described by itself: a sentence names those that it is about. takes:
    the function's required arguments. first: a fact from further calls.
    """
    raised = any(one.error for one in tried)
    pieces = [one for one in tried if "chunk" in one.sizes]  # which say more than the whole
    tried = pieces if any(not one.right for one in pieces) else tried
    parts = list(dict.fromkeys(one.part for one in tried if not one.right))
    if not parts:
        return None
    with np.errstate(all="ignore"):
        of_all = [*filter(None, (first, _answers_differ(tried) or are_cut_elsewhere(tried)))]
        found = {(): of_all} if of_all else _group_by_facts(tried, parts, takes, raised)
        fault = None if of_all else parts_at_fault(tried, raised)
    told = [(named, fact) for named, facts in found.items() for fact in facts]
    if fault is not None and (not told or any(is_branch(one.expected) for one in tried)):
        told.insert(0, ((), fault))
    if not told:
        return None
    told = told[:2]
    facts = [fact for _, fact in told]
    says = (f"{', '.join(named)}: {fact.says}" if named else fact.says for named, fact in told)
    ids = "+".join(dict.fromkeys(fact.id for fact in facts))
    return Diagnosis(PROPERTY + ids, facts[0].hint, " ".join(dict.fromkeys(says)))


def _group_by_facts(
    tried: Sequence[Tried], parts: Sequence[str], takes: Sequence[str], raised: bool
) -> dict[tuple[str, ...], list[Fact]]:
    """Return the facts about each result, by the results that share them."""
    found: dict[tuple[str, ...], tuple[list[str], list[Fact]]] = {}
    for part in parts:
        facts = _facts([one for one in tried if one.part == part], takes, raised)
        names, _ = found.setdefault(tuple(fact.says for fact in facts), ([], facts))
        names.append(part)
    return {tuple(filter(None, names)): facts for names, facts in found.values() if facts}


def _facts(tried: Sequence[Tried], takes: Sequence[str], raised: bool) -> list[Fact]:
    """Return at most two facts about one of the results."""
    where, found = circumstance(tried, takes), list_pairs(tried)
    facts: list[Fact | None] = [where]
    if any(pair.other_kind for pair in found):
        facts = [_say_where_returned(other_kind(found), raised), where]
    elif (few := digits(found)) is not None:
        facts = [_say_where_returned(few, raised)]  # where, says little more
    elif enough(found):
        facts = _find_patterns(found, where, raised)
    return [fact for fact in facts if fact is not None][:2]


def _find_patterns(found: Sequence[Pair], where: Fact | None, raised: bool) -> list[Fact | None]:
    """Return patterns: those that explain every number, or else some of the wrong numbers."""
    whole = _first(WHOLE, found)
    if whole is not None:
        return [where and replace(where, hint=whole.hint), _say_where_returned(whole, raised)]
    wrong = [pair for pair in found if not pair.only_kind]
    partly = _first(PARTLY, wrong)
    place = _first(PLACES, wrong)
    return [where, _say_where_returned(partly or place, raised), place if partly else None]


def _say_where_returned(fact: Fact | None, raised: bool) -> Fact | None:
    """Return the fact, limited to returned results if some calls raised."""
    if fact is None or not raised:
        return fact
    return replace(fact, says=f"Where it returns: {fact.says[0].lower()}{fact.says[1:]}")


def _first(
    facts: Sequence[Callable[[Sequence[Pair]], Fact | None]], found: Sequence[Pair]
) -> Fact | None:
    return next((fact for one in facts if (fact := one(found)) is not None), None)


def _answers_differ(tried: Sequence[Tried]) -> Fact | None:
    """Return whether the same question got different answers at different times."""
    by_key: dict[tuple[str, str], list[Tried]] = {}
    for one in tried:
        if not one.laid and (one.error is None or one.error.lines):
            by_key.setdefault((one.part, one.key), []).append(one)
    differing = {
        key for (_, key), asked in by_key.items() if any(_differ(asked[0], one) for one in asked)
    }
    count = len(differing)
    if not count:
        return None
    return Fact(
        "answers_differ",
        f"In {count} case{'s' * (count > 1)} the same call returned different results.",
        "What does the function keep from one call to the next, or draw at random?",
    )


def _differ(one: Tried, other: Tried) -> bool:
    """Return whether two results differ by more than rounding."""
    if one.right or other.right:
        return one.right != other.right
    first, second = as_array(one.got), as_array(other.got)
    if first is None or second is None or first.shape != second.shape:
        return (first is None) != (second is None)
    return not np.allclose(first.astype(float), second.astype(float), equal_nan=True)
