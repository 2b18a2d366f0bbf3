"""Judge two steps at a time.

Steps that pass at once mostly wait for their workers, so threads do. For the others, the judge
loads everything, forks twice, and then only listens.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import selectors
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

Judge = Callable[[int], Any]
Result = TypeVar("Result")
CHUNK = 1 << 16  # bytes read at a time


def _tickets(descriptor: int) -> Iterator[int]:
    """Yield numbers from a pipe that several processes read; each number goes to one process."""
    while ticket := os.read(descriptor, 1):
        yield ticket[0]


def _work(tickets: int, results: int, judge: Judge) -> None:
    """Judge a share of the numbers in a forked process, and never return."""
    try:
        with os.fdopen(results, "w", encoding="utf-8") as lines:
            for number in _tickets(tickets):
                lines.write(json.dumps([number, judge(number)]) + "\n")
                lines.flush()
    finally:
        os._exit(0)


def _begin(tickets: int, judge: Judge) -> tuple[int, int]:
    """Return a new process, and the pipe that carries its results."""
    results, write = os.pipe()
    child = os.fork()
    if not child:
        os.close(results)
        _work(tickets, write, judge)
    os.close(write)
    return child, results


def _lines(pipes: list[int]) -> Iterator[bytes]:
    """Yield the lines from these pipes, each as soon as it is complete."""
    with selectors.DefaultSelector() as waiting:
        for pipe in pipes:
            waiting.register(pipe, selectors.EVENT_READ, bytearray())
        while waiting.get_map():
            for key, _ in waiting.select():
                chunk = os.read(key.fd, CHUNK)
                if not chunk:
                    waiting.unregister(key.fd)
                *whole, rest = (key.data + chunk).split(b"\n")
                key.data[:] = rest
                yield from whole


def in_two(count: int, judge: Judge, other: Judge) -> Iterator[tuple[int, Any]]:
    """Yield results for 0..count-1 as they arrive, from one process for each of the two judges.

    The first judge does here whatever both left out because one broke.
    """
    tickets, fill = os.pipe()
    os.write(fill, bytes(range(count)))
    os.close(fill)
    children, pipes = zip(*(_begin(tickets, one) for one in (judge, other)))
    missing = set(range(count))
    try:
        for line in _lines([*pipes]):
            number, data = json.loads(line)
            missing.discard(number)
            yield number, data
        for child in children:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(child, 0)
    finally:
        for descriptor in (tickets, *pipes):
            os.close(descriptor)
    yield from ((number, judge(number)) for number in sorted(missing))


def in_threads(
    count: int, judges: Sequence[Callable[[int], Result]]
) -> Iterator[tuple[int, Result]]:
    """Yield results for 0..count-1 as they arrive, from one thread for each of the judges.

    What a judge raises is raised here, and ends the work.
    """
    left: queue.SimpleQueue[int | None] = queue.SimpleQueue()
    for number in (*range(count), *(None for _ in judges)):
        left.put(number)
    done: queue.SimpleQueue[tuple[int, Result] | BaseException] = queue.SimpleQueue()
    ended = threading.Event()

    def work(judge: Callable[[int], Result]) -> None:
        try:
            while (number := left.get()) is not None and not ended.is_set():
                done.put((number, judge(number)))
        except BaseException as error:
            ended.set()
            done.put(error)

    threads = [threading.Thread(target=work, args=(judge,)) for judge in judges]
    for thread in threads:
        thread.start()
    try:
        for _ in range(count):
            result = done.get()
            if isinstance(result, BaseException):
                raise result
            yield result
    finally:
        ended.set()
        for thread in threads:
            thread.join()
