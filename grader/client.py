"""The judge's end of a worker: calls, deadlines, and what can become of a call."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from grader import protocol
from grader.protocol import HEADER, MAX_FRAME, NONCE, Handle, ProtocolError
from grader.sandbox import Host


class CallFailed(Exception):
    """A call that brought no value."""


@dataclass
class Raised(CallFailed):
    """The student's code raised; lines are those of the student's own file, outermost first."""

    type: str
    kinds: tuple[str, ...]
    text: str
    lines: tuple[int, ...]
    printed: str = ""


@dataclass
class TimedOut(CallFailed):
    """No answer before the deadline; the worker was killed."""

    seconds: float
    whole_step: bool = False


class Died(CallFailed):
    """The worker ended, or sent what is not an answer to the question."""


@dataclass(frozen=True)
class Answer:
    """What a call brought back. arguments is only there where it was asked for."""

    value: Any
    printed: str = ""
    products: int = 0
    kept: Handle | None = None
    arguments: Any = None


@dataclass(frozen=True)
class Program:
    """The step to be judged, and the modules that its code may import."""

    module: str
    sources: Mapping[str, tuple[str, str]] = field(repr=False)
    """Module name -> (source, the file name shown in messages)."""


def _mapping(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ProtocolError("not an answer")
    return value


def _strings(value: Any) -> tuple[str, ...]:
    return tuple(item for item in value if isinstance(item, str)) if _listed(value) else ()


def _listed(value: Any) -> bool:
    return isinstance(value, (list, tuple))


class Worker:
    """One process with the student's module loaded; dead after the first call without an answer."""

    def __init__(self, host: Host, deadline: float) -> None:
        self.host = host
        self.deadline = deadline
        self.channel, self.number = host.start()
        self.alive = True

    def close(self) -> None:
        """Ends the process and all that it started."""
        if self.alive:
            self.alive = False
            self.channel.close()
            self.host.end(self.number)

    def load(self, program: Program) -> tuple[str, ...]:
        """Runs the module; the names that can be called in it."""
        modules = [[name, *source] for name, source in program.sources.items()]
        ok, _ = self._ask({"do": "load", "modules": modules, "module": program.module})
        return _strings(ok)

    def call(
        self,
        function: str,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        *,
        opaque: Sequence[bool] = (False,),
        keep: bool = False,
        arguments: bool = False,
    ) -> Answer:
        """Calls a function there. keep: hold the result, so that it can be fetched again later."""
        request = {
            "do": "call",
            "function": function,
            "args": tuple(args),
            "kwargs": dict(kwargs),
            "opaque": list(opaque),
            "keep": keep,
            "arguments": arguments,
        }
        ok, printed = self._ask(request)
        ok = _mapping(ok)
        kept, products = ok.get("kept"), ok.get("products")
        return Answer(
            ok.get("value"),
            printed,
            products if isinstance(products, int) else 0,
            kept if isinstance(kept, Handle) else None,
            ok.get("arguments"),
        )

    def fetch(self, handle: Handle) -> Any:
        """What a kept result looks like now."""
        return self._ask({"do": "fetch", "object": handle})[0]

    def _ask(self, request: dict[str, Any]) -> tuple[Any, str]:
        if not self.alive:
            raise Died
        seconds = self.host.limits.call_seconds
        until = min(time.monotonic() + seconds, self.deadline)
        try:
            reply = _mapping(protocol.decode(self._exchange(protocol.encode(request), until)))
        except TimeoutError:
            self.close()
            raise TimedOut(seconds, whole_step=until == self.deadline) from None
        except (OSError, ProtocolError, Died):
            self.close()
            raise Died from None
        return self._outcome(reply)

    def _outcome(self, reply: dict[str, Any]) -> tuple[Any, str]:
        printed = reply.get("printed")
        printed = printed if isinstance(printed, str) else ""
        if "raised" not in reply:
            return reply.get("ok"), printed
        raised = reply["raised"] if isinstance(reply["raised"], dict) else {}
        lines = raised.get("lines")
        raise Raised(
            str(raised.get("type")),
            _strings(raised.get("kinds")),
            str(raised.get("message")),
            tuple(line for line in lines if isinstance(line, int)) if _listed(lines) else (),  # type: ignore[union-attr]
            printed,
        )

    def _exchange(self, data: bytes, until: float) -> bytes:
        nonce = os.urandom(NONCE)
        self.channel.settimeout(max(0.001, until - time.monotonic()))
        self.channel.sendall(HEADER.pack(len(data), nonce) + data)
        size, echoed = HEADER.unpack(self._exactly(HEADER.size, until))
        if echoed != nonce or size > MAX_FRAME:
            raise ProtocolError("not an answer to this question")
        return self._exactly(size, until)

    def _exactly(self, size: int, until: float) -> bytes:
        """That many bytes; TimeoutError at the deadline, however steadily they trickle in."""
        data = bytearray()
        while len(data) < size:
            remaining = until - time.monotonic()
            if remaining <= 0:
                raise TimeoutError
            self.channel.settimeout(remaining)
            piece = self.channel.recv(min(size - len(data), 2**20))
            if not piece:
                raise Died
            data += piece
        return bytes(data)


def ended(worker: Worker | None) -> None:
    """Closes a worker that may not be there, whatever state it is in."""
    if worker is not None:
        with contextlib.suppress(OSError):
            worker.close()
