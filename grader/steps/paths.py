"""Where the parts of the kit are, and where a learner works.

The kit's checks, solutions and notebooks are beside the package in a checkout and in a students'
bundle, and in `grader/kit/` where the package is installed from a wheel.
"""

import contextlib
import os
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

    NOPEEK_HOME names it. Otherwise it is the nearest folder with exercises, from the current one
    upwards; if there is none, the checkout, or the current folder for an installed package.
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


HOME = find_home()
EXERCISES = HOME / "exercises"
