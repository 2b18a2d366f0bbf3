"""Run `python -m grader`."""

import os
import sys

# `-m` puts the current folder first, so a numpy.py there would be imported.
if sys.path and sys.path[0] == os.getcwd():  # noqa: PTH109
    del sys.path[0]

from grader.cli.main import main

if __name__ == "__main__":
    main()
