"""Import check functions from a suite's files, and run them on a student's functions."""

import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from grader.checks.compare import Broken, WrongResult, WrongValue, not_numbers
from grader.checks.student import Student
from grader.checks.suites import Given
from grader.steps.inputs import Sizes
from grader.steps.paths import ROOT
from grader.steps.registry import KitError, Step


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
        functions = {check.id: getattr(module, f"test_{check.id}") for check in step.checks}
    except AttributeError as error:
        raise KitError(f"a check of {step.id} is missing: {error}") from None
    return {
        name: CheckFunction(function, edges.get(name, ()), name)
        for name, function in functions.items()
    }
