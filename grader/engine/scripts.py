"""Know the calls of a check before it makes them, so that a worker can answer all at once.

A check makes the same calls for every submission whose answers pass it, unless it puts an answer
into a later call. The first submission that passes a check shows its calls. From then on they are
sent together, and the check finds the answers waiting. It still decides everything: a call that
differs from the expected one ends this way of asking, and the check is run call by call.

What a check decides depends on nothing but the answers. So the same bytes as those that passed
before pass again without another look.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from grader.isolation import wire
from grader.isolation.client import SHARED, Several, digest_of
from grader.isolation.wire import Handle, Laid
from grader.steps.tree import map_leaves

Request = Mapping[str, Any]

MAX_BYTES = 8 * 2**20  # of a check's calls
MAX_KNOWN = 200  # answers of a check that are remembered
PATIENCE = 2.0  # seconds for all answers of a check; who needs longer is asked call by call


class Script:
    """The calls of one check, as far as no answer changes them, and the answers that passed."""

    def __init__(self, requests: Sequence[bytes], sent: Sequence[bytes], shared: bytes) -> None:
        self.several = Several(requests, sent, shared)
        self.is_whole = bool(requests)
        self.passed: set[bytes] = set()

    def shorten(self, count: int) -> None:
        """Send only that many calls in future: the next one depends on the answers."""
        old = self.several
        self.several = Several(old.requests[:count], old.sent[:count], old.shared)
        self.is_whole = False
        self.passed.clear()

    def knows(self, answers: bytes) -> bool:
        """Return whether these answers have passed the check before."""
        return self.is_whole and digest_of(answers) in self.passed

    def remember(self, answers: bytes) -> bool:
        """Note that these answers pass the check. Return whether that is news."""
        if not self.is_whole or len(self.passed) >= MAX_KNOWN:
            return False
        self.passed.add(digest_of(answers))
        return True


def _each_argument(request: Request, change: Callable[[Any], Any]) -> Request:
    """Return the request with each of its arguments changed."""
    if request["do"] != "call" or not request.keys().isdisjoint(("arguments", "then")):
        return request  # what is looked at after the call, or written into, is nobody else's
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


def write_script(requests: Sequence[Request], first: int) -> Script:
    """Return the script of these requests, whose handles were numbered from `first`.

    It is empty if they are many bytes, or measure memory: a request that waits would count, too.
    """

    def encode(request: Request) -> bytes:
        forgotten = [number - first for number in request.get("forget", ())]
        more = {"forget": forgotten} if forgotten else {}
        return wire.encode({**map_leaves(request, renumber), **more})

    def renumber(leaf: Any) -> Any:
        is_early = isinstance(leaf, Handle) and leaf.number < SHARED
        return Handle(leaf.number - first) if is_early else leaf

    sent, shared = _share(requests)
    encoded, held = [*map(encode, sent)], wire.encode(shared)
    measured = any(request.get("traced") for request in requests)
    if measured or len(held) + sum(map(len, encoded)) > MAX_BYTES:
        return Script((), (), b"")
    return Script([digest_of(encode(request)) for request in requests], encoded, held)
