"""Imports for the cells of an assignment; the code is `grader.notebooks.assignment_cells`."""

from grader.notebooks.assignment_cells import check

__all__ = ["check"]
