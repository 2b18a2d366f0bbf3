"""Define the suites: their check functions, the inputs of these, and the right results.

The visible suite has fixed inputs and stored results, so it needs no torch. The hidden suite draws
from a key, enlarges the sizes at random, adds edge cases of its own, and asks the live reference.
"""

import importlib
import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from grader.checks.compare import Broken, WrongResult, WrongValue, not_numbers
from grader.checks.laws.cases import Case, Witness
from grader.checks.student import Student
from grader.steps.inputs import (
    Arguments,
    Build,
    Draw,
    Sizes,
    digest,
    enlarge_sizes,
    freeze,
    map_arrays,
)
from grader.steps.paths import ROOT, VALUES
from grader.steps.registry import KitError, Step

DECIMALS = 2
# Arguments that hold tokens. They are int64 or int32, so every other case has int32.
TOKENS = {"tokens", "targets", "prompt", "random_ids", "stream"}


class Given:
    """Makes cases from a builder and sizes.

    edges: the suite's own sizes for the running check. witness: what a diagnosis gives to cases.
    made: the sizes and shapes of the cases that the running check got. words: how many times
    32 bits of the key its numbers depend on. chance: the suite's secret key or number, on which
    numbers and sizes depend; empty for the visible suite.
    """

    decimals: int | None = None
    words: int = 1
    edges: Sequence[Sizes] = ()
    witness: Witness | None = None
    made: Sequence[Case] = ()
    chance: object = ""

    def __init__(self) -> None:
        self.kept: dict[tuple[Build, int, str], Case] = {}

    def cases(self, build: Build, sizes: Iterable[Sizes], *, salt: object = 0) -> list[Case]:
        """Return one case for each size. salt: for other values of the same sizes."""
        return [
            self.case(build, number, size, salt)
            for number, size in enumerate([*sizes, *self.edges])
        ]

    def case(self, build: Build, number: int, sizes: Sizes, salt: object) -> Case:
        """Return one case, read-only, so that every submission can share it."""
        key = (build, number, repr((salt, sizes)))
        if key not in self.kept:
            self.kept[key] = self._new_case(build, number, sizes, salt)
        case = self.kept[key]
        case = replace(case, witness=self.witness) if self.witness else case
        self.made = [*self.made, case]
        return case

    def _new_case(self, build: Build, number: int, sizes: Sizes, salt: object) -> Case:
        root = () if self.chance == "" else (self.chance,)
        sizes = enlarge_sizes(sizes, *root, build.__name__, number) if root else dict(sizes)
        key = *root, build.__name__, number, salt
        draw = Draw(*key, decimals=self.decimals, words=self.words)
        arguments = build(draw, **sizes)
        if number % 2:
            tokens = {name: arguments[name] for name in TOKENS & {*arguments}}
            arguments |= map_arrays(tokens, lambda array: array.astype(np.int32))
        arguments = map_arrays(arguments, freeze)
        return Case(arguments, sizes, self.expect, chance=self.chance)

    def expect(self, name: str, arguments: Arguments) -> Any:
        """Return the right result."""
        raise NotImplementedError


class Stored(Given):
    """The visible suite: results that were computed with the reference and stored in files."""

    decimals = DECIMALS

    def __init__(self, step: str, folder: Path = VALUES) -> None:
        super().__init__()
        self.step = step
        path = folder / f"{step}.json"
        self.values = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}

    def expect(self, name: str, arguments: Arguments) -> Any:
        """Look the result up by the arguments' digest."""
        try:
            return unpack_value(self.values[name][digest(arguments)])
        except KeyError:
            raise KitError(
                f"tests/visible/values/{self.step}.json is out of date: run `make build`"
            ) from None


class Live(Given):
    """The hidden suite: inputs from a secret key or from one's own number, and the reference."""

    words = 4  # so that nobody finds a case's numbers by trying all keys

    def __init__(self, root: int | str) -> None:
        super().__init__()
        self.chance = root
        self.reference = importlib.import_module("grader.answer_key.reference")
        self.known: dict[tuple[str, str], Any] = {}

    def expect(self, name: str, arguments: Arguments) -> Any:
        """Ask the reference, once for each set of arguments."""
        key = (name, digest(arguments))
        if key not in self.known:
            self.known[key] = getattr(self.reference, name)(**arguments)
        return self.known[key]


def unpack_value(data: Any) -> Any:
    """Return the result from its packed form."""
    if not isinstance(data, dict):
        return data
    if "tuple" in data:
        return tuple(unpack_value(item) for item in data["tuple"])
    if "list" in data:
        return [unpack_value(item) for item in data["list"]]
    if "dict" in data:
        return {key: unpack_value(item) for key, item in data["dict"].items()}
    dtype = {"b": np.bool_, "i": np.int64, "f": np.float64}[data["kind"]]
    return np.asarray(data["values"], dtype).reshape(data["shape"])


@dataclass(frozen=True)
class CheckFunction:
    """A check as its author wrote it, the suite's own sizes for it, and its id."""

    function: Callable[[Student, Given], object]
    edges: Sequence[Sizes]
    id: str = ""

    @property
    def title(self) -> str:
        """Return the first paragraph of its docstring: the sentence that the student reads."""
        return " ".join((self.function.__doc__ or "").split("\n\n")[0].split())

    def run(self, student: Student, given: Given) -> None:
        """Run the check on the student's functions; it raises whatever is wrong."""
        given.edges, given.made, student.odd = self.edges, (), None
        try:
            returned = self.function(student, given)
        except (WrongResult, WrongValue):
            raise
        except Broken:
            # From NaN follows neither a leak nor anything else that a law may find.
            if student.odd is not None:
                raise not_numbers(*student.odd) from None
            raise
        if returned is not None:  # a generator, of which nothing has run
            raise KitError(f"test_{self.id} returns something; a check returns nothing")


def _import_checks(suite: str, step: Step) -> ModuleType:
    """Import the suite's checks of a step. Raise KitError if they are missing or broken."""
    path = ROOT / "tests" / suite / f"test_{step.id}.py"
    if not path.is_file():
        raise KitError(f"there are no checks in {path}")
    if str(ROOT) not in sys.path:
        sys.path.insert(0, str(ROOT))
    try:
        module = importlib.import_module(f"tests.{suite}.{path.stem}")
    except Exception as error:
        raise KitError(f"the checks in {path} cannot be imported: {error!r}") from error
    if Path(module.__file__ or "").resolve() != path.resolve():
        raise KitError(f"another package named tests, in {module.__file__}, hides {path}")
    return module


def load_checks(suite: str, step: Step) -> dict[str, CheckFunction]:
    """Return the suite's checks of a step, by their ids in the registry.

    The functions are those of the visible suite; the hidden suite adds sizes in `EDGES`. Raise
    KitError if the suite lacks one of the checks.
    """
    module = _import_checks(suite, step)
    edges: Mapping[str, Sequence[Sizes]] = getattr(module, "EDGES", {})
    try:
        return {
            id: CheckFunction(getattr(module, f"test_{id}"), edges.get(id, ()), id)
            for id in (check.id for check in step.checks)
        }
    except AttributeError as error:
        raise KitError(f"a check of {step.id} is missing: {error}") from None
