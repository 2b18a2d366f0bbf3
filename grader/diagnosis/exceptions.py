"""Explain an exception of Python or NumPy in words: which axes met, which value is None, ...

An explanation is given only if the exception's own words make it certain. Of those words, only
lengths are repeated. In the hidden suite, only lengths of the arguments are.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
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
    """Names for the lengths in a call, from the sizes of its case, and from its shapes.

    sizes: those of each case that it may come from; a length has a name if all of them give it.
    visible: whether all lengths may be repeated, or only those of arguments. keys: the keys of
    params. earlier: the files of the earlier steps' functions, without `.py`. cells: whether the
    code comes from a notebook, of which some statements are left out. options: the names of the
    call's optional arguments.
    """

    sizes: Sequence[Mapping[str, Any]]
    shapes: Sequence[Shape]
    visible: bool
    keys: Sequence[str] = ()
    earlier: Mapping[str, str] = field(default_factory=dict)
    cells: bool = False
    options: Collection[str] = ()

    def may_say(self, *lengths: int) -> bool:
        """Return whether these lengths may be repeated."""
        known = {1, *(n for shape in self.shapes for n in shape)}
        return self.visible or (len(lengths) <= MAX_TOLD and known.issuperset(lengths))

    def label(self, length: int, axis: int | None = None) -> str:
        """Return the length, with the case's size that equals it: `5 (T_k is 5)`.

        Return only the number if several sizes equal it, or if that size cannot be on this axis.
        Numbers of features and tokens are on the last axis, and batches never are. axis: from the
        end, if known.
        """
        found = {
            frozenset(name for size, name in _name_lengths(sizes) if size == length)
            for sizes in self.sizes
        }
        names = next(iter(found), frozenset())
        if len(found) != 1 or len(names) != 1 or length == 1:
            return str(length)
        (name,) = names
        misplaced = axis is not None and (name == "batch" if axis == -1 else name in LAST)
        if misplaced or not name:
            return str(length)
        return f"{length} ({name} is {length})"

    def meet(self, one: int, other: int, axis: int | None = None) -> str:
        """Say that two lengths met, on that axis if it is known."""
        return f"{self.label(one, axis)} met {self.label(other, axis)}"


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


def sizes_of(
    made: Sequence[tuple[Mapping[str, Shape], Mapping[str, Any]]], shapes: Mapping[str, Shape]
) -> list[dict[str, Any]]:
    """Return the sizes of each case with these shapes."""
    most = {"t_max": shapes["position"][0]} if shapes.get("position") else {}
    return [
        {**sizes, **most}
        for theirs, sizes in made
        if all(shapes[name] == shape for name, shape in theirs.items() if name in shapes)
    ]


Words = Callable[[re.Match[str], Lengths], str]
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


def _fill(says: str, match: re.Match[str], known: Lengths) -> str:
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
            return ""
    if not known.may_say(*lengths):
        return ""
    if "first" in given:
        given["met"] = known.meet(given["first"], given["second"])
    return says.format(**given)


def _broadcast(match: re.Match[str], known: Lengths) -> str:
    shapes = [_shape(text) for text in re.findall(r"\(([\d, ]*)\)", match[0])]
    for one, other in itertools.combinations(shapes, 2):
        axis = _clash(one, other)
        if axis is None or not known.may_say(*one, *other):
            continue
        short, long = sorted((one, other), key=len)
        dropped = short and any(short == long[:n] + long[n + 1 :] for n in range(len(long)))
        met = known.meet(one[axis], other[axis], axis)
        more = DROPPED if dropped else ""
        return f"{one} and {other} do not fit: at axis {axis}, {met}.{more}"
    return ""


def _einsum(match: re.Match[str], known: Lengths) -> str:
    shapes = [_shape(text) for text in re.findall(r"->\(([\w, ]*)\)", match[0])]
    for one, other in itertools.pairwise(shapes):
        axis = _clash(one, other)
        if axis is not None and known.may_say(one[axis], other[axis]):
            says = "In an einsum one letter, or the dots, must stand for the same length everywhere"
            return f"{says}: {known.meet(one[axis], other[axis])}."
    return ""


def _stacks(match: re.Match[str], known: Lengths) -> str:
    """Return the explanation of a failed product of stacks of matrices."""
    one, other = _shape(match[1]), _shape(match[2])
    axis = _clash(one[:-2], other[:-2])
    if axis is None or not known.may_say(*one, *other):
        return ""
    met = known.meet(one[axis - 2], other[axis - 2])
    return (
        "In a matrix product the axes in front of the last two must fit: of "
        f"{one} and {other}, {met}."
    )


def _bounds(match: re.Match[str], known: Lengths) -> str:
    axis, size = int(match[1]), int(match[2])
    if axis > MOST or not known.may_say(size):
        return ""
    # Where several arguments are as long there, which of them it was is not known.
    holders = [shape for shape in known.shapes if shape[axis : axis + 1] == (size,)]
    long = known.label(size) if len(holders) < 2 else str(size)
    return f"Axis {axis} is {long} long, and the code asks for a place beyond it."


def _key(match: re.Match[str], known: Lengths) -> str:
    if match[1] in known.keys or not known.keys:
        return ""
    return f"The dict has no such key; params has {', '.join(known.keys)}."


def _unnamed(match: re.Match[str], known: Lengths) -> str:
    if match[1] == "np":
        where = "at the left margin of a cell" if known.cells else "above it"
        return f"The line `import numpy as np` is missing {where}."
    if match[1] in known.earlier:
        line = f"from exercises.{known.earlier[match[1]]} import {match[1]}"
        return f"It is a function of an earlier step: `{line}` is missing above it."
    if match[1] in MODULES:
        return f"The line `import {match[1]}` is missing above it."
    skipped = ", or only in a statement of the notebook that is skipped" if known.cells else ""
    return f"A name is used there that was never assigned{skipped}."


MODULES = ("math", "numpy", "random", "copy", "itertools", "functools", "collections")


def _unexpected(match: re.Match[str], known: Lengths) -> str:
    if match[1] not in known.options:
        return CALLED
    return f"It is called with {match[1]}=, and has no parameter of that name."


DROPPED = (
    " One has an axis more: a sum or a maximum drops its axis unless keepdims=True, and "
    "an index may leave one of length 1."
)
CALLED = "A function was called with more, fewer or other arguments than it takes."
SANDBOX = "Where code is graded, it cannot start threads or programs, use files or a network."

SHAPE = r"\(([\d, ]*)\)"
ONE, OTHER = (rf"\((?P<shape_{name}>[\d, ]*)\)" for name in ("one", "other"))
DIFFERENT = r"\(size (?P<second>\d+) is different from (?P<first>\d+)\)"
ALIGNED = r"not aligned: (?P<first>\d+) \(dim \d\) != (?P<second>\d+) \(dim \d\)"
ALONG = (
    r"(?P<n_axis>\d+), the array at index \d+ has size (?P<first>\d+) and the array at index \d+ "
    r"has size (?P<second>\d+)"
)
AS_MANY = (
    r"index 0 has (?P<n_one>\d+) dimension\(s\) and the array at index \d+ has (?P<n_other>\d+) "
    r"dimension\(s\)"
)
BROADCAST = r"ValueError: operands could not be broadcast together with"
REMAPPED = rf"{BROADCAST} remapped shapes \[[^]]*\]:"
TOO_MANY = r"IndexError: too many indices for array: array is"

# The beginning of an exception with its type, and the words. The first that fits is taken.
RULES: dict[str, str | Words] = {
    rf"{BROADCAST} shapes {SHAPE}.*": _broadcast,
    rf"{REMAPPED} {SHAPE}->\S+ {SHAPE}->\S+\s+and requested shape .*": _stacks,
    rf"{REMAPPED} .*": _einsum,
    r"ValueError: output has more dimensions than subscripts given in einstein sum.*": (
        "An einsum keeps the axes under the dots: write them after the arrow too, or sum over "
        "them in a line of its own."
    ),
    r"ValueError: operand has more dimensions than subscripts given in .*": "An array in an "
    "einsum has more axes than letters. Three dots stand for any number of batch axes, none "
    "included.",
    r"ValueError: einstein sum subscripts string contains too many subscripts .*": (
        "An einsum names more axes than an array has. Three dots stand for any number of batch "
        "axes, none included."
    ),
    rf"ValueError: matmul: .* core dimension 0, .*{DIFFERENT}": "In a matrix product the columns "
    "of the left array meet the rows of the right one: {met}.",
    r"ValueError: matmul: Input operand \d does not have enough dimensions.*": "A matrix product "
    "needs arrays with axes, and got a single number or None.",
    rf"ValueError: shapes .* {ALIGNED}": "The axes that a product sums over must be equally long: "
    "{met}.",
    rf"ValueError: all the input array dimensions .* along dimension {ALONG}": "Arrays that are "
    "joined must be equally long along every other axis: along axis {n_axis}, {met}.",
    rf"ValueError: all the input arrays must have same number .*{AS_MANY}": "Arrays that are "
    "joined need as many axes: one has {n_one}, another {n_other}.",
    r"ValueError: all input arrays must have the same shape": "Arrays that are stacked must all "
    "have the same shape.",
    rf"ValueError: could not broadcast input array from shape {ONE} into shape {OTHER}": (
        "An array of shape {shape_one} was to be written into a place of shape {shape_other}."
    ),
    rf"ValueError: non-broadcastable output operand with shape {ONE} doesn't match the "
    rf"broadcast shape {OTHER}": (
        "`+=`, `&=` and the like, and out=, write into the array on the left, whose shape stays "
        "{shape_one}; the result has {shape_other}."
    ),
    r"ValueError: cannot reshape array of size .*": "A reshape must keep the number of elements: "
    "multiply the lengths out.",
    r"ValueError: axes don't match array": "A transpose must name every axis of the array, batch "
    "axes included.",
    r"ValueError: The truth value of an array .*": "A single True or False is needed there, as in "
    "`if`, `and`, `not`, `in`, max() and min(); it got a whole array.",
    r"ValueError: setting an array element with a sequence.*": "Lists of different lengths cannot "
    "become an array. Nor can several results, which a function returns as one tuple.",
    r"ValueError: not enough values to unpack .*": "There are more names on the left than values. "
    "If they are of a shape, it has too few axes.",
    r"ValueError: too many values to unpack .*": "There are more values than names on the left. "
    "If they are of a shape, it has too many axes.",
    r"IndexError: index -?\d+ is out of bounds for axis (\d+) with size (\d+)": _bounds,
    rf"{TOO_MANY} 1-dimensional, but (?P<n_indices>\d+) were indexed": "An array of 1 axis was "
    "indexed as if it had {n_indices}.",
    rf"{TOO_MANY} (?P<n_axes>\d+)-dimensional, but (?P<n_indices>\d+) were indexed": (
        "An array of {n_axes} axes was indexed as if it had {n_indices}."
    ),
    r"IndexError: tuple index out of range": "A tuple is shorter than expected. If it is a shape, "
    "the array has fewer axes.",
    r"IndexError: invalid index to scalar variable.*"
    r"|TypeError: (len\(\) of unsized object|iteration over a 0-d array).*": (
        "There is a single number where the code expects an array with axes."
    ),
    r"IndexError: (only integers, slices|arrays used as indices must be).*": "The value used as "
    "an index is not an integer.",
    r"AxisError: axis -?\d+ is out of bounds for array of dimension (?P<n_axes>\d+)": (
        "The array has {n_axes} axes, new ones counted; the code names one beyond them."
    ),
    r"TypeError: .*'?NoneType'?.*|AttributeError: 'NoneType' object has no attribute.*": (
        "Something is None there: a function without a `return`, or an argument that was not "
        "given, or that is in another's place."
    ),
    r"TypeError: .*got an unexpected keyword argument '(\w+)'.*": _unexpected,
    r"TypeError: .* (missing \d+ required|takes .* argument).*": CALLED,
    r"TypeError: only integer scalar arrays can be converted.*": "The value used as a length or "
    "an index is not an integer.",
    r"TypeError: 'float' object cannot be interpreted as an integer": "A length or a count must "
    "be an integer. A float is not one, not even 2.0: / gives floats, // integers.",
    r"TypeError: ufunc 'bitwise_xor' not supported.*": "A power is written **; ^ compares the "
    "bits of integers.",
    r"TypeError: only \S+ arrays can be converted to Python scalars": "int(), float() and the "
    "functions of math take one number, but got a whole array. NumPy's own functions take "
    "arrays.",
    r"AttributeError: 'tuple' object has no attribute.*"
    r"|TypeError: (tuple indices must be integers or slices, not |unsupported .*'tuple').*": (
        "There is a tuple: a function with several results returns all of them together."
    ),
    r"AttributeError: module '?numpy'? has no attribute.*": "NumPy has nothing by that name.",
    r"AttributeError: `np\.\w+` was removed in the NumPy 2.*": "NumPy 2 no longer has anything by "
    "that name.",
    r"KeyError: '(\w+)'": _key,
    r"UnboundLocalError: .*": "A name is read there before it has a value, at least in this case.",
    r"NameError: name '(\w+)' is not defined.*": _unnamed,
    r"RecursionError: .*": "A function calls itself without end, or more often than Python allows.",
    r"ZeroDivisionError: .*": "Something is divided by 0.",
    r"RuntimeError: can't start new thread|PermissionError: \[Errno 1\] .*": SANDBOX,
    r"EOFError: EOF when reading a line": "Nobody can type anything there: remove calls that wait "
    "for input, such as input().",
    r"BdbQuit: .*": "No debugger runs there. Use print(): its output is shown with the failure.",
}


def explain(failure: Raised, known: Lengths) -> str:
    """Return a sentence that explains the exception, if anything is certain."""
    told = f"{failure.type}: {failure.text.strip()}"
    for text, says in RULES.items():
        if match := re.fullmatch(text, told, re.DOTALL):
            return _fill(says, match, known) if isinstance(says, str) else says(match, known)
    return ""
