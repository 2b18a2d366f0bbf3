"""Keep the time of the statements at a notebook's margin, and remember which ones are too slow.

The worker says where it is before each statement that may be slow, and its processor time. It ends
in a statement that takes too much of that, so a busy machine costs nobody a cell. A statement may
sleep, or switch that limit off. So the judge ends the worker after a longer time on the clock. A
slow statement is known by the digest of its text, in all steps of a submission. A worker that lies
about it only hurts its author.
"""

import time
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

PATIENCE = 3.0  # seconds of processor time that a statement may take
SLACK = 4.0  # how much longer it may take on the clock
BUDGET = 30.0  # seconds that all loading of a submission's notebooks may take beside its own limit
FREE = 0.1  # seconds: loading that takes no longer is not counted
CHEAP = 0.2  # seconds: what took longer is skipped once the budget is spent
MAX_STATEMENTS = 20_000  # that one worker may report
MAX_SKIPPED = 200
MAX_STUCK = 8  # statements of a submission; then only definitions and imports run


@dataclass(frozen=True)
class Skipped:
    """A statement that did not run, or does not count: its first and last line in a source.

    why: the type of its exception, `slow`, or `replaced` for what does not replace a function.
    """

    file: str
    first: int
    last: int
    why: str


class Margins:
    """Hold what the statements of a submission's notebooks have taken so far."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}  # by the digest of a statement's text
        self.renew()

    def renew(self) -> None:
        """Begin with a whole budget; what is slow stays known."""
        self.left, self.stuck = BUDGET, 0

    def wishes(self) -> dict[str, Any]:
        """Return what a worker must know: which statements to skip, and whether most."""
        most = PATIENCE * 0.9 if self.left > 0 else CHEAP
        skip = [digest for digest, seconds in self.seconds.items() if seconds > most]
        return {"skip": skip, "calm": self.stuck >= MAX_STUCK, "patience": PATIENCE}

    def pay(self, seconds: float) -> float:
        """Return how many of these seconds of loading the budget pays for."""
        paid = min(max(0.0, seconds - FREE), max(0.0, self.left))
        self.left -= paid
        return paid


class Watch:
    """The watch over one worker: where it is, and until when it may be there."""

    def __init__(self, margins: Margins) -> None:
        self.margins, self.count = margins, 0
        self.digest, self.begun, self.used = "", time.monotonic(), 0.0

    @property
    def until(self) -> float:
        """Return when the judge's patience ends."""
        return self.begun + SLACK * PATIENCE

    def move(self, place: Any) -> bool:
        """Note which statement a worker says it runs, or "", and its processor time.

        It may lie about how long the one before has taken. Return False if that is something else.
        """
        self.count += 1
        match place:
            case [str(digest), float(used)] if self.count <= MAX_STATEMENTS and len(digest) <= 32:
                now = time.monotonic()
                seconds = max(used - self.used, (now - self.begun) / SLACK)
                if self.digest and seconds > CHEAP:
                    self.margins.seconds[self.digest] = seconds
                self.digest, self.begun, self.used = digest, now, used
                return True
        return False

    def drop(self) -> bool:
        """Remember the statement in which a worker is stuck; return whether to try without it."""
        if self.margins.stuck > MAX_STUCK:
            return False
        if self.digest:
            self.margins.seconds[self.digest] = float("inf")
        self.margins.stuck = self.margins.stuck + 1 if self.digest else MAX_STUCK + 1
        return True


def read_skipped(rows: list[Any], files: Collection[str]) -> tuple[Skipped, ...]:
    """Return what a worker says it has skipped in these notebooks, as far as it can be true."""
    found = []
    for row in rows[:MAX_SKIPPED]:
        match row:
            case [str(file), int(first), int(last), str(why)] if (
                file in files and 0 < first <= last
            ):
                found.append(Skipped(file, first, last, why[:80]))
    return tuple(found)
