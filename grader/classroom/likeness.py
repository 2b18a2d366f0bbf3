"""Find submissions that a person should compare; this is never a verdict.

There are two kinds. Answers: several students gave exactly the same wrong numbers, and no known
mistake explains them. Sources: two students wrote nearly the same code, although few others did. If
everybody writes something, it says nothing about anybody. So only what few students share is
compared. Of sources that is done by fingerprints (Manber 1994): of all runs of 25 characters, those
whose number is a multiple of 5.
"""

import itertools
import keyword
import re
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable

from grader.isolation.survey import lines_of
from grader.report.records import Alike, Graded

FEW = 5
FEW_SHARE = 0.02
MAX_WRITTEN = 10_000  # characters of a step that are compared: four times the longest solution
GRAM, EVERY = 25, 5  # characters that must agree in a row; one in EVERY such runs is a fingerprint
MOST_TEXTS = 10  # different texts that may share a fingerprint before it is common
LEAST_RARE = 8  # rare fingerprints that two must share: those of about 60 characters
LEAST_SHARE = 0.6  # of the rare fingerprints of the shorter
# A comment, a string, a word or a sign. Whatever a student has written, MAX_WRITTEN characters are
# read in less than a second.
TOKEN = re.compile(r"#.*|('|\")(?:(?!\1)[^\\\n]|\\.){0,300}\1|\w+|\S")


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
        for step in graded.steps:
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
        Alike(
            *(students, title),
            f"The same wrong answers to the last bit: {rules[0]}"
            + (f" (and {len(rules) - 1} more)" if len(rules) > 1 else ""),
        )
        for (students, title), rules in sorted(groups.items(), key=lambda item: -len(item[1]))
    ]


# the sources


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


def near_sources(
    step: str, stub: str, sources: Iterable[tuple[str, str]]
) -> tuple[list[Alike], list[str]]:
    """Return the students who wrote nearly the same in one step, the most alike first.

    step: its title. stub: the text of its exercise, which belongs to nobody. sources: students and
    their files. The second list names those of whose work only the beginning was compared.
    """
    people: defaultdict[str, list[str]] = defaultdict(list)
    cut = []
    for student, source in sources:
        text = own_lines(source, stub)
        cut += [student] if len(text) > MAX_WRITTEN else []
        people[plain_code(text[:MAX_WRITTEN])].append(student)
    having: defaultdict[int, list[str]] = defaultdict(list)
    for code in people:
        data = code.encode("utf-8", "surrogatepass")
        runs = (data[at : at + GRAM] for at in range(len(data) - GRAM + 1))
        numbers = set(map(zlib.crc32, runs))  # the same in every process, unlike Python's own
        for number in (one for one in numbers if one % EVERY == 0):
            having[number].append(code)
    most = few(sum(map(len, people.values())))
    rare = [
        codes
        for codes in having.values()
        if len(codes) <= MOST_TEXTS and sum(len(people[code]) for code in codes) <= most
    ]
    size = Counter(itertools.chain.from_iterable(rare))
    found = [
        Alike(tuple(people[code]), step, "The same code, except for names and comments.")
        for code in people
        if len(people[code]) > 1 and size[code] >= LEAST_RARE
    ]
    shared = Counter(pair for codes in rare for pair in itertools.combinations(codes, 2))
    for (one, other), count in shared.items():
        share = count / min(size[one], size[other])
        if count >= LEAST_RARE and share >= LEAST_SHARE:
            found.append(
                Alike((*people[one], *people[other]), step, "Nearly the same code.", share)
            )
    return sorted(found, key=lambda alike: -alike.share), cut
