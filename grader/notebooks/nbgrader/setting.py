"""Choose how a course is graded: the isolation, the secret, and the steps of an assignment."""

import contextlib
import os
from collections.abc import Set
from pathlib import Path

from grader.classroom import hidden_inputs, judge
from grader.classroom.judge import Exam
from grader.engine.kit_digest import kit_digest
from grader.report.problem import Problem, need_torch
from grader.steps.registry import load

SECRET_FILE = ".nopeek-secret"
DAMAGED = (
    "{} does not hold a secret that nopeek has written: restore it from a copy. Without it, a "
    "new secret is made, and what is graded from then on has other hidden inputs"
)


def read_secret(course: Path) -> tuple[bytes, str]:
    """Return the secret of the hidden inputs, and what the instructor should know of it.

    It is made once and stored in the course's folder. Raise Problem if it is damaged.
    """
    path, told = course / SECRET_FILE, ""
    with contextlib.suppress(FileExistsError):
        descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        with os.fdopen(descriptor, "w") as file:
            made = hidden_inputs.new_secret()
            file.write(f"{made.hex()} {hidden_inputs.prove(made)}\n")
        told = f"{path} was made: it makes the hidden inputs, so keep it, and keep it to yourself."
    try:
        text, proof = path.read_text(encoding="ascii").split()
        secret = bytes.fromhex(text)
    except ValueError:
        raise Problem(DAMAGED.format(path)) from None
    if len(secret) != hidden_inputs.SIZE or hidden_inputs.prove(secret) != proof:
        raise Problem(DAMAGED.format(path))
    return secret, told or hidden_inputs.find_open(path)


def exam(isolation: str, secret: bytes, seed: int, functions: Set[str]) -> Exam:
    """Return the exam on the steps of these functions.

    Raise Problem, SandboxError or KitError if that fails.
    """
    need_torch()
    steps = (step for step in load().steps if functions & {one.name for one in step.functions})
    ids, key = tuple(step.id for step in steps), hidden_inputs.derive_key(secret, seed)
    return Exam("hidden", seed, judge.probe_isolation(isolation), ids, kit_digest(), key)
