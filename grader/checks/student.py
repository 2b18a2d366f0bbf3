"""Stand in for a submission: a call of a student's function becomes a message to the worker."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from grader.isolation.client import Answer
from grader.isolation.wire import Handle
from grader.steps.registry import Function, Step

Ask = Callable[..., Answer]


class StudentFunction:
    """One function of the submission under judgement.

    Required arguments travel by position and optional ones by keyword, so a student may give the
    required ones any names.
    """

    def __init__(self, function: Function, ask: Ask) -> None:
        self.function = function
        self.name = function.name
        self.ask = ask
        self.released: list[Handle] = []

    def release(self, result: Any) -> None:
        """Let the worker drop a result that it holds, with the next call: nobody needs it."""
        if isinstance(result, Handle):
            self.released.append(result)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return the result."""
        return self.answer(*args, **kwargs).value

    def answer(
        self,
        *args: Any,
        keep: bool = False,
        arguments: bool = False,
        then: Mapping[str, Any] | None = None,
        both: bool = False,
        traced: bool = False,
        forget: Sequence[Any] = (),
        **kwargs: Any,
    ) -> Answer:
        """Return the call's whole answer; see `client.Worker.call` for the options."""
        positional, named = self._place_arguments(args, kwargs)
        released = [*self.released, *forget]
        self.released.clear()
        return self.ask(
            self.name,
            positional,
            named,
            opaque=[name.startswith("*") for name in self.function.returns],
            keep=keep,
            arguments=arguments,
            then=None if then is None else list(self._place_arguments((), then)),
            **({"both": True} if both else {}),
            **({"traced": True} if traced else {}),
            **({"forget": released} if released else {}),
        )

    def _place_arguments(
        self, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> tuple[list[Any], dict[str, Any]]:
        """Return required arguments by position, and the others by name."""
        required = self.function.takes[len(args) :]
        named = {name: value for name, value in kwargs.items() if name not in required}
        return [*args, *(kwargs[name] for name in required)], named


class Student:
    """The functions of the step under judgement, as attributes."""

    def __init__(self, step: Step, ask: Ask, fetch: Callable[[Any], Any]) -> None:
        self._functions = {
            function.name: StudentFunction(function, ask) for function in step.functions
        }
        self.fetch = fetch

    def __getattr__(self, name: str) -> StudentFunction:
        try:
            return self._functions[name]
        except KeyError:
            raise AttributeError(f"this step has no function {name}") from None
