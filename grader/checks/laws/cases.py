"""Define the functions and cases that the laws are about."""

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.checks.compare import (
    Broken,
    WrongValue,
    as_array,
    call_text,
    largest,
    matches,
    show_inputs,
    wrong_cells,
)
from grader.checks.student import StudentFunction
from grader.checks.tolerances import EXACT, NOISE, NOTHING, ROUGH, Tolerance
from grader.report.records import Array, Evidence
from grader.steps.inputs import Arguments, Draw, digest, freeze, map_arrays
from grader.steps.tree import is_branch, leaves, pairs

Function = Callable[..., Any]
Expect = Callable[[str, Arguments], Any]
Axes = Mapping[str, int]
COMPARED = 3  # answers of a law that are compared with the reference, besides the first
Witness = Callable[["Case", Any, Any, Tolerance], None]


@dataclass(frozen=True)
class Case:
    """The arguments of one call, and the source of its right result.

    chance: makes random choices that the submitted code cannot predict. precision: the precision
    that can be demanded of numbers made from these arguments, if it is less than usual. witness: in
    a diagnosis, receives the right result and the actual one, and nothing is raised.
    """

    arguments: Arguments
    sizes: Mapping[str, Any]
    expect: Expect
    witness: Witness | None = None
    precision: Tolerance = NOTHING
    chance: object = ""
    _known: dict[object, Any] = field(default_factory=dict, init=False, repr=False, compare=False)
    """What was worked out about these arguments; it is asked for again for every submission."""

    @property
    def is_stored(self) -> bool:
        """Return whether right results are stored, so only those requested before are known."""
        return self.chance == ""

    def once(self, key: object, work: Callable[[], Any]) -> Any:
        """Return what `work` returns, worked out once under that key for every submission."""
        if key not in self._known:
            self._known[key] = work()
        return self._known[key]

    def right_result(self, function: Function, arguments: Arguments | None = None) -> Any:
        """Return the right result of a function of the student's, or made from such a function.

        arguments: other ones than the case's, of which the result is kept.
        """
        given = self.arguments if arguments is None else arguments
        name, ask = name_of(function), getattr(function, "right", None)

        def work() -> Any:
            return ask(self.expect, given) if ask else self.expect(name, given)

        own = given is self.arguments
        return self.once((type(function), name), work) if own else work()

    def lengths(self) -> set[int]:
        """Return the lengths of all axes of the arguments, and of the right results so far."""
        found = leaves([self.arguments, list(self._known.values())])
        return {length for one in found if isinstance(one, np.ndarray) for length in one.shape}

    def within(self, tolerance: Tolerance) -> Tolerance:
        """Return the tolerance, or this case's own if that is wider."""
        return tolerance.at_least(self.precision)

    def draw(self, salt: object) -> Draw:
        """Return more random numbers for this case, the same every time."""
        return Draw(salt, self.once("", lambda: digest(self.arguments)))

    def others(self, names: Iterable[str], salt: str, size: float) -> Arguments:
        """Return unrelated values for these arguments."""
        names = tuple(names)

        def draw_others() -> Arguments:
            draw, vocabulary = self.draw((salt, size)), int(self.sizes.get("vocabulary", 2))
            found = {n: other_values(self.arguments[n], draw, size, vocabulary) for n in names}
            return {name: map_arrays(value, freeze) for name, value in found.items()}

        return {**self.once((names, salt, size), draw_others)}

    def changed(self, **arguments: Any) -> "Case":
        """Return the same case with some arguments replaced."""
        return replace(self, arguments={**self.arguments, **arguments})


def ask_all(function: Function, questions: Iterable[Arguments]) -> Iterator[Any]:
    """Return the results of all these arguments, in turn; a student's function gets them together.

    Nothing else may be asked before the last result that is wanted.
    """
    together = getattr(function, "all", None)
    if together is None:
        return (function(**question) for question in questions)
    results: Iterator[Any] = together(questions)
    return results


def name_of(function: Function) -> str:
    """Return the function's name for a message."""
    return str(getattr(function, "name", None) or getattr(function, "__name__", "the function"))


def names_of(function: Function) -> tuple[str, ...]:
    """Return the names of its results if it is a student's function."""
    return tuple(getattr(function, "names", ()))


def returned(function: Function, value: Any, end: str) -> Broken:
    """Return the finding that a function returned something else than expected."""
    return Broken.unexpected(f"{name_of(function)} returned", value, end)


def show_case(function: Function, arguments: Arguments, *arrays: Array) -> Evidence:
    """Return a call as a report shows it: its inputs, and of these arrays the last one as `got`."""
    call, inputs = call_text(name_of(function), arguments), show_inputs(arguments)
    return Evidence(call, inputs, arrays[:-1], arrays[-1:])


def is_right(
    function: Function,
    case: Case,
    got: Any,
    tolerance: Tolerance = EXACT,
    expected: Any = None,
    *,
    size: float = 0.0,
    names: Sequence[str] = (),
) -> None:
    """Raise Broken unless `got` is the case's right result, or the expected one.

    size: the size of the numbers from which several results were made, if those are larger still.
    names: of several results, by default those of the function.
    """
    name = name_of(function)
    expected = case.right_result(function) if expected is None else expected
    if isinstance(expected, (tuple, list, dict)):
        # Results that belong together lose as many digits: the true gradient of b_k is 0.
        tolerance = tolerance.for_size(max(size, largest(expected)))
    if case.witness is not None:
        case.witness(case, expected, got, tolerance)
        return
    names = names or names_of(function)
    with showing(call_text(name, case.arguments), case.arguments):
        matches(expected, got, case.within(tolerance), name=name, sizes=case.sizes, names=names)


@dataclass(frozen=True)
class Answered:
    """A question that a law has asked, and its answer. key: what the law calls the question."""

    arguments: Arguments
    got: Any
    key: Any = None


@dataclass(frozen=True)
class Adapted:
    """A student's function in the form that a law needs: with other arguments, or seen in part.

    given: makes the function's own arguments from the law's. seen: returns the part of a result
    that the law looks at, from the result and the law's arguments.
    """

    step: StudentFunction
    given: Callable[..., Arguments] = dict
    seen: Callable[[Any, Arguments], Any] = lambda value, arguments: value

    @property
    def name(self) -> str:
        """Return the name of the student's function, for messages."""
        return self.step.name

    def __call__(self, **arguments: Any) -> Any:
        return self.seen(self.step(**self.given(**arguments)), arguments)

    def all(self, questions: Iterable[Arguments]) -> Iterator[Any]:
        """Return what the law should see of the results of all these arguments, in turn."""
        asked, sent = itertools.tee(questions)
        return map(self.seen, self.step.all(self.given(**one) for one in sent), asked)

    def right(self, expect: Expect, arguments: Arguments) -> Any:
        """Return the part of the right result that the law should see."""
        return self.seen(expect(self.name, self.given(**arguments)), arguments)


def continued(generate: StudentFunction) -> Adapted:
    """Return a function that writes text as one of the random numbers u: only the new tokens.

    There is one for each number, so u and the result have the same time axis. The law's numbers for
    u are brought into [0, 1). A result that does not continue the prompt is left as it is.
    """

    def ask(*, u: NDArray[Any], **others: Any) -> Arguments:
        return {**others, "n_new": u.shape[-1], "u": u % 1}

    def new_tokens(value: Any, arguments: Arguments) -> Any:
        prompt, tokens = arguments["prompt"], as_array(value)
        t, n_new = prompt.shape[-1], arguments["u"].shape[-1]
        if tokens is None or tokens.shape != (*prompt.shape[:-1], t + n_new):
            return value
        return tokens[..., t:] if np.array_equal(tokens[..., :t], prompt) else value

    return Adapted(generate, ask, new_tokens)


def values_are_right(
    function: Function, case: Case, first: Answered, changed: Sequence[Answered] = ()
) -> None:
    """Raise WrongValue unless the first answer and some others, chosen at random, are right.

    Zeros depend on nothing, and keep most laws. The comparison is rough, because a law's inputs may
    be large, and another check tests exact values. The visible suite has stored only one of the
    others.
    """
    if case.witness is not None or not hasattr(function, "right"):
        return
    draw, left = case.draw(("compared", case.chance)), list(changed)
    most = 1 if case.is_stored else COMPARED
    lots = [left.pop(draw.whole(0, len(left))) for _ in range(min(most, len(left)))]
    for one in [first, *lots]:
        if not is_roughly(case.right_result(function, one.arguments), one.got):
            raise WrongValue(f"{name_of(function)} does not return the right values here.")


def has_right_form(function: Function, case: Case, got: Any) -> bool:
    """Return whether an answer has the keys, lengths and shapes of the right one, if known."""
    if case.witness is not None or not hasattr(function, "right"):
        return True
    return have_one_form(case.right_result(function), got)


@contextmanager
def comparing_answers(function: Function, case: Case, one: Any) -> Iterator[None]:
    """Repeat a finding of the block only if `one` has the form of the right answer.

    In the block, `one` stands in place of the right answer, although the judged code made it. So
    its keys, lengths and shapes could carry a message. The evidence is the case's own call.
    """
    try:
        yield
    except Broken as broken:
        broken.evidence = show_case(function, case.arguments)
        if not has_right_form(function, case, one):
            broken.told = "Two answers differ."
        raise


def nothing_moves(
    function: Function,
    case: Case,
    questions: Sequence[tuple[object, Arguments]],
    compare: Callable[[Any, Answered], None],
    read: Callable[[Any, Arguments], Any] = lambda value, arguments: value,
    stored: int | None = None,
) -> None:
    """Demand right values, and that what should stay stays the same in all these answers.

    questions: other arguments, each with a key. compare: raises Broken if something moved between
    the answer to the case itself and another one. read: what the law sees of an answer. stored: how
    many of the right answers the visible suite knows, if not all.
    """
    values = ask_all(function, [case.arguments, *(asked for _, asked in questions)])
    first = Answered(case.arguments, read(next(values), case.arguments))
    if not has_right_form(function, case, first.got):
        raise WrongValue(f"{name_of(function)} does not return the right shape here.")
    changed = []
    for (key, asked), value in zip(questions, values, strict=True):
        changed.append(Answered(asked, read(value, asked), key))
        try:
            compare(first.got, changed[-1])
        except Broken:
            again, before = (
                digest(list(map(as_array, leaves(value))))
                for value in (function(**case.arguments), first.got)
            )
            if again != before:  # then nothing is known of the change
                told = "The same call returned something else when it was made again."
                raise Broken(told) from None
            raise
    values_are_right(function, case, first, changed[:stored] if case.is_stored else changed)


def have_one_form(right: Any, one: Any) -> bool:
    """Return whether two nests have the same keys, lengths and shapes."""
    return all(
        not is_branch(leaf) and array is not None and array.shape == np.shape(leaf)
        for leaf, array in ((leaf, as_array(came)) for _, leaf, came in pairs(right, one))
    )


def keeps_all(*laws: Callable[[], None]) -> None:
    """Test several laws, and report wrong values only after the last one.

    Otherwise code that keeps the first law with wrong values would never meet the others.
    """
    wrong: WrongValue | None = None
    for law in laws:
        try:
            law()
        except WrongValue as found:
            wrong = wrong or found
    if wrong is not None:
        raise wrong


def is_roughly(expected: Any, got: Any) -> bool:
    """Return whether a result is right except for rounding, in a tuple, a tree or an array."""
    noise = NOISE * largest(expected)
    return all(_is_near(right, came, noise) for _, right, came in pairs(expected, got))


def _is_near(right: Any, got: Any, noise: float) -> bool:
    """Return whether an array, or a number, is right except for rounding."""
    array = None if is_branch(right) else as_array(got)
    if array is None or array.shape != np.shape(right):
        return False
    near = Tolerance(ROUGH, ROUGH * largest(right) + noise)
    return not wrong_cells(np.asarray(right), array, near).any()


@contextmanager
def showing(call: str, arguments: Arguments) -> Iterator[None]:
    """Show this call with each finding in the block that shows results."""
    try:
        yield
    except Broken as broken:
        if broken.evidence is not None:
            inputs = show_inputs(arguments)
            broken.evidence = replace(broken.evidence, call=call, inputs=inputs)
        raise


@contextmanager
def noting(note: str) -> Iterator[None]:
    """Prefix each finding in the block with its circumstances."""
    try:
        yield
    except Broken as broken:
        broken.told, broken.shown = note + broken.told, note + broken.shown
        raise


def other_values(array: NDArray[Any], draw: Draw, size: float, vocabulary: int) -> NDArray[Any]:
    """Return as many unrelated values as the array has; each token differs from the original."""
    if array.dtype.kind == "b":
        return draw.uniform(*array.shape) < 0.5
    if array.dtype.kind in "iu":
        return (array + 1 + draw.tokens(vocabulary - 1, *array.shape)) % vocabulary
    return (draw.normal(*array.shape) * size).astype(array.dtype)
