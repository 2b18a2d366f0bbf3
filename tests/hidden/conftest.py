"""For `pytest tests/hidden --submission DIR`: the verdicts of `check`, in pytest's form."""

from tests.visible.conftest import *
