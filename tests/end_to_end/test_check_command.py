"""The command line as its users have it: the real command, its output, its exit status."""

import json
import re
import shutil
import subprocess
import sys
from functools import partial

import pytest

from grader.report.records import SCHEMA
from tests.conftest import ROOT, STEPS
from tests.support.commands import run_strictly
from tests.support.stubs import solution_text, write_solutions, write_stubs


@pytest.fixture
def nopeek(tmp_path):
    """nopeek(arguments): runs `python -m grader` from an empty folder."""
    return partial(run_strictly, cwd=tmp_path)


@pytest.fixture
def mine(tmp_path):
    """A student's folder: the stubs, with step 2 done and step 3 wrong."""
    folder = write_stubs(tmp_path / "mine")
    write_solutions(folder, STEPS[1:3])
    replace_mask(folder, "np.tril(np.ones((t_q, t_k or t_q), bool))")
    return folder


def replace_mask(folder, result):
    with (folder / "step03_mask.py").open("a", encoding="utf-8") as file:
        file.write(f"\ndef causal_mask(t_q, t_k=None):\n    return {result}\n")


@pytest.mark.long
def test_hints_for_a_zip_go_on(nopeek, mine, tmp_path):
    packed = shutil.make_archive(str(tmp_path / "packed"), "zip", mine)
    told = [nopeek("hint", "3", "--submission", packed).stdout for _ in range(2)]
    assert "hint 1 of" in told[0]
    assert re.search(r"hint 2 of \d \(hint 1 is the check's help\)", told[1])


@pytest.mark.long
def test_assistant_gets_the_report_and_the_next_hint_as_json(nopeek, mine):
    done = nopeek("check", "2", "3", "--submission", str(mine), "--json", "-")
    assert done.returncode == 1
    report = json.loads(done.stdout)
    assert report["schema"] == SCHEMA
    assert [step["status"] for step in report["steps"]] == ["passed", "failed"]
    first, second = (
        json.loads(nopeek("hint", "3", "--submission", str(mine), "--json").stdout)
        for _ in range(2)
    )
    assert (first["step"], first["number"], second["number"]) == (3, 1, 2)
    assert first["function"] == "causal_mask"
    assert first["hint"] != second["hint"]
    passed = nopeek("hint", "2", "--submission", str(mine), "--json")
    assert json.loads(passed.stdout) == {"passed": True}


def test_list_names_the_zip_that_the_next_step_is_in(nopeek, mine, tmp_path):
    packed = shutil.make_archive(str(tmp_path / "packed"), "zip", mine)
    listed = nopeek("list", "--submission", packed)
    assert listed.returncode == 0
    assert [step.title for step in STEPS if step.title not in listed.stdout] == []
    assert listed.stdout.endswith("\nNext: step01_projections.py in packed.zip\n")


@pytest.mark.long
def test_everything_right_ends_with_0(nopeek):
    done = nopeek("check", "--submission", ROOT / "solutions", forked=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "All of it passes." in done.stdout
    assert done.stderr == ""


def test_something_wrong_ends_with_1_and_says_what_is_next(nopeek, mine):
    done = nopeek("check", "--submission", mine)
    assert done.returncode == 1
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert any(line.split()[:3] == ["+", "2", "Scaled"] for line in lines)
    assert any(line.split()[:2] == ["-", "1"] and "not attempted" in line for line in lines)
    assert any(line.split()[:2] == ["x", "3"] for line in lines)
    words = " ".join(done.stdout.split())
    assert "Next: fill in mine/step01_projections.py, then `make -C " in words
    assert "".join(words.split()).endswith(f"SUBMISSION={mine}`again.")  # a long path is wrapped


def test_right_step_on_a_wrong_earlier_one_names_that_one(nopeek, mine):
    """All that was asked for passes, but not on the student's step 3: that is no success."""
    replace_mask(write_solutions(mine, STEPS[:5]), "np.ones((t_q, t_k or t_q), bool)")
    done = nopeek("check", "5", "--submission", mine)
    assert done.returncode == 1
    words = " ".join(done.stdout.split())
    assert "not yet on your step 3" in words
    assert "All of it passes" not in words
    assert "Your step 3, Masks, is to blame" in words
    assert "Next: fix mine/step03_mask.py; `make -C " in words
    assert f" check STEP=3 SUBMISSION={mine}`says".replace(" ", "") in "".join(words.split())


def test_step_named_is_the_only_one_judged(nopeek, mine):
    done = nopeek("check", "3", "--submission", mine)
    assert done.returncode == 1
    assert "Scaled scores" not in done.stdout
    assert "bottom" not in done.stdout
    assert "Next: fix mine/step03_mask.py" in done.stdout


@pytest.mark.long
def test_no_command_checks_the_exercises(nopeek):
    done = nopeek()
    assert "visible checks on" in done.stdout
    assert done.returncode == 1


def test_solution_is_shown_once_the_step_passes(nopeek, mine):
    done = nopeek("solution", "2", "--submission", mine)
    assert done.returncode == 0
    assert "def attention_scores(q, k):\n" in done.stdout
    assert "BEGIN SOLUTION" not in done.stdout
    assert "Source:" not in done.stdout  # the docstring stands in the exercise


@pytest.mark.long
def test_solution_is_shown_after_the_last_hint_and_not_before(nopeek, mine):
    early = nopeek("solution", "3", "--submission", mine)
    assert (early.returncode, early.stdout) == (2, "")
    assert re.search("there are hints left: `make .*hint STEP=3 SUBM.*` gives the", early.stderr)
    for _ in range(10):
        if "That was the last one." in nopeek("hint", "3", "--submission", mine).stdout:
            break
    late = nopeek("solution", "3", "--submission", mine)
    assert late.returncode == 0, late.stderr
    assert "def causal_mask(" in late.stdout


@pytest.fixture
def finished(tmp_path):
    """A home in which Part I is right."""
    folder = write_stubs(tmp_path / "home" / "exercises")
    write_solutions(folder, [step for step in STEPS if step.part == 1])
    return folder.parent


@pytest.mark.long
def test_end_of_a_part_is_shown_once_and_again_on_demand(nopeek, finished):
    wrong = finished / "exercises" / "step02_scores.py"
    right = wrong.read_text(encoding="utf-8")
    bad = "\n\ndef attention_scores(q, k):\n    return q @ np.swapaxes(k, -1, -2)\n"
    wrong.write_text(right + bad, encoding="utf-8")
    assert "is finished" not in nopeek("check", "2", cwd=finished).stdout
    assert "not finished" in nopeek("recap", "part1", cwd=finished).stderr
    wrong.write_text(right, encoding="utf-8")
    end = nopeek("check", cwd=finished).stdout
    assert "Part I, attention, is finished: 21 functions" in end
    assert "You can now" in end
    assert "Your leak map: masked_self_attention" in end
    assert "step 2: The scores are not divided by √d_k." in end
    assert "Next: exercises/step09_heads.py" in end
    assert "is finished" not in nopeek("check", cwd=finished).stdout
    assert "Your leak map" in nopeek("recap", cwd=finished).stdout


@pytest.fixture
def home(mine, tmp_path):
    """The folder of a learner whose exercises these are."""
    return shutil.copytree(mine, tmp_path / "home" / "exercises").parent


def test_case_is_a_program_beside_the_exercises(nopeek, home):
    done = nopeek("case", "3", cwd=home)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Wrote cases/step03_mask.py: ")
    program = [sys.executable, "cases/step03_mask.py"]
    ran = subprocess.run(program, cwd=home, capture_output=True, text=True, check=False)
    assert "causal_mask: " in ran.stdout, ran.stderr


@pytest.mark.long
def test_case_without_a_step_is_that_of_the_first_failing_one(nopeek, home, tmp_path):
    assert "Wrote cases/step03_mask.py" in nopeek("case", cwd=home).stdout
    write_stubs(tmp_path / "empty" / "exercises")
    empty = nopeek("case", cwd=tmp_path / "empty")
    assert (empty.returncode, empty.stdout) == (2, "")
    assert "nothing is written yet" in empty.stderr


@pytest.mark.parametrize(
    ("step", "words", "status"),
    [
        ("2", "Step 2 has no failing case to repeat: see `", 0),
        ("4", "exercises/step04_softmax.py is not written yet", 2),
        ("5", "exercises/step05_output.py cannot be run: `", 2),
        ("6", "there is no exercises/step06_loss.py: `", 2),
    ],
)
def test_case_says_why_there_is_none(nopeek, home, step, words, status):
    (home / "exercises" / "step05_output.py").write_text(solution_text("step05_output"), "utf-16")
    (home / "exercises" / "step06_loss.py").unlink(missing_ok=True)
    done = nopeek("case", step, cwd=home)
    assert done.returncode == status
    assert words in done.stdout + done.stderr
    assert not (home / "cases").exists()


@pytest.mark.long
def test_hidden_inputs_are_drawn_each_time_and_the_same_for_a_number(nopeek, tmp_path):
    """The fingerprint is of the wrong results, so it tells the inputs apart."""
    text = "def attention_scores(q, k):\n    return q @ k.swapaxes(-1, -2)\n"
    (tmp_path / "step02_scores.py").write_text(text)
    command = ["check", "2", "--submission", tmp_path, "--suite", "hidden"]
    found = []
    for more in ([], [], ["--seed", "12"], ["--seed", "12"]):
        nopeek(*command, *more, "--json", tmp_path / "report.json")
        report = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
        (first, *_) = (c["fingerprint"] for c in report["steps"][0]["checks"] if c["fingerprint"])
        found.append((report["seed"], first))
    drawn, again, named, same = found
    assert (drawn[0], again[0], named[0]) == (0, 0, 12)
    assert len({drawn, again, named}) == 3
    assert named == same


WRONG_USE = {
    "unknown step": (["check", "77"], "there is no step '77': name one of 1 to"),
    "missing folder": (["check", "--submission", "nowhere"], "there is no folder nowhere"),
    "folder of something else": (
        ["check", "--submission", ROOT / "docs" / "lessons"],
        "/ cannot be graded: it holds no notebook and none of the files "
        f"{STEPS[0].filename} … {STEPS[-1].filename}",
    ),
    "watching a file": (["watch", "--submission", "README.md"], "there is no folder README.md"),
    "seed without hidden": (["check", "--seed", "3"], "--seed goes with --suite hidden"),
    "isolation not there": (["check", "--isolation", "jail"], "'jail' is not one of"),
    "report in no folder": (
        ["check", "2", "--json", "no/such/report.json"],
        "nopeek: cannot use no/such: there is no such folder",
    ),
    "page in place of a folder": (["check", "2", "--html", "."], "nopeek: cannot use .: "),
    "unknown command": (["chek"], "No such command 'chek'"),
    "reset of nothing": (["reset"], "name the step: "),
    "try of nothing": (["try"], "name the step: "),
    "case of no step": (["case", "99"], "there is no step '99'"),
    "solution of no step": (["solution", "99"], "there is no step '99'"),
    "recap of no part": (["recap", "part9"], "there is no step 'part9'"),
    "recap of an unfinished part": (["recap", "part1"], "Part I is not finished: "),
    "recap before the first end": (["recap"], "no part is finished yet: "),
}


@pytest.mark.parametrize(("arguments", "words"), WRONG_USE.values(), ids=WRONG_USE.keys())
def test_wrong_use_ends_with_2_and_one_sentence(nopeek, arguments, words):
    done = nopeek(*arguments)
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_output_is_ascii_where_it_must_be(nopeek, mine):
    done = nopeek("check", "3", "--submission", mine, env={"PYTHONIOENCODING": "ascii"})
    assert done.returncode == 1
    assert done.stdout.isascii()
    assert "\x1b" not in done.stdout


def test_students_text_cannot_drive_the_terminal(nopeek, tmp_path):
    (tmp_path / "step02_scores.py").write_text(
        "def attention_scores(q, k):\n"
        "    print('\\x1b[2J\\x07[red]markup[/red]')\n"
        "    raise ValueError('\\x1b]0;title\\x07[bold]x[/bold]')\n",
        encoding="utf-8",
    )
    done = nopeek("check", "2", "--submission", tmp_path)
    assert "\x1b" not in done.stdout
    assert "\x07" not in done.stdout
    assert "[red]markup[/red]" in done.stdout
    assert "[bold]x[/bold]" in done.stdout


def test_run_from_the_folder_of_the_files(nopeek, mine):
    (mine / "numpy.py").write_text("raise SystemExit('shadowed')\n", encoding="utf-8")
    done = nopeek("check", "2", "--submission", ".", cwd=mine)
    assert "needs work" not in done.stdout
    assert done.returncode == 0


def test_check_in_a_sandbox_says_so(nopeek, tmp_path):
    report = tmp_path / "report.json"
    solutions = ROOT / "solutions"
    nopeek("check", "2", "--submission", solutions, "--isolation", "bubblewrap", "--json", report)
    found = json.loads(report.read_text(encoding="utf-8"))
    assert found["isolation"] == "bubblewrap"
    assert set(found["held"].values()) == {True}
