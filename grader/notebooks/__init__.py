"""Support self-study in Jupyter: the kernel's side, the judge behind it, and pictures."""

import os
import sys

THREADS = ("OPENBLAS", "OMP", "MKL", "VECLIB_MAXIMUM", "NUMEXPR")
# Let NumPy calculate in one thread, unless the user has chosen otherwise or it is loaded. On a
# small machine, splitting a product of small matrices among threads sometimes takes up to twenty
# times as long. A curve of measured times would jump.
if "numpy" not in sys.modules:
    for name in THREADS:
        os.environ.setdefault(f"{name}_NUM_THREADS", "1")
