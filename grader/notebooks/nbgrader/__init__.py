"""Run a course on nbgrader: the judge grades its notebooks, not their kernels.

    submitted notebook ─> sources ─> judge ─> report ─> outputs of the test cells ─> nbgrader
      never run, nothing      as `grade` grades them        scores and texts         its own pages
      of it but text kept

`notebooks/nbgrader/nbgrader_config.py` replaces nbgrader's own executor with this package.
"""
