"""nbgrader's database in a run: opened once, with sessions as short as nbgrader makes them."""

import importlib
import os
import shutil
import sys
from pathlib import Path

import nbgrader.api
import nbgrader.converters.autograde as autograde
import nbgrader.preprocessors.saveautogrades as saveautogrades
import pytest
from nbgrader.api import Gradebook, MissingEntry

from grader.notebooks.nbgrader.books import USERS, open_once


@pytest.fixture(scope="module")
def empty(tmp_path_factory):
    """A database without entries; nbgrader asks alembic, a program, for its version."""
    path = tmp_path_factory.mktemp("empty") / "gradebook.db"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
        Gradebook(f"sqlite:///{path}").close()
    return path


@pytest.fixture
def url(tmp_path, empty):
    return f"sqlite:///{shutil.copy(empty, tmp_path)}"


@pytest.fixture
def new_url(tmp_path, monkeypatch):
    """A database that is not there yet."""
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
    return f"sqlite:///{tmp_path / 'gradebook.db'}"


@pytest.fixture
def opened(monkeypatch):
    """Every address that a database was opened at."""
    create, found = nbgrader.api.create_engine, []
    monkeypatch.setattr(
        nbgrader.api,
        "create_engine",
        lambda url, **more: (found.append(url), create(url, **more))[1],
    )
    return found


def test_database_is_opened_once_in_a_run(new_url, opened):
    with open_once():
        for module in (autograde, saveautogrades, autograde):
            with module.Gradebook(new_url, "nopeek") as gradebook:
                assert gradebook.students == []
    assert opened == [new_url]


def test_what_another_process_has_kept_meanwhile_is_seen(url):
    with open_once():
        with autograde.Gradebook(url) as gradebook, pytest.raises(MissingEntry, match="ada"):
            gradebook.find_student("ada")
        with Gradebook(url) as another:
            another.add_student("ada")
        with autograde.Gradebook(url) as gradebook:
            assert gradebook.find_student("ada").id == "ada"
            gradebook.find_student("ada").first_name = "Eve"
        with autograde.Gradebook(url) as gradebook:  # what was not kept ends with the session
            assert gradebook.find_student("ada").first_name is None


def test_entries_are_made_without_a_warning(url):
    with open_once(), autograde.Gradebook(url) as gradebook:
        gradebook.add_student("ada")
        gradebook.add_assignment("step")
        gradebook.add_notebook("step", "step")
        gradebook.add_grade_cell("check", "step", "step", cell_type="code", max_score=1)
        gradebook.add_submission("step", "ada")
        assert gradebook.find_grade("check", "step", "step", "ada").max_score == 1


def test_nbgrader_is_as_it_was_after_a_run_that_fails(url):
    with pytest.raises(MissingEntry, match="ada"), open_once():
        autograde.Gradebook(url).find_student("ada")
    assert autograde.Gradebook is saveautogrades.Gradebook is Gradebook


def test_modules_that_autograde_are_those_that_open_it():
    """Where nbgrader has changed, nothing breaks, but it is slow again."""
    assert [importlib.import_module(name).Gradebook for name in USERS] == [Gradebook] * len(USERS)
