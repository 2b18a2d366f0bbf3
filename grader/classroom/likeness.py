"""Find submissions that a person should compare; this is never a verdict.

There are two kinds. Answers: several students gave exactly the same wrong numbers, and no known
mistake explains them. Sources: two students wrote nearly the same code, although few others did. If
everybody writes something, it says nothing about anybody. So only what few students share is
compared.
"""

from __future__ import annotations

import functools
import io
import itertools
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from grader.classroom.lexing import Lexer
from grader.intake.submission import lines_of
from grader.report.records import Alike, Graded

if TYPE_CHECKING:
    from copydetect import CodeFingerprint

FEW = 5
FEW_SHARE = 0.02
MAX_WRITTEN = 10_000  # characters of a step that are compared: four times the longest solution
GRAM, WINDOW = 25, 5  # tokens that must agree in a row; a fingerprint in every WINDOW of them
MOST_TEXTS = 10  # different texts that may share a fingerprint before it is common
LEAST_RARE = 60  # tokens of rare code that two must share
LEAST_SHARE = 0.8  # of the rare code of the shorter
# Odd numbers without a pattern in their bits, to make numbers of runs of tokens.
MULTIPLIER, MIXER = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9)
CACHED = 1000  # fingerprints that are kept while pairs are compared


def few(students: int) -> int:
    """Return how many students may share something before it counts as common."""
    return max(FEW, int(FEW_SHARE * students))


# the answers


def _unexplained_answers(graded: Graded) -> Iterator[tuple[str, str, str]]:
    """Yield the step, check and fingerprint of every wrong answer without a known mistake."""
    for step in graded.report.steps if graded.report else ():
        for check in step.checks:
            if check.fingerprint and not (check.diagnosis and check.diagnosis.known):
                yield step.title, check.title, check.fingerprint


def _explained_answers(graded: Graded) -> set[str]:
    """Return the fingerprints of the wrong answers that a known mistake explains."""
    steps = graded.report.steps if graded.report else ()
    return {
        check.fingerprint
        for step in steps
        for check in step.checks
        if check.diagnosis and check.diagnosis.known
    }


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
        for found in _unexplained_answers(graded):
            sharing[found].append(graded.student)
        explained |= _explained_answers(graded)
    groups: defaultdict[tuple[tuple[str, ...], str], list[str]] = defaultdict(list)
    for (step, check, fingerprint), students in sharing.items():
        if 2 <= len(students) <= few(size) and fingerprint not in explained:
            groups[tuple(students), step].append(check)
    return [
        Alike(students, step, _same(checks))
        for (students, step), checks in sorted(groups.items(), key=lambda item: -len(item[1]))
    ]


def _same(checks: Sequence[str]) -> str:
    more = f" (and {len(checks) - 1} more)" if len(checks) > 1 else ""
    return f"The same wrong answers to the last bit: {checks[0]}{more}"


# the sources


@dataclass(frozen=True)
class Likenesses:
    """Students whose work on a step is alike, and those not compared, or not to the end."""

    alike: tuple[Alike, ...]
    passed_over: tuple[str, ...] = ()


def own_lines(source: str, stub: str) -> str:
    """Return the lines that the stub does not have: no lesson, no signature, no docstring.

    Comments are left out, too. The source is not parsed. Lines are compared without trailing
    spaces, because editors remove those.
    """
    given = {line.rstrip() for line in stub.splitlines()}
    lines = (line.rstrip() for line in lines_of(source))
    kept = [line for line in lines if line and line not in given and line.lstrip()[0] != "#"]
    return "\n".join(kept)


def _by_text(
    sources: Iterable[tuple[str, str]], stub: str
) -> tuple[dict[str, list[str]], tuple[str, ...]]:
    """Return the students by their texts, and those of whose text only the beginning is compared.

    Who wrote nothing is not among them.
    """
    found: defaultdict[str, list[str]] = defaultdict(list)
    cut: list[str] = []
    for student, source in sources:
        if text := own_lines(source, stub):
            found[text[:MAX_WRITTEN]].append(student)
            cut += [student] if len(text) > MAX_WRITTEN else []
    return dict(found), tuple(cut)


def _tokens(
    texts: dict[str, list[str]], lexer: Lexer
) -> tuple[dict[str, list[str]], tuple[str, ...]]:
    """Return the students by their tokens, and those whose source has no tokens to compare."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    lost: list[str] = []
    for text, students in texts.items():
        tokens = lexer.tokens(text)
        if tokens is None:
            lost += students
        elif len(tokens) >= GRAM:
            found[tokens] += students
    return dict(found), tuple(lost)


def _hash_parts(tokens: str) -> NDArray[np.int64]:
    """Return a number for each run of GRAM tokens: the same in every process, unlike `hash`."""
    codes = np.frombuffer(tokens.encode("utf-32-le", "surrogatepass"), np.uint32).astype(np.uint64)
    count = len(codes) - GRAM + 1
    found = np.zeros(max(0, count), np.uint64)
    for at in range(GRAM if count > 0 else 0):
        found = found * MULTIPLIER + codes[at : at + count]
    found ^= found >> np.uint64(29)
    return (found * MIXER ^ found >> np.uint64(32)).view(np.int64)


def _fingerprint(tokens: str, common: frozenset[int] | set[int] = frozenset()) -> CodeFingerprint:
    """Return copydetect's fingerprint of the tokens, without common parts."""
    from copydetect import CodeFingerprint
    from copydetect.utils import get_token_coverage, winnow

    hashes, places = winnow(_hash_parts(tokens), WINDOW, remove_duplicates=False)
    index: defaultdict[int, list[int]] = defaultdict(list)
    for key, place in zip(hashes.tolist(), places.tolist(), strict=True):
        if key not in common:
            index[key].append(place)
    found = CodeFingerprint("tokens", GRAM, WINDOW, filter=False, fp=io.StringIO(" " * GRAM))
    found.raw_code = found.filtered_code = tokens
    found.hashes, found.hash_idx = set(index), dict(index)
    found.token_coverage = get_token_coverage(found.hash_idx, GRAM, len(tokens))
    return found


def _index(people: dict[str, list[str]]) -> tuple[dict[int, list[str]], set[int]]:
    """Return the owners of each rare fingerprint, by tokens, and the common fingerprints.

    The list of a fingerprint that turns out to be common is dropped at once. So a fingerprint makes
    at most MOST_TEXTS² / 2 pairs, and time and memory grow with the class, not with its square.
    """
    most = few(sum(map(len, people.values())))
    having: defaultdict[int, list[str]] = defaultdict(list)
    count: Counter[int] = Counter()
    common: set[int] = set()
    for tokens, students in people.items():
        for key in _fingerprint(tokens).hashes - common:
            having[key].append(tokens)
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


def _likeness(one: CodeFingerprint, other: CodeFingerprint) -> float:
    """Return the larger share of rare code that the other has as well, or 0 for too little code."""
    from copydetect import compare_files

    tokens, shares, _ = compare_files(one, other)
    return min(1.0, float(max(shares))) if tokens >= LEAST_RARE else 0.0


def _same_texts(people: dict[str, list[str]], step: str, common: set[int]) -> Iterator[Alike]:
    """Yield groups whose tokens are all the same, and rare."""
    for tokens, students in people.items():
        if len(students) >= 2 and _fingerprint(tokens, common).token_coverage >= LEAST_RARE:
            yield Alike(tuple(students), step, "The same code, except for names and comments.")


def near_sources(
    step: str, stub: str, sources: Iterable[tuple[str, str]], lexer: Lexer
) -> Likenesses:
    """Return the students who wrote nearly the same in one step, the most alike first.

    step: its title. stub: the text of its exercise, which belongs to nobody. sources: students and
    their files. lexer: one for all steps, since it takes as long to start as to read many files.
    Raise ImportError if copydetect is not installed.
    """
    texts, cut = _by_text(sources, stub)
    people, lost = _tokens(texts, lexer)
    having, common = _index(people)
    rare = functools.lru_cache(CACHED)(lambda tokens: _fingerprint(tokens, common))
    found = list(_same_texts(people, step, common))
    for one, other in sorted(_candidates(having)):
        share = _likeness(rare(one), rare(other))
        if share >= LEAST_SHARE:
            students = (*people[one], *people[other])
            found.append(Alike(students, step, "Nearly the same code.", share))
    found.sort(key=lambda alike: -alike.share)
    return Likenesses(tuple(found), tuple(dict.fromkeys((*cut, *lost))))
