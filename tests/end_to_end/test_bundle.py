"""The students' bundle: what is not in it, and that it says what the whole kit says."""

import ast
import gzip
import json
import re
import shutil
import subprocess
from functools import cache

import pytest
from click.testing import CliRunner

from grader.answer_key.variants import FAIR, MISTAKES, read
from grader.authoring.bundle.writing import add_needed_steps, answers, contents, write, zip_files
from grader.cli.main import cli
from grader.diagnosis.calls import Call
from grader.diagnosis.lookup import KnownAnswers, describe_call, find_explaining
from grader.engine import kit_digest
from grader.intake.submission import Submission
from grader.isolation.client import Raised
from grader.report.problem import Problem
from grader.steps import registry
from grader.steps.stubs import solution_of
from tests.conftest import ROOT, STEPS
from tests.support.commands import run
from tests.support.stubs import write_solutions

REGISTRY = registry.load()
FEW = tuple(REGISTRY.find(str(number)) for number in (1, 2, 3, 4))
SOLUTION = re.compile(r"### BEGIN SOLUTION\n(.*?)### END SOLUTION", re.DOTALL)


@pytest.fixture(scope="module")
def books(tmp_path_factory):
    return answers(FEW, tmp_path_factory.mktemp("answers"))


@pytest.fixture(scope="module")
def whole():
    """All that is in the bundle of all steps, but for the books and trained weights, as text."""
    files = contents(REGISTRY, STEPS, {})
    return {name: data.decode() for name, data in files.items() if ".safetensors" not in name}


@pytest.fixture(scope="module")
def bundle(books, tmp_path_factory):
    """A bundle of a few steps, unpacked."""
    folder, _ = write(contents(REGISTRY, FEW, books), tmp_path_factory.mktemp("release"))
    return folder


def nopeek(folder, *arguments):
    """The command in a bundle's folder, and nothing of the kit around it."""
    env = {"PYTHONPATH": str(folder)}
    done = run(*arguments, cwd=folder, env=env, forked=False, stderr=subprocess.PIPE)
    assert "Traceback" not in done.stdout + done.stderr
    return done


IMPORTED = re.compile(r"(?m)^from (?:exercises|tests\.visible)\.(?:test_)?(step\w+) import")


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.id)
def test_step_brings_the_earlier_steps_that_it_and_its_checks_import(step):
    brought = add_needed_steps(REGISTRY, (step,))
    files = contents(REGISTRY, brought, {})
    imported = {
        name
        for path, data in files.items()
        if path.startswith(("exercises/", "tests/"))
        for name in IMPORTED.findall(data.decode())
    }
    assert imported <= {one.id for one in brought}
    assert brought[-1] == step


def test_command_says_which_steps_come_along(tmp_path, monkeypatch):
    monkeypatch.setattr("grader.authoring.bundle.writing.answers", lambda *_: {})
    done = CliRunner().invoke(cli, ["release", "9", "--out", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    assert done.output.startswith("with the earlier steps that these import: 1, 2, 3, 4, 5\n")
    names = [step.filename for step in add_needed_steps(REGISTRY, (REGISTRY.find("9"),))]
    found = sorted(path.name for path in (tmp_path / "out" / "nopeek" / "exercises").glob("*.py"))
    assert found == names


def lines_of(text, shortest=24):
    """The lines of a text that say something, without their margins."""
    lines = (line.strip() for line in text.splitlines())
    return {line for line in lines if len(line) >= shortest and not line.startswith(("#", '"'))}


@cache
def _lessons():
    """All that the lessons say, formulas for the most part."""
    return "\n".join(SOLUTION.sub("", solution_of(step)) for step in STEPS)


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.id)
def test_no_line_of_a_solution_a_known_mistake_or_a_hidden_check_is_in_it(step, whole):
    lines = set().union(*map(lines_of, SOLUTION.findall(solution_of(step))))
    secret = {line for line in lines if line not in _lessons()}
    assert secret
    visible, hidden = (
        lines_of((ROOT / "tests" / suite / f"test_{step.id}.py").read_text(encoding="utf-8"))
        for suite in ("visible", "hidden")
    )
    secret |= {line for line in hidden - visible if not line.startswith("from ")}
    secret |= {mistake.body.strip() for mistake in read(MISTAKES, step)}
    found = {(name, text) for name, kept in whole.items() for text in secret if text in kept}
    assert found == set()
    assert not any("@says(" in text for text in whole.values())


def test_bundle_of_a_part_has_no_hint_for_another_part():
    few = contents(REGISTRY, FEW, {})["grader/steps/bottom_hints.toml"].decode()
    names = set(re.findall(r"^\[(\w+)\]$", few, re.MULTILINE))
    assert names == {function.name for step in FEW for function in step.functions}


@pytest.mark.long
def test_books_hold_numbers_and_what_is_said_of_mistakes(books):
    for step in FEW:
        book = json.loads(gzip.decompress(books[step.id]))
        assert set(book) == {"right", "known"}
        fields = {"id", "says", "hint", "replaced", "wrong"}
        assert all(set(known) == fields for known in book["known"])
        names = {mistake.id for mistake in read(MISTAKES, step)}
        assert names <= {known["id"] for known in book["known"]}


def test_paths_are_those_of_the_kit_without_what_it_must_not_hold(whole):
    tops = {name.split("/")[0] for name in whole}
    assert {"exercises", "grader", "tests", "README.md", "Makefile", "nopeek.cmd"} <= tops
    assert not [name for name in whole if re.search("^solutions/|hidden|mistake|corpora", name)]
    with_torch = {name for name, text in whole.items() if "import torch" in text}
    assert with_torch == {"grader/demos/gpt2/against.py"}


def test_every_module_that_is_imported_is_there(whole):
    there = {name.removesuffix(".py").replace("/", ".") for name in whole if name.endswith(".py")}
    there |= {name.removesuffix(".__init__") for name in there}
    missing = set()
    for name, text in whole.items():
        if not name.startswith("grader/") or not name.endswith(".py"):
            continue
        for node in ast.parse(text).body:
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("grader"):
                missing |= {node.module} - there
    assert missing == set()


def judged(folder, submission, tmp_path, *more):
    """The report of a bundle on a submission, from its own command."""
    handed_in, report = tmp_path / "handed_in", tmp_path / "report.json"
    handed_in.mkdir(exist_ok=True)
    for name, source in submission.sources.items():
        (handed_in / f"{name}.py").write_text(source, encoding="utf-8")
    where = ("--submission", str(handed_in), "--json", str(report))
    done = nopeek(folder, "check", *more, *where)
    assert done.returncode in (0, 1), done.stderr
    return json.loads(report.read_text(encoding="utf-8"))["steps"]


def said(steps):
    """What a report says, check by check. A bundle names one of the mistakes that fit alike."""
    checks = [check for step in steps for check in step["checks"]]
    for check in checks:
        if found := check["diagnosis"]:
            found["says"] = found["says"].partition(" Or, with the same results: ")[0]
    return [
        (check["check"], check["status"], check["points"], check["message"], check["diagnosis"])
        for check in checks
    ]


def solved(**others):
    return Submission("one", {**{step.id: solution_of(step) for step in FEW}, **others})


SOME = [one for step in FEW for one in (*read(MISTAKES, step)[::40], read(FAIR, step)[0])]


@pytest.mark.parametrize("variant", SOME, ids=lambda variant: variant.name)
def test_bundle_says_what_the_whole_kit_says(variant, grade, bundle, tmp_path):
    submission = solved(**{variant.step: variant.source})
    mine = judged(bundle, submission, tmp_path, variant.step[4:6])
    report = grade(submission, only=(REGISTRY.find(variant.step),)).to_dict()
    assert said(mine) == said(report["steps"])
    assert mine[0]["status"] == ("passed" if variant.kind == "fair" else "failed")


MATMUL = "matmul: Input operand 1 has a mismatch ({} vs 4)"
ANSWERED = {"function": "f", "value": 1.5}
REFUSED = {"function": "f", "raised": "ValueError", "words": "longer than T_max"}


def error(words):
    return Raised("ValueError", ("ValueError",), words, ())


# What the mistake's error says, what mine says, what right code does, and whether they are one.
ERRORS = {
    "the same words": (MATMUL.format(2), MATMUL.format(2), ANSWERED, True),
    "other words of NumPy's": (MATMUL.format(2), MATMUL.format(5), ANSWERED, False),
    "own words where right code refuses": ("too long", "no such length", REFUSED, True),
    "NumPy's where right code refuses": ("too long", MATMUL.format(5), REFUSED, False),
    "own words where it does not": ("too long", "no such length", ANSWERED, False),
    "own words that refuse elsewhere": ("too long", "more than 3", ANSWERED, True),
    "NumPy's against those": ("need at least one array to stack", "more than 3", ANSWERED, False),
}


@pytest.mark.parametrize(("mistakes", "mine", "right", "found"), ERRORS.values(), ids=ERRORS)
def test_error_is_that_of_a_mistake(mistakes, mine, right, found):
    """Beside it stands a check in which right code refuses, and so does this one: `more than 5`."""
    wrong = {"agree": (0, [{**REFUSED, "words": mistakes}])}
    known = KnownAnswers("some", "", "", (), wrong)
    answers = {"agree": [right], "errors": [REFUSED]}
    calls = {
        "agree": [Call("f", (), {}, False, error(mine))],
        "errors": [Call("f", (), {}, False, error("more than 5"))],
    }
    assert bool(find_explaining(answers, [known], calls, "f", tuple(calls))) is found


@pytest.mark.parametrize(("passed", "found"), [(True, ["no_swap"]), (False, [])])
def test_words_of_an_error_do_not_matter_where_the_check_passed(passed, found):
    """A reshape refuses by itself what mistakes refuse on purpose."""
    refused = {**REFUSED, "words": "no multiple of n_heads"}
    number = describe_call(Call("f", (), {}, False, 1.5))
    known = KnownAnswers("no_swap", "", "", (), {"split_agree": (0, [number])})
    answers = {"split_agree": [ANSWERED], "split_errors": [refused]}
    broke = Raised("ValueError", (), "cannot reshape array of size 10 into shape (2,2,2)", ())
    more = {"passed": True} if passed else {}
    calls = {
        "split_agree": [Call("f", (), {}, False, 1.5)],
        "split_errors": [Call("f", (), {}, False, broke, more)],
    }
    explaining = find_explaining(answers, [known], calls, "split_heads", tuple(calls))
    assert [one.id for one in explaining] == found


@pytest.mark.long
def test_bundle_passes_the_solutions_and_does_not_count_the_stubs(bundle, tmp_path):
    assert {step["status"] for step in judged(bundle, solved(), tmp_path)} == {"passed"}
    stubs = {s.id: (bundle / "exercises" / s.filename).read_text("utf-8") for s in FEW}
    steps = judged(bundle, Submission("stubs", stubs), tmp_path)
    assert {(step["status"], step["message"]) for step in steps} == {("not_attempted", "")}


def test_step_on_a_wrong_earlier_step_says_where_to_begin(grade, monkeypatch):
    monkeypatch.setattr("grader.engine.grading.solutions", lambda registry: {})
    softmax = "def softmax(scores, axis=-1):\n    return scores\n"
    fifth = solution_of(STEPS[4])
    mine = solved(step04_softmax=softmax, step05_output=fifth)
    fourth, fifth = grade(mine, only=STEPS[:5]).steps[3:]
    assert fourth.message == ""
    assert fifth.message == (
        "It was judged on top of your own earlier steps, of which Softmax is not right yet: "
        "begin there."
    )


def test_bundle_puts_a_stub_back(bundle):
    path = bundle / "exercises" / "step02_scores.py"
    stub = path.read_text(encoding="utf-8")
    path.write_text("mine", encoding="utf-8")
    assert "exercises/step02_scores.py is the stub again" in nopeek(bundle, "reset", "2").stdout
    assert path.read_text(encoding="utf-8") == stub
    assert path.with_name("step02_scores.py.1.bak").read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["check", "--suite", "hidden"], "the hidden checks are your instructor's"),
        (["check", "7"], "there is no step '7': name one of 1 to 4"),
        (["grade", "class"], "No such command 'grade'"),
        (["build"], "No such command 'build'"),
    ],
)
def test_bundle_says_what_it_has_not(arguments, told, bundle):
    done = nopeek(bundle, *arguments)
    assert done.returncode == 2
    assert told in done.stderr


def test_readme_of_the_bundle_shows_its_real_output(bundle):
    readme = (bundle / "README.md").read_text(encoding="utf-8")
    assert nopeek(bundle, "check").stdout.split("\n\n")[1] in readme
    assert "make check" in readme.splitlines()[:15]


def test_readme_of_the_bundle_names_files_that_are_there(whole):
    named = re.findall(r"`(exercises/\S+?)`", whole["README.md"])
    assert named == ["exercises/step00_whole_picture.md", f"exercises/{STEPS[0].filename}"]
    assert set(named) <= set(whole)
    assert whole[named[0]].startswith("# Step 0")


def test_same_kit_makes_the_same_zip(books):
    assert zip_files(contents(REGISTRY, FEW, books)) == zip_files(contents(REGISTRY, FEW, books))


def test_write_replaces_an_older_bundle_and_nothing_else(tmp_path):
    folder, archive = write({"a": b"1", ".nopeek-bundle": b""}, tmp_path)
    write({"b": b"2", ".nopeek-bundle": b""}, tmp_path)
    assert sorted(path.name for path in folder.iterdir()) == [".nopeek-bundle", "b"]
    assert archive.is_file()
    (folder / ".nopeek-bundle").unlink()
    with pytest.raises(Problem, match="is not a bundle: name another folder with --out"):
        write({"c": b"3"}, tmp_path)
    assert (folder / "b").read_bytes() == b"2"


def test_release_takes_books_that_are_there_already(tmp_path, monkeypatch):
    kept = tmp_path / ".answers" / kit_digest.kit_digest()
    kept.mkdir(parents=True)
    (kept / "step02_scores").write_bytes(b"a book")
    done = CliRunner().invoke(cli, ["release", "2", "--out", str(tmp_path)])
    assert done.exit_code == 0
    assert "give either to your students" in done.output
    book = tmp_path / "nopeek" / "grader" / "answers" / "step02_scores.json.gz"
    assert book.read_bytes() == b"a book"


def test_release_says_what_is_in_the_way(tmp_path):
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    done = CliRunner().invoke(cli, ["release", "2", "--out", str(tmp_path / "file")])
    assert done.exit_code == 2
    assert "Traceback" not in done.output


DEMOS = [("train", "--steps", "1"), ("costs",)]
DEMOS += [("leakmap", "5"), ("case", "1"), ("recap",), ("look", "1")]
DEMOS += [("explore", "--html", "page.html"), ("write",), ("try", "1"), ("review",)]


@pytest.fixture(scope="module")
def all_steps(tmp_path_factory):
    """A bundle of all steps, unpacked, without its books."""
    folder, _ = write(contents(REGISTRY, STEPS, {}), tmp_path_factory.mktemp("all"))
    return folder


@pytest.mark.parametrize("command", DEMOS, ids=lambda command: command[0])
def test_demo_runs_on_stubs_without_a_traceback(all_steps, command):
    done = nopeek(all_steps, *command)
    assert done.returncode in (0, 1, 2)
    assert done.stdout + done.stderr


def test_pictures_are_drawn_in_it(all_steps):
    written = all_steps / "exercises" / "step04_softmax.py"
    stub = written.read_text("utf-8")
    written.write_text(solution_of(STEPS[3]), encoding="utf-8")
    shown = nopeek(all_steps, "look", "4").stdout
    written.write_text(stub, encoding="utf-8")
    assert "row attends to column" in shown


def test_explorer_runs_in_it_on_what_is_written(all_steps, tmp_path):
    """The bundle holds no solutions: all that the page shows comes out of the learner's files."""
    written = write_solutions(tmp_path / "written", STEPS[:13])

    def explore():
        page = tmp_path / "page.html"
        done = nopeek(all_steps, "explore", "--submission", str(written), "--html", str(page))
        assert done.returncode == 0, done.stderr
        return page.read_text("utf-8")

    assert '"weights"' in explore()
    shutil.copy(all_steps / "exercises" / "step09_heads.py", written)
    assert '"first": {"model": "layer"' in explore()


def test_notebook_of_a_part_links_to_nothing_that_is_missing(bundle):
    last = (bundle / "notebooks" / "step04_softmax.ipynb").read_text(encoding="utf-8")
    assert "(step03_mask.ipynb)" in last
    assert "step05_output.ipynb" not in last
