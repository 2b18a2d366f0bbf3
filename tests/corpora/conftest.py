"""Verdicts on the corpora are kept in `.verdicts/`: what passed is not judged again.

They depend on the kit, on the programs and on these tests. Where one of them changes, all that
depends on it is judged anew; `rm -r .verdicts` judges everything. CI keeps and reads nothing.
"""

import hashlib
import os
import sys
from functools import cache
from pathlib import Path

import pytest

from grader.engine import messages
from grader.engine.kit_digest import kit_digest
from tests.conftest import ROOT

KEPT = ROOT / ".verdicts"
HERE = Path(__file__).parent
FOLDERS = ("grader/authoring", "grader/report", "tests/support")
FILES = ("tests/conftest.py", *(f"tests/corpora/{path.name}" for path in HERE.glob("*.py")))


@cache
def kit():
    """The digest of all that every verdict depends on."""
    found = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.is_file()]
    found += [ROOT / name for name in FILES]
    return digest([path for path in found if path.suffix != ".pyc"], kit_digest(), sys.version)


def digest(paths, *more):
    state = hashlib.sha256("\0".join(more).encode())
    for path in sorted(paths):
        state.update(path.relative_to(ROOT).as_posix().encode() + b"\0" + path.read_bytes())
    return state.hexdigest()


@cache
def programs(step):
    """The digest of a step's programs, or of all."""
    paths = [path for path in HERE.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    return digest(path for path in paths if step in ("", path.stem) or path.suffix != ".py")


def place(item):
    """Where it is kept that the test has passed."""
    step = getattr(getattr(item, "callspec", None), "params", {}).get("step")
    key = hashlib.sha256(item.nodeid.encode()).hexdigest()[:16]
    return KEPT / kit() / programs(step.id if step else "") / key


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    """Takes a test that has passed as passed; None lets pytest call it."""
    if "CI" in os.environ or HERE not in pyfuncitem.path.parents:
        return None
    return True if place(pyfuncitem).is_file() else None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if report.when == "call" and report.passed and "CI" not in os.environ:
        path = place(item)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return report


@pytest.fixture
def no_check_breaks_down(monkeypatch):
    """No check raises what says nothing of the student's code, whatever it gets."""
    unusable, broken = messages.unusable, []
    monkeypatch.setattr(messages, "unusable", lambda name: broken.append(name) or unusable(name))
    yield
    assert broken == []


def pytest_collection_modifyitems(items):
    """Puts the tests of one batch side by side, so that one process grades it for all of them."""
    places = [at for at, item in enumerate(items) if item.get_closest_marker("batch")]
    batched = sorted((items[at] for at in places), key=lambda item: item.callspec.params["number"])
    for at, item in zip(places, batched, strict=True):
        items[at] = item


def pytest_report_header():
    if "CI" not in os.environ and (KEPT / kit()).is_dir():
        return "corpora: what passed before is not judged again; rm -r .verdicts judges everything"
    return None
