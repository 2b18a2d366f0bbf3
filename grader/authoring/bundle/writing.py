"""Write the students' bundle: a folder and its zip, of all files that a student needs.

It has no solution, no code of a known mistake, no reference and no hidden check. It has the
sentences about known mistakes, and their first wrong answers to the visible checks, as numbers, so
that a wrong answer still gets its cause.

A step's book holds these answers (see `grader.diagnosis.lookup`). Right code and every mistake are
put to the checks as submissions. Each check's answers of a mistake are stored from the first wrong
one on. Books are computed once.
"""

import gzip
import io
import json
import re
import shutil
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import as_completed
from dataclasses import replace
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from grader import __version__
from grader.answer_key.variants import MISTAKES, read
from grader.authoring.pools import start_pool
from grader.diagnosis.lookup import RIGHT, describe_call, is_same
from grader.engine.grading import Grader, make_grader
from grader.engine.kit_digest import kit_digest
from grader.intake.submission import Submission
from grader.isolation import Process, start_host
from grader.isolation.client import CallFailed
from grader.learner.hints import BOTTOM
from grader.report.files import put, replacing
from grader.report.problem import Problem
from grader.report.records import Status, StepVerdict
from grader.report.text.terminal import Overview, Printer
from grader.steps.paths import PACKAGE, ROOT, VISIBLE
from grader.steps.quiz import FOLDER, PREFACE, PREFACE_TEXT
from grader.steps.registry import Registry, Step, load, read_toml
from grader.steps.stubs import stub_of, without_figures

FILES = Path(__file__).parent / "files"
MARK = ".nopeek-bundle"
# The rooms that students get, each without the folders in it. What no room of these holds does not
# ship: right code and known mistakes, grading, exports, and what makes the bundle itself.
ROOMS = (
    *("", "course", "steps", "steps/data", "report", "report/text", "report/html", "learner"),
    *("isolation", "isolation/worker", "intake", "checks", "checks/laws"),
    *("diagnosis", "diagnosis/properties", "engine", "demos"),
    *("notebooks", "cli", "demos/explorer", "demos/small"),
    "demos/gpt2",
)
KEPT = frozenset({".py", ".html", ".svg", ".css", ".js", ".ini", ".toml", ".json", ".safetensors"})
NAME = "nopeek"
Notes = dict[str, list[Any]]


def add_needed_steps(registry: Registry, steps: Sequence[Step]) -> tuple[Step, ...]:
    """Return the steps and the earlier ones that they import, directly or indirectly, in order."""
    wanted = {step.id for step in steps}
    for step in reversed(registry.steps):
        if step.id in wanted:
            checks = (VISIBLE / f"test_{step.id}.py").read_text(encoding="utf-8")
            text = stub_of(step) + checks.replace("tests.visible.test_", "exercises.")
            wanted |= {e.id for e in registry.before(step) if f"exercises.{e.id} " in text}
    return tuple(step for step in registry.steps if step.id in wanted)


def contents(
    registry: Registry, steps: Sequence[Step], answers: Mapping[str, bytes]
) -> dict[str, bytes]:
    """Return the bundle's files for these steps, by path. answers: each step's book, by its id."""
    return dict(
        sorted(
            [
                *_exercises(steps),
                *_notebooks(steps),
                *_checks(steps),
                *_grader(steps),
                *((f"grader/answers/{name}.json.gz", data) for name, data in answers.items()),
                *_texts(registry, steps),
            ]
        )
    )


def _exercises(steps: Sequence[Step]) -> Iterator[tuple[str, bytes]]:
    """Yield the lesson of step 0, and each stub twice: to be written in, and for `reset`."""
    yield f"exercises/{PREFACE.id}.md", without_figures(PREFACE_TEXT.read_text("utf-8")).encode()
    for step in steps:
        text = stub_of(step).encode()
        yield f"exercises/{step.filename}", text
        yield f"grader/stubs/{step.filename}", text


def _notebooks(steps: Sequence[Step]) -> Iterator[tuple[str, bytes]]:
    for step in (PREFACE, *steps):
        path = ROOT / "notebooks" / f"{step.id}.ipynb"
        if path.is_file():
            yield f"notebooks/{path.name}", _without_dead_links(path.read_text("utf-8"), steps)


def _without_dead_links(text: str, steps: Sequence[Step]) -> bytes:
    """Return a notebook without links to notebooks that are not in the bundle."""
    there = {PREFACE.id, *(step.id for step in steps)}

    def keep(match: re.Match[str]) -> str:
        return match[0] if match[2] in there else match[1]

    return re.sub(r"\[([^\]\n]*)\]\((step\d\d_\w+)\.ipynb\)", keep, text).encode()


def _checks(steps: Sequence[Step]) -> Iterator[tuple[str, bytes]]:
    """Yield the visible checks with their values, and the questions."""
    visible = ROOT / "tests" / "visible"
    for path in [ROOT / "tests" / "__init__.py", *sorted(visible.glob("*.py"))]:
        if _is_wanted(path.stem.removeprefix("test_"), steps):
            yield path.relative_to(ROOT).as_posix(), path.read_bytes()
    values = (visible / "values" / f"{step.id}.json" for step in steps)
    asked = (FOLDER / f"{step.id}.toml" for step in (PREFACE, *steps))
    for path in (*values, *filter(Path.is_file, asked)):
        yield path.relative_to(ROOT).as_posix(), path.read_bytes()


def _grader(steps: Sequence[Step]) -> Iterator[tuple[str, bytes]]:
    names = {function.name for step in steps for function in step.functions}
    for room in ROOMS:
        for path in sorted((PACKAGE / room).iterdir()):
            if path.suffix in KEPT and _is_wanted(path.stem, steps):
                data = path.read_bytes()
                if path.name == BOTTOM.name:  # the hints for the functions of these steps
                    first, *tables = re.split(r"^(?=\[\w+\]$)", data.decode(), flags=re.MULTILINE)
                    kept = (one for one in tables if one[1 : one.index("]")] in names)
                    data = "".join([first, *kept]).encode()
                yield f"grader/{path.relative_to(PACKAGE).as_posix()}", data


def _is_wanted(stem: str, steps: Sequence[Step]) -> bool:
    """Return whether a file belongs to one of these steps, or to no step."""
    return not re.match(r"step\d\d_", stem) or stem in {step.id for step in steps}


def _texts(registry: Registry, steps: Sequence[Step]) -> Iterator[tuple[str, bytes]]:
    """Yield the files that a student reads and runs first."""
    templates = Environment(
        loader=FileSystemLoader(FILES), undefined=StrictUndefined, keep_trailing_newline=True
    )
    # The options that make pip install torch for CPUs, and what the kit itself needs.
    torch = re.search(r"^TORCH := (.*)$", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    project = read_toml(ROOT / "pyproject.toml")["project"]
    extras = project["optional-dependencies"]
    told = {
        "version": __version__,
        "output": first_output(registry, steps),
        "steps": steps,
        "first": steps[0],
        "torch": torch[1] if torch else "torch",
        "notebooks": any(True for _ in _notebooks(steps)),
        "dependencies": [json.dumps(line) for line in project["dependencies"]],
        "extras": {
            name: [json.dumps(line) for line in extras.get(name, [])] for name in ("gpt2", "lab")
        },
    }
    for path in sorted(FILES.glob("*.jinja")):
        name = path.stem.replace("dot-", ".")
        newline = "\r\n" if name.endswith(".cmd") else "\n"
        yield name, templates.get_template(path.name).render(told).replace("\n", newline).encode()
    yield "AGENTS.md", (PACKAGE / "cli" / "learner" / "AGENTS.md").read_bytes()
    yield "LICENSE", (ROOT / "LICENSE").read_bytes()
    yield MARK, b""


def first_output(registry: Registry, steps: Sequence[Step]) -> str:
    """Return the real output of `make check` for stubs."""
    text = io.StringIO()
    overview = Overview(Printer(text), replace(registry, steps=tuple(steps)).group_by_part(steps))
    for step in steps:
        untouched = (step.id, step.title, Status.NOT_ATTEMPTED, 0.0, step.max_points, ())
        overview(StepVerdict(*untouched))
    return text.getvalue().rstrip()


def _ask(grader: Grader, submission: Submission, step: Step) -> Notes:
    """Return what code answers in each check; nothing if it does not end."""
    try:
        _, log = grader.find_causes(submission, step)
    except CallFailed:
        return {}
    return {check: list(map(describe_call, log.of(check))) for check in log.spans if log.whole}


def _find_wrong(answers: Notes, right: Mapping[str, list[Any]]) -> Notes:
    """Return the place of the first wrong answer in each check, and the answers from there on."""
    wrong = {}
    for check, found in answers.items():
        places = (n for n, both in enumerate(zip(found, right[check])) if not is_same(*both))
        if (place := next(places, None)) is not None:
            wrong[check] = [place, found[place:]]
    return wrong


def _make_book(step: Step) -> tuple[str, bytes]:
    """Return the id and the book of one step, in a separate process."""
    registry, known = load(), []
    with start_host(Process(), registry.limits) as host:
        grader = make_grader(registry, host, "visible", 0, [step], thorough=False)
        right = _ask(grader, Submission("right", grader.right), step)
        for variant in read(MISTAKES, step):
            if wrong := _find_wrong(_ask(grader, variant.submission, step), right):
                about = {name: getattr(variant, name) for name in ("id", "says", "hint")}
                known.append({**about, "replaced": list(variant.replacements), "wrong": wrong})
    data = json.dumps({RIGHT: right, "known": known}, separators=(",", ":"))
    return step.id, gzip.compress(data.encode(), 9, mtime=0)  # the same bytes for the same data


def answers(steps: Sequence[Step], cache: Path) -> dict[str, bytes]:
    """Return the books by step. `cache` holds those that were made for this kit before."""
    kept = cache / kit_digest()
    kept.mkdir(parents=True, exist_ok=True)
    # The longest first, because none of them can be divided.
    missing = [step for step in reversed(steps) if not (kept / step.id).is_file()]
    with start_pool() as pool:
        for done in as_completed([pool.submit(_make_book, step) for step in missing]):
            name, data = done.result()
            _replace(kept / name, data)
    return {step.id: (kept / step.id).read_bytes() for step in steps}


def _replace(path: Path, data: bytes) -> None:
    with replacing(path) as beside:
        beside.write_bytes(data)


def zip_files(files: Mapping[str, bytes]) -> bytes:
    """Return one zip of all files, in a folder of the bundle's name."""
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as file:
        for name, data in files.items():
            put(file, f"{NAME}/{name}", data)
    return whole.getvalue()


def write(files: Mapping[str, bytes], out: Path) -> tuple[Path, Path]:
    """Write the folder and the zip into `out`, and return their paths.

    Replace an older bundle there. Raise Problem if the folder is anything else.
    """
    folder, archive = out / NAME, out / f"{NAME}.zip"
    if folder.exists() and not (folder / MARK).is_file():
        raise Problem(f"{folder} is not a bundle: name another folder with --out")
    new = out / f".{NAME}.new"
    shutil.rmtree(new, ignore_errors=True)
    for name, data in files.items():
        path = new / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    shutil.rmtree(folder, ignore_errors=True)
    new.replace(folder)
    _replace(archive, zip_files(files))
    return folder, archive
