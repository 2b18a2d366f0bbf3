"""Hold what a student hands in: known names, regular files, bounded sizes; never run."""

from __future__ import annotations

import bisect
import codecs
import hashlib
import io
import re
import tokenize
import unicodedata
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path

from grader.intake.filenames import kind_of, list_names, module_name, module_path, step_meant
from grader.intake.folders import Folder
from grader.intake.folders import SubmissionError as SubmissionError  # it is imported from here
from grader.intake.search import File, Spot, Tree
from grader.isolation.survey import survey
from grader.isolation.worker.cells import CELL, is_notebook, split_lines
from grader.steps.registry import Registry, Step

MAX_SOURCE = 1_000_000
MAX_MODULES = 40
NOT_TEXT = "it is neither UTF-8 text nor text in the encoding that it names: save it as UTF-8"
MARK = CELL + " {cell}"  # the line above a cell in the text of a notebook
LEFT_OUT = "#| "  # before a line of a notebook that is not Python
WRONG = "#! "  # before the line in which Python gives up
# Encodings of plain text. Python has others: some are slow, and some do not encode text.
_ENCODINGS = re.compile(
    r"utf-8(-sig)?|ascii|cp\d{3,4}|iso8859-\d{1,2}|koi8-[rtu]|mac-\w+|gbk|gb2312|gb18030|big5"
    r"(hkscs)?|shift_jis|euc_(jp|kr)|tis-620"
)
_PLACE = re.compile(r".{1,80}, cell \d{1,6}|cell In\[\d{1,6}\]")  # in a mark


@dataclass(frozen=True)
class Submission:
    """A student's sources by step id, and the reason for each file that could not be read."""

    id: str
    sources: Mapping[str, str] = field(repr=False)
    refused: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    """What had to be passed over, or guessed, in order to read it."""
    modules: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Sources of the student's own modules beside the steps, by the name they are imported as."""
    unread: tuple[str, ...] = ()
    """Files that may be work, and are not read."""

    @property
    def sha256(self) -> str:
        """Return a hash of all files, by name, independent of where they are."""
        state = hashlib.sha256()
        for name, source in sorted(self.files.items()):
            data = source.encode("utf-8", "surrogatepass")
            state.update(f"{name}\0{len(data)}\0".encode() + data)
        return state.hexdigest()

    @property
    def files(self) -> dict[str, str]:
        """Return all sources: steps by their ids, the student's own modules by `name.py`."""
        own = {f"{name}.py": source for name, source in self.modules.items()}
        return {**self.sources, **own}

    def texts(self) -> dict[str, tuple[str, str]]:
        """Return every module that a worker needs: its source, and the file name shown for it."""
        every = {**self.modules, **self.sources}
        return {
            name: (source, f"exercises/{module_path(name, self.modules)}")
            for name, source in every.items()
        }

    def reachable(self, step: str) -> str:
        """Return the step's source, and those of the student's own modules that it may import."""
        texts, left = [self.sources.get(step, "")], dict(self.modules)
        for text in texts:  # which grows
            near = self._named.get(text, ())
            texts += [left.pop(name) for name in sorted(left) if name.partition(".")[0] in near]
        return "\n".join(texts)

    @cached_property
    def _named(self) -> dict[str, set[str]]:
        """Return the own modules and packages that each text names, as Python reads names."""
        known = {name.partition(".")[0] for name in self.modules}
        texts = {*self.files.values()} if known else set()
        return {
            text: known.intersection(re.findall(r"\w+", unicodedata.normalize("NFKC", text)))
            for text in texts
        }


def decode_source(data: bytes) -> str:
    """Return a source file's text as Python reads it: UTF-8, or the encoding of its PEP 263 line.

    Raise SubmissionError if it is too long, or is not text.
    """
    if len(data) > MAX_SOURCE:
        raise SubmissionError(f"it is longer than {MAX_SOURCE:,} bytes")
    try:
        text = data.decode(_find_encoding(data))
    except (SyntaxError, ValueError) as error:
        raise SubmissionError(NOT_TEXT) from error
    if "\0" in text:
        raise SubmissionError("it contains a null byte: save it as UTF-8")
    return text.replace("\r\n", "\n")


def encode_source(text: str) -> bytes:
    """Return a file that `decode_source` reads as this text, which may name its own encoding."""
    data = text.encode("utf-8", "replace")
    try:
        name = _find_encoding(data)
        return text.encode(name) if name != "utf-8-sig" else data
    except ValueError:
        return codecs.BOM_UTF8 + data


def _find_encoding(data: bytes) -> str:
    """Return the encoding that a source names in its first two lines, UTF-8 by default.

    A byte order mark counts more. Raise SyntaxError or ValueError for an encoding that Python or
    nopeek does not read.
    """
    if data.startswith(codecs.BOM_UTF8):
        return "utf-8-sig"
    name, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    name = codecs.lookup(name).name
    if not _ENCODINGS.fullmatch(name):
        raise ValueError(name)
    return "utf-8-sig" if name == "utf-8" else name


def choose_modules(
    found: Mapping[str, Mapping[str, str]],
) -> tuple[dict[str, str], dict[str, str]]:
    """Return the student's own modules by name, and the files that are not read, with the reason.

    found: for each name the texts, with the file that each is in. Of two with one name neither is
    read, and only so many.
    """
    modules: dict[str, str] = {}
    unread: dict[str, str] = {}
    size = 0
    for name, texts in sorted(found.items()):
        size += sum(map(len, texts))
        if len(texts) > 1:
            told = list_names([*texts.values()])
            reason = f"exercises.{name} could be any of {told}: keep one of them"
        elif len(modules) == MAX_MODULES:
            reason = f"only {MAX_MODULES} files beside the steps are read"
        elif size > MAX_SOURCE:
            reason = "the files beside the steps are too long"
        else:
            (modules[name],) = texts
            continue
        unread |= dict.fromkeys(texts.values(), reason)
    return modules, unread


def refusal(filename: str, reason: object) -> str:
    """Return the sentence for a file that could not be read."""
    return f"{filename} cannot be read: {reason}."


def place(source: str, number: int, filename: str) -> tuple[str, str]:
    """Return the place of a source's line for a reader, and the line, or ("", "").

    The place is a file and a line. If the source was built from a notebook, it is the cell and the
    line in that cell.
    """
    lines, marks = lines_of(source), _find_marks(source)
    if not 0 < number <= len(lines):
        return "", ""
    text = lines[number - 1].strip()
    if before := bisect.bisect_left(marks, (number,)):
        above, cell = marks[before - 1]
        return f"{cell}, line {number - above}", text
    return f"{filename}, line {number}", text


lines_of = lru_cache(maxsize=2)(split_lines)


@lru_cache(maxsize=2)
def _find_marks(source: str) -> list[tuple[int, str]]:
    """Return the number of each line that is a notebook's mark, with the cell that it names.

    A submitted file may forge them. It then says where its own lines are.
    """
    lines = enumerate(lines_of(source) if is_notebook(source) else (), 1)
    found = ((n, _PLACE.match(line, len(CELL) + 1)) for n, line in lines if line.startswith(CELL))
    return [(number, cell[0]) for number, cell in found if cell]


def forget_lines() -> None:
    """Forget the lines of the last sources."""
    lines_of.cache_clear()
    _find_marks.cache_clear()


def from_notebook(source: str) -> bool:
    """Return whether a source was built from a notebook's cells."""
    return bool(_find_marks(source))


def find_left_open(source: str, name: str) -> tuple[str, str]:
    """Return the place and the text of the wrong line for which a function is left out, or ""."""
    found, wrong = False, 0
    for number, line in enumerate([*lines_of(source), ""] if is_notebook(source) else (), 1):
        if line.startswith((LEFT_OUT, WRONG)):
            wrong = number if line.startswith(WRONG) else wrong
            found = found or line[len(WRONG) :].split("(")[0].split() == ["def", name]
        elif found:
            where, text = place(source, wrong, "")
            return where, text.removeprefix(WRONG).strip()
        else:
            wrong = 0
    return "", ""


def read_text(file: File) -> str:
    """Return the text of a source file. Raise SubmissionError if it cannot be read."""
    return decode_source(file.read(MAX_SOURCE + 1))


@contextmanager
def _list_own(folder: Path) -> Iterator[list[File]]:
    """Return the files in the user's own folder. Zips are not opened there."""
    if not folder.is_dir():
        raise SubmissionError(f"there is no folder {folder}")
    with Folder.open(folder) as place:
        tree = Tree(zips=0)
        tree.add(Spot(place))
        yield tree.find_files()


def read_folder(folder: Path, registry: Registry, name: str | None = None) -> Submission:
    """Return the step files in the user's own folder, which have exactly their names."""
    sources: dict[str, str] = {}
    refused: dict[str, str] = {}
    unread: dict[str, str] = {}
    own: dict[str, dict[str, str]] = {}
    with _list_own(folder) as files:
        for file in files:
            step = registry.by_filename.get(file.name) if len(file.path) == 1 else None
            module = module_name(file.path, registry)
            try:
                if step:
                    sources[step.id] = read_text(file)
                elif module:
                    own.setdefault(module, {})[read_text(file)] = file.shown
            except SubmissionError as error:
                if step:
                    refused[step.id] = refusal(file.name, error)
                else:
                    unread[file.shown] = str(error)
    modules, more = choose_modules(own)
    unread |= more
    told = tuple(f"{file} is not read: {reason}." for file, reason in unread.items())
    return Submission(name or folder.resolve().name, sources, refused, told, modules, tuple(unread))


def find_misnamed(folder: Path, step: Step, registry: Registry) -> str:
    """Return a file of the user's own folder that seems to be meant for a step, or ""."""
    names = {function.name for function in step.functions}
    with _list_own(folder) as files:
        sources = [file for file in files if kind_of(file.name) == "source"]
        for file in sorted(sources, key=lambda file: step_meant(file.name, registry) != step):
            with suppress(SubmissionError):
                found = {one.name for one in survey(read_text(file)).bindings}
                if file.name not in registry.by_filename and not names.isdisjoint(found):
                    return file.shown
    return ""
