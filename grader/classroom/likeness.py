"""Find submissions that a person should compare; this is never a verdict.

There are two kinds. Answers: several students gave exactly the same wrong numbers, and no known
mistake explains them. Sources: two students wrote nearly the same code, although few others did. If
everybody writes something, it says nothing about anybody. So only what few students share is
compared. Of sources that is done by winnowing (Schleimer, Wilkerson and Aiken 2003): of all runs of
characters, those with the smallest number in each window are a source's fingerprints.
"""

from __future__ import annotations

import functools
import itertools
import keyword
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from grader.isolation.places import lines_of
from grader.report.records import Alike, Graded

FEW = 5
FEW_SHARE = 0.02
MAX_WRITTEN = 10_000  # characters of a step that are compared: four times the longest solution
GRAM, WINDOW = 25, 5  # characters that must agree in a row; a fingerprint in every WINDOW of them
MOST_TEXTS = 10  # different texts that may share a fingerprint before it is common
LEAST_RARE = 60  # characters of rare code that two must share
LEAST_SHARE = 0.8  # of the rare code of the shorter
# Odd numbers without a pattern in their bits, to make numbers of runs of characters.
MULTIPLIER, MIXER = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9)
# A comment, a string, a word or a sign. Whatever a student has written, MAX_WRITTEN characters are
# read in less than a second.
TOKEN = re.compile(r"#.*|('|\")(?:(?!\1)[^\\\n]|\\.){0,300}\1|\w+|\S")
CACHED = 1000  # fingerprints that are kept while pairs are compared


def few(students: int) -> int:
    """Return how many students may share something before it counts as common."""
    return max(FEW, int(FEW_SHARE * students))


# the answers


def same_answers(class_: Iterable[Graded]) -> list[Alike]:
    """Return the groups of 2 to `few` students who share a wrong answer to a check.

    Students who share several answers are one group of that step, with all these checks named. An
    answer that a known mistake explains for anybody is left out.
    """
    sharing: defaultdict[tuple[str, str, str], list[str]] = defaultdict(list)
    explained: set[str] = set()
    size = 0
    for graded in class_:
        size += 1
        for step in graded.report.steps if graded.report else ():
            for check in step.checks:
                if check.diagnosis and check.diagnosis.known:
                    explained.add(check.fingerprint)
                elif check.fingerprint:
                    sharing[step.title, check.title, check.fingerprint].append(graded.student)
    groups: defaultdict[tuple[tuple[str, ...], str], list[str]] = defaultdict(list)
    for (title, rule, fingerprint), students in sharing.items():
        if 2 <= len(students) <= few(size) and fingerprint not in explained:
            groups[tuple(students), title].append(rule)
    return [
        Alike(students, title, _same(rules))
        for (students, title), rules in sorted(groups.items(), key=lambda item: -len(item[1]))
    ]


def _same(checks: Sequence[str]) -> str:
    more = f" (and {len(checks) - 1} more)" if len(checks) > 1 else ""
    return f"The same wrong answers to the last bit: {checks[0]}{more}"


# the sources


@dataclass(frozen=True)
class Likenesses:
    """Students whose work on a step is alike.

    cut: those of whose work only the beginning was compared.
    """

    alike: tuple[Alike, ...]
    cut: tuple[str, ...] = ()


def own_lines(source: str, stub: str) -> str:
    """Return the lines that the stub does not have: no lesson, no signature, no docstring.

    Comments are left out, too. The source is not parsed. Lines are compared without trailing
    spaces, because editors remove those.
    """
    given = {line.rstrip() for line in stub.splitlines()}
    lines = (line.rstrip() for line in lines_of(source))
    kept = [line for line in lines if line and line not in given and line.lstrip()[0] != "#"]
    return "\n".join(kept)


def plain_code(source: str) -> str:
    """Return code without comments, spaces and names: `V` for each name, `S` for a text.

    >>> plain_code("return scale(x, 'a b') + 1  # done")
    'returnV(V,S)+1'
    """
    kept = {"'": "S", '"': "S", "#": ""}
    return "".join(
        kept.get(text[0], "V" if text.isidentifier() and not keyword.iskeyword(text) else text)
        for text in (match[0] for match in TOKEN.finditer(source))
    )


def _hash_parts(code: str) -> NDArray[np.int64]:
    """Return a number for each run of GRAM characters: the same in every process, unlike `hash`."""
    codes = np.frombuffer(code.encode("utf-32-le", "surrogatepass"), np.uint32).astype(np.uint64)
    count = len(codes) - GRAM + 1
    found = np.zeros(count, np.uint64)
    for at in range(GRAM):
        found = found * MULTIPLIER + codes[at : at + count]
    found ^= found >> np.uint64(29)
    return (found * MIXER ^ found >> np.uint64(32)).view(np.int64)


def _fingerprint(code: str) -> dict[int, list[int]]:
    """Return the places of each fingerprint of a text with at least GRAM characters."""
    hashes = _hash_parts(code)
    windows = sliding_window_view(hashes, min(WINDOW, len(hashes)))
    found: defaultdict[int, list[int]] = defaultdict(list)
    for place in np.unique(windows.argmin(axis=1) + np.arange(len(windows))).tolist():
        found[int(hashes[place])].append(place)
    return dict(found)


def _cover(found: dict[int, list[int]], keys: AbstractSet[int]) -> int:
    """Return how many characters lie in the runs with these fingerprints."""
    places = sorted(place for key in keys for place in found[key])
    return sum(min(GRAM, b - a) for a, b in itertools.pairwise(places)) + GRAM * bool(places)


def _index(people: dict[str, list[str]]) -> tuple[dict[int, list[str]], set[int]]:
    """Return the owners of each rare fingerprint, by code, and the common fingerprints.

    The list of a fingerprint that turns out to be common is dropped at once. So a fingerprint makes
    at most MOST_TEXTS² / 2 pairs, and time and memory grow with the class, not with its square.
    """
    most = few(sum(map(len, people.values())))
    having: defaultdict[int, list[str]] = defaultdict(list)
    count: Counter[int] = Counter()
    common: set[int] = set()
    for code, students in people.items():
        for key in _fingerprint(code).keys() - common:
            having[key].append(code)
            count[key] += len(students)
            if count[key] > most or len(having[key]) > MOST_TEXTS:
                common.add(key)
                del having[key], count[key]
    return dict(having), common


def _candidates(having: dict[int, list[str]]) -> Iterator[tuple[str, str]]:
    """Return the pairs that share enough rare fingerprints to be compared."""
    shared: Counter[tuple[str, str]] = Counter()
    for group in having.values():
        shared.update(itertools.combinations(group, 2))
    least = max(1, (LEAST_RARE - GRAM) // (2 * WINDOW))
    return (pair for pair, count in shared.items() if count >= least)


def near_sources(step: str, stub: str, sources: Iterable[tuple[str, str]]) -> Likenesses:
    """Return the students who wrote nearly the same in one step, the most alike first.

    step: its title. stub: the text of its exercise, which belongs to nobody. sources: students and
    their files.
    """
    people: defaultdict[str, list[str]] = defaultdict(list)
    cut = []
    for student, source in sources:
        text = own_lines(source, stub)
        cut += [student] if len(text) > MAX_WRITTEN else []
        code = plain_code(text[:MAX_WRITTEN])
        if len(code) >= GRAM:
            people[code].append(student)
    having, common = _index(people)

    @functools.lru_cache(CACHED)
    def rare(code: str) -> tuple[dict[int, list[int]], int]:
        found = _fingerprint(code)
        return found, _cover(found, found.keys() - common)

    found = [
        Alike(tuple(students), step, "The same code, except for names and comments.")
        for code, students in people.items()
        if len(students) >= 2 and rare(code)[1] >= LEAST_RARE
    ]
    for one, other in sorted(_candidates(having)):
        (mine, all_mine), (theirs, all_theirs) = rare(one), rare(other)
        keys = (mine.keys() & theirs.keys()) - common
        shared = _cover(mine, keys), _cover(theirs, keys)
        share = min(1.0, max(shared[0] / all_mine, shared[1] / all_theirs))
        if min(shared) >= LEAST_RARE and share >= LEAST_SHARE:
            students = (*people[one], *people[other])
            found.append(Alike(students, step, "Nearly the same code.", share))
    found.sort(key=lambda alike: -alike.share)
    return Likenesses(tuple(found), tuple(cut))
