"""A class to grade: right work, known mistakes and unfinished work, no two alike."""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from grader.answer_key.variants import FAIR, MISTAKES, Variant, read
from grader.steps.paths import ROOT
from grader.steps.registry import Step

Work = Mapping[str, str]
"""A student's sources, by step."""
# What students hand in, in turn.
KINDS = 2 * ("right", "fair", "mistake", "right", "mistake") + ("stub", "fair", "mistake")


def _text(folder: str, step: Step) -> str:
    return (ROOT / folder / step.filename).read_text(encoding="utf-8")


def _spread(variants: Sequence[Variant]) -> Iterator[Variant]:
    """All of them, again and again, neighbours far apart."""
    number = len(variants)
    stride = next(n for n in itertools.count(7) if number % n or number == 1)
    return (variants[i * stride % number] for i in itertools.count())


def _work(kind: str, steps: Sequence[Step], known: Mapping[str, Iterator[Variant]]) -> Work:
    """Right steps, but for one variant, or unwritten from the middle on."""
    work = {step.id: _text("solutions", step) for step in steps}
    if kind == "stub":
        unwritten = steps[len(steps) // 2 :]
        work.update({step.id: _text("exercises", step) for step in unwritten})
    elif kind != "right":
        variant = next(known[kind])
        work[variant.step] = variant.source
    return work


def each_student(count: int, steps: Sequence[Step]) -> Iterator[tuple[str, Work]]:
    """So many students, one after the other, and their work on these steps; always the same."""
    folders = {"fair": FAIR, "mistake": MISTAKES}
    known = {
        kind: _spread([variant for step in steps for variant in read(folder, step)])
        for kind, folder in folders.items()
    }
    for number, kind in zip(range(count), itertools.cycle(KINDS)):
        name = f"student{number:05d}"
        work = _work(kind, steps, known)
        yield name, {step: f"{text}\n# {name}\n" for step, text in work.items()}


def students(count: int, steps: Sequence[Step]) -> dict[str, Work]:
    """All of them at once."""
    return dict(each_student(count, steps))


def hand_in(everyone: Iterable[tuple[str, Work]], folder: Path) -> Path:
    """Writes a folder of step files for every student."""
    for name, work in everyone:
        (folder / name).mkdir(parents=True, exist_ok=True)
        for step, text in work.items():
            (folder / name / f"{step}.py").write_text(text, encoding="utf-8")
    return folder
