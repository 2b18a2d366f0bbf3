"""For `pytest tests/visible --submission DIR`: the verdicts of `check`, in pytest's form."""

from grader.engine.pytest_plugin import (
    given,
    pytest_addoption,
    pytest_pyfunc_call,
    student,
    verdict,
    verdicts,
)

__all__ = ["given", "pytest_addoption", "pytest_pyfunc_call", "student", "verdict", "verdicts"]
