"""A screen names the command that can be typed on this machine."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from grader.cli import main
from grader.steps import commands


@pytest.fixture
def here(tmp_path, monkeypatch):
    """here(*programs, makefile): a machine that has these programs, in a folder like that."""

    def make(*programs, makefile=True):
        if makefile:
            (tmp_path / "Makefile").touch()
        monkeypatch.setattr(commands, "HOME", tmp_path)
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(commands.shutil, "which", lambda name: name in programs or None)

    return make


# The programs, whether there is a Makefile, what is asked, and what is typed for it.
TYPED = [
    (("make", "nopeek"), True, ("check",), "make check"),
    (("make", "nopeek"), True, ("hint", 3), "make hint STEP=3"),
    (("make", "nopeek"), True, ("exam",), "make exam"),
    (("make", "nopeek"), True, ("exam", 3), "make exam STEP=3"),
    (("nopeek",), True, ("check",), "nopeek check"),
    (("nopeek",), True, ("hint", 3), "nopeek hint 3"),
    (("nopeek",), True, ("exam",), "nopeek check --suite hidden"),
    (("make",), False, ("exam", 3), "python -m grader check 3 --suite hidden"),
]


@pytest.mark.parametrize(("programs", "makefile", "asked", "typed"), TYPED)
def test_command_can_be_typed_here(here, programs, makefile, asked, typed):
    here(*programs, makefile=makefile)
    assert commands.spell_command(*asked) == typed


@pytest.mark.parametrize(
    ("folder", "typed"),
    [("exercises", "make -C .. check"), ("a/b", "make -C ../.. check"), ("/", "make -C {} check")],
)
def test_make_is_told_its_folder_elsewhere(here, tmp_path, monkeypatch, folder, typed):
    here("make", "nopeek")
    (tmp_path / folder).mkdir(parents=True, exist_ok=True)
    monkeypatch.chdir(tmp_path / folder)
    assert commands.spell_command("check") == typed.format(tmp_path)


@pytest.mark.parametrize(
    ("program", "typed"),
    [
        ("make", "make exam STEP=1 SUBMISSION='a b.zip'"),
        ("nopeek", "nopeek check 1 --suite hidden --submission 'a b.zip'"),
    ],
)
def test_command_names_the_submission(here, program, typed):
    here(program)
    assert commands.spell_command("exam", 1, submission=Path("a b.zip")) == typed


def test_library_is_installed_with_pip_where_there_is_no_make(here):
    here("nopeek")
    assert commands.spell_install("lab", "'nopeek[lab]'") == "run `pip install 'nopeek[lab]'`"


def test_screens_without_make_never_name_make(here, tmp_path):
    here("nopeek")
    (tmp_path / "step01_projections.py").write_text("x = 1\n", encoding="utf-8")
    done = CliRunner().invoke(main.cli, ["check", "1", "--submission", str(tmp_path)])
    assert "nopeek check" in done.output
    assert "`make" not in done.output
    assert "make check" not in done.output


def test_command_for_another_folder_depends_on_that_folder(here, tmp_path):
    here("make", "nopeek")
    assert commands.spell_command("check", home=tmp_path / "new") == "nopeek check"


@pytest.mark.parametrize(("system", "typed"), [("nt", r".\nopeek"), ("posix", "python -m grader")])
def test_script_of_a_bundle_is_for_windows(here, tmp_path, monkeypatch, system, typed):
    here(makefile=False)
    (tmp_path / "nopeek.cmd").touch()
    monkeypatch.setattr(commands, "os", SimpleNamespace(name=system))
    assert commands.spell_command("hint", 3) == f"{typed} hint 3"


@pytest.mark.parametrize(
    ("folder", "typed"), [("learn", "cd learn/"), ("a b", "cd 'a b/'"), ("a;b", "cd 'a;b/'")]
)
def test_folder_of_init_can_be_typed(tmp_path, monkeypatch, folder, typed):
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(main.cli, ["init", folder])
    assert f"Next: `{typed}`, read exercises/step00_" in done.output
