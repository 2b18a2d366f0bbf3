"""The screens in the guides are the same on every machine."""

import shutil

import pytest

from grader.authoring.guides import fresh_page
from grader.steps.registry import load

PAGES = {
    "nopeek": "```console\n$ nopeek check 2\n```\n",
    "make": "```console\n$ make check STEP=2\n```\n",
}
TYPED = {"nopeek": "nopeek check 2", "make": "make check STEP=2"}


@pytest.mark.parametrize("program", PAGES)
@pytest.mark.parametrize("installed", [True, False], ids=["installed", "not installed"])
def test_screen_names_the_program_that_its_reader_types(monkeypatch, tmp_path, program, installed):
    if installed:
        for name in PAGES:
            (tmp_path / name).touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert (shutil.which(program) is not None) == installed
    assert f"then `{TYPED[program]}` again." in fresh_page(load(), PAGES[program])
