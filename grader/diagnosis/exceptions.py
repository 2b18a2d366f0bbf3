"""Explain an exception of Python or NumPy in words: which axes met, which value is None, ...

An explanation is given only if the exception's own words make it certain. Of those words, only
lengths are repeated. In the hidden suite, only lengths of the arguments are.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from grader.checks.compare import WORDS
from grader.isolation.client import Raised
from grader.steps.registry import load

Shape = tuple[int, ...]
MAX_TOLD = 8  # lengths in one sentence of the hidden suite, two shapes of four axes
LAST = load().last_axis


@dataclass(frozen=True)
class Lengths:
    """Names of lengths, lengths that may be repeated (all if allowed is None), and shapes.

    keys: the keys of params. earlier: the files of the earlier steps' functions, without `.py`.
    cells: whether the code comes from a notebook, of which some statements are left out. options:
    the names of the call's optional arguments.
    """

    names: Mapping[int, Sequence[str]]
    allowed: Set[int] | None
    shapes: Sequence[Shape] = ()
    keys: Sequence[str] = ()
    earlier: Mapping[str, str] = field(default_factory=dict)
    cells: bool = False
    options: Collection[str] = ()

    def may_say(self, *lengths: int) -> bool:
        """Return whether these lengths may be repeated."""
        if self.allowed is None:
            return True
        return len(lengths) <= MAX_TOLD and set(lengths) <= self.allowed

    def label(self, length: int, axis: int | None = None) -> str:
        """Return the length, with the case's size that equals it: `5 (T_k is 5)`.

        Return only the number if several sizes equal it, or if that size cannot be on this axis.
        Numbers of features and tokens are on the last axis, and batches never are. axis: from the
        end, if known.
        """
        names = self.names.get(length, ())
        if len(names) != 1 or length == 1:
            return str(length)
        (name,) = names
        misplaced = axis is not None and (name == "batch" if axis == -1 else name in LAST)
        if misplaced or not name:
            return str(length)
        return f"{length} ({name} {'are' if ' ' in name else 'is'} {length})"

    def holders(self, length: int, axis: int) -> int:
        """Return how many arguments have that length along that axis, counted from the front."""
        return sum(len(shape) > axis and shape[axis] == length for shape in self.shapes)


def know_sizes(
    sizes: Mapping[str, object],
    shapes: Sequence[Shape],
    *,
    visible: bool,
    fed: Mapping[str, int] | None = None,
    keys: Sequence[str] = (),
    earlier: Mapping[str, str] | None = None,
    cells: bool = False,
    options: Collection[str] = (),
) -> Lengths:
    """Return names from a case's sizes; in the hidden suite, only lengths of arguments.

    fed: for a call with a cache, the new tokens, and the total after them. With it, no other length
    has a name, because a length may be any number of earlier tokens, or of layers that share what
    is kept.
    """
    names: dict[int, list[str]] = {}
    named = [(length, "" if fed else word) for length, word in _name_lengths(sizes)]
    for length, word in [*named, *((n, name) for name, n in (fed or {}).items())]:
        if word not in names.setdefault(length, []):
            names[length].append(word)
    allowed = None if visible else {1, *(n for shape in shapes for n in shape)}
    return Lengths(names, allowed, shapes, keys, earlier or {}, cells, options)


def _name_lengths(sizes: Mapping[str, object]) -> Iterator[tuple[int, str]]:
    """Yield every length that a case's sizes may give to an array, with its name or "".

    A nameless length removes the name of any size that is as large, because either may be meant.
    """
    for name, size in sizes.items():
        lengths = [n for n in (size if isinstance(size, tuple) else (size,)) if _is_length(n)]
        word = "batch" if name in ("batch", "lead") else WORDS.get(name, "")
        yield from ((length, word) for length in lengths)
        if isinstance(size, tuple) and not word:
            yield from ((length, "") for length in itertools.accumulate(lengths))
    of_all = [sizes.get(name) for name in ("n_heads", "d_head")]
    if all(_is_length(n) for n in of_all):
        yield math.prod(of_all), "d_model"  # type: ignore[arg-type]
    t, n_new = sizes.get("t"), sizes.get("n_new")
    if isinstance(t, int) and isinstance(n_new, int):
        yield from ((t + more, "") for more in range(1, n_new + 1))


def _is_length(size: object) -> bool:
    return isinstance(size, int) and not isinstance(size, bool)


def arrays_of(value: Any, name: str = "") -> dict[str, Shape]:
    """Return the shapes of all arrays in a nest of arguments, by name."""
    if isinstance(value, Mapping):
        found: dict[str, Shape] = {}
        for key, item in value.items():
            found |= arrays_of(item, key)
        return found
    array = getattr(value, "array", value)
    return {name: array.shape} if isinstance(array, np.ndarray) else {}


def _any(name: str, sizes: Sequence[Mapping[str, Any]]) -> Iterator[int]:
    """Yield all lengths that a size has in several cases."""
    for each in sizes:
        size = each.get(name)
        yield from filter(_is_length, size if isinstance(size, tuple) else (size,))


def sizes_of(
    made: Sequence[tuple[Mapping[str, Shape], Mapping[str, Any]]], shapes: Mapping[str, Shape]
) -> dict[str, Any]:
    """Return the sizes of the case with these shapes; if several match, the sizes they agree on.

    A length that may not belong to this case has no name, as `any ...`.
    """
    alike = [
        sizes
        for theirs, sizes in made
        if all(shapes[name] == shape for name, shape in theirs.items() if name in shapes)
    ]
    if not alike:
        return {}
    agreed = {n: size for n, size in alike[0].items() if all(s.get(n) == size for s in alike)}
    for name in {name for sizes in alike for name in sizes} - set(agreed):
        agreed[f"any {name}"] = tuple(_any(name, alike))
    most = {"t_max": shapes["position"][0]} if shapes.get("position") else {}
    return agreed | most


@dataclass(frozen=True)
class Explanation:
    """A sentence that explains an exception, or "". met: the two lengths in it that do not fit."""

    says: str = ""
    met: str = ""


Words = Callable[[re.Match[str], Lengths], Explanation]
NOTHING_SAID = Explanation()
MOST = 9  # axes; a larger number in an exception's words could be anything


def _shape(text: str) -> Shape:
    return tuple(1 if part == "newaxis" else int(part) for part in re.findall(r"\w+", text))


def _clash(one: Shape, other: Shape) -> int | None:
    """Return the last axis, counted from the end, along which two shapes do not fit."""
    for axis in range(1, min(len(one), len(other)) + 1):
        lengths = {one[-axis], other[-axis]} - {1}
        if len(lengths) > 1:
            return -axis
    return None


def _fill(says: str, match: re.Match[str], known: Lengths) -> Explanation:
    """Return a sentence with the numbers of an exception's words, if all of them may be repeated.

    The groups have names: numbers of axes begin with `n_`, shapes with `shape_`. first and second
    are lengths, which `{met}` stands for.
    """
    given, lengths = dict[str, Any](), list[int]()
    for name, text in match.groupdict().items():
        given[name] = _shape(text) if name[:6] == "shape_" else int(text)
        if name[:2] != "n_":
            lengths += given[name] if name[:6] == "shape_" else [given[name]]
        elif given[name] > MOST:
            return NOTHING_SAID
    if not known.may_say(*lengths):
        return NOTHING_SAID
    return _meet(says, given.get("first"), given.get("second"), known, given=given)


def _meet(
    says: str,
    one: int | None,
    other: int | None,
    known: Lengths,
    axis: int | None = None,
    given: Mapping[str, Any] | None = None,
) -> Explanation:
    """Return a sentence in which `{met}` stands for two lengths."""
    met = ""
    if one is not None and other is not None:
        met = f"{known.label(one, axis)} met {known.label(other, axis)}"
    return Explanation(says.format(met=met, **(given or {})), met)


def _broadcast(match: re.Match[str], known: Lengths) -> Explanation:
    shapes = [_shape(text) for text in re.findall(r"\(([\d, ]*)\)", match[0])]
    for one, other in itertools.combinations(shapes, 2):
        axis = _clash(one, other)
        if axis is None or not known.may_say(*one, *other):
            continue
        short, long = sorted((one, other), key=len)
        dropped = short and any(short == long[:n] + long[n + 1 :] for n in range(len(long)))
        says = f"{one} and {other} do not fit: at axis {axis}, {{met}}."
        return _meet(f"{says}{DROPPED if dropped else ''}", one[axis], other[axis], known, axis)
    return NOTHING_SAID


def _einsum(match: re.Match[str], known: Lengths) -> Explanation:
    shapes = [_shape(text) for text in re.findall(r"->\(([\w, ]*)\)", match[0])]
    for one, other in itertools.pairwise(shapes):
        axis = _clash(one, other)
        if axis is not None and known.may_say(one[axis], other[axis]):
            return _meet(LETTER, one[axis], other[axis], known)
    return NOTHING_SAID


def _stacks(match: re.Match[str], known: Lengths) -> Explanation:
    """Return the explanation of a failed product of stacks of matrices."""
    one, other = _shape(match[1]), _shape(match[2])
    axis = _clash(one[:-2], other[:-2])
    if axis is None or not known.may_say(*one, *other):
        return NOTHING_SAID
    says = (
        "In a matrix product the axes in front of the last two must fit: of "
        f"{one} and {other}, {{met}}."
    )
    return _meet(says, one[axis - 2], other[axis - 2], known)


def _bounds(match: re.Match[str], known: Lengths) -> Explanation:
    axis, size = int(match[1]), int(match[2])
    if axis > MOST or not known.may_say(size):
        return NOTHING_SAID
    # Where several arguments are as long there, which of them it was is not known.
    long = known.label(size) if known.holders(size, axis) < 2 else str(size)
    return Explanation(f"Axis {axis} is {long} long, and the code asks for a place beyond it.")


def _key(match: re.Match[str], known: Lengths) -> Explanation:
    if match[1] in known.keys or not known.keys:
        return NOTHING_SAID
    return Explanation(f"The dict has no such key; params has {', '.join(known.keys)}.")


def _unnamed(match: re.Match[str], known: Lengths) -> Explanation:
    if match[1] == "np":
        where = "at the left margin of a cell" if known.cells else "above it"
        return Explanation(f"The line `import numpy as np` is missing {where}.")
    if match[1] in known.earlier:
        line = f"from exercises.{known.earlier[match[1]]} import {match[1]}"
        return Explanation(f"It is a function of an earlier step: `{line}` is missing above it.")
    if match[1] in MODULES:
        return Explanation(f"The line `import {match[1]}` is missing above it.")
    skipped = ", or only in a statement of the notebook that is skipped" if known.cells else ""
    return Explanation(f"A name is used there that was never assigned{skipped}.")


MODULES = ("math", "numpy", "random", "copy", "itertools", "functools", "collections")


def _unexpected(match: re.Match[str], known: Lengths) -> Explanation:
    if match[1] not in known.options:
        return Explanation(CALLED)
    return Explanation(f"It is called with {match[1]}=, and has no parameter of that name.")


DROPPED = (
    " One has an axis more: a sum or a maximum drops its axis unless keepdims=True, and "
    "an index may leave one of length 1."
)
LETTER = "In an einsum one letter, or the dots, must stand for the same length everywhere: {met}."
NOTHING = (
    "Something is None there: a function without a `return`, or an argument that was not given, "
    "or that is in another's place."
)
CALLED = "A function was called with more, fewer or other arguments than it takes."
NUMBER = "There is a single number where the code expects an array with axes."
OPERANDS = "A matrix product needs arrays with axes, and got a single number or None."
INDEX = "The value used as an index is not an integer."
COUNT = "The value used as a length or an index is not an integer."
DIVIDED = (
    "A length or a count must be an integer. A float is not one, not even 2.0: / gives floats, "
    "// integers."
)
POWER = "A power is written **; ^ compares the bits of integers."
ONE_NUMBER = (
    "int(), float() and the functions of math take one number, but got a whole array. NumPy's own "
    "functions take arrays."
)
STACKED = "Arrays that are stacked must all have the same shape."
RESHAPED = "A reshape must keep the number of elements: multiply the lengths out."
TRANSPOSED = "A transpose must name every axis of the array, batch axes included."
TRUTH = (
    "A single True or False is needed there, as in `if`, `and`, `not`, `in`, max() and min(); it "
    "got a whole array."
)
RAGGED = (
    "Lists of different lengths cannot become an array. Nor can a tuple: a function with several "
    "results returns all of them together."
)
FEWER = "There are more names on the left than values. If they are of a shape, it has too few axes."
MORE = "There are more values than names on the left. If they are of a shape, it has too many axes."
TUPLE = "A tuple is shorter than expected. If it is a shape, the array has fewer axes."
RESULTS = "There is a tuple: a function with several results returns all of them together."
NUMPY = "NumPy has nothing by that name."
REMOVED = "NumPy 2 no longer has anything by that name."
UNBOUND = "A name is read there before it has a value, at least in this case."
ENDLESS = "A function calls itself without end, or more often than Python allows."
NO_INPUT = "Nobody can type anything there: remove calls that wait for input, such as input()."
DEBUGGER = "No debugger runs there. Use print(): its output is shown with the failure."
ZERO = "Something is divided by 0."
SANDBOX = "Where code is graded, it cannot start threads or programs, use files or a network."
DOTS = (
    "An einsum keeps the axes under the dots: write them after the arrow too, or sum over them "
    "in a line of its own."
)
LETTERS = (
    "An einsum names more axes than an array has. Three dots stand for any number of batch axes, "
    "none included."
)
AXES = (
    "An array in an einsum has more axes than letters. Three dots stand for any number of batch "
    "axes, none included."
)
PRODUCT = "In a matrix product the columns of the left array meet the rows of the right one: {met}."
DOT = "The axes that a product sums over must be equally long: {met}."
JOINED = (
    "Arrays that are joined must be equally long along every other axis: along axis {n_axis}, "
    "{met}."
)
DIMENSIONS = "Arrays that are joined need as many axes: one has {n_one}, another {n_other}."
WRITTEN = "An array of shape {shape_one} was to be written into a place of shape {shape_other}."
IN_PLACE = (
    "`+=`, `&=` and the like, and out=, write into the array on the left, whose shape stays "
    "{shape_one}; the result has {shape_other}."
)
BEYOND = "The array has {n_axes} axes, new ones counted; the code names one beyond them."
INDEXED_1 = "An array of 1 axis was indexed as if it had {n_indices}."
INDEXED = "An array of {n_axes} axes was indexed as if it had {n_indices}."

SHAPE = r"\(([\d, ]*)\)"
ONE, OTHER = (rf"\((?P<shape_{name}>[\d, ]*)\)" for name in ("one", "other"))
DIFFERENT = r"\(size (?P<second>\d+) is different from (?P<first>\d+)\)"
ALONG = (
    r"(?P<n_axis>\d+), the array at index \d+ has size (?P<first>\d+) and the array at index \d+ "
    r"has size (?P<second>\d+)"
)
AS_MANY = (
    r"index 0 has (?P<n_one>\d+) dimension\(s\) and the array at index \d+ has (?P<n_other>\d+) "
    r"dimension\(s\)"
)
REMAPPED = r"operands could not be broadcast together with remapped shapes \[[^]]*\]:"
TOO_MANY = r"too many indices for array: array is"

# Type, beginning of the text, words. The first that fits is taken.
RULES: list[tuple[str, str, str | Words]] = [
    ("ValueError", rf"operands could not be broadcast together with shapes {SHAPE}.*", _broadcast),
    ("ValueError", rf"{REMAPPED} {SHAPE}->\S+ {SHAPE}->\S+\s+and requested shape .*", _stacks),
    ("ValueError", rf"{REMAPPED} .*", _einsum),
    ("ValueError", r"output has more dimensions than subscripts given in einstein sum.*", DOTS),
    ("ValueError", r"operand has more dimensions than subscripts given in .*", AXES),
    ("ValueError", r"einstein sum subscripts string contains too many subscripts .*", LETTERS),
    ("ValueError", rf"matmul: .* core dimension 0, .*{DIFFERENT}", PRODUCT),
    ("ValueError", r"matmul: Input operand \d does not have enough dimensions.*", OPERANDS),
    (
        "ValueError",
        r"shapes .* not aligned: (?P<first>\d+) \(dim \d\) != (?P<second>\d+) \(dim \d\)",
        DOT,
    ),
    ("ValueError", rf"all the input array dimensions .* along dimension {ALONG}", JOINED),
    ("ValueError", rf"all the input arrays must have same number .*{AS_MANY}", DIMENSIONS),
    ("ValueError", r"all input arrays must have the same shape", STACKED),
    (
        "ValueError",
        rf"could not broadcast input array from shape {ONE} into shape {OTHER}",
        WRITTEN,
    ),
    (
        "ValueError",
        rf"non-broadcastable output operand with shape {ONE} doesn't match the broadcast shape "
        rf"{OTHER}",
        IN_PLACE,
    ),
    ("ValueError", r"cannot reshape array of size .*", RESHAPED),
    ("ValueError", r"axes don't match array", TRANSPOSED),
    ("ValueError", r"The truth value of an array .*", TRUTH),
    ("ValueError", r"setting an array element with a sequence.*", RAGGED),
    ("ValueError", r"not enough values to unpack .*", FEWER),
    ("ValueError", r"too many values to unpack .*", MORE),
    ("IndexError", r"index -?\d+ is out of bounds for axis (\d+) with size (\d+)", _bounds),
    ("IndexError", rf"{TOO_MANY} 1-dimensional, but (?P<n_indices>\d+) were indexed", INDEXED_1),
    (
        "IndexError",
        rf"{TOO_MANY} (?P<n_axes>\d+)-dimensional, but (?P<n_indices>\d+) were indexed",
        INDEXED,
    ),
    ("IndexError", r"tuple index out of range", TUPLE),
    ("IndexError", r"invalid index to scalar variable.*", NUMBER),
    ("IndexError", r"(only integers, slices|arrays used as indices must be).*", INDEX),
    ("AxisError", r"axis -?\d+ is out of bounds for array of dimension (?P<n_axes>\d+)", BEYOND),
    ("TypeError", r".*'?NoneType'?.*", NOTHING),
    ("AttributeError", r"'NoneType' object has no attribute.*", NOTHING),
    ("TypeError", r".*got an unexpected keyword argument '(\w+)'.*", _unexpected),
    (
        "TypeError",
        r".* (missing \d+ required|takes .* argument).*",
        CALLED,
    ),
    ("TypeError", r"(len\(\) of unsized object|iteration over a 0-d array).*", NUMBER),
    ("TypeError", r"only integer scalar arrays can be converted.*", COUNT),
    ("TypeError", r"'float' object cannot be interpreted as an integer", DIVIDED),
    ("TypeError", r"ufunc 'bitwise_xor' not supported.*", POWER),
    ("TypeError", r"only \S+ arrays can be converted to Python scalars", ONE_NUMBER),
    ("AttributeError", r"'tuple' object has no attribute.*", RESULTS),
    ("TypeError", r"tuple indices must be integers or slices, not .*", RESULTS),
    ("TypeError", r"unsupported operand type\(s\) for .*'tuple'.*", RESULTS),
    ("AttributeError", r"module '?numpy'? has no attribute.*", NUMPY),
    ("AttributeError", r"`np\.\w+` was removed in the NumPy 2.*", REMOVED),
    ("KeyError", r"'(\w+)'", _key),
    ("UnboundLocalError", r".*", UNBOUND),
    ("NameError", r"name '(\w+)' is not defined.*", _unnamed),
    ("RecursionError", r".*", ENDLESS),
    ("ZeroDivisionError", r".*", ZERO),
    ("RuntimeError", r"can't start new thread", SANDBOX),
    ("PermissionError", r"\[Errno 1\] .*", SANDBOX),
    ("EOFError", r"EOF when reading a line", NO_INPUT),
    ("BdbQuit", r".*", DEBUGGER),
]


def explain(failure: Raised, known: Lengths) -> Explanation:
    """Return a sentence that explains the exception, if anything is certain."""
    for kind, text, says in RULES:
        if kind == failure.type and (match := re.fullmatch(text, failure.text.strip(), re.DOTALL)):
            return _fill(says, match, known) if isinstance(says, str) else says(match, known)
    return NOTHING_SAID
