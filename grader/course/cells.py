"""Import what the cells of an assignment need; the code is `grader.notebooks.assignment_cells`."""

from grader.notebooks.assignment_cells import check

__all__ = ["check"]
