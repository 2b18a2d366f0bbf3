"""Hold the registry of steps: the functions a student writes, and the points of each check.

`data/kit.toml` holds the limits and the parts. `data/stepNN_name.toml` holds one step. The first
check in each function's list tests whether its values are right. The others earn points only if
that one passed.
"""

import itertools
import math
import re
import sys
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

DATA = Path(__file__).resolve().parent / "data"


ROMAN = ("", "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X")


class KitError(Exception):
    """Report that the kit itself is broken: a check cannot be collected, or a result is missing."""


@dataclass(frozen=True)
class Check:
    """Describe a check: its name, its function, its points, and the check that must pass first.

    If this check is the first that fails, its hints are given instead of the step's.
    """

    id: str
    function: str
    points: float
    needs: str | None
    hints: tuple[str, ...] = ()


@dataclass(frozen=True)
class Function:
    """Describe a function that the student writes.

    takes names the required arguments, which are passed by position. returns names the results. A
    `*` marks a result that only the student's own code looks into.
    """

    name: str
    takes: tuple[str, ...]
    returns: tuple[str, ...]
    checks: tuple[Check, ...]


@dataclass(frozen=True)
class Step:
    """Describe one step: one file of the student's, with its functions and their checks in order.

    hints are given one at a time: the idea, the place to look, a question that leads there. sizes:
    the sizes of its checks' cases, under the names that they have in the lesson. last_axis: the
    names that can only be the length of an array's last axis.
    """

    id: str
    title: str
    part: int
    source: str
    hints: tuple[str, ...]
    functions: tuple[Function, ...]
    sizes: Mapping[str, str] = field(default_factory=dict, hash=False)
    last_axis: tuple[str, ...] = ()

    @property
    def number(self) -> int:
        """Return 3 for `step03_mask`."""
        return int(self.id[4:6])

    @property
    def filename(self) -> str:
        """Format a text such as `step03_mask.py`."""
        return f"{self.id}.py"

    @property
    def checks(self) -> tuple[Check, ...]:
        """Return the checks of all functions, in order."""
        return tuple(check for function in self.functions for check in function.checks)

    @property
    def max_points(self) -> float:
        """Return the points of the whole step."""
        return sum(check.points for check in self.checks)

    def function(self, name: str) -> Function:
        """Return the function of that name. Raise KeyError if the step has none."""
        return {function.name: function for function in self.functions}[name]

    def narrow(self, name: str) -> "Step":
        """Return the step with only the checks of that function."""
        return self.narrow_to({check.id for check in self.function(name).checks})

    def narrow_to(self, checks: Set[str]) -> "Step":
        """Return the step with only the checks that have these ids."""
        functions = (
            replace(function, checks=tuple(c for c in function.checks if c.id in checks))
            for function in self.functions
        )
        return replace(self, functions=tuple(functions))


@dataclass(frozen=True)
class Part:
    """Describe a part: the steps whose `part` is its number.

    can: what a learner can do after it. shows: the function whose map is drawn at its end. read:
    what to read. then: the command that shows what the part was for. then_shows: what that command
    does.
    """

    number: int
    title: str
    can: tuple[str, ...] = ()
    shows: str = ""
    read: str = ""
    then: str = ""
    then_shows: str = ""

    @property
    def name(self) -> str:
        """Format a text such as `Part II`."""
        return f"Part {ROMAN[self.number]}"


@dataclass(frozen=True)
class Limits:
    """Hold the limits of a call, a step and a submission."""

    call_seconds: float
    step_seconds: float
    memory_mib: int
    submission_seconds: float = 240.0


@dataclass(frozen=True)
class Registry:
    """Hold all steps in order, the limits, and the parts that the steps make up."""

    steps: tuple[Step, ...]
    limits: Limits
    parts: tuple[Part, ...]

    @cached_property
    def by_filename(self) -> dict[str, Step]:
        """Return the steps by the names of their files."""
        return {step.filename: step for step in self.steps}

    @cached_property
    def homes(self) -> dict[str, Step]:
        """Return the step of each function, by the function's name."""
        return {function.name: step for step in self.steps for function in step.functions}

    @property
    def size_names(self) -> dict[str, str]:
        """Return the lesson's names for all sizes of cases."""
        return {size: name for step in self.steps for size, name in step.sizes.items()}

    @property
    def last_axis(self) -> frozenset[str]:
        """Return the lesson's names for sizes that only an array's last axis has."""
        return frozenset(name for step in self.steps for name in step.last_axis)

    def of(self, part: Part) -> tuple[Step, ...]:
        """Return the steps of that part."""
        return tuple(step for step in self.steps if step.part == part.number)

    def group_by_part(self, steps: Sequence[Step]) -> dict[str, list[str]]:
        """Return the ids of each part that lies wholly among these steps, by `Part I: ...`."""
        whole = (part for part in self.parts if self.of(part) and set(self.of(part)) <= set(steps))
        return {f"{one.name}: {one.title}": [step.id for step in self.of(one)] for one in whole}

    @property
    def numbers(self) -> str:
        """Return the steps' numbers in words: `1 to 14`, `1, 3, 5`, or `1 to 14, 20 to 25`."""
        numbers = [step.number for step in self.steps]
        groups = itertools.groupby(enumerate(numbers), lambda pair: pair[1] - pair[0])
        runs = [[number for _, number in group] for _, group in groups]
        return ", ".join(str(run[0]) + f" to {run[-1]}" * (len(run) > 1) for run in runs)

    def choose(self, name: str) -> tuple[Step, ...]:
        """Return the steps of `part2`, or the one step that `find` finds."""
        match = re.fullmatch(r"part(\d+)", name.strip().lower())
        for part in self.parts:
            if match and part.number == int(match[1]):
                return self.of(part)
        return (self.find(name),)

    def find(self, name: str) -> Step:
        """Return the step called `3`, `03`, `step03` or `step03_mask`.

        Raise ValueError if there is none.
        """
        wanted = name.strip().removesuffix(".py")
        match = re.fullmatch(r"(?:step)?(\d{1,3})", wanted)
        for step in self.steps:
            if step.id == wanted or (match and step.number == int(match[1])):
                return step
        parts = "".join(f"part{part.number}, " for part in self.parts if self.of(part))
        raise ValueError(
            f"there is no step {name!r}: name one of {self.numbers}, {parts}or a file's name"
        )

    def before(self, step: Step) -> tuple[Step, ...]:
        """Return the steps that come before this one, which it may import."""
        return self.steps[: [one.id for one in self.steps].index(step.id)]


def _function(entry: dict[str, Any], hints: dict[str, list[str]]) -> Function:
    """Return a function from its TOML table. hints: by the name of a check or a function."""
    function, first = entry["name"], next(iter(entry["checks"]), None)
    checks = []
    for name, points in entry["checks"].items():
        if not 0 <= points < math.inf:
            raise ValueError(f"the points of {name} are {points!r}, not a number of at least 0")
        needs = None if name == first else first
        told = hints.get(name, hints.get(function, ()))
        checks.append(Check(name, function, float(points), needs, tuple(told)))
    return Function(function, tuple(entry["takes"]), tuple(entry["returns"]), tuple(checks))


def read_toml(path: Path) -> dict[str, Any]:
    """Return the contents of a TOML file."""
    return tomllib.loads(path.read_text(encoding="utf-8"))


def _step(path: Path) -> Step:
    """Return the step that the TOML file describes; the file's name is its id."""
    try:
        entry = read_toml(path)
        return Step(
            path.stem,
            entry["title"],
            int(entry["part"]),
            entry["source"],
            tuple(entry["hints"]),
            tuple(_function(one, entry.get("hints_for", {})) for one in entry["function"]),
            entry.get("sizes", {}),
            tuple(entry.get("last_axis", ())),
        )
    except KeyError as error:
        raise KitError(f"{path.name} lacks {error}") from None
    except (AttributeError, TypeError, ValueError) as error:
        raise KitError(f"{path.name} cannot be read: {error}") from None


@cache
def load(folder: Path = DATA) -> Registry:
    """Return the registry in that folder, read once."""
    kit = read_toml(folder / "kit.toml")
    steps = tuple(_step(path) for path in sorted(folder.glob("step*.toml")))
    parts = tuple(Part(**{**one, "can": tuple(one.get("can", ()))}) for one in kit["part"])
    return Registry(steps, Limits(**kit["limits"]), parts)
