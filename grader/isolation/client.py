"""Call functions in a worker from the judge, with deadlines, and record how each call ended."""

import builtins
import contextlib
import functools
import itertools
import marshal
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from grader.isolation import Host, wire
from grader.isolation.margins import Skipped, Watch, read_skipped
from grader.isolation.wire import Foreign, Handle, ProtocolError
from grader.isolation.worker.cells import is_notebook
from grader.isolation.worker.codec import HEADER, MAX_FRAME, NONCE
from grader.steps.tree import leaves

# Limits on an exception: nobody reads more, and more would fill the judge's memory.
MAX_TEXT, MAX_NAME, MAX_KINDS, MAX_LINES, MAX_PRINTED = 2000, 80, 16, 4, 4000
MAX_NAMES = 5000
MAX_NOTED = 8
MAX_HANDLE = 2**32
WATCHED = 0.96  # the part of a call's time after which a watched worker reports its line
TOGETHER = 32  # calls in one message; all wait in the worker's memory
PATIENCE = 1.0  # seconds for answers that nobody wants
TRACING = 4  # how many times longer a call may take while its memory is measured
# What a call may wish for, and what the answer then has: its name and type.
_WISHED: Sequence[tuple[str, str, type[Any]]] = (
    *(("keep", "kept", Handle), ("arguments", "arguments", list)),
    *(("traced", "traced", list), ("both", "first", object)),
)


# What is refused where a class is graded: what it does, in which file, in which line.
Outside = tuple[str, str, int]


class CallFailed(Exception):
    """A call that returned no value."""


@dataclass
class Raised(CallFailed):
    """The student's code raised; lines are those of the student's own file, outermost first.

    innermost: the last line of all sources that were sent, with the name under which it was sent.
    suggests: Python's guess at the name that was meant.
    """

    type: str
    kinds: tuple[str, ...]
    text: str
    lines: tuple[int, ...]
    printed: str = ""
    innermost: tuple[str, int] | None = None
    suggests: str = field(default="", compare=False)

    @property
    def known(self) -> str | None:
        """Return the exception's name if it is Python's own; others could carry inputs out."""
        own = getattr(builtins, self.type, None)
        return self.type if isinstance(own, type) and issubclass(own, BaseException) else None


@dataclass
class TimedOut(CallFailed):
    """No answer came before the deadline, so the worker was killed.

    lines: where the student's own file was at that moment, outermost first, as the worker reports
    it. places: the same in all sources that were sent, innermost first.
    """

    seconds: float
    whole_step: bool = False
    lines: tuple[int, ...] = ()
    places: tuple[tuple[str, int], ...] = field(default=(), compare=False)


class Died(CallFailed):
    """The worker ended, or sent something that is not an answer to the question."""


@dataclass(frozen=True)
class Answer:
    """The answer to a call. arguments and first, the first of two results, come on request only."""

    value: Any
    printed: str = ""
    products: int = 0
    kept: Handle | None = None
    arguments: Any = None
    traced: tuple[int, int, int] | None = None
    first: Any = None


Source = tuple[str | bytes, str]
"""A module's text or its compiled code, and the file name shown in messages."""


@dataclass(frozen=True)
class Program:
    """The step to be judged, and the modules that its code may import."""

    module: str
    sources: Mapping[str, Source] = field(repr=False)
    """By the module's name."""
    own: Mapping[str, tuple[str, str, list[str]]] = field(default_factory=dict, repr=False)
    """The student's versions of modules whose `sources` are the judge's: helpers are theirs.

    Each with the step's functions, for which the judge's version is asked.
    """


@functools.lru_cache(maxsize=256)
def compile_source(text: str, file: str) -> Source:
    """Return a source as code, which loads in less time; only of the kit's own sources.

    They stay in memory. Here the code is only data: nothing but a worker runs it. What does not
    compile stays text, so the worker says where it is wrong, to a step that imports it.
    """
    try:
        return marshal.dumps(compile(text, file, "exec", dont_inherit=True)), file
    except (SyntaxError, ValueError):  # the latter for a null character
        return text, file


def _request_call(
    function: str, args: Sequence[Any], kwargs: Mapping[str, Any], opaque: Sequence[bool]
) -> dict[str, Any]:
    given = {"args": tuple(args), "kwargs": dict(kwargs), "opaque": list(opaque)}
    return {"do": "call", "function": function, **given}


def _part(answer: Any, name: str, kind: type[Any] = object) -> Any:
    """Return what an answer must have by that name, if it is of that type."""
    if not isinstance(answer, dict) or name not in answer or not isinstance(answer[name], kind):
        raise ProtocolError("not an answer")
    return answer[name]


def _listed(value: Any, most: int, read: Callable[[Any], Any]) -> tuple[Any, ...]:
    """Return what can be read of the first items in a list, which may hold anything."""
    items = value[:most] if isinstance(value, list) else ()
    return tuple(one for one in map(read, items) if one is not None)


def _name(value: Any) -> str | None:
    return value[:MAX_NAME] if isinstance(value, str) else None


def _line(value: Any) -> int | None:
    return value if type(value) is int and 0 < value < MAX_HANDLE else None


def _place(value: Any) -> tuple[str, int] | None:
    match value:
        case [str(file), int(line)] if line > 0:
            return file[:MAX_TEXT], line
    return None


def _outside(value: Any) -> Outside | None:
    match value:
        case [str(does), str(file), int(line)] if 0 < line < MAX_HANDLE:
            return does[:MAX_NAME], file[:MAX_NAME], line
    return None


def _read_raised(report: Any, printed: str) -> Raised:
    match report:
        case {"type": str(name), "message": str(text), "lines": list(lines)}:
            return Raised(
                name[:MAX_NAME],
                _listed(report.get("kinds"), MAX_KINDS, _name),
                text[:MAX_TEXT],
                _listed(lines, MAX_LINES, _line),
                printed,
                _place(report.get("innermost")),
                _name(report.get("suggests")) or "",
            )
    raise ProtocolError("not an answer")


def find_handles(value: Any) -> list[Handle]:
    """Return the handles in a value, in the order in which they were written."""
    return [leaf for leaf in leaves(value) if isinstance(leaf, Handle)]


def _check_opaque(value: Any, handles: Sequence[Handle], opaque: Sequence[bool]) -> None:
    """Raise ProtocolError unless handles are where the judge must not look, and only there.

    A function of several results may have returned a single object that is not a tuple.
    """
    parts = [value] if len(opaque) == 1 else value
    if not any(opaque):
        right = not handles
    elif isinstance(parts, (list, tuple)):
        right = len(parts) == len(opaque) and all(
            isinstance(part, Handle) if hidden else not find_handles(part)
            for part, hidden in zip(parts, opaque, strict=True)
        )
    else:
        right = isinstance(parts, (np.ndarray, Foreign))
    if not right:
        raise ProtocolError("data in place of a handle, or a handle in place of data")


class Worker:
    """One process with the student's module loaded; dead after the first call without an answer.

    watched: shortly before a call times out, the worker reports the line that it is running.
    """

    def __init__(self, host: Host, deadline: float, *, watched: bool = False) -> None:
        self.host = host
        self.watched = watched
        self.deadline = min(deadline, host.deadline)
        self.channel, self.number = host.start()
        self.alive = True
        self.names: tuple[str, ...] = ()  # of what can be called
        self.unread = bytearray()
        self.message = b""  # the mark of the last message, which each reply to it repeats
        self.awaited = 0  # replies to it that were not read yet
        self.numbered = 0  # handles that were given so far have lower numbers
        self.anew = False  # whether the next request is the first of a check: old results can go
        self.skipped: tuple[Skipped, ...] = ()  # the statements of notebooks that did not run
        self.noted: set[Outside] = set()  # what is refused where a class is graded

    def close(self) -> None:
        """End the process and all that it started."""
        if self.alive:
            self.alive, self.awaited = False, 0
            self.channel.close()
            self.host.end(self.number)

    def load(self, program: Program) -> tuple[str, ...]:
        """Run the module, and return the names that can be called in it."""
        modules: list[Any] = [
            [name, text if isinstance(text, str) else np.frombuffer(text, np.uint8), file]
            for name, (text, file) in program.sources.items()
        ]
        own = [[name, *source] for name, source in program.own.items()]
        request: dict[str, Any] = {"do": "load", "modules": modules, "own": own}
        request |= {"module": program.module, "audit": self.host.audit}
        texts = [(text, file) for _, text, file, *_ in (*modules, *own) if isinstance(text, str)]
        books = {file for text, file in texts if is_notebook(text)}
        ok, _ = self._load_notebooks(request) if books else self._ask(request)
        with self._or_died():
            self.skipped = read_skipped(_part(ok, "skipped", list), books)
            self.names = _listed(_part(ok, "names", list), MAX_NAMES, _name)
        return self.names

    def _load_notebooks(self, request: dict[str, Any]) -> tuple[Any, str]:
        """Return the reply to a request to load notebooks, without their statements that hang.

        A worker that is stuck in one is replaced. What all this takes belongs to no step.
        """
        margins, start = self.host.margins, time.monotonic()
        while True:
            watch = Watch(margins)
            try:
                return self._ask({**request, **margins.wishes()}, watch)
            except (TimedOut, Died):
                if time.monotonic() > self.deadline or not watch.drop():
                    raise
            finally:
                spent = margins.pay(time.monotonic() - start)
                start = time.monotonic()
                self.deadline += spent
                self.host.deadline += spent
            self.channel, self.number = self.host.start()
            self.unread.clear()
            self.alive = True

    def call(
        self,
        function: str,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        *,
        opaque: Sequence[bool] = (False,),
        forget: Sequence[Handle] = (),
        **wishes: Any,
    ) -> Answer:
        """Call a function in the worker.

        forget: kept objects that nobody needs after this call. Wishes are:

        - keep: hold the result, so that it can be fetched again later;
        - arguments: also return the arguments after the call;
        - then: other [args, kwargs] for a second call, written into the same arrays; its result is
          the answer, and the first result is the one held;
        - both: return the first result, too, as it was before the second call;
        - hold: keep the result for as long as the worker lives;
        - strict: overflow and invalid operations of NumPy raise;
        - traced: measure memory, from the first such call on. With `then`, measure the most that
          the second call needs.
        """
        request = _request_call(function, args, kwargs, opaque)
        wishes["forget"] = [handle.number for handle in forget]
        request.update({name: wish for name, wish in wishes.items() if wish})
        self._send([self._encode(request)])
        return self._answer(request)

    def call_all(
        self,
        function: str,
        calls: Iterable[tuple[Sequence[Any], Mapping[str, Any]]],
        opaque: Sequence[bool] = (False,),
    ) -> Iterator[Answer]:
        """Call a function with each of these arguments, in as few messages as possible.

        The answers come in turn. A call's time begins when its answer is wanted. What the student's
        code raises, or another question, ends it: the answers that are left are dropped.
        """
        requests = (_request_call(function, *call, opaque) for call in calls)
        while some := list(itertools.islice(requests, TOGETHER)):
            message = self._send([self._encode(request) for request in some])
            for request in some:
                if self.message != message:
                    raise RuntimeError("another question was asked in between")
                yield self._answer(request)

    def _answer(self, request: Mapping[str, Any]) -> Answer:
        """Return the answer to the oldest request without one."""
        with self._or_died():
            ok, printed = self._receive(request)
            parts = {"value": _part(ok, "value"), "products": _part(ok, "products", int)}
            wanted = [(name, kind) for wish, name, kind in _WISHED if wish in request]
            parts |= {name: _part(ok, name, kind) for name, kind in wanted}
            match parts.get("traced", ()):
                case [int(before), int(most), int(after)]:
                    parts["traced"] = before, most, after
                case [_, *_]:
                    raise ProtocolError("not an answer")
            handles = find_handles(parts["value"])
            _check_opaque(parts["value"], handles, request["opaque"])
            for handle in [*handles, parts["kept"]] if "kept" in parts else handles:
                if not self.numbered <= handle.number < MAX_HANDLE:
                    raise ProtocolError("a handle with the number of another one")
                self.numbered = handle.number + 1
            if wanted and find_handles((parts.get("arguments"), parts.get("first"))):
                raise ProtocolError("a handle that nobody asked for")
        return Answer(printed=printed, **parts)

    def _lose(self) -> None:
        """End a worker that breaks the protocol."""
        self.host.upset = True
        self.close()

    @contextlib.contextmanager
    def _or_died(self) -> Iterator[None]:
        """End a worker that breaks the protocol here, and raise Died."""
        try:
            yield
        except (OSError, ProtocolError, Died):
            self._lose()
            raise Died from None

    def fetch(self, handle: Handle, rows: tuple[int, int] | None = None) -> Any:
        """Return a kept result's present value. rows: only these, of its second-to-last axis."""
        return self.call("", [handle, *(rows or ())], {}).value

    def hold(self, value: Any) -> Any:
        """Send an argument of many calls once, and return its handle.

        The worker keeps it for as long as it lives. A value may contain others that are held.
        """
        return self.call("", [value], {}, opaque=(True,), hold=True).value

    def drop_answers(self) -> None:
        """Read the answers that nobody wants any more, or end a worker that is too slow for that.

        Each question then gets its own answer, and its own time.
        """
        if not self.awaited:
            return
        until = min(time.monotonic() + PATIENCE, self.deadline)
        with contextlib.suppress(Died), self._or_died():
            while self.awaited:
                self._read_frame(until)

    def _ask(self, request: dict[str, Any], margins: Watch | None = None) -> tuple[Any, str]:
        """Return a request's result, and what was printed. margins: keeps the time of a load."""
        self._send([wire.encode(request) if margins else self._encode(request)])
        with self._or_died():
            return self._receive(request, margins)

    def _encode(self, request: dict[str, Any]) -> bytes:
        """Return a request's bytes, with when the worker should report the line that it runs."""
        seconds = self._seconds(request)
        if self.watched and time.monotonic() + seconds < self.deadline:
            request = {**request, "watch": WATCHED * seconds}
        if self.anew:
            request, self.anew = {**request, "anew": True}, False
        return wire.encode(request)

    def _seconds(self, request: Mapping[str, Any]) -> float:
        return self.host.limits.call_seconds * (TRACING if "traced" in request else 1)

    def _send(self, requests: Sequence[bytes]) -> bytes:
        """Send encoded requests as one message, and return the mark that each reply repeats."""
        self.drop_answers()
        if not self.alive:
            raise Died
        self.message = os.urandom(NONCE)
        data, seconds = b"".join(requests), self.host.limits.call_seconds
        with self._or_died():
            self.channel.settimeout(max(0.001, min(seconds, self.deadline - time.monotonic())))
            try:
                self.channel.sendall(HEADER.pack(len(data), self.message) + data)
            except TimeoutError:
                self._lose()
                raise TimedOut(seconds, time.monotonic() > self.deadline) from None
        self.awaited = len(requests)
        return self.message

    def _receive(self, request: Mapping[str, Any], margins: Watch | None = None) -> tuple[Any, str]:
        """Return the result of the oldest request without one, and what was printed."""
        seconds = self._seconds(request)
        until = min(time.monotonic() + seconds, self.deadline)
        late = TimedOut(seconds, until == self.deadline)
        try:
            reply = self._read_reply(min(margins.until, self.deadline) if margins else until)
            while margins and isinstance(reply, dict) and "at" in reply:
                self.awaited += 1  # the answer is still to come
                if not margins.move(reply["at"]):
                    raise ProtocolError("not a place in a notebook")
                reply = self._read_reply(min(margins.until, self.deadline))
        except TimeoutError:
            self._lose()
            raise late from None
        printed = _part(reply, "printed", str)[:MAX_PRINTED]
        if self.host.audit:
            self.noted.update(_listed(reply.get("noted"), MAX_NOTED, _outside))
        if self.watched and "stuck" in reply:
            self._lose()
            late.lines = _listed(reply["stuck"], MAX_LINES, _line)
            late.places = _listed(reply.get("places"), MAX_LINES, _place)
            raise late
        if "raised" in reply:
            raise _read_raised(reply["raised"], printed)
        return _part(reply, "ok"), printed

    def _read_reply(self, until: float) -> Any:
        return wire.decode(self._read_frame(until))

    def _read_frame(self, until: float) -> bytes:
        """Return the next reply to the last message."""
        size, mark = HEADER.unpack(self._exactly(HEADER.size, until))
        if mark != self.message or size > MAX_FRAME:
            raise ProtocolError("not an answer to this question")
        data = self._exactly(size, until)
        self.awaited -= 1
        return data

    def _exactly(self, size: int, until: float) -> bytes:
        """Return exactly that many bytes.

        Raise TimeoutError at the deadline, however steadily they trickle in.
        """
        while len(self.unread) < size:
            remaining = until - time.monotonic()
            if remaining <= 0:
                raise TimeoutError
            self.channel.settimeout(remaining)
            piece = self.channel.recv(max(2**16, min(size - len(self.unread), 2**20)))
            if not piece:
                raise Died
            self.unread += piece
        data = bytes(memoryview(self.unread)[:size])
        del self.unread[:size]
        return data
