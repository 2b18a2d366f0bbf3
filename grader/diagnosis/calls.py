"""Keep the calls that the checks made of a student's code, and ask simple questions of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from grader.isolation.client import Answer, Raised
from grader.isolation.wire import Foreign, Handle, Laid
from grader.steps.inputs import digest
from grader.steps.tree import leaves, map_leaves

FETCH = "(fetch)"
# A judge keeps every result of a step for the diagnosis. Right results are far smaller.
MAX_NOTED = 2**20
# All of them together: a step has some thousand calls.
MAX_LOG = 64 * 2**20
A_VALUE = 64  # bytes of a Python object, about


@dataclass(frozen=True)
class Call:
    """A call of a student's function, and its outcome: a value or an exception.

    more: what the check requested. This is the first of two calls with the same arrays (`before`),
    the arguments afterwards (`after`), the counted `products`, and the number under which the
    result was `kept`. Reading a kept result again is a call of FETCH. Later it also holds whether
    the check has `passed`.
    """

    function: str
    args: Sequence[Any]
    kwargs: Mapping[str, Any]
    opaque: bool
    outcome: Any
    more: Mapping[str, Any] = field(default_factory=dict)


def _size(outcome: Any) -> int:
    """Return the approximate size of a result in bytes."""
    if isinstance(outcome, np.ndarray):
        return A_VALUE + outcome.nbytes
    if isinstance(outcome, dict):
        return A_VALUE + _size([*outcome.keys(), *outcome.values()])
    if isinstance(outcome, (list, tuple)):
        return A_VALUE + sum(map(_size, outcome))
    return A_VALUE + (len(outcome) if isinstance(outcome, str) else 0)


@dataclass
class Log:
    """The calls of an attempt, in order, and which check made each.

    whole: whether these are all calls, or only those since a process ended unexpectedly. left: how
    many bytes of results may still be kept.
    """

    calls: list[Call] = field(default_factory=list)
    spans: dict[str, tuple[int, int]] = field(default_factory=dict)
    whole: bool = True
    left: int = MAX_LOG

    def note(
        self,
        function: str,
        args: Sequence[Any],
        options: Mapping[str, Any],
        answer: Answer | Raised,
    ) -> None:
        """Note a call that a check made, and its answer."""
        positional, named = options.get("then") or args
        more: dict[str, Any] = {"before": args} if options.get("then") else {}
        outcome = answer if isinstance(answer, Raised) else self._keep(answer.value)
        if isinstance(answer, Answer):
            kept = {} if answer.kept is None else {"kept": answer.kept.number}
            after = self._keep(answer.arguments)
            seen = {"after": after} if isinstance(after, list) and len(after) == 2 else {}
            more |= {"products": answer.products, **kept, **seen}
        self.calls.append(Call(function, positional, named, all(options["opaque"]), outcome, more))

    def note_again(self, handle: Handle, value: Any) -> None:
        """Note what a kept result is now."""
        self.calls.append(Call(FETCH, [handle], {}, False, self._keep(value)))

    def _keep(self, result: Any) -> Any:
        """Return the result, or only a note if it is large, alone or with the others."""
        size = _size(result)
        if size > min(MAX_NOTED, self.left):
            return Foreign("too large to be kept")
        self.left -= size
        return result

    def of(self, check: str) -> Sequence[Call]:
        """Return the calls that the check made."""
        return self.calls[slice(*self.spans.get(check, (0, 0)))]

    def with_passed(self, checks: Sequence[str]) -> "Log":
        """Return the calls, with those of these checks marked as passed."""
        calls = list(self.calls)
        for start, stop in (self.spans.get(check, (0, 0)) for check in checks):
            calls[start:stop] = [
                replace(call, more={**call.more, "passed": True}) for call in calls[start:stop]
            ]
        return replace(self, calls=calls)

    def fingerprint(self, check: str) -> str:
        """Return an exact digest of the check's results, or "" if it got no values."""
        outcomes = [call.outcome for call in self.of(check)]
        if not outcomes or any(isinstance(outcome, Raised) for outcome in outcomes):
            return ""
        # All handles are alike: their numbers count earlier results.
        alike = map_leaves(outcomes, lambda leaf: Handle if isinstance(leaf, Handle) else leaf)
        return digest(alike)


@dataclass(frozen=True)
class Symptoms:
    """A function's failing checks, in their order, and all calls of the attempt."""

    function: str
    checks: Sequence[str]
    log: Log

    @property
    def first(self) -> tuple[int, int]:
        """Return where the calls of the first failing check begin and end."""
        return self.log.spans.get(self.checks[0], (0, 0))

    @property
    def _ends(self) -> list[list[Any]]:
        """Return the function's last outcome in each failing check; nothing if it was not asked."""
        calls = (self.log.of(check) for check in self.checks)
        return [[c.outcome for c in some if c.function == self.function][-1:] for some in calls]

    def gave_numbers(self) -> bool:
        """Return whether the function ever returned finite numbers that need not be whole.

        The same few tokens, and NaN everywhere, always come from some of thousands of pairs.
        """
        own = [call.outcome for call in self.log.calls if call.function == self.function]
        return any(_is_real(leaf) and bool(np.isfinite(leaf).any()) for leaf in leaves(own))

    def gave_nothing_finite(self) -> bool:
        """Return whether each failing check ended at a result of infinity and NaN only.

        Many mistakes give these, so they speak for none of them.
        """
        numbers = [[leaf for leaf in leaves(end) if _is_real(leaf)] for end in self._ends]
        return all(some and not any(np.isfinite(one).any() for one in some) for some in numbers)

    def only_raised(self) -> bool:
        """Return whether each failing check ended at an exception.

        Code that mixes up sizes raises, whatever else it does; where sizes are equal it may be
        another mistake, or none.
        """
        return all(isinstance(outcome, Raised) for end in self._ends for outcome in end)


def _is_real(leaf: object) -> bool:
    return isinstance(leaf, float) or (isinstance(leaf, np.ndarray) and leaf.dtype.kind == "f")


def holds_single(call: Call) -> bool:
    """Return whether there are float32 arrays among its arguments, which give float32 results."""
    given = leaves([*call.args, *call.kwargs.values()])
    arrays = (getattr(leaf, "array", leaf) for leaf in given)
    return any(isinstance(one, np.ndarray) and one.dtype == np.float32 for one in arrays)


def has_read_only(call: Call) -> bool:
    """Return whether there are read-only arrays among its arguments."""
    given = leaves([*call.args, *call.kwargs.values()])
    return any(isinstance(leaf, Laid) and not leaf.writable for leaf in given)
