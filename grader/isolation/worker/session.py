"""Serve one worker's life: load a module, then answer calls until the channel closes."""

import builtins
import contextlib
import gc
import importlib
import io
import os
import signal
import socket
import sys
import time
import tracemalloc
import warnings
from collections.abc import Callable, Iterable, Sequence
from traceback import walk_stack, walk_tb
from types import FrameType
from typing import Any

import numpy as np

from . import wire
from .codec import HEADER
from .imports import PACKAGE, BareNames, Sources
from .lockdown import HAS_TIMERS, Audit, set_timer
from .notebook import Guide
from .tracking import Rows, Weights

MAX_NAMES = 5000
MAX_PRINTED = 4000
MAX_KEPT = 64
MAX_LINES = 4
STRICT: Any = {"over": "raise", "divide": "raise", "invalid": "raise"}


class _Kept(io.BytesIO):
    """The bytes below what the student prints, up to a limit. Nothing closes it."""

    name = "<stdout>"

    def fileno(self) -> int:
        """Return the descriptor that leads nowhere, for `faulthandler` and the like."""
        return 1

    def write(self, data: Any) -> int:
        """Keep as much of the data as there is room for."""
        given = memoryview(data).cast("B")
        super().write(given[: max(0, MAX_PRINTED - self.tell())])
        return len(given)

    def close(self) -> None:
        """Do nothing: the student may have wrapped it in a stream whose end would close it."""


class Session:
    """Answers the judge's requests over a socket."""

    def __init__(self, channel: socket.socket) -> None:
        self.channel = channel
        self.sources = Sources()
        self.file: str | None = None
        self.audit: Audit | None = None
        self.functions: dict[str, Callable[..., Any]] = {}
        self.reader = channel.makefile("rb")
        self.reply = wire.Reply()  # to the question that is being answered
        self.sent: set[str] = set()  # the names of the files that the judge sent
        self.kept: dict[int, Any] = {}
        self.held: set[int] = set()  # of these, what stays for as long as the worker lives
        self.given = 0

    def serve(self) -> None:
        """Answer requests until there are no more."""
        while len(header := self.reader.read(HEADER.size)) == HEADER.size:
            size, self.nonce = HEADER.unpack(header)
            data, at = memoryview(self.reader.read(size)), 0
            if HAS_TIMERS:
                signal.signal(signal.SIGALRM, self.say_where)
            while at < len(data):
                told, at = self.answer(data, at)
                self.send(told)
                del told  # or it would count as memory that the next call is using

    def send(self, told: dict[str, Any]) -> None:
        """Send a reply to the message that is being answered: values as `self.reply` wrote them."""
        data = self.reply.encode({"dict": told})
        self.channel.sendall(HEADER.pack(len(data), self.nonce) + data)

    def answer(self, data: memoryview, at: int) -> tuple[dict[str, Any], int]:
        """Return the outcome of the request at a place in a message, and where the next one is.

        The outcome has what was printed. A request is read only when those before it are answered.
        """
        request, end = wire.RequestDecoder(self.kept).read(data, at)
        self.reply = wire.Reply()
        streams = sys.stdout, sys.stderr
        kept = _Kept()
        sys.stdout = sys.stderr = io.TextIOWrapper(
            kept, "utf-8", "replace", newline="\n", write_through=True
        )
        told: dict[str, Any] = {}
        try:
            told["ok"] = {"dict": self.act(request)}
        except BaseException as error:  # the student may raise SystemExit, too
            self.reply = wire.Reply()
            told["raised"] = self.reply.tree(self.describe(error))
        finally:
            sys.stdout, sys.stderr = streams
        if self.audit:
            told["noted"] = self.audit.noted
        told["printed"] = kept.getvalue().decode("utf-8", "replace")
        return told, end

    def act(self, request: dict[str, Any]) -> Any:
        """Carry out a request to load or call, under watch if the request asks for it."""
        if request.get("anew"):
            self.kept = {n: kept for n, kept in self.kept.items() if n in self.held}
        set_timer("ITIMER_REAL", request.get("watch", 0))
        try:
            return getattr(self, request["do"])(request)
        finally:
            set_timer("ITIMER_REAL", 0)

    def say_where(self, number: int, frame: FrameType | None) -> None:
        """Answer with the running lines of the student's file and of all that was sent, and end.

        It is called when the time of a watched request is over.
        """
        places = self.keep_sent((one.f_code.co_filename, line) for one, line in walk_stack(frame))
        self.reply = wire.Reply()
        self.channel.setblocking(True)
        lines = self.list_lines(places[::-1])
        self.send({"stuck": lines, "places": places[:MAX_LINES], "printed": ""})
        os._exit(0)

    def describe(self, error: BaseException) -> dict[str, Any]:
        """Return an error's type, words and lines, as data."""
        try:
            message = str(error.msg if isinstance(error, SyntaxError) else error)[: wire.MAX_TEXT]
            if isinstance(error, NameError):
                message += self.sources.missing.get(error.name or "", "")
        except BaseException:
            message = ""
        kinds = [kind.__name__ for kind in type(error).__mro__ if kind.__module__ == "builtins"]
        trace = walk_tb(error.__traceback__)
        places = self.keep_sent((frame.f_code.co_filename, line) for frame, line in trace)
        if isinstance(error, SyntaxError):
            places = self.keep_sent([(str(error.filename), error.lineno or 0)])
            if not self.list_lines(places):
                message = f"{error.filename}, line {error.lineno}: {message}"
        return {
            "type": type(error).__name__[:80],
            "kinds": kinds,
            "message": message,
            "lines": self.list_lines(places),
            "innermost": places[-1] if places else None,
            "suggests": suggest(error),
        }

    def keep_sent(self, places: Iterable[tuple[str, int]]) -> list[list[Any]]:
        """Return those of these places that are in the files that were sent."""
        return [[file, int(line)] for file, line in places if file in self.sent]

    def list_lines(self, places: Sequence[Sequence[Any]]) -> list[int]:
        """Return the last lines in the student's own file."""
        return [line for file, line in places if file == self.file][-MAX_LINES:]

    def load(self, request: dict[str, Any]) -> dict[str, Any]:
        """Run the module, and return the names that can be called in it."""
        self.sources.modules = {name: text for name, *text in request["modules"]}
        self.sources.own = {name: text for name, *text in request["own"]}
        every = (*self.sources.modules.values(), *self.sources.own.values())
        self.sent = {file for _, file, *_ in every}
        sys.meta_path.insert(0, self.sources)
        sys.meta_path.append(BareNames(self.sources))
        vars(builtins).update(exit=sys.exit, quit=sys.exit)  # as in every ordinary Python
        warnings.formatwarning = self.word_warning
        if request.get("audit"):
            self.audit = Audit({file for file in self.sent if file[:1] != "<"})
            self.audit.begin()
        name = request["module"]
        _, self.file = self.sources.modules[name]
        if "skip" in request:
            self.patience = request["patience"]
            self.sources.guide = Guide(request["skip"], request["calm"], self.say_at)
        loaded = importlib.import_module(f"{PACKAGE}.{name}")
        guide = self.sources.guide
        self.sources.guide = Guide(guide.skip, guide.calm)  # what a call imports is its own
        self.functions = {
            key: value for key, value in vars(loaded).items() if callable(value) and key[:1] != "_"
        }
        names, skipped = [*self.functions][:MAX_NAMES], self.sources.skipped
        self.functions[""] = take
        return {"names": self.reply.tree(names), "skipped": self.reply.tree(skipped)}

    def word_warning(
        self, message: Any, category: type, filename: str, lineno: int, line: str | None = None
    ) -> str:
        """Return what is printed of a warning: no paths of this machine, and no library's lines."""
        where = f"{filename}:{lineno}" if filename in self.sent else "in a library"
        return f"{where}: {category.__name__}: {message}\n"

    def say_at(self, digest: str) -> None:
        """Tell the judge which statement of a notebook runs next, because it may be slow.

        A process that uses more processor time than patience ends; after the last one no more.
        """
        self.send({"at": [digest, time.process_time()]})
        set_timer("ITIMER_PROF", self.patience if digest else 0)

    def call(self, request: dict[str, Any]) -> dict[str, Any]:
        """Call a function, and return its result with everything else that was requested."""
        Weights.products = Rows.products = 0
        traced: list[int] = []
        if request.get("traced"):
            traced.append(warm := bytes_in_use())
        elif tracemalloc.is_tracing():  # it slows everything down
            tracemalloc.stop()
        args, kwargs = request["args"], request["kwargs"]
        function = self.functions[request["function"]]
        # Weights may underflow to 0, whatever is set.
        with np.errstate(under="ignore", **STRICT if request.get("strict") else {}):
            first = result = function(*args, **kwargs)
            parts = {"first": self.reply.tree(first)} if request.get("both") else {}
            if request.get("then"):  # the caller goes on with the same arrays, refilled
                args, kwargs = _refill([args, kwargs], request["then"])
                if traced:  # memory that the first call freed can be used again
                    warm = bytes_in_use(warm=True)
                result = function(*args, **kwargs)
        if traced:
            traced.append(tracemalloc.get_traced_memory()[1] - warm + traced[0])
        if request.get("hold"):
            self.held.add(self.given)
        parts["value"] = self.parcel(result, request["opaque"])
        parts["products"] = int(Weights.products + Rows.products)
        if request.get("keep"):
            parts["kept"] = self.keep(first)
        if request.get("arguments"):
            held = {id(value) for value in self.kept.values()}  # not the judge's, and maybe large
            seen = [None if id(value) in held else value for value in args]
            parts["arguments"] = self.reply.tree([seen, kwargs])
        for number in request.get("forget", ()):
            self.kept.pop(number, None)
        if traced:
            request.clear()  # from here on nothing is held but what the student's code holds
            del args, kwargs, first, result
            parts["traced"] = [*traced, bytes_in_use()]
        return parts

    def keep(self, value: Any) -> dict[str, int]:
        """Keep an object and return its handle; an object that is not held may be dropped later."""
        number = self.given
        self.given += 1
        self.kept[number] = value
        if number - MAX_KEPT not in self.held:
            self.kept.pop(number - MAX_KEPT, None)
        return {"handle": number}

    def parcel(self, result: Any, opaque: Sequence[bool]) -> Any:
        """Write the result, with handles in place of what the judge must not look into."""
        write = self.reply.tree
        if not any(opaque):
            return write(result)
        if len(opaque) == 1:
            return self.keep(result)
        if not isinstance(result, (tuple, list)) or len(result) != len(opaque):
            if isinstance(result, np.ndarray):
                return write(result)
            size = f" of {len(result)}" if isinstance(result, (tuple, list)) else ""
            return wire.name_foreign(type(result).__name__ + size)
        parts = [self.keep(one) if hide else write(one) for one, hide in zip(result, opaque)]
        return {"tuple": parts}


def take(value: Any, start: int | None = None, stop: int | None = None) -> Any:
    """Return a value, or some of its rows: the function that every module has by the name ""."""
    return value if start is None else np.asarray(value)[..., start:stop, :]


def bytes_in_use(*, warm: bool = False) -> int:
    """Return the bytes in use of everything allocated since tracing began; start tracing if needed.

    Every array and every object counts. From here on, the peak counts anew. warm: leave Python the
    freed lists, tuples and floats that it keeps for reuse. A full collection would return them.
    """
    gc.collect(1 if warm else 2)
    if not tracemalloc.is_tracing():
        tracemalloc.start()
    tracemalloc.reset_peak()
    return tracemalloc.get_traced_memory()[0]


def suggest(error: BaseException) -> str:
    """Return Python's guess at the name that was meant, as it would be printed, or ""."""
    if not isinstance(error, (NameError, AttributeError, ImportError)):
        return ""
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            sys.__excepthook__(type(error), error, None)
        _, mark, name = said.getvalue().rstrip().rpartition("Did you mean: ")
        return name.rstrip("?").strip("'")[:80] if mark else ""
    except BaseException:
        return ""


def _refill(old: Any, new: Any) -> Any:
    """Put the new values into the old arrays, and those into the old dicts and lists."""
    if isinstance(old, np.ndarray):
        old[...] = new
        return old
    if isinstance(old, tuple):
        return tuple(_refill(a, b) for a, b in zip(old, new))
    if isinstance(old, list):
        old[:] = [_refill(a, b) for a, b in zip(old, new)]
        return old
    if isinstance(old, dict):
        values = {key: _refill(old.get(key), value) for key, value in new.items()}
        old.clear()  # drop an argument that only the first call had
        old.update(values)
        return old
    return new
