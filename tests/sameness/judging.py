"""Judge programs with the kit of the current folder, and write what it says of each.

This file is also run on other commits, from their root, so it imports only what all kits have:
`python judging.py PROGRAMS RESULTS` reads the programs' corpora, names, steps and folders from one
file of JSON, and adds a line of JSON for each to another. Programs are judged by the grader
itself, in both suites. Entries of a class are graded by the command of instructors.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from multiprocessing import get_context
from pathlib import Path

SEED = 20_201
FEW = 12  # programs that a process takes at a time
AT_ONCE = 200  # entries of a class


def main(listed, results):
    programs = json.loads(Path(listed).read_text(encoding="utf-8"))
    judged = sorted((one for one in programs if one["by"] == "grader"), key=lambda p: p["steps"])
    tasks = [(suite, one) for suite in ("visible", "hidden") for one in judged]
    entries = [one for one in programs if one["by"] == "grade"]
    with Path(results).open("a", encoding="utf-8") as out:
        for record in _each_record(tasks, entries):
            out.write(json.dumps(record) + "\n")
            out.flush()


def _each_record(tasks, entries):
    if tasks:
        with ProcessPoolExecutor(os.cpu_count(), get_context("spawn")) as pool:
            yield from pool.map(_judge, tasks, chunksize=FEW)
    for corpus in sorted({one["corpus"] for one in entries}):
        mine = [one for one in entries if one["corpus"] == corpus]
        for first in range(0, len(mine), AT_ONCE):
            yield from _grade_class(mine[first : first + AT_ONCE])


@cache
def _kit():
    from grader.isolation import Process, start_host
    from grader.steps import registry

    loaded = registry.load()
    host = start_host(Process(), loaded.limits)
    host.__enter__()  # it ends with this process
    return loaded, host


@cache
def _grader(suite, steps):
    from grader.engine.grading import make_grader

    registry, host = _kit()
    chosen = [registry.find(step) for step in steps]
    return make_grader(registry, host, suite, SEED, chosen, thorough=suite == "visible")


def _judge(task):
    from grader.intake.submission import read_folder

    suite, one = task
    registry, _ = _kit()
    steps = tuple(one["steps"])
    submission = read_folder(Path(one["folder"]), registry)
    report = _grader(suite, steps).grade(submission, [registry.find(step) for step in steps])
    return {"key": one["key"], "suite": suite, **_read_report(report.to_dict(), steps)}


def _grade_class(entries):
    """Grade entries as a class, and yield what the reports say."""
    with tempfile.TemporaryDirectory() as folder:
        out, classes = Path(folder) / "graded", Path(folder) / "class"
        for number, one in enumerate(entries):
            shutil.copytree(one["folder"], classes / f"s{number:04}")
        entry = [sys.executable, "-m", "grader", "grade", str(classes), "--out", str(out)]
        options = ["--seed", str(SEED), "--isolation", "bubblewrap", "--jobs", "2"]
        done = subprocess.run([*entry, *options], capture_output=True, text=True)
        if done.returncode > 1:
            sys.exit(f"the class cannot be graded: {done.stdout}{done.stderr}")
        for number, one in enumerate(entries):
            report = out / "reports" / f"s{number:04}.json"
            found = {"points": None, "steps": {}}  # nobody has graded it
            if report.exists():
                read = json.loads(report.read_text(encoding="utf-8"))
                found = _read_report(read, one["steps"])
            yield {"key": one["key"], "suite": "hidden", **found}


def _read_report(report, steps):
    """Return what a report says of these steps: statuses, points, causes and sentences."""
    mine = [step for step in report["steps"] if step["step"] in steps]
    return {
        "points": sum(step["points"] for step in mine),
        "steps": {
            step["step"]: {
                "status": step["status"],
                "own": step["on_own_steps"],
                "message": step["message"],
                "checks": {check["check"]: _read_check(check) for check in step["checks"]},
            }
            for step in mine
        },
    }


def _read_check(check):
    cause = check["diagnosis"] or {}
    says = [check["message"], *(cause.get(name, "") for name in ("says", "hint"))]
    return [check["status"], check["points"], cause.get("misconception", ""), *says]


if __name__ == "__main__":
    main(*sys.argv[1:])
