"""Run `python -m grader`."""

import os
import sys

# `-m` puts the current folder first, so a numpy.py there would be imported.
if sys.path and sys.path[0] == os.getcwd():  # noqa: PTH109
    del sys.path[0]

from grader.steps.paths import add_kit

# The processes that this one starts look for the kit on the path that they inherit.
sys.path[:] = add_kit(sys.path)

from grader.cli.main import main  # noqa: E402

if __name__ == "__main__":
    main()
