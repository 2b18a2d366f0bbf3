"""Where the parts of the kit lie: the package, and the folders beside it."""

from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]
ROOT = PACKAGE.parent
EXERCISES = ROOT / "exercises"
SOLUTIONS = ROOT / "solutions"
NOTEBOOKS = ROOT / "notebooks"
VISIBLE = ROOT / "tests" / "visible"
HIDDEN = ROOT / "tests" / "hidden"
VALUES = VISIBLE / "values"
