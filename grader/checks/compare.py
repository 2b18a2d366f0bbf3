"""Compare a returned value with the expected one: first the type, then the shape and values."""

import builtins
import math
import re
from collections.abc import Mapping, Sequence, Set
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from grader.checks.tolerances import Tolerance
from grader.isolation.wire import Foreign, Handle
from grader.report.records import Array, Evidence
from grader.steps.registry import load
from grader.steps.tree import is_branch, leaves, name_path, named_leaves, pairs

MAX_CELLS = 256
MAX_LENGTH = 9  # of a container, in a message
MAX_AXES = 4  # of a shape that may be shown
UNSAID = "(…)"  # in place of a shape that came
_TYPES = {
    *("array of object", "array of complex64", "array of complex128", "huge integer"),
    *("NoneType", "function", "method", "module", "generator", "list_iterator", "Fraction"),
}
_SPECIAL = {
    "matrix": "an np.matrix, which always has two axes; expected a plain array.",
    "masked array": (
        "a masked array: its mask is lost when it is read as numbers. "
        "Copy its values into a plain array."
    ),
}
KINDS = {"b": "booleans", "i": "integers", "u": "integers", "f": "floats"}

# The sizes of cases, by the names that they have in the lessons.
WORDS = load().size_names

Shape = tuple[int, ...]
Finding = TypeVar("Finding", bound="Broken")


class Broken(AssertionError):
    """A check has found that a law does not hold.

    told may be read by anyone: it names the property and positions, and has UNSAID in place of each
    of the shapes that came. shown adds what only a visible check may show: shapes, numbers, and the
    case as evidence.
    """

    def __init__(
        self,
        told: str,
        shown: str = "",
        evidence: Evidence | None = None,
        shapes: Sequence[Shape] = (),
    ) -> None:
        self.told = told
        self.shown = _fill(shown or told, shapes)
        self.evidence = evidence
        self.shapes = shapes

    @classmethod
    def unexpected(cls: type[Finding], start: str, value: Any, end: str) -> Finding:
        """Return the finding that another value came than was expected."""
        shapes = [value.shape] if isinstance(value, np.ndarray) else ()
        return cls(f"{start} {describe(value, UNSAID)}{end}", shapes=shapes)

    def __str__(self) -> str:
        return _fill(self.told, self.shapes)

    def tell(self, lengths: Set[int]) -> str:
        """Return what anyone may read, without shapes that code could have chosen as a message.

        The first shape stays if it has few axes, and each is as long as an axis of an argument or
        of the right result.
        """
        first = self.shapes[:1]
        known = all(len(shape) <= MAX_AXES and lengths >= set(shape) for shape in first)
        return _fill(self.told, first if known else ())


def _fill(text: str, shapes: Sequence[Shape]) -> str:
    """Return the text with these shapes in place of its first marks."""
    for shape in shapes:
        text = text.replace(UNSAID, str(shape), 1)
    return text


class WrongResult(Broken):
    """A result is not the right one: `got` is in place of `right`, where both are known."""

    right: Any = None
    got: Any = None


class WrongValue(Broken):
    """The values are wrong although the law holds: the check earns nothing and has no message."""


def _describe_length(kind: str, length: int) -> str:
    """Return the length of a container in words; do not repeat an implausible length."""
    return f"a {kind} of {length}" if length <= MAX_LENGTH else f"a long {kind}"


def _of_type(description: str) -> str:
    """Return the type's name of an object that cannot cross to the judge.

    Repeat only names that a student cannot choose, because a class may have any name, even the
    hidden inputs.
    """
    if description in _TYPES or isinstance(getattr(builtins, description, None), type):
        return f"an object of type {description!r}"
    if match := re.fullmatch(r"(tuple|list|dict) of (\d{1,9})", description):
        return _describe_length(match[1], int(match[2]))
    if description in _SPECIAL:
        return f"{'an np.' * (description == 'matrix') or 'a '}{description}"
    if description.startswith("array of "):
        return "an array that is too large, or that does not hold numbers"
    return "an object of its own class"


def describe(value: Any, shape: object = None) -> str:
    """Describe a returned value in words. shape: what to write in place of an array's shape."""
    match value:
        case None:
            return "None (is a `return` missing?)"
        case Foreign(description):
            return _of_type(description)
        case np.ndarray():
            return f"{KINDS[value.dtype.kind]} of shape {shape or value.shape}"
        case bool() | int() | float():
            return f"a single {type(value).__name__}"
        case tuple() | list():
            return _describe_length(type(value).__name__, len(value))
        case Handle():
            return "a value"  # a cache, which stays with the student's code
    return f"a {type(value).__name__}"


def as_array(value: Any) -> NDArray[Any] | None:
    """Return the value as an array if it is one or is a single number; otherwise None."""
    if isinstance(value, np.ndarray):
        return value
    if isinstance(value, (bool, int, float)):
        return np.asarray(value)
    return None


def same_kind(expected: str, got: str) -> bool:
    """Return whether a type is acceptable in place of the expected one; both as NumPy's letters."""
    return got in {"f": "fiu", "b": "b"}.get(expected, "iu")


def wrong_cells(expected: NDArray[Any], got: NDArray[Any], tolerance: Tolerance) -> NDArray[Any]:
    """Return where two arrays of one shape differ by more than the tolerance; NaN is wrong."""
    if expected.dtype.kind != "f":
        return np.asarray(expected != got)
    got = got.astype(float)
    with np.errstate(invalid="ignore"):
        near = np.abs(got - expected) <= tolerance.allowed(expected)
    return np.asarray(~np.where(np.isfinite(expected), near, got == expected))


def show_array(name: str, array: NDArray[Any], wrong: NDArray[Any] | None = None) -> Array:
    """Return an array for a report, without its cells if they are too many.

    As a list, an array of shape (4_000_000, 0) would be millions of empty lists.
    """
    lists = math.prod(length or 1 for length in array.shape)
    cells = array.tolist() if lists <= MAX_CELLS else None
    marks = np.flatnonzero(wrong) if wrong is not None and cells is not None else ()
    return Array(name, array.shape, cells, tuple(int(mark) for mark in marks))


def show_inputs(arguments: Mapping[str, Any]) -> tuple[Array, ...]:
    """Return all arrays and numbers among the arguments, those in a dict under their own names.

    If dicts are inside dicts or lists, a name is a path: `params.blocks[0].ln_1.gain`. int32 is
    named, because other integers are int64.
    """
    found: list[Array] = []
    for name, value in arguments.items():
        if isinstance(value, dict):
            deep = any(isinstance(item, (dict, list)) for item in value.values())
            found += show_inputs(named_leaves(value, name if deep else ""))
        elif isinstance(value, tuple):  # one for each step, or for each chunk
            found += show_inputs(named_leaves(value, name))
        elif value is not None and (array := as_array(value)) is not None:
            found.append(show_array(f"{name}, int32" if array.dtype == np.int32 else name, array))
    return tuple(found)


def is_number(value: Any) -> bool:
    """Return whether nothing in a nest is NaN, or infinite as no right result is."""
    for leaf in leaves(value):
        # -inf is the logarithm of 0, and a hidden score.
        if isinstance(leaf, np.ndarray):
            if leaf.dtype.kind == "f" and not (leaf < np.inf).all():
                return False
        elif isinstance(leaf, float) and not leaf < np.inf:
            return False
    return True


def largest(value: Any) -> float:
    """Return the largest absolute value of the finite numbers in a nest of containers, or 0.0."""
    found = 0.0
    for leaf in leaves(value):
        array = as_array(leaf)
        if array is not None and array.dtype.kind == "f":
            sizes = np.abs(array[np.isfinite(array)])
            found = max(found, float(sizes.max(initial=0.0)))
    return found


def not_numbers(name: str, arguments: Mapping[str, Any], value: Any) -> Broken:
    """Return the finding that a call returned NaN or infinity, which says nothing about a law."""
    bad = next(np.asarray(leaf) for leaf in leaves(value) if not is_number(leaf))
    what = "NaN" if np.isnan(bad).any() else "infinite"
    told = f"Some of what {name} returned is {what}, so nothing else can be judged here."
    got = show_array("got", bad, ~np.less(bad, np.inf))
    evidence = Evidence(call_text(name, arguments), show_inputs(arguments), (), (got,))
    return Broken(told, "", evidence)


def call_text(name: str, arguments: Mapping[str, Any]) -> str:
    """Return the call as one would write it: `softmax(scores, axis=-1)`."""
    parts = [
        f"{key}={value}" if isinstance(value, (bool, int, float)) or value is None else key
        for key, value in arguments.items()
    ]
    return f"{name}({', '.join(parts)})"


def _how_many(wrong: NDArray[Any]) -> tuple[str, str]:
    """Return how many values are wrong: roughly in general, exactly for a visible check."""
    if wrong.size == 1:
        return "The value is wrong.", "The value is wrong."
    number, size = np.count_nonzero(wrong), wrong.size
    if number == size:
        told = f"{'Both' if size == 2 else f'All {size}'} values are wrong."
        return told, told
    exactly = f"{number} of {size} values {'is' if number == 1 else 'are'} wrong."
    return f"{roughly(int(number), size)} of the {size} values are wrong.", exactly


def roughly(number: int, size: int) -> str:
    """Return a share in words, because submitted code could choose a count to carry a message."""
    return "Some" if number <= size / 2 else "Most"


def _other_length(expected: Sequence[int], got: Sequence[int], sizes: Mapping[str, Any]) -> str:
    """Return the size that the last axis has by mistake, if nothing else is wrong."""
    if len(expected) != len(got) or not got or expected[:-1] != got[:-1] or got[-1] < 2:
        return ""
    names = [WORDS[name] for name, size in sizes.items() if name in WORDS and size == got[-1]]
    return f" (its last axis is as long as {names[0]})" if len(names) == 1 else ""


def matches(
    expected: Any,
    got: Any,
    tolerance: Tolerance,
    *,
    name: str = "",
    part: str = "",
    sizes: Mapping[str, Any] | None = None,
    names: Sequence[str] = (),
) -> None:
    """Raise Broken, with both results, unless `got` is what was expected.

    name: what is compared; part: a prefix for the message on one of several results.
    """
    if isinstance(expected, tuple):
        names = names or [f"result {i}" for i in range(1, len(expected) + 1)]
        if not isinstance(got, (tuple, list)) or len(got) != len(expected):
            wanted = f"expected {len(expected)} results: ({', '.join(names)})."
            raise WrongResult.unexpected(f"{name} returned", got, f"; {wanted}")
        for label, one, other in zip(names, expected, got, strict=True):
            matches(one, other, tolerance, name=label, part=f"{label}: ", sizes=sizes)
        return
    try:
        if isinstance(expected, (dict, list)):
            _tree_matches(expected, got, tolerance, names[0] if len(names) == 1 else name, sizes)
        else:
            _array_matches(expected, got, tolerance, name, part, sizes)
    except WrongResult as wrong:
        wrong.right, wrong.got = expected, got
        raise


def _array_matches(
    expected: Any,
    got: Any,
    tolerance: Tolerance,
    name: str,
    part: str,
    sizes: Mapping[str, Any] | None,
) -> None:
    """Raise Broken unless a result is an array, or a number, with the right values."""
    wanted, array = np.asarray(expected), as_array(got)
    if array is None:
        start = f"{name} {'is' if part else 'returned'}"
        if isinstance(got, Foreign) and got.description in _SPECIAL:
            raise WrongResult(f"{start} {_SPECIAL[got.description]}")
        raise WrongResult.unexpected(start, got, f"; expected {_expected(wanted)}.")
    if array.shape != wanted.shape:
        # A number of tokens may be the sum of two sizes.
        features = wanted.dtype.kind == "f"
        why = _other_length(wanted.shape, array.shape, sizes or {}) if features else ""
        told = f"{part}The shape is {UNSAID}; expected {wanted.shape}{why}."
        raise WrongResult(told, "", _show_both(wanted, array), [array.shape])
    if not same_kind(wanted.dtype.kind, array.dtype.kind):
        told = f"{part}It holds {KINDS[array.dtype.kind]}; expected {KINDS[wanted.dtype.kind]}."
        raise WrongResult(told, "", _show_both(wanted, array))
    wrong = wrong_cells(wanted, array, tolerance)
    if wrong.any():
        bad = "" if np.isfinite(array.astype(float)[wrong]).all() else _nonfinite(array[wrong])
        told, seen = (f"{part}{many}{bad}" for many in _how_many(wrong))
        raise WrongResult(told, seen, _show_both(wanted, array, wrong))


def _show_both(
    expected: NDArray[Any], got: NDArray[Any], wrong: NDArray[Any] | None = None
) -> Evidence:
    """Return the two results as evidence; the caller adds the call."""
    shown = show_array("expected", expected), show_array("got", got, wrong)
    return Evidence("", (), shown[:1], shown[1:])


MAX_NAMED = 4


def _tree_matches(
    expected: Any, got: Any, tolerance: Tolerance, name: str, sizes: Mapping[str, Any] | None
) -> None:
    """Raise Broken unless a nest of dicts and lists holds the right values under the right keys."""
    places = [(name_path(path, name), *both) for path, *both in pairs(expected, got)]
    for label, leaf, came in places:
        if is_branch(leaf) or is_branch(came):
            raise _has_another_form(label, leaf, came)
    wrong: list[tuple[str, Broken]] = []
    for label, leaf, came in places:
        try:
            matches(leaf, came, tolerance, name=label, part=f"{label}: ", sizes=sizes)
        except Broken as broken:
            wrong.append((label.removeprefix(name).removeprefix("."), broken))
    if not wrong:
        return
    first = wrong[0][1]
    if len(wrong) == 1:
        raise first
    ways = ", ".join(way for way, _ in wrong[:MAX_NAMED])
    more = f" and {len(wrong) - MAX_NAMED} more" if len(wrong) > MAX_NAMED else ""
    which = "All" if len(wrong) == len(places) else f"{len(wrong)} of {len(places)}"
    # The judged code chooses which of them are wrong, so their names could carry a message.
    some = "All" if len(wrong) == len(places) else roughly(len(wrong), len(places))
    raise WrongResult(
        f"{name}: {some} of its {len(places)} arrays are wrong. {first.told}",
        f"{name}: {which} arrays are wrong ({ways}{more}). {first.told}",
        first.evidence,
        first.shapes,
    )


def _has_another_form(name: str, expected: Any, got: Any) -> Broken:
    """Return the finding that a part of a nest has other keys or another length, or is a leaf."""
    if not isinstance(expected, dict):
        many = isinstance(expected, (list, tuple))  # a tuple if another answer is in its place
        wanted = f"a list of {len(expected)}" if many else _expected(np.asarray(expected))
        return WrongResult.unexpected(f"{name} is", got, f"; expected {wanted}.")
    if not isinstance(got, dict):
        wanted = f"a dict with {_keys(expected)}"
        return WrongResult.unexpected(f"{name} is", got, f"; expected {wanted}.")
    missing = [key for key in expected if key not in got]
    if not missing:
        return WrongResult(f"{name} has keys that do not belong there: expected {_keys(expected)}.")
    more = " It is not the only one." if len(missing) > 1 else ""
    return WrongResult(
        f"{name} has no {missing[0]!r}.{more}", f"{name} lacks {_keys(dict.fromkeys(missing))}."
    )


def _keys(tree: Mapping[str, Any]) -> str:
    """Return the keys by name: judged code may have chosen their order, to carry a message."""
    names = sorted(map(repr, tree))
    return f"the keys {', '.join(names)}" if len(names) > 1 else "".join(names)


def _expected(wanted: NDArray[Any]) -> str:
    if wanted.ndim == 0:
        return "a single number"
    return f"an array of {KINDS[wanted.dtype.kind]} of shape {wanted.shape}"


def _nonfinite(values: NDArray[Any]) -> str:
    what = "NaN" if np.isnan(values).any() else "infinite"
    return f" It is {what}." if values.size == 1 else f" Some are {what}."
