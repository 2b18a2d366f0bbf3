"""Hold what a student hands in: known names, regular files, bounded sizes; never run."""

import codecs
import hashlib
import io
import re
import tokenize
import unicodedata
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from grader.intake.filenames import module_name, module_path
from grader.intake.folders_and_zips import File, Folder, Spot, Tree
from grader.intake.folders_and_zips import SubmissionError as SubmissionError  # for importers
from grader.report.sanitize import list_names
from grader.steps.registry import Registry

MAX_SOURCE = 1_000_000
MAX_MODULES = 40
NOT_TEXT = "it is neither UTF-8 text nor text in the encoding that it names: save it as UTF-8"
# Encodings of plain text. Python has others: some are slow, and some do not encode text.
_ENCODINGS = re.compile(
    r"utf-8(-sig)?|ascii|cp\d{3,4}|iso8859-\d{1,2}|koi8-[rtu]|mac-\w+|gbk|gb2312|gb18030|big5"
    r"(hkscs)?|shift_jis|euc_(jp|kr)|tis-620"
)


@dataclass(frozen=True)
class Submission:
    """A student's sources by step id, and the reason for each file that could not be read.

    warnings: what had to be passed over, or guessed, in order to read it. modules: sources of the
    student's own modules beside the steps, by the name they are imported as. unread: files that may
    be work, and are not read.
    """

    id: str
    sources: Mapping[str, str] = field(repr=False)
    refused: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    modules: Mapping[str, str] = field(default_factory=dict, repr=False)
    unread: tuple[str, ...] = ()

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
        return {**self.sources, **{f"{name}.py": text for name, text in self.modules.items()}}

    def texts(self) -> dict[str, tuple[str, str]]:
        """Return every module that a worker needs: its source, and the file name shown for it."""
        return {
            name: (text, f"exercises/{module_path(name, self.modules)}")
            for name, text in {**self.modules, **self.sources}.items()
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
        return {
            text: known.intersection(re.findall(r"\w+", unicodedata.normalize("NFKC", text)))
            for text in ({*self.files.values()} if known else ())
        }


def decode_source(data: bytes) -> str:
    """Return a source file's text as Python reads it: UTF-8, or the encoding of its PEP 263 line.

    Raise SubmissionError if it is too long, or is not text.
    """
    if len(data) > MAX_SOURCE:
        raise SubmissionError(f"it is longer than {MAX_SOURCE:,} bytes")
    try:
        text = data.decode(find_encoding(data))
    except (SyntaxError, ValueError) as error:
        raise SubmissionError(NOT_TEXT) from error
    if "\0" in text:
        raise SubmissionError("it contains a null byte: save it as UTF-8")
    return text.replace("\r\n", "\n")


def find_encoding(data: bytes) -> str:
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


def choose_modules(found: Mapping[str, Mapping[str, str]]) -> tuple[dict[str, str], dict[str, str]]:
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
            files = list_names([*texts.values()])
            reason = f"exercises.{name} could be any of {files}: keep one of them"
        elif len(modules) == MAX_MODULES or size > MAX_SOURCE:
            reason = f"only {MAX_MODULES} files and {MAX_SOURCE:,} characters beside steps are read"
        else:
            (modules[name],) = texts
            continue
        unread |= dict.fromkeys(texts.values(), reason)
    return modules, unread


def refusal(filename: str, reason: object) -> str:
    """Return the sentence for a file that could not be read."""
    return f"{filename} cannot be read: {reason}."


def read_text(file: File) -> str:
    """Return the text of a source file. Raise SubmissionError if it cannot be read."""
    return decode_source(file.read(MAX_SOURCE + 1))


@contextmanager
def list_own(folder: Path) -> Iterator[list[File]]:
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
    with list_own(folder) as files:
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
