"""The README and the guides say what is true, and show what the commands print."""

import dataclasses
import json
import os
import re
import subprocess
import sys
from datetime import datetime
from zoneinfo import ZoneInfo

import click
import jsonschema
import pytest

from grader.authoring.guides import TUTOR, fresh_page, pages, parse_command
from grader.classroom.lateness import days_late
from grader.classroom.overrides import read_overrides
from grader.classroom.tables import read_roster
from grader.cli.main import cli
from grader.report import records
from grader.steps.registry import load
from grader.steps.stubs import solution_of
from tests.conftest import ROOT
from tests.support.commands import nopeek
from tests.support.stubs import write_solutions, write_stubs

DOCS = ROOT / "docs"
TEXTS = {p.relative_to(ROOT).as_posix(): p.read_text(encoding="utf-8") for p in pages()}
GUIDES = list(TEXTS)
OTHERS = ("CONTRIBUTING.md", "SECURITY.md")
TEXTS |= {name: (ROOT / name).read_text(encoding="utf-8") for name in OTHERS}
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
README = TEXTS["README.md"]
FILES = re.compile(r"`((?:docs|grader|solutions|tests|notebooks|exercises|\.github)/[\w./-]*)`")
# By nbgrader, in a wheel, and by `make check`.
MADE = {"notebooks/nbgrader/release/", "grader/kit/"}


FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def blocks(name, language=""):
    """The fenced blocks of a page that are in this language."""
    found = FENCED.findall(TEXTS[name])
    return [text.strip("\n") for label, text in found if label == language]


def code(name):
    """Everything on a page that is set as code: in backticks, or a line of a block."""
    text = FENCED.sub("", TEXTS[name])
    lines = [line for _, block in FENCED.findall(TEXTS[name]) for line in block.splitlines()]
    return re.findall(r"`([^`\n]+)`", text) + [line.removeprefix("$ ") for line in lines]


def commands(name, program):
    """The commands on a page that begin with this program."""
    return [text.split("#")[0].strip() for text in code(name) if text.startswith(f"{program} ")]


@pytest.mark.parametrize("name", GUIDES)
def test_screens_are_up_to_date(name):
    text = TEXTS[name]
    assert fresh_page(load(), text) == text, f"{name} is out of date: run `make build`"


def test_assistants_read_the_same_everywhere_and_their_commands_exist():
    text = TUTOR.read_text("utf-8")
    assert (ROOT / TUTOR.name).read_text("utf-8") == text
    for name in re.findall(r"`make (\w+)", text):
        assert f"\n{name}:" in MAKEFILE, name
    for name in re.findall(r"`nopeek (\w+)", text):
        assert cli.get_command(click.Context(cli), name), name


def test_readme_is_one_page_and_the_first_command_comes_first():
    assert "make check" in README.splitlines()[:15]
    assert len(README.splitlines()) <= 80


@pytest.mark.parametrize("name", TEXTS)
def test_links_resolve(name):
    folder = (ROOT / name).parent
    for link in re.findall(r"\]\(([^)]+)\)", TEXTS[name]):
        target, _, part = link.partition("#")
        assert not target.startswith("http"), "a test cannot follow it"
        path = folder / target if target else ROOT / name
        assert path.is_file(), link
        headings = re.findall(r"(?m)^#+ (.*)$", path.read_text(encoding="utf-8"))
        slugs = [re.sub(r"[^\w -]", "", text.lower()).replace(" ", "-") for text in headings]
        assert not part or part in slugs, link
        if folder == DOCS:
            assert DOCS in path.resolve().parents, "the site holds docs/ only"


@pytest.mark.parametrize("name", TEXTS)
def test_files_that_are_named_exist(name):
    for path in FILES.findall(TEXTS[name]):
        if "stepNN_" not in path and path not in MADE:
            assert (ROOT / path).exists(), path


@pytest.mark.parametrize("name", TEXTS)
def test_make_targets_that_are_named_exist(name):
    for command in commands(name, "make"):
        words = re.sub(r'"[^"]*"', "", command).split()
        assert f"\n{words[1]}:" in MAKEFILE, command
        for variable in re.findall(r"([A-Z]+)=", command):
            assert f"$({variable})" in MAKEFILE, command


@pytest.mark.parametrize("name", TEXTS)
def test_nopeek_commands_that_are_named_exist(name):
    for program in ("nopeek", "python -m grader"):
        for text in commands(name, program):
            command, *rest = parse_command(text.replace(program, "nopeek", 1).replace("…", ""))
            if command.isupper() or command.startswith("-"):
                continue
            found = cli.get_command(None, command)
            assert found is not None, text
            if isinstance(found, click.Group):
                found = found.get_command(None, rest[0])
            options = [(*one.opts, *one.secondary_opts) for one in found.params]
            known = {option for names in options for option in names} | {"--help"}
            if command == "lab":  # hands all others on to JupyterLab
                known |= {"--no-browser", "--port"}
            assert {word for word in rest if word.startswith("--") and word != "--"} <= known, text


def test_every_command_and_target_is_in_the_table():
    named = {text.split()[1] for text in commands("docs/commands.md", "make")}
    targets = set(re.findall(r"(?m)^(\w+):.*##", MAKEFILE)) - {"help"}
    assert sorted(targets - named) == []
    known = {parse_command(text)[0] for text in commands("docs/commands.md", "nopeek")}
    missing = set(cli.list_commands(None)) - known - {"build", "dev", "proof", "release", "book"}
    assert sorted(missing) == []


def test_student_table_lists_no_other_step():
    rows = re.findall(r"(?m)^\| (\d+) \| `", TEXTS["docs/student.md"])
    assert [int(number) for number in rows] == [step.number for step in load().steps]


def test_examples_in_the_guide_for_extending_are_real():
    paths = ("tests/visible/test_", "grader/answer_key/mistakes/", "tests/corpora/fair/")
    for path, block in zip(paths, blocks("docs/extending.md", "python"), strict=True):
        assert block in (ROOT / f"{path}step02_scores.py").read_text(encoding="utf-8")


INSTRUCTOR, REFERENCE = "docs/instructor.md", "docs/instructor-reference.md"


@pytest.mark.parametrize("name", [INSTRUCTOR, REFERENCE])
def test_assignment_file_in_the_guide_is_understood(tmp_path, name):
    (tmp_path / "course.toml").write_text("\n".join(blocks(name, "toml")), encoding="utf-8")
    (tmp_path / "roster.csv").write_text("student_id\nanna\n", encoding="utf-8")
    assert "Homework 2" in nopeek("course", "course.toml", cwd=tmp_path)
    assert len(blocks(INSTRUCTOR, "toml")[0].splitlines()) == 6  # of the first one


@pytest.mark.parametrize("name", [INSTRUCTOR, REFERENCE])
def test_days_late_in_the_guide_are_true(name):
    due = "2026-11-23T23:59" if name == INSTRUCTOR else "2026-10-24T23:59"
    zone = ZoneInfo("Europe/Berlin")
    lines = re.findall(r"(?m)^\| (\d{4}-\S+) \| (\d) \|$", TEXTS[name])
    moments = [datetime.fromisoformat(text) for text in (due, *(when for when, _ in lines))]
    first, *others = [one if one.tzinfo else one.replace(tzinfo=zone) for one in moments]
    fixed = [datetime.fromisoformat(one.isoformat()) for one in (first, *others)]
    found = [days_late(one, fixed[0], 15, zone) for one in fixed[1:]]
    assert found == [int(days) for _, days in lines]
    assert len(found) > 3


@pytest.mark.parametrize(("name", "rows"), [(INSTRUCTOR, 3), (REFERENCE, 5)])
def test_changes_by_hand_in_the_guide_are_understood(tmp_path, name, rows):
    shown = [b for b in blocks(name) if b.startswith("student_id,step")]
    (tmp_path / "overrides.csv").write_text(shown[0], encoding="utf-8")
    assert len(read_overrides(tmp_path / "overrides.csv", load())) == rows


def test_class_list_in_the_guide_is_understood(tmp_path):
    (shown,) = [b for b in blocks(INSTRUCTOR) if b.startswith("student_id,name")]
    (tmp_path / "list.csv").write_text(shown, encoding="utf-8")
    times = [one.who.submitted for one in read_roster(tmp_path / "list.csv", "Europe/Berlin")]
    assert times == ["2026-11-23T22:10:00+01:00", "2026-11-25T00:05:00+01:00"]


def test_export_formats_in_the_guide_are_all():
    command = cli.get_command(None, "export")
    (format_option,) = [param for param in command.params if "--format" in param.opts]
    named = set(re.findall(r"FORMAT=([\w-]+)", TEXTS[REFERENCE]))
    assert named <= set(format_option.type.choices)


@pytest.mark.long
def test_output_of_grading_is_real(tmp_path):
    (tmp_path / "c" / "dan").mkdir(parents=True)
    write_stubs(tmp_path / "c" / "bob")
    for name in ("alice", "carol"):
        write_solutions(tmp_path / "c" / name, load().steps)
    (tmp_path / "course.toml").write_text(blocks(INSTRUCTOR, "toml")[0], encoding="utf-8")
    told = nopeek("grade", "c", "--course", "course.toml", cwd=tmp_path, status=1)
    said = [line for line in told.splitlines() if " left" not in line]
    assert "\n".join(said[:1] + said[-4:]) in blocks(INSTRUCTOR)
    check = validator()
    out = tmp_path / "graded" / "homework-2"
    for path in (out / "reports").iterdir():
        check.validate(json.loads(path.read_text(encoding="utf-8")))
    listed = {
        p.split("/")[0].rstrip("/")
        for p in re.findall(r"(?m)^\| `([\w./]+)` \|", TEXTS[INSTRUCTOR] + TEXTS[REFERENCE])
    }
    assert {p for p in listed if not (out / p).exists()} <= {"changes.csv", "matches.csv"}


def validator():
    schema = json.loads((DOCS / "report.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


# Makes solutions wrong: an exception, a wrong scale, a leak.
WRONG = {1: ("x @ ", "1 / 0 * x @ "), 2: (" / d_k**0.5", ""), 3: ("np.tril", "np.ones_like")}


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """A real report on exercises that are partly right, wrong, raising and missing."""
    folder = tmp_path_factory.mktemp("learner")
    write_stubs(folder / "exercises")
    for step in load().steps[:6]:
        text = solution_of(step).replace(*WRONG.get(step.number, ("", "")))
        (folder / "exercises" / step.filename).write_text(text, encoding="utf-8")
    (folder / "exercises" / load().find("8").filename).unlink()
    nopeek("check", *"12345678", "--json", "report.json", cwd=folder, status=1)
    return json.loads((folder / "report.json").read_text(encoding="utf-8"))


def test_real_report_fits_the_schema(report):
    validator().validate(report)
    assert {step["status"] for step in report["steps"]} >= {"passed", "failed", "not_attempted"}
    found = [check for step in report["steps"] for check in step["checks"]]
    assert any(check["diagnosis"] for check in found)
    assert any(check["evidence"] for check in found)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda report: report.pop("seed"),
        lambda report: report.update(schema="nopeek/report/2"),
        lambda report: report["steps"][0].update(status="timeout"),
        lambda report: report["steps"][0]["checks"][0].update(points="1"),
        lambda report: report["steps"][0]["checks"][0].pop("title"),
    ],
    ids=["missing", "version", "status", "type", "nested"],
)
def test_schema_refuses_what_is_no_report(report, spoil):
    spoilt = json.loads(json.dumps(report))
    spoil(spoilt)
    assert not validator().is_valid(spoilt)


@pytest.mark.parametrize(
    ("record", "name"),
    [
        (records.StepVerdict, "step"),
        (records.CheckVerdict, "check"),
        (records.Diagnosis, "diagnosis"),
        (records.Evidence, "evidence"),
        (records.Array, "array"),
        (records.Influence, "influence"),
    ],
)
def test_schema_and_guide_name_every_field(record, name):
    fields = {field.name for field in dataclasses.fields(record)}
    schema = validator().schema["$defs"][name]
    assert set(schema["properties"]) == set(schema["required"]) == fields
    if name != "influence":
        assert [f for f in fields if f"`{f}`" not in TEXTS["docs/report-format.md"]] == []
    if name == "check":
        defined = schema["properties"]["status"]["enum"]
        assert sorted(defined) == sorted(status.value for status in records.Status)


def test_program_in_the_guide_reads_a_report(report, tmp_path):
    (tmp_path / "report.json").write_text(json.dumps(report), encoding="utf-8")
    (source,) = blocks("docs/report-format.md", "python")
    said = subprocess.check_output([sys.executable, "-c", source], cwd=tmp_path, text=True)
    assert said.startswith("step01_projections")


DAILY = ["check", "watch", "hint", "try", "quiz", "look"]
READERS = ["Every day", "Student", "Demos", "Instructor", "Contributor"]


def help_of(*words):
    """What it prints, also below `make test ALL=1`, whose variables a make of its own inherits."""
    env = {name: of for name, of in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    env.pop("ALL", None)
    return subprocess.check_output(words, cwd=ROOT, env=env, text=True)


@pytest.mark.parametrize(
    ("words", "command"),
    [
        ((sys.executable, "-m", "grader", "--help"), r"(?m)^  (\w+)  +[A-Z]"),
        ((sys.executable, "-m", "grader", "help"), r"(?m)^  (\w+)  +[A-Z]"),
        (("make", "help"), r"(?m)^  make (\w+)"),
    ],
)
def test_help_lists_the_six_for_every_day_on_one_screen(words, command):
    shown = help_of(*words)
    assert re.findall(command, shown) == DAILY
    assert "`make help ALL=1` lists all commands." in shown
    assert len(shown.splitlines()) <= 30
    assert max(map(len, shown.splitlines())) <= 80


def test_help_groups_every_command_by_reader():
    shown = help_of(sys.executable, "-m", "grader", "help", "--all")
    headings = re.findall(r"(?m)^(\w[\w ]*):$", shown)
    assert headings == ["Options", *READERS, "Other"]
    listed = re.findall(r"(?m)^  (\w+)  ", shown.split(f"{READERS[0]}:")[1])
    assert sorted(listed) == sorted(cli.list_commands(click.Context(cli)))


def test_make_help_groups_every_target_by_reader():
    shown = help_of("make", "help", "ALL=1")
    assert re.findall(r"(?m)^(\w[\w ]*)$", shown) == READERS
    assert max(map(len, shown.splitlines())) <= 80
    phony = " ".join(re.findall(r"(?m)^\.PHONY: (.*)$", MAKEFILE)).split()
    assert sorted(re.findall(r"(?m)^  make (\w+)", shown)) == sorted(phony)
