"""Compare the verdicts of the working tree with those of a commit: `make same BASE=commit`.

Results are kept in `.same/`, by the digest of the kit and of the program, so the next run judges
only what has changed. Of known mistakes and fair variants, which `make test ALL=1` compares with
what is stored of them, a tenth is judged, unless they are asked for.
"""

import argparse
import contextlib
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from grader.steps import registry
from tests.conftest import ROOT
from tests.sameness.differences import Differences
from tests.sameness.programs import CORPORA, ENTRIES, list_programs, write_files
from tests.support import sampling

KEPT = ROOT / ".same"
JUDGING = Path(__file__).with_name("judging.py")
PLACES = ("grader", "solutions", "tests/visible", "tests/hidden")
PROVEN = ("fair", "mistakes")
# What no report depends on; what the grader itself says does not depend on the commands either.
BESIDE = {"grade": ("authoring", "demos"), "grader": ("authoring", "demos", "cli", "notebooks")}


def main():
    chosen = _parse()
    programs = list_programs(chosen.corpus or CORPORA, {step.id for step in chosen.step})
    if not programs:
        sys.exit("No corpus has such programs.")
    if not chosen.corpus and not chosen.step:
        programs = leave_out(programs)
    with checked_out(chosen.base) as other:
        before = judge_all(other, programs, f"commit {chosen.base}")
    after = judge_all(ROOT, programs, "the working tree")
    found = Differences()
    for one in programs:
        for suite in ("visible", "hidden"):
            pair = before.get((one.digest, suite)), after.get((one.digest, suite))
            found.compare(one, suite, *pair)
    print(f"\n{len(programs)} programs, {chosen.base} against the working tree")
    print("\n".join(found.lines(chosen.most)))
    if said := sampling.say_left_out(sampling.left_out, f"same BASE={chosen.base}"):
        print(f"\n{said}")
    sys.exit(1 if found.groups else 0)


def _parse():
    parser = argparse.ArgumentParser(prog="make same", description=__doc__)
    parser.add_argument("base", help="the commit to compare with")
    parser.add_argument("--step", action="append", default=[], type=registry.load().find)
    parser.add_argument("--corpus", action="append", default=[], choices=CORPORA)
    parser.add_argument("--most", type=int, default=12, help="groups of each kind to print")
    return parser.parse_args()


def leave_out(programs):
    """Return the programs with a tenth only of those that the proof judges."""
    proven = [one for one in programs if one.corpus in PROVEN]
    few = sampling.sample("variants", proven, lambda one: one.digest, lambda one: one.steps[0])
    return [*few, *(one for one in programs if one.corpus not in PROVEN)]


@contextlib.contextmanager
def checked_out(commit):
    """Yield a folder with the files of that commit."""
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "kit"
        _git("worktree", "add", "--detach", str(tree), commit)
        try:
            yield tree
        finally:
            _git("worktree", "remove", "--force", str(tree))


def _git(*arguments):
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"git {arguments[0]}: {done.stderr.strip()}")


def digest_kit(root, beside):
    """Return the digest of all files of a kit that its reports depend on."""
    state = hashlib.sha256(sys.version.encode())
    left_out = tuple(root / "grader" / name for name in beside)
    found = [path for place in PLACES for path in (root / place).rglob("*") if path.is_file()]
    for path in sorted(found):
        if path.suffix != ".pyc" and not any(path.is_relative_to(one) for one in left_out):
            name = path.relative_to(root).as_posix()
            state.update(name.encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    return state.hexdigest()[:16]


def judge_all(root, programs, name):
    """Return what the kit in that folder says of the programs, by their digests and suites."""
    found = {}
    for by, beside in BESIDE.items():
        mine = [one for one in programs if by == ("grade" if one.corpus in ENTRIES else "grader")]
        found |= _judge(root, mine, by, KEPT / f"{digest_kit(root, beside)}.jsonl", name)
    return found


def _judge(root, programs, by, kept, name):
    """Return what is kept of these programs, with what was missing."""
    known = _read(kept)
    suites = ("hidden", "visible") if by == "grader" else ("hidden",)
    new = [one for one in programs if any((one.digest, suite) not in known for suite in suites)]
    if programs:
        print(f"{name}: {len(programs)} to {by}, {len(new)} of them anew", flush=True)
    if not new:
        return known
    KEPT.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        listed = Path(folder) / "programs.json"
        listed.write_text(json.dumps([_write(Path(folder), one, by) for one in new]))
        own = root / JUDGING.relative_to(ROOT)
        program = own if own.is_file() else JUDGING
        environment = {**os.environ, "PYTHONPATH": str(root), "PYTHONDONTWRITEBYTECODE": ""}
        command = [sys.executable, str(program), str(listed), str(kept)]
        if subprocess.run(command, cwd=root, env=environment).returncode:
            sys.exit(f"{name}: not all programs could be judged")
    return _read(kept)


def _read(path):
    if not path.is_file():
        return {}
    records = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return {(one["key"], one["suite"]): one for one in records}


def _write(folder, program, by):
    """Write a program's files, and return what is to be known of it."""
    place = folder / program.corpus / program.digest
    write_files(place, program)
    named = {"corpus": program.corpus, "name": program.name, "steps": program.steps}
    return {"key": program.digest, "by": by, "folder": str(place), **named}


if __name__ == "__main__":
    main()
