"""`check()` and its companions, in real kernels."""

import os
import shutil
import signal
import subprocess
import sys

import pytest

from grader import notebook
from grader.intake.submission import read_folder
from grader.isolation.survey import is_unfinished
from grader.notebooks.saving import cell_of
from grader.notebooks.session import JudgeError, KernelJudge
from grader.steps.registry import load
from grader.steps.stubs import solution_of
from tests.conftest import ROOT, STEPS
from tests.support import kernels
from tests.support.processes import children, gone

BEGIN = (
    "from grader.notebook import case, check, hint, lesson, load_work, recap, review, save_work\n"
    "from grader.notebook import status\n"
    "import numpy as np"
)
LINEAR = """def linear(x, weight, bias=None):
    y = x @ weight
    return y if bias is None else y + bias
"""
TRANSPOSED = "def linear(x, weight, bias=None):\n    return x @ weight.T\n"
SCORES = "def attention_scores(q, k):\n    return q @ np.swapaxes(k, -1, -2){}\n"
SCALED = SCORES.format(" / np.sqrt(q.shape[-1])")
PASSED = "linear: passed, 5/5 points"


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return kernels.home(tmp_path_factory.mktemp("kernels") / "home")


@pytest.fixture
def shown(tmp_path):
    """shown(cell, ...): what each of these cells shows, in a kernel with fresh exercises."""
    place = kernels.home(tmp_path / "home")

    def shown(*cells, errors=False):
        found = kernels.run(kernels.cells(BEGIN, *cells), place, errors=errors)
        return ["\n".join(texts).strip() for texts in found[1:]]

    shown.home = place
    return shown


@pytest.mark.parametrize("part", load().parts, ids=lambda part: f"part{part.number}")
def test_lessons_of_a_part_as_they_are_and_solved(home, steps, grade, part):
    """In one kernel, one after the other: `save_work()` is what the next lesson stands on.

    The parts before it are there in any case, for a process that has not come by them.
    """
    mine = steps.of(part)
    for earlier in steps.before(mine[0]):
        place = home / "exercises" / earlier.filename
        if is_unfinished(place.read_text(encoding="utf-8"), earlier):
            shutil.copy(ROOT / "solutions" / earlier.filename, place)
    every = [(step, done) for step in mine for done in (False, True)]
    lessons = [kernels.solved(step) if done else kernels.lesson(step) for step, done in every]
    shown = iter(kernels.run(kernels.joined(*lessons), home))
    for (step, done), lesson in zip(every, lessons, strict=True):
        for cell in (cell for cell in lesson.cells if cell.cell_type == "code"):
            source, text = cell.source, "\n".join(next(shown)).strip()
            if source.startswith("check("):
                assert (": passed, " if done else "not attempted") in text, source
            elif source == "save_work()":
                written = f"Written to exercises/{step.filename}."
                assert text == written if done else "not saved" in text
            elif "look." in source:
                calm = "Nothing to see yet: " in text
                assert calm is not done, f"{source}: {text}"
        assert source == "save_work()"
        if done:
            assert grade(read_folder(home / "exercises", steps), only=(step,)).passed


def test_last_definition_counts_however_it_came_about(shown):
    cells = {
        LINEAR.replace("    ", ""): None,
        'check("linear")  ': "this is not valid Python. Fix it",
        TRANSPOSED: "",
        'check("linear")': "The weight matrix is transposed",
        LINEAR + "check(linear)": PASSED,
        "linear = None  # which is not a function": "",
        'check("linear") ': PASSED,
        "def mine(x, weight):\n    return x @ weight": "",
        LINEAR.replace("x @ weight", "mine(x, weight)"): "",
        "check(linear)": PASSED,
        "check()": "Still to write: project_qkv.",
        "%time 1": None,
        '%%time\nHALF = 0.5\ncheck("linear")': PASSED,
    }
    for (source, expected), text in zip(cells.items(), shown(*cells, errors=True)):
        assert expected is None or expected in " ".join(text.split()), source


def test_judge_is_out_of_reach_of_the_kernel(shown):
    """The cells run in a worker, too: there, what they break in NumPy costs them their points."""
    *_, told, still = shown(
        "import subprocess\nsetattr(np, 'allclose', lambda *a, **k: True)",
        "import sys\nif 'ipykernel' in sys.modules:\n"
        "    for name in ('asarray', 'matmul', 'ndarray'):\n        setattr(np, name, None)",
        "setattr(subprocess, 'Popen', None)",
        "import grader.report.records\nsetattr(grader.report.records, 'Status', None)",
        TRANSPOSED,
        'check("linear")',
        LINEAR + "check(linear)",
    )
    assert "The weight matrix is transposed" in told
    assert PASSED in still


@pytest.mark.long
def test_function_that_ends_its_process_harms_nobody(shown):
    *_, told, still = shown(
        "import os\ndef linear(x, weight, bias=None):\n    os._exit(0)\n",
        'check("linear")',
        LINEAR + "check(linear)",
    )
    assert "The process ended while linear was running" in told
    assert PASSED in still


@pytest.mark.long
def test_end_of_a_part_is_shown_on_demand(shown):
    early, wrong = shown("recap()", "recap('part9')", errors=True)
    assert "nopeek: no part is finished yet: `status()` shows how far you are" in early
    assert "nopeek: there is no step 'part9': name one of 1 to 25, part1, " in wrong
    cells = []
    for step in (step for step in STEPS if step.part == 1):
        save = f"{cell_of(solution_of(step))}\nsave_work({step.number})"
        cells += [save, f"check({step.number})"]
    *_, last, end, same = shown(*cells, "recap()", "recap(3)")
    assert "Part I, attention, is finished: recap() looks back on it." in last
    for told in (
        "Part I, attention, is finished: 21 functions",
        "You can now",
        "Your leak map: masked_self_attention",
        "Next: notebooks/step09_heads.ipynb.",
    ):
        assert told in end
    assert same == end


def test_work_goes_to_the_exercises_and_back(shown):
    mine = LINEAR + "# my own remark\n"
    _, first, same, states, after, *_ = shown(
        mine, "save_work()", "save_work()", "status()", "check()\nstatus()"
    )
    assert first == "Written to exercises/step01_projections.py."
    assert same == "exercises/step01_projections.py already holds exactly this."
    assert "1 Projections needs work 5/9.5" in " ".join(states.split())
    assert "as last checked in its notebook" in after
    file = (shown.home / "exercises" / "step01_projections.py").read_text(encoding="utf-8")
    assert LINEAR in file
    assert "# # Step 1" in file
    assert not list((shown.home / "exercises").glob("*.bak"))


@pytest.mark.long
def test_file_that_was_worked_on_is_kept_and_can_be_loaded(shown):
    path = shown.home / "exercises" / "step01_projections.py"
    path.write_text("# by hand\n", encoding="utf-8")
    other = path.with_name("step02_scores.py")
    other.write_text(SCORES.format(" / q.shape[-1] ** 0.5"), encoding="utf-8")
    look = "print(get_ipython().payload_manager.read_payload())"
    *_, told, loaded = shown(LINEAR, "save_work()", f"load_work(2)\n{look}")
    assert "The old file is kept as step01_projections.py.1.bak." in told
    assert path.with_name(path.name + ".1.bak").read_text(encoding="utf-8") == "# by hand\n"
    assert "'replace': False" in loaded
    assert "def attention_scores(q, k):\\n    return q @" in loaded


def test_file_that_was_saved_elsewhere_is_imported_anew(shown):
    write = "from pathlib import Path\nPath({!r}).write_text({!r})"
    path = str(shown.home / "exercises" / "step02_scores.py")
    ask = "from exercises.step02_scores import attention_scores\nattention_scores(2, 3)"
    one, _, two = shown(
        ask, write.format(path, "def attention_scores(q, k): return q * k\n"), ask, errors=True
    )
    assert "NotImplementedError" in one
    assert two == "6"


def test_step_from_its_first_hint_to_what_one_can_do_now(shown):
    cells = {
        SCORES.format(" / q.shape[-1]") + "hint()": "Step 2, Scaled scores: hint 1 of 7",
        "hint()": "hint 2 of 7",
        "hint(3)": "Step 3, Masks: hint 1 of 5",
        "case(2)": "These variables now hold the case: q, k, expected.",
        "np.allclose(attention_scores(q, k), expected)": "False",
        SCALED + "check(2)": "You can now\n- compute",
        "check(2) ": "passed",
        "case(2) ": "Step 2 has no failing case",
    }
    found = shown(*cells)
    for (source, expected), text in zip(cells.items(), found):
        assert expected in text, source
    assert "Now run: result = attention_scores(q, k)" in found[3]
    assert "You can now" not in found[6]


WRONG_USE = {
    "check()": "nopeek: Which step? Run the cells that define its functions first, or name it",
    "check('linaer')": "nopeek: There is no step or function 'linaer': is 'linear' meant?",
    "check('all')": "nopeek: There is no step or function 'all': name a function, or a step",
    "check(True)": "nopeek: check() takes a function, its name or a step",
    "save_work()": "nopeek: Which step?",
    "load_work('attention_scores')": "The code of exercises/step02_scores.py is in the cell below",
}


def test_wrong_use_is_told_in_one_sentence(shown):
    for source, text in zip(WRONG_USE, shown(*WRONG_USE, errors=True)):
        assert WRONG_USE[source] in text, source
        assert "Traceback" not in text
        assert "\n" not in text


def test_no_name_is_a_magic_of_ipython(monkeypatch):
    """Unless imported, a magic's name runs the magic: `save()` writes a file called `().py`."""
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)  # IPython warns if another one is active
    from IPython.core.interactiveshell import InteractiveShell

    magics = InteractiveShell().magics_manager.lsmagic()
    assert "save" in magics["line"]
    assert not {*notebook.__all__} & {*magics["line"], *magics["cell"]}


def test_outside_a_kernel_it_says_where_it_works():
    told = r"check\(\) works in a notebook: start one with"
    with pytest.raises(notebook.NotebookError, match=told):
        notebook.check()


def test_check_that_is_interrupted_says_so(shown):
    loop = "def linear(x, weight, bias=None):\n    while True:\n        pass\n"
    soon = "import os, signal, threading\n"
    soon += "threading.Timer(1, os.kill, (os.getpid(), signal.SIGINT)).start()\ncheck(1)"
    *_, told, after = shown(loop, soon, LINEAR + "check(linear)", errors=True)
    assert told.startswith("nopeek: interrupted; the next call starts a new judge")
    assert "Traceback" not in told
    assert PASSED in after


@pytest.fixture
def judge(tmp_path):
    process = KernelJudge(kernels.home(tmp_path / "home") / "exercises")
    yield process
    process.stop()
    for one in process.leaving:
        one.wait(30)


ASKED = {"do": "check", "about": "1", "lesson": "", "runs": [[1, "", LINEAR]], "deleted": []}


def test_judge_that_was_killed_is_replaced(judge, monkeypatch):
    for seen in (True, False):  # whether its end is noticed before it is asked
        assert "right so far" in judge.ask(ASKED)["text"]
        os.kill(judge.process.pid, signal.SIGKILL)
        judge.process.wait()
        if not seen:
            monkeypatch.setattr(judge, "start", lambda: None)
            with pytest.raises(JudgeError, match="the judge has ended without an answer"):
                judge.ask(ASKED)
            monkeypatch.undo()
    assert "right so far" in judge.ask(ASKED)["text"]


def test_judge_ends_with_its_kernel(judge):
    judge.ask(ASKED)
    pid = judge.process.pid
    below = children(pid)
    assert below
    judge.stop()
    judge.leaving[0].wait(30)
    assert all(gone(one) for one in [pid, *below])


def test_judge_that_cannot_start_says_why(judge, monkeypatch):
    broken = judge.folder / "grader" / "__init__.py"  # found before an installed kit
    broken.parent.mkdir()
    broken.write_text("raise SystemExit('it is broken')\n", encoding="utf-8")
    monkeypatch.setattr("grader.notebooks.session.ROOT", judge.folder)
    with pytest.raises(JudgeError, match=r"the judge did not start \(it is broken\)"):
        judge.ask(ASKED)


def test_import_in_a_kernel_brings_nothing_heavy():
    code = "import sys, grader.notebook; print({'numpy', 'pytest', 'jinja2'} & set(sys.modules))"
    assert subprocess.check_output([sys.executable, "-c", code], cwd=ROOT, text=True) == "set()\n"


def test_notebook_alone_is_judged_without_step_files(tmp_path):
    wrong = SCORES.format(" / q.shape[-1]")
    cells = [BEGIN, "lesson(2)", wrong, "check()", "hint()", "load_work()", "status()"]
    cells = kernels.cells(*cells, SCALED + "check()", "check() ")
    place = tmp_path / "home"
    place.mkdir()
    said = ["\n".join(texts) for texts in kernels.run(cells, place, errors=True)]
    assert "Scaled scores: needs work" in said[3]
    assert "hint 2 of" in said[4]  # the check gave the first one
    assert "There is no exercises/step02_scores.py that can be read." in said[5]
    assert "You can now" in said[7]
    assert "You can now" not in said[8]
    assert "Traceback" not in "".join(said)
    notes = {".notebooks.json", ".progress.json"}
    assert {path.name for path in (place / "exercises").iterdir()} <= notes
