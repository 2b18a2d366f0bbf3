"""A course that runs on nbgrader: its notebooks are graded by the judge, not in their kernels.

    submitted notebook ─> sources ─> judge ─> report ─> outputs of the test cells ─> nbgrader
      never run, nothing      as `grade` grades them        scores and texts         its own pages
      of it but text kept

`notebooks/nbgrader/nbgrader_config.py` puts this in the place of nbgrader's own executor.
"""
