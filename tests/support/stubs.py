"""The stubs as they are handed out; the files in `exercises/` may have been worked on."""

from pathlib import Path

from grader.steps import registry
from grader.steps.stubs import stub_of


def stub_text(step: str) -> str:
    """The stub of the step with that id."""
    return stub_of(registry.load().find(step))


def write_stubs(folder: Path) -> Path:
    """Writes the stubs of all steps into a new folder."""
    folder.mkdir(parents=True)
    for step in registry.load().steps:
        (folder / step.filename).write_text(stub_of(step), encoding="utf-8")
    return folder
