"""Know the calls of a check before it makes them, so that a worker can answer all at once.

A check makes the same calls for every submission whose answers pass it, unless it puts an answer
into a later call. Code that passes a check shows its calls. The check then runs once more, on
slightly different answers. From then on, calls that change with the answers are made one by one.
All others are sent together, and the check finds their answers waiting. It still decides
everything: if a call differs from the expected one, the check is run call by call.

What a check decides depends on nothing but the answers. So the same bytes as those that passed
before pass again without another look.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.isolation import wire
from grader.isolation.client import SHARED, Several, digest_of, find_handles
from grader.isolation.wire import Handle, Laid
from grader.steps.tree import leaves, map_leaves

Request = Mapping[str, Any]
Noted = tuple[dict[str, Any], Any]  # a request with its reply

MAX_BYTES = 8 * 2**20  # of a check's calls
MAX_KNOWN = 200  # answers of a check that are remembered
HOPE = 0.2  # the chance from which an attempt pays
SKIPPED = 7  # attempts that are skipped in a row if there is little hope
MEMORY = 4  # about how many of the latest attempts count
PATIENCE = 2.0  # seconds for all answers of a check; slower code is asked call by call


class Script:
    """The calls of one check, as far as no answer changes them, and the answers that passed."""

    def __init__(self, requests: Sequence[bytes], sent: Sequence[bytes], shared: bytes) -> None:
        self.several = Several(requests, sent, shared)
        self.is_whole = bool(requests)
        self.passed: set[bytes] = set()

    def knows(self, answers: bytes) -> bool:
        """Return whether these answers have passed the check before."""
        return self.is_whole and digest_of(answers) in self.passed

    def remember(self, answers: bytes) -> bool:
        """Note that these answers pass the check. Return whether that is news."""
        if not self.is_whole or len(self.passed) >= MAX_KNOWN:
            return False
        self.passed.add(digest_of(answers))
        return True


class Hope:
    """The chance that a step passes, estimated from earlier attempts. A failed attempt costs time.

    No verdict depends on it.
    """

    def __init__(self) -> None:
        self.chance = 1.0
        self.skipped = 0

    def is_worth_a_try(self) -> bool:
        """Return whether to try: always if there is hope, otherwise now and then."""
        if self.chance >= HOPE or self.skipped >= SKIPPED:
            self.skipped = 0
            return True
        self.skipped += 1
        return False

    def note(self, passed: bool) -> None:
        """Note how an attempt went."""
        self.chance += (passed - self.chance) / MEMORY


def _each_argument(request: Request, change: Callable[[Any], Any]) -> Request:
    """Return the request with each of its arguments changed."""
    if request["do"] != "call" or not request.keys().isdisjoint(("arguments", "then")):
        return request  # its arguments are read or written after the call: they cannot be shared
    args = tuple(map(change, request["args"]))
    return {**request, "args": args, "kwargs": {k: change(v) for k, v in request["kwargs"].items()}}


def _read_only(leaf: Any) -> Any:
    return Laid(leaf, writable=False) if isinstance(leaf, np.ndarray) else leaf


def _share(requests: Sequence[Request]) -> tuple[list[Request], list[Any]]:
    """Replace arguments that several calls have by handles. Also return these arguments.

    They are read-only, since a call that writes into one would change those of the next.
    """
    seen: Counter[int] = Counter()
    numbers: dict[int, int] = {}
    shared: list[Any] = []

    def count(value: Any) -> Any:
        seen[id(value)] += isinstance(value, (dict, list, np.ndarray))
        return value

    def name(value: Any) -> Any:
        if seen[id(value)] < 2:
            return value
        if id(value) not in numbers:
            numbers[id(value)] = len(shared)
            shared.append(map_leaves(value, _read_only))
        return Handle(SHARED + numbers[id(value)])

    for request in requests:
        _each_argument(request, count)
    return [_each_argument(request, name) for request in requests], shared


def _count_same(one: Sequence[bytes], other: Sequence[bytes]) -> int:
    """Return how many of the first requests are the same."""
    pairs = enumerate(zip(one, other))
    return next((n for n, (a, b) in pairs if a != b), min(len(one), len(other)))


def _count_before_answers(noted: Sequence[Noted]) -> int:
    """Return how many requests come before the first that holds whole numbers from an answer.

    Whole numbers cannot be altered slightly, so nothing shows which requests they change.
    """
    answers: set[int] = set()  # a set, because a reply may hold many arrays
    for number, (request, reply) in enumerate(noted):
        asked = (leaf for leaf in leaves(request) if isinstance(leaf, np.ndarray))
        if not answers.isdisjoint(map(_find_memory, asked)):
            return number
        given = (leaf for leaf in leaves(reply) if isinstance(leaf, np.ndarray))
        answers.update(_find_memory(leaf) for leaf in given if leaf.dtype.kind != "f")
    return len(noted)


def _find_memory(array: NDArray[Any]) -> int:
    """Return the identity of the object in whose memory an array lies, alone or among others."""
    owner: Any = array
    while isinstance(owner, np.ndarray) and owner.base is not None:
        owner = owner.base
    return id(owner)


def write_script(noted: Sequence[Noted], again: Sequence[Request]) -> Script:
    """Return the script of a check, from its requests and the replies that passed it.

    again: the check's requests when the answers differ. The script has the requests up to the first
    difference, because what one submission answers must not be sent to another. It is empty if it
    would be longer than MAX_BYTES. It is also empty if the check measures memory, because requests
    that wait would count.
    """
    requests = [request for request, _ in noted]
    given = find_handles([reply for _, reply in noted])
    numbers = {handle.number: place for place, handle in enumerate(given)}

    def encode(request: Request) -> bytes:
        forgotten = [numbers[number] for number in request.get("forget", ()) if number in numbers]
        more = {"forget": forgotten} if forgotten else {}
        return wire.encode({**map_leaves(request, renumber), **more})

    def renumber(leaf: Any) -> Any:
        is_early = isinstance(leaf, Handle) and leaf.number < SHARED
        return Handle(numbers.get(leaf.number, leaf.number)) if is_early else leaf

    count = _count_same([*map(encode, requests)], [*map(wire.encode, again)])
    count = min(count, _count_before_answers(noted))
    if any(request.get("traced") for request in requests):
        count = 0
    sent, shared = _share(requests[:count])
    encoded, held = [*map(encode, sent)], wire.encode(shared)
    if not count or len(held) + sum(map(len, encoded)) > MAX_BYTES:
        return Script((), (), b"")
    script = Script([digest_of(encode(request)) for request in requests[:count]], encoded, held)
    script.is_whole = count == len(requests)
    return script
