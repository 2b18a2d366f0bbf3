"""Start the worker program; `forking.serve` describes its arguments."""

import importlib
import sys
from pathlib import Path

del sys.path[0]  # this file's folder, the judge's
sys.path.append(sys.argv[3])  # NumPy and nothing else is taken from the folder of packages
import numpy  # noqa: E402, F401

sys.path[-1] = str(Path(__file__).parents[1])
serve = importlib.import_module("worker.forking").serve
sys.path.pop()
for name in [name for name in sys.modules if name.partition(".")[0] == "worker"]:
    del sys.modules[name]  # a student's code finds NumPy and the standard library only

if __name__ == "__main__":
    serve(*sys.argv[1:])
