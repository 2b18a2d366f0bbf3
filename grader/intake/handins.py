"""Read one student's hand-in, wherever its files are, into a Submission.

The files are looked for in this order: at the top; in `exercises` and `notebooks`; in the only
folder that has step files; in the only folder or zip that there is. This continues for a few
levels. Two folders with step files, neither called `exercises`, are ambiguous, and the submission
is refused.

A step's file is the one with exactly its name. Otherwise it is the only file whose name clearly
means that step (`grader/intake/filenames.py`), with a note. If a step is both in a file and in a
notebook, the file is used unless it is still the stub. Other `.py` files beside them are the
student's own modules.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import BinaryIO, Protocol, runtime_checkable

from grader.intake import notebooks
from grader.intake.archives import Archive
from grader.intake.filenames import list_names, stem_of, step_meant
from grader.intake.folders import Place, SubmissionError
from grader.intake.ipynb import MAX_NOTEBOOK
from grader.intake.notebooks import Notebook, Room
from grader.intake.submission import MAX_SOURCE, Submission, decode_source, own_modules, refusal
from grader.report.names import show_name
from grader.steps.registry import Registry, Step
from grader.steps.stubs import is_untouched

MAX_DOWN = 4
MAX_LOOKED_INTO = 50
MAX_NOTEBOOKS = 40
ROOMS = ("exercises", "notebooks")
PACKED = re.compile(r".*\.(zip|tar|tgz|tbz2?|txz|gz|bz2|xz|zst|7z|rar)", re.IGNORECASE | re.DOTALL)


@runtime_checkable
class HasFiles(Protocol):
    """A place whose files can be opened; those of an archive cannot."""

    def file(self, name: str) -> BinaryIO:
        """Return a regular file, open for reading."""


def is_notebook(name: str) -> bool:
    """Return whether the name is that of a notebook."""
    return name.lower().endswith(".ipynb")


def is_packed(name: str) -> bool:
    """Return whether the name is that of a zip or of any other archive."""
    return PACKED.fullmatch(name) is not None


def is_known(name: str, registry: Registry) -> bool:
    """Return whether the name is that of a notebook, or clearly means a step file."""
    return is_notebook(name) or step_meant(name, registry) is not None


def has_known(place: Place, registry: Registry) -> bool:
    """Return whether this very folder has a step file or a notebook."""
    return any(is_known(name, registry) for name in place.files())


def open_zip(place: Place, name: str, until: ExitStack) -> Archive:
    """Return the zip of that name in a location, open as long as the stack is.

    Raise SubmissionError if it cannot be read or is not a zip.
    """
    try:
        if not isinstance(place, HasFiles):
            raise SubmissionError("it is an archive in an archive: unpack it and zip its files")
        if not name.lower().endswith(".zip"):
            raise SubmissionError("only zip archives are read: hand in a zip, or the files")
        return Archive.open(until.enter_context(place.file(name)))
    except FileNotFoundError as error:
        raise SubmissionError(f"{show_name(name)} cannot be read: it is not there") from error
    except SubmissionError as error:
        raise SubmissionError(f"{show_name(name)} cannot be read: {error}") from error


def _rooms(place: Place, registry: Registry) -> dict[str, Place]:
    """Return the readable folders directly below that hold step files or notebooks."""
    rooms: dict[str, Place] = {}
    for name in place.folders()[:MAX_LOOKED_INTO]:
        try:
            room = place.into(name)
            if has_known(room, registry):
                rooms[name] = room
        except SubmissionError:
            continue
    return rooms


def home(place: Place, registry: Registry, until: ExitStack) -> list[Place]:
    """Return the place, or places, of the step files and notebooks.

    Raise SubmissionError if there are none.
    """
    for _ in range(MAX_DOWN):
        if has_known(place, registry):
            return [place]
        rooms = _rooms(place, registry)
        named = [rooms[name] for name in ROOMS if name in rooms]
        if named or len(rooms) == 1:
            return named or list(rooms.values())
        if rooms:
            names = ", ".join(show_name(name) for name in list(rooms)[:4])
            raise SubmissionError(f"several folders hold step files ({names}): keep one of them")
        folders, packed = place.folders(), [name for name in place.files() if is_packed(name)]
        if len(packed) > 1:
            raise SubmissionError(f"it holds {len(packed)} archives: keep the one that counts")
        if packed:
            place = open_zip(place, packed[0], until)
        elif len(folders) == 1:
            place = place.into(folders[0])
        else:
            break
    raise SubmissionError(_nothing(registry))


def _nothing(registry: Registry) -> str:
    first, last = registry.steps[0].filename, registry.steps[-1].filename
    return f"it holds no notebook and none of the files {first} … {last}"


class _Reading:
    """One submission, while it is being read."""

    def __init__(self, registry: Registry) -> None:
        self.registry = registry
        self.sources: dict[str, str] = {}
        self.modules: dict[str, str] = {}
        self.refused: dict[str, str] = {}
        self.warnings: list[str] = []
        self.notebooks: list[tuple[str, Notebook]] = []
        self.room = Room()

    def files(self, place: Place) -> None:
        """Read the step files of a place, and the student's own modules beside them."""
        present = place.files()
        meant: dict[str, list[str]] = {}
        for name in present:
            if step := step_meant(name, self.registry):
                meant.setdefault(step.id, []).append(name)
        for step in self.registry.steps:
            if step.id in meant and step.id not in self.sources:
                self._file(place, step, meant[step.id])
        modules, problems = own_modules(
            present, lambda name: place.read(name, MAX_SOURCE + 1), self.registry
        )
        self.modules = {**modules, **self.modules}
        self.warnings += problems
        self._note_overlooked(present)

    def _file(self, place: Place, step: Step, names: Sequence[str]) -> None:
        """Read the one file of a step; without it the step cannot be graded."""
        others = [name for name in names if name != step.filename]
        if step.filename in names:
            name = step.filename
            if others:
                told = list_names([show_name(other) for other in others])
                self.warnings.append(f"{name} counts for its step; ignored: {told}.")
        elif len(others) > 1:
            told = list_names([show_name(other) for other in others])
            self.refused[step.id] = f"{step.filename} could be any of {told}: keep one of them."
            return
        else:
            name = others[0]
            self.warnings.append(f"{show_name(name)} is read as {step.filename}.")
        try:
            self.sources[step.id] = decode_source(place.read(name, MAX_SOURCE + 1))
        except SubmissionError as error:
            self.refused[step.id] = refusal(show_name(name), error)

    def _note_overlooked(self, present: Sequence[str]) -> None:
        """Warn of source files that fit no step, and of archives beside the steps."""
        steps = tuple(f"step{step.number:02d}" for step in self.registry.steps)
        for name in sorted(present):
            nearly = stem_of(name) and name.casefold().startswith(steps)
            if nearly and len(self.warnings) < 20 and not is_known(name, self.registry):
                self.warnings.append(
                    f"{show_name(name)} is not read as a step: no step has that name."
                )
            if is_packed(name):
                self.warnings.append(
                    f"{show_name(name)} is ignored, because there are step files beside it."
                )

    def read_notebooks(self, place: Place) -> None:
        """Read the notebooks of a place."""
        names = [name for name in place.files() if is_notebook(name)]
        if len(names) > MAX_NOTEBOOKS:
            raise SubmissionError(f"it holds more than {MAX_NOTEBOOKS} notebooks")
        for name in names:
            try:
                data = place.read(name, MAX_NOTEBOOK + 1)
                self.notebooks.append((name, notebooks.read(data, name, self.registry, self.room)))
            except SubmissionError as error:
                self._unreadable(name, error)

    def _unreadable(self, name: str, error: SubmissionError) -> None:
        sentence = refusal(show_name(name), error)
        steps = [step.id for step in self.registry.steps if step.id == name[: -len(".ipynb")]]
        self.warnings.append(sentence)
        for id in steps:
            self.refused.setdefault(id, sentence)

    def merge(self) -> None:
        """Take the steps from the notebooks that no file has."""
        for step in self.registry.steps:
            offers = [
                (name, notebook) for name, notebook in self.notebooks if step.id in notebook.sources
            ]
            if offers:
                self._choose(step, sorted(offers, key=lambda offer: _rank(step, *offer)))
        for name, notebook in self.notebooks:
            if not notebook.sources:
                self.warnings.append(
                    f"{show_name(name)} is ignored: it has no function of any step."
                )

    def _choose(self, step: Step, offers: Sequence[tuple[str, Notebook]]) -> None:
        name, notebook = offers[0]
        places = [name for name, _ in offers]
        if step.id in self.sources:
            places.append(step.filename)
        chosen = step.filename
        if step.id not in self.sources or is_untouched(self.sources[step.id], step):
            chosen = name
            self._take(step, name, notebook.sources[step.id])
        others = ", ".join(show_name(place) for place in places if place != chosen)
        if others:
            self.warnings.append(
                f"{step.id} is taken from {show_name(chosen)}; it is also in {others}."
            )

    def _take(self, step: Step, name: str, source: str) -> None:
        if len(source.encode()) > MAX_SOURCE:
            self.sources.pop(step.id, None)
            self.refused[step.id] = refusal(show_name(name), "its code is too long")
            return
        if step.id in self.refused:
            self.warnings.append(self.refused.pop(step.id))
        self.sources[step.id] = source


def _rank(step: Step, name: str, notebook: Notebook) -> tuple[bool, int, bool, str]:
    """Return a sort key that is smallest for the notebook to take a step from.

    The order is: the notebook that is named after the step; then the one with most of its functions
    written; then one that is not a copy.
    """
    return (
        name != f"{step.id}.ipynb",
        -notebook.written[step.id],
        "copy" in name.lower() or "(" in name,
        name,
    )


def submission(student: str, place: Place, registry: Registry) -> Submission:
    """Return the submission in a location. Raise SubmissionError if it cannot be graded."""
    reading = _Reading(registry)
    with ExitStack() as until:
        for room in home(place, registry, until):
            reading.files(room)
            reading.read_notebooks(room)
    reading.merge()
    warnings = [warning for _, notebook in reading.notebooks for warning in notebook.warnings]
    if not reading.sources:
        why = dict.fromkeys([*reading.refused.values(), *reading.warnings])
        details = " ".join(list(why)[:3]).rstrip(".")
        raise SubmissionError(details or _nothing(registry))
    everything: Mapping[str, None] = dict.fromkeys([*reading.warnings, *warnings])
    return Submission(
        student, reading.sources, reading.refused, tuple(everything), modules=reading.modules
    )
