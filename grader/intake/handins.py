"""Read one student's hand-in, wherever its files are, into a Submission.

The files are looked for in this order: at the top and in `exercises` and `notebooks` below it; in
the only folder that has step files; in the only folder or zip that there is. This continues for a
few levels. Two folders with step files, neither called `exercises`, are ambiguous, and the
submission is refused. The only zip beside files or a folder is read after them. Other zips, and
folders with step files, are ignored there, with a warning. If nothing but stubs is read, and they
may hold work, the submission is refused.

A step's file is the one with exactly its name. Otherwise it is the only file whose name clearly
means that step (`grader/intake/filenames.py`), with a note. If a step has a file in several of
these places, the first one that is written is used. If a step is both in a file and in a notebook,
the file is used, unless it is still the stub and the notebook is not. Every file and notebook that
is passed over gets a warning. A stub gives way to a written copy beside it. Two notebooks that are
equally likely, and have other code for a step, are ambiguous. Other `.py` files beside them are the
student's own modules.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from typing import BinaryIO, Protocol, runtime_checkable

from grader.intake import notebooks
from grader.intake.archives import Archive
from grader.intake.filenames import list_names, stem_of, step_meant
from grader.intake.folders import Place, SubmissionError
from grader.intake.ipynb import MAX_NOTEBOOK
from grader.intake.notebooks import Notebook, Room
from grader.intake.submission import (
    MARK,
    MAX_SOURCE,
    Submission,
    decode_source,
    own_modules,
    refusal,
)
from grader.report.names import show_name
from grader.steps.registry import Registry, Step
from grader.steps.stubs import is_untouched, solutions

MAX_DOWN = 4
MAX_LOOKED_INTO = 50
MAX_LOOKED_BESIDE = 4
MAX_NOTEBOOKS = 40
ROOMS = ("exercises", "notebooks")
PACKED = re.compile(r".*\.(zip|tar|tgz|tbz2?|txz|gz|bz2|xz|zst|7z|rar)", re.IGNORECASE | re.DOTALL)


# A browser adds the second ending.
NOTEBOOK = re.compile(r"(.*)\.ipynb(?:\.txt|\.json)?", re.IGNORECASE | re.DOTALL)


@runtime_checkable
class HasFiles(Protocol):
    """A place whose files can be opened; those of an archive cannot."""

    def file(self, name: str) -> BinaryIO:
        """Return a regular file, open for reading."""


def is_notebook(name: str) -> bool:
    """Return whether the name is that of a notebook."""
    return NOTEBOOK.fullmatch(name) is not None


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
        archive = Archive.open(until.enter_context(place.file(name)))
        archive.changed = place.modified(name)
        return archive
    except FileNotFoundError as error:
        raise SubmissionError(f"{show_name(name)} cannot be read: it is not there") from error
    except SubmissionError as error:
        raise SubmissionError(f"{show_name(name)} cannot be read: {error}") from error


def _rooms(place: Place, registry: Registry, names: Sequence[str]) -> dict[str, Place]:
    """Return those of the folders that can be read and hold step files or notebooks."""
    rooms: dict[str, Place] = {}
    for name in names:
        try:
            room = place.into(name)
            if has_known(room, registry):
                rooms[name] = room
        except SubmissionError:
            continue
    return rooms


def home(
    place: Place,
    registry: Registry,
    until: ExitStack,
    past_notebooks: bool = False,
    unread: dict[str, Place | None] | None = None,
    down: int = MAX_DOWN,
) -> dict[str, Place]:
    """Return the place, or places, of the step files and notebooks; the first has precedence.

    Each comes with its name below the others, which is "" for the place around them. Raise
    SubmissionError if there are none. past_notebooks: whether a place counts only for its step
    files, so that notebooks do not hide a folder beside them. unread: receives the folders beside
    these places that are ignored, by name, and archives without what is in them. down: how many
    levels to look into.
    """
    for level in range(down):
        known = [name for name in place.files() if is_known(name, registry)]
        past = past_notebooks and all(map(is_notebook, known))
        here = {"": place} if known and not past else {}
        folders = place.folders()
        named = _rooms(place, registry, [name for name in ROOMS if name in folders])
        rooms = {**here, **named} or _rooms(place, registry, folders[:MAX_LOOKED_INTO])
        if here or named or len(rooms) == 1:
            return _with_zip(place, rooms, registry, until, unread)
        if rooms:
            names = ", ".join(show_name(name) for name in list(rooms)[:4])
            raise SubmissionError(
                f"several folders hold step files ({names}): put all files into one"
            )
        packed = [name for name in place.files() if is_packed(name)]
        if len(packed) > 1:
            raise SubmissionError(
                f"it holds {len(packed)} archives: keep the one that counts, or put all in one"
            )
        if packed and len(folders) == 1:
            deeper = _deeper(place, folders[0], registry, until, past_notebooks, down - level - 1)
            if deeper:
                return _with_zip(place, deeper, registry, until, unread)
        if packed:
            place = open_zip(place, packed[0], until)
        elif len(folders) == 1:
            place = place.into(folders[0])
        else:
            break
    raise SubmissionError(_nothing(registry))


def _deeper(
    place: Place, name: str, registry: Registry, until: ExitStack, past_notebooks: bool, down: int
) -> dict[str, Place]:
    """Return the places in a folder that has a zip beside it; none if there are none.

    A student may leave the zip of the bundle beside the folder that was unpacked from it.
    """
    try:
        found = home(place.into(name), registry, until, past_notebooks, down=down)
    except SubmissionError:
        return {}
    return {f"{name}/{below}": room for below, room in found.items()}


def _with_zip(
    place: Place,
    rooms: Mapping[str, Place],
    registry: Registry,
    until: ExitStack,
    unread: dict[str, Place | None] | None,
) -> dict[str, Place]:
    """Return these places, and after them those in the only zip beside them.

    A student may hand in the zip of `make handin`, and leave an earlier file or folder beside it.
    """
    inside = [place, *(room for below, room in rooms.items() if below and "/" not in below)]
    packed = [(name, room) for room in inside for name in room.files() if is_packed(name)]
    zipped: dict[str, Place] = {}
    if len(packed) == 1:
        ((name, room),) = packed
        with suppress(SubmissionError):
            found = home(open_zip(room, name, until), registry, until)
            zipped = {f"{name}/{below}": there for below, there in found.items()}
    if unread is not None:
        used = {name.partition("/")[0] for name in rooms}
        others = [name for name in place.folders() if name not in used][:MAX_LOOKED_INTO]
        unread |= _rooms(place, registry, others)
        unread |= {name: None for name, _ in packed if not zipped}
    return {**rooms, **zipped}


def _zip_of(name: str) -> str:
    """Return the zip that a place is in, or ""."""
    first, slash, _ = name.partition("/")
    return first if slash and is_packed(first) else ""


def _nothing(registry: Registry) -> str:
    first, last = registry.steps[0].filename, registry.steps[-1].filename
    return f"it holds no notebook and none of the files {first} … {last}"


class _Reading:
    """One submission, while it is being read."""

    def __init__(self, registry: Registry) -> None:
        self.registry = registry
        self.sources: dict[str, str] = {}
        self.labels: dict[str, str] = {}  # the readers' names for the files of these steps
        self.modules: dict[str, str] = {}
        self.refused: dict[str, str] = {}
        self.passed_over: list[str] = []
        self.warnings: list[str] = []
        self.notebooks: list[tuple[str, Notebook]] = []
        self.broken: dict[str, str] = {}  # the reasons for notebooks that are named after a step
        self.room = Room()

    def files(self, place: Place, prefix: str) -> None:
        """Read the step files of a place, and the student's own modules beside them.

        prefix: what precedes the place's file names for a reader.
        """
        present = place.files()
        meant: dict[str, list[str]] = {}
        for name in present:
            if step := step_meant(name, self.registry):
                meant.setdefault(step.id, []).append(name)
        for step in self.registry.steps:
            if step.id in meant:
                self._file(place, prefix, step, meant[step.id])
        modules, problems = own_modules(
            present, lambda name: place.read(name, MAX_SOURCE + 1), self.registry
        )
        for name in modules:
            if self.modules.get(name, modules[name]) != modules[name]:
                self.warnings.append(f"{prefix}{name}.py is ignored: another {name}.py is read.")
        self.modules = {**modules, **self.modules}
        self.warnings += problems
        self._note_overlooked(present)

    def note_beside(self, rooms: Mapping[str, Place], unread: Iterable[str]) -> None:
        """Warn about archives and folders beside the step files, whether they are read or not."""
        for name in dict.fromkeys(filter(None, map(_zip_of, rooms))):
            self.warnings.append(f"{show_name(name)} is read, too, after the files beside it.")
        for name in [*unread][:20]:
            advice = " If it holds steps, unpack it." if is_packed(name) else ""
            self.warnings.append(
                f"{show_name(name)} is ignored: only the files beside it are read.{advice}"
            )

    def _file(self, place: Place, prefix: str, step: Step, names: Sequence[str]) -> None:
        """Read the one file of a step in a place."""
        shown = {name: prefix + show_name(name) for name in names}
        others = [name for name in names if name != step.filename]
        told = list_names([shown[name] for name in others])
        exact = step.filename in names and not (others and self._is_stub(place, step))
        if exact:
            name = step.filename
            if others:
                self.warnings.append(f"{shown[name]} counts for its step; ignored: {told}.")
        elif len(others) > 1:
            self._refuse(step, f"{step.filename} could be any of {told}: keep one of them.")
            return
        else:
            name = others[0]
            untouched = (
                f", because {shown[step.filename]} is a stub" if step.filename in names else ""
            )
            self.warnings.append(f"{shown[name]} is read as {step.filename}{untouched}.")
        try:
            self._offer(step, prefix, decode_source(place.read(name, MAX_SOURCE + 1)))
        except SubmissionError as error:
            self._refuse(step, refusal(shown[name], error))

    def _is_stub(self, place: Place, step: Step) -> bool:
        """Return whether the file with the step's exact name is still the stub."""
        with suppress(SubmissionError):
            return is_untouched(decode_source(place.read(step.filename, MAX_SOURCE + 1)), step)
        return False

    def _offer(self, step: Step, prefix: str, source: str) -> None:
        """Take a step's file, unless that of an earlier place goes before it."""
        label, known = prefix + step.filename, self.labels.get(step.id, "")
        if known and is_untouched(self.sources[step.id], step) <= is_untouched(source, step):
            self.passed_over.append(f"{label} ({known} counts)")
            return
        if known:
            self.passed_over.append(f"{known} ({label} counts)")
        self.labels[step.id] = label
        self._set(step, source)

    def _refuse(self, step: Step, reason: str) -> None:
        """Note why a file cannot be read; without another the step cannot be graded."""
        if step.id in self.sources or step.id in self.refused:
            self.warnings.append(reason)
        else:
            self.refused[step.id] = reason

    def _set(self, step: Step, source: str) -> None:
        if step.id in self.refused:
            self.warnings.append(self.refused.pop(step.id))
        self.sources[step.id] = source

    def _note_overlooked(self, present: Sequence[str]) -> None:
        """Warn about source files that fit no step."""
        steps = tuple(f"step{step.number:02d}" for step in self.registry.steps)
        for name in sorted(present):
            nearly = stem_of(name) and name.casefold().startswith(steps)
            if nearly and len(self.warnings) < 20 and not is_known(name, self.registry):
                self.warnings.append(
                    f"{show_name(name)} is not read as a step: no step has that name."
                )

    def read_notebooks(self, place: Place, prefix: str) -> None:
        """Read the notebooks of a place, each under its name with the prefix."""
        names = [name for name in place.files() if is_notebook(name)]
        if len(names) > MAX_NOTEBOOKS:
            if prefix:
                self.warnings.append(f"{prefix} holds more than {MAX_NOTEBOOKS} notebooks.")
                return
            raise SubmissionError(f"it holds more than {MAX_NOTEBOOKS} notebooks")
        for name in names:
            try:
                data = place.read(name, MAX_NOTEBOOK + 1)
                read = notebooks.read(data, prefix + name, self.registry, self.room)
                self.notebooks.append((prefix + name, read))
            except SubmissionError as error:
                self._unreadable(prefix + name, error)

    def _unreadable(self, name: str, error: SubmissionError) -> None:
        sentence = refusal(show_name(name), error)
        self.warnings.append(sentence)
        self.broken.setdefault(NOTEBOOK.sub(r"\1", name.rpartition("/")[2]), sentence)

    def merge(self) -> None:
        """Take from the notebooks the steps that no file has."""
        if self.passed_over:
            named = ", ".join(self.passed_over)
            self.warnings.append(f"Ignored, because another file has the same step: {named}.")
        for step in self.registry.steps:
            offers = [
                (name, notebook) for name, notebook in self.notebooks if step.id in notebook.sources
            ]
            if offers:
                self._choose(step, offers)
            if step.id in self.broken and not self._has_written(step):
                self.refused.setdefault(step.id, self.broken[step.id])
        for name, notebook in self.notebooks:
            if not notebook.sources:
                self.warnings.append(
                    f"{show_name(name)} is ignored: it has no function of any step."
                )

    def has_only_stubs(self) -> bool:
        """Return whether there are step files, and all of them are untouched."""
        steps = map(self.registry.find, self.sources)
        return bool(self.sources) and not self.refused and not any(map(self._has_written, steps))

    def _has_written(self, step: Step) -> bool:
        return step.id in self.sources and not is_untouched(self.sources[step.id], step)

    def _choose(self, step: Step, offers: Sequence[tuple[str, Notebook]]) -> None:
        offers = sorted(offers, key=lambda offer: (_rank(step, *offer), "(" in offer[0], offer[0]))
        name, notebook = offers[0]
        places = [name for name, _ in offers]
        source, file = notebook.sources[step.id], self.labels.get(step.id, "")
        places += [file] if file else []
        stays = file and (self._has_written(step) or is_untouched(source, step))
        best = _rank(step, name, notebook)
        equal = [] if stays else [offer for offer in offers if _rank(step, *offer) == best]
        if len({_forget_places(notebook.sources[step.id]) for _, notebook in equal}) > 1:
            told = list_names([show_name(name) for name, _ in equal])
            self.sources.pop(step.id, None)
            self._refuse(step, f"{step.id} could be taken from any of {told}: keep one of them.")
            return
        chosen = file if stays else name
        if chosen == name:
            self._take(step, name, source)
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
        self._set(step, source)


def _rank(step: Step, name: str, notebook: Notebook) -> tuple[bool, bool, int, bool, int]:
    """Return a sort key that is smallest for the notebook to take a step from.

    The order is: one in which a function of the step is written; then the notebook that is named
    after the step; then the one with most of its functions written; then one that is not a copy;
    then the one with most functions of all steps, because others are for trials. A number such as
    `(1)` does not say which is newer: a browser gives it to the second download.
    """
    written = notebook.written[step.id]
    return (
        not written,
        name.rpartition("/")[2] != f"{step.id}.ipynb",
        -written,
        "copy" in name.lower(),
        -sum(notebook.written.values()),
    )


def _forget_places(source: str) -> str:
    """Return a source from a notebook without the marks that name its cells."""
    mark = MARK.partition("{")[0]
    return "\n".join(line for line in source.split("\n") if line and not line.startswith(mark))


def _read(
    place: Place, registry: Registry, until: ExitStack, past_notebooks: bool = False
) -> _Reading:
    reading = _Reading(registry)
    unread: dict[str, Place | None] = {}
    rooms = home(place, registry, until, past_notebooks, unread)
    reading.note_beside(rooms, unread)
    for name, room in rooms.items():
        prefix = f"{name.rstrip('/')}/" if name and len(rooms) > 1 else ""
        reading.files(room, prefix)
        reading.read_notebooks(room, prefix if "" in rooms or _zip_of(name) else "")
    reading.merge()
    if reading.has_only_stubs():
        _refuse_hidden_work(unread, registry, reading.room)
    return reading


def _refuse_hidden_work(unread: Mapping[str, Place | None], registry: Registry, room: Room) -> None:
    """Raise SubmissionError if there may be work beside step files that are all untouched."""
    looked = [name for name, there in unread.items() if there is not None][:MAX_LOOKED_BESIDE]
    hidden = [
        name
        for name, there in unread.items()
        if there is None or name not in looked or _has_work(there, registry, room)
    ]
    if hidden:
        named = list_names([show_name(name) for name in hidden])
        raise SubmissionError(
            f"its step files are untouched, but {named} may hold work: keep only what counts"
        )


def _has_work(place: Place, registry: Registry, room: Room) -> bool:
    """Return whether a folder has a written step that is not the kit's."""
    reading, right = _Reading(registry), solutions(registry)
    reading.room = room
    with suppress(SubmissionError):
        reading.files(place, "")
        reading.read_notebooks(place, "")
        reading.merge()
    return any(
        not is_untouched(source, registry.find(id)) and source != right.get(id)
        for id, source in reading.sources.items()
    )


def submission(student: str, place: Place, registry: Registry) -> Submission:
    """Return the submission in a location. Raise SubmissionError if it cannot be graded."""
    with ExitStack() as until:
        reading = _read(place, registry, until)
        if not (reading.sources or reading.refused or reading.broken):
            with suppress(SubmissionError):
                reading = _read(place, registry, until, past_notebooks=True)
    warnings = [warning for _, notebook in reading.notebooks for warning in notebook.warnings]
    if not reading.sources:
        why = dict.fromkeys([*reading.refused.values(), *reading.warnings])
        details = " ".join(list(why)[:3]).rstrip(".")
        raise SubmissionError(details or _nothing(registry))
    everything: Mapping[str, None] = dict.fromkeys([*reading.warnings, *warnings])
    return Submission(
        student, reading.sources, reading.refused, tuple(everything), modules=reading.modules
    )
