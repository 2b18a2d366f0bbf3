"""Find the parts of the kit, and the folder in which a learner works.

The kit's checks, solutions and notebooks are beside the package in a checkout and in a students'
bundle. In a package that was installed from a wheel they are in `grader/kit/`.
"""

import contextlib
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]
INSTALLED = (PACKAGE / "kit").is_dir()
ROOT = PACKAGE / "kit" if INSTALLED else PACKAGE.parent
SOLUTIONS = ROOT / "solutions"
NOTEBOOKS = ROOT / "notebooks"
STUBS = ROOT / "exercises"  # as `build` writes them; a wheel has none
VISIBLE = ROOT / "tests" / "visible"
HIDDEN = ROOT / "tests" / "hidden"
VALUES = VISIBLE / "values"


def find_home() -> Path:
    """Return the learner's folder, which holds `exercises/`.

    NOPEEK_HOME names it. Otherwise it is the nearest folder with exercises, from the current folder
    upwards. If there is none, it is the checkout or, for an installed package, the current folder.
    """
    if named := os.environ.get("NOPEEK_HOME"):
        return Path(named).resolve()
    with contextlib.suppress(OSError):  # the current folder may be gone
        here = Path.cwd()
        for folder in (here, *here.parents):
            if any(folder.glob("exercises/step[0-9][0-9]_*.py")):
                return folder
        return here if INSTALLED else ROOT
    return ROOT


def add_kit(path: Sequence[str]) -> list[str]:
    """Return an import path on which this kit comes before any other, and after the libraries.

    >>> add_kit([]) == [str(PACKAGE.parent)]
    True
    """
    home = str(PACKAGE.parent)
    kits = (i for i, folder in enumerate(path) if Path(folder, PACKAGE.name).is_dir())
    first = next(kits, len(path))
    if [*path[first : first + 1]] == [home]:
        return [*path]
    return [*path[:first], home, *path[first:]]


@contextlib.contextmanager
def pass_on_kit() -> Iterator[None]:
    """Let the processes that are spawned meanwhile import this kit, and no other one.

    They inherit the import path, from which `python -m grader` removes the current folder.
    """
    before = [*sys.path]
    sys.path[:] = add_kit(before)
    try:
        yield
    finally:
        sys.path[:] = before


HOME = find_home()
EXERCISES = HOME / "exercises"
