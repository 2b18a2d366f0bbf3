"""Stand in for a submission: a call of a student's function becomes a message to the worker."""

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from grader.checks.compare import is_number
from grader.isolation.client import Answer
from grader.isolation.wire import Handle
from grader.steps.inputs import Arguments
from grader.steps.registry import Function, Step

Ask = Callable[..., Answer]
Placed = tuple[list[Any], dict[str, Any]]  # arguments by position and by name
AskAll = Callable[[str, Iterable[Placed], Sequence[bool]], Iterator[Answer]]


class StudentFunction:
    """One function of the submission under judgement.

    Required arguments travel by position and optional ones by keyword, so a student may give the
    required ones any names.
    """

    def __init__(
        self,
        function: Function,
        ask: Ask,
        ask_all: AskAll | None = None,
        note: Callable[[str, Placed, Any], None] = lambda name, asked, value: None,
    ) -> None:
        self.function = function
        self.note = note
        self.name, self.names = function.name, function.returns
        self.ask = ask
        self.ask_all = ask_all or (
            lambda name, questions, opaque: (ask(name, *one, opaque=opaque) for one in questions)
        )
        self.opaque = [name.startswith("*") for name in function.returns]  # it stays in the worker
        self.released: list[Handle] = []

    def release(self, result: Any) -> None:
        """Let the worker drop a result that it holds, with the next call: nobody needs it."""
        if isinstance(result, Handle):
            self.released.append(result)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return the result."""
        return self.answer({**dict(zip(self.function.takes, args)), **kwargs}).value

    def all(self, questions: Iterable[Arguments]) -> Iterator[Any]:
        """Ask for the results of all these arguments together, and return each when it is wanted.

        If another question comes before the end, the results that are left are dropped.
        """
        asked, sent = itertools.tee(map(self._place, questions))
        answers = self.ask_all(self.name, sent, self.opaque)
        for placed, answer in zip(asked, answers):
            self.note(self.name, placed, answer.value)
            yield answer.value

    def answer(
        self,
        given: Arguments,
        *,
        then: Arguments | None = None,
        forget: Sequence[Any] = (),
        **wishes: bool,
    ) -> Answer:
        """Return the call's whole answer; see `client.Worker.call` for then, forget and wishes."""
        placed = self._place(given)
        wanted: dict[str, Any] = {**wishes, "forget": [*self.released, *forget]}
        self.released.clear()
        if then is not None:
            wanted["then"] = list(self._place(then))
        answer = self.ask(self.name, *placed, opaque=self.opaque, **wanted)
        self.note(self.name, placed, answer.value)
        return answer

    def right(self, expect: Callable[[str, Arguments], Any], arguments: Arguments) -> Any:
        """Return the reference's result. expect: asks the reference's function of a name."""
        return expect(self.name, arguments)

    def _place(self, arguments: Arguments) -> Placed:
        """Return required arguments by position, and the others by name."""
        takes = self.function.takes
        named = {name: value for name, value in arguments.items() if name not in takes}
        return [arguments[name] for name in takes], named


class Student:
    """The functions of the step under judgement, as attributes.

    ask: answers a call. fetch: returns a kept result as it is now. ask_all: answers many calls of a
    function in turn; by default, ask does. odd: the first call whose result is not all numbers.
    """

    def __init__(
        self, step: Step, ask: Ask, fetch: Callable[[Any], Any], ask_all: AskAll | None = None
    ) -> None:
        self._functions = {
            function.name: StudentFunction(function, ask, ask_all, self._note)
            for function in step.functions
        }
        self.fetch = fetch
        self.odd: tuple[str, Arguments, Any] | None = None

    def _note(self, name: str, asked: Placed, value: Any) -> None:
        if self.odd is None and not is_number(value):
            positional, named = asked
            takes = self._functions[name].function.takes
            self.odd = name, dict(zip(takes, positional)) | named, value

    def __getattr__(self, name: str) -> StudentFunction:
        try:
            return self._functions[name]
        except KeyError:
            raise AttributeError(f"this step has no function {name}") from None
