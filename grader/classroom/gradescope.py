"""Make an autograder for Gradescope: the zip to upload, and the program that grades there.

The zip holds the whole kit with hidden checks and solutions, so it is only for the instructor. On
Gradescope, every submission is graded as a class is, on inputs of its own.
"""

import io
import json
import os
import sys
import zipfile
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from grader.classroom import hidden_inputs, judge
from grader.classroom.course import Course
from grader.classroom.exports.results import failure, results
from grader.classroom.judge import Exam
from grader.classroom.marking import Rules
from grader.classroom.overrides import Override
from grader.engine.kit_digest import kit_digest
from grader.intake import entries
from grader.intake.submission import SubmissionError
from grader.report.files import put, read_notes, write_whole
from grader.report.records import Graded, Who, from_plain
from grader.steps.paths import PACKAGE, ROOT
from grader.steps.registry import load

FOLDERS = ("grader", "solutions", "exercises", "tests/visible", "tests/hidden")
FILES = ("pyproject.toml", "README.md", "LICENSE", "tests/__init__.py")
CONFIG = "autograder.json"
# Plain processes are not among them: students could read the solutions.
ISOLATIONS = ("bubblewrap", "process+")
NOT_GRADED = (
    "Your work could not be graded here. This is not your fault. Tell your instructor: the "
    "autograder's log says why."
)
WRONG_UPLOAD = "Your upload could not be graded: {}. Fix that and upload it again."


def autograder(steps: Sequence[str], course: Course, overrides: Sequence[Override]) -> bytes:
    """Return the zip to upload. steps: the ids of the graded steps. overrides: changes by hand."""
    paths = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*"))]
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as file:
        for name in ("setup.sh", "run_autograder"):
            put(file, name, (PACKAGE / "classroom" / "autograder" / name).read_bytes(), runs=True)
        changes = [asdict(one) for one in overrides]
        config = {"steps": list(steps), "course": asdict(course), "overrides": changes}
        put(file, CONFIG, json.dumps(config).encode() + b"\n")
        for path in [*paths, *(ROOT / name for name in FILES)]:
            inner = path.relative_to(ROOT)
            is_hidden = any(part.startswith((".", "__pycache__")) for part in inner.parts)
            if path.is_file() and not is_hidden and path.suffix not in (".pyc", ".bak"):
                put(file, f"kit/{inner.as_posix()}", path.read_bytes())
    return whole.getvalue()


def _students(data: dict[str, Any]) -> list[tuple[str, Who]]:
    """Return the addresses of the students who handed it in, and when, as Gradescope reports.

    Their names are left out: students choose them, and could take another student's extension.
    """
    when, addresses = data.get("created_at", ""), [user["email"] for user in data.get("users", ())]
    found = [(one, Who("Gradescope", email=one, submitted=when)) for one in addresses]
    return found or [("submission", Who())]


def _grade(home: Path, isolations: Sequence[str]) -> dict[str, Any]:
    config = json.loads((home / "source" / CONFIG).read_text(encoding="utf-8"))
    overrides = [Override(**one) for one in config["overrides"]]
    rules = Rules(from_plain(Course, config["course"]), overrides)
    try:
        handed_in = entries.read(entries.alone(home / "submission"), load())
    except SubmissionError as error:
        return failure(WRONG_UPLOAD.format(str(error).rstrip(".")))
    key = hidden_inputs.derive_key(hidden_inputs.new_secret(), 1)
    exam = Exam("hidden", 1, "", tuple(config["steps"]), kit_digest(), key)
    for isolation in isolations:
        try:
            found = judge.grade_submission(replace(exam, isolation=isolation), handed_in)
        except judge.JudgeRefuses as error:
            sys.stderr.write(f"{isolation}: {error}\n")
            continue
        finally:
            judge.dismiss()
        if found.report is None:
            return failure(
                "Your work could not be graded within the time limit. Tell your instructor."
            )
        group = [
            Graded(one, found.report, "", handed_in.warnings, 1, found.seconds, who)
            for one, who in _students(read_notes(home / "submission_metadata.json"))
        ]
        return _final(rules, group)
    return failure(NOT_GRADED)


def _final(rules: Rules, group: Sequence[Graded]) -> dict[str, Any]:
    """Return the results of a student, or for a group the best that the rules give a member."""
    # Gradescope has one score for all members, so an extension of one is the group's.
    final = max(
        rules.settle(group).apply(group), key=lambda one: -1.0 if one.score is None else one.score
    )
    if final.score is not None:
        return results(final)
    told = " ".join(final.notes)
    return failure(told if final.excused else WRONG_UPLOAD.format(told.rstrip(".")))


def main(home: Path) -> None:
    """Grade the submission and write its results, the only ones that count."""
    named = os.environ.get("NOPEEK_ISOLATION")
    data = _grade(home, (named,) if named else ISOLATIONS)
    write_whole(home / "results" / "results.json", [json.dumps(data, indent=1)])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
