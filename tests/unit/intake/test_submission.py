"""Reading what is handed in: regular files of known names; all else is refused or ignored."""

import os
import socket
import stat

import pytest

from grader.intake.submission import (
    MAX_SOURCE,
    NOT_TEXT,
    SubmissionError,
    decode_source,
    read_folder,
)
from tests.support.handed_in import FILE, posix, spread
from tests.support.processes import descriptors

STEP, MASK = "step02_scores", "step03_mask.py"
SOURCE = "def attention_scores(q, k):\n    return q @ k.T\n"


@pytest.fixture
def read(steps, tmp_path):
    """Reads the folder that the test has filled."""
    return lambda: read_folder(tmp_path, steps)


# What is refused: how the file comes to be -> the reason.


def elsewhere(path, text=SOURCE):
    """A file outside of the submission."""
    outside = path.parent.parent / f"outside-{path.parent.name}.py"
    outside.write_text(text)
    return outside


def listening_socket(path):
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))


def device(path):
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 5))
    except PermissionError:
        pytest.skip("making a device takes more rights")


def huge(path):
    with path.open("wb") as file:
        file.truncate(10 * 2**30)  # a hole: it takes no room on the disk


def writes(data):
    return lambda path: path.write_bytes(data)


NULL = "it contains a null byte: save it as UTF-8"
IRREGULAR = "it is not a regular file"
REFUSED = {
    "link": (lambda path: path.symlink_to(elsewhere(path)), IRREGULAR),
    "dangling link": (lambda path: path.symlink_to(path.with_name("nowhere")), IRREGULAR),
    "pipe that nobody writes to": (os.mkfifo, IRREGULAR),
    "socket": (listening_socket, IRREGULAR),
    "device": (device, IRREGULAR),
    "10 GiB": (huge, "it is longer than 1,000,000 bytes"),
    "one byte too long": (writes(b"#" * (MAX_SOURCE + 1)), "it is longer than 1,000,000 bytes"),
    "Latin-1": (writes(b"# caf\xe9\n"), NOT_TEXT),
    "UTF-16 without a mark": (writes("x = 1\n".encode("utf-16-le")), NULL),
    "says it is ASCII": (writes("# coding: ascii\n# é\n".encode()), NOT_TEXT),
    "no encoding": (writes(b"# coding: zlib\nx = 1\n"), NOT_TEXT),
    "unknown encoding": (writes(b"# coding: klingon\nx = 1\n"), NOT_TEXT),
    "null byte": (writes(b"x = 1\0\n"), NULL),
}


@posix
@pytest.mark.parametrize(("make", "reason"), REFUSED.values(), ids=REFUSED.keys())
def test_file_is_refused_with_a_sentence(read, tmp_path, make, reason):
    make(tmp_path / FILE)
    (tmp_path / MASK).write_text("x = 1\n")
    before = descriptors()
    submission = read()
    assert descriptors() == before
    assert dict(submission.refused) == {STEP: f"{FILE} cannot be read: {reason}."}
    assert dict(submission.sources) == {"step03_mask": "x = 1\n"}


# What is taken, and as what.

TAKEN = {
    "plain": (SOURCE, "utf-8"),
    "empty": ("", "utf-8"),
    "byte order mark": (SOURCE, "utf-8-sig"),
    "Windows line ends": (SOURCE.replace("\n", "\r\n"), "utf-8"),
    "other scripts": ("# щ 漢 🎉\n", "utf-8"),
    "as long as may be": ("#" * MAX_SOURCE, "utf-8"),
    "Latin-1 that says so": ("# coding: latin-1\n# é", "latin-1"),
    "cp1252 in line 2": ("#!/usr/bin/python\r\n# -*- coding: cp1252 -*-\r\n# “é”", "cp1252"),
    "UTF-8 that says so": ("# vim: set fileencoding=utf-8 :\n# é", "utf-8"),
    "as Emacs names it": ("# -*- coding: utf-8-unix -*-\n# é", "utf-8"),
    "as Emacs names Latin": ("# -*- coding: iso-latin-1-unix -*-\n# é", "latin-1"),
    "no encoding in line 3": ("#\n#\n# coding: latin-1\n# é", "utf-8"),
    "no encoding below code": ("x = 1\n# coding: latin-1\n# é", "utf-8"),
}


@pytest.mark.parametrize(("text", "encoding"), TAKEN.values(), ids=TAKEN.keys())
def test_file_is_taken_as_text(read, tmp_path, text, encoding):
    (tmp_path / FILE).write_bytes(text.encode(encoding))
    submission, wanted = read(), text.replace("\r\n", "\n")
    assert (dict(submission.sources), dict(submission.refused)) == ({STEP: wanted}, {})
    assert decode_source(text.encode(encoding)) == wanted


@posix
def test_hard_link_is_a_regular_file(read, tmp_path):
    os.link(elsewhere(tmp_path / FILE), tmp_path / FILE)
    assert dict(read().sources) == {STEP: SOURCE}


# What is ignored.

OTHERS = ["Step02_scores.py", "step02_scores.PY", "step02_scores.py ", "step02_scores.py.py"]
OTHERS += ["step2_scores.py", "step99_extra.py", "ｓtep02_scores.py", "conftest.py", "new\nline.py"]
OTHERS += ["\udcff\udcfe.py"]  # no text


@posix
@pytest.mark.parametrize("name", OTHERS)
def test_file_of_another_name_is_ignored(read, tmp_path, name):
    (tmp_path / name).write_text(SOURCE)
    if (tmp_path / FILE).exists():
        pytest.skip("names differ by more than case here")
    submission = read()
    assert (dict(submission.sources), dict(submission.refused)) == ({}, {})
    assert submission.id == tmp_path.name


# Folders.


@posix
@pytest.mark.parametrize("name", ["nobody", FILE, "alice", "a\0b"])
def test_what_is_no_folder_is_an_error(steps, tmp_path, name):
    (tmp_path / FILE).write_text(SOURCE)
    os.mkfifo(tmp_path / "alice")
    with pytest.raises(SubmissionError, match="there is no folder"):
        read_folder(tmp_path / name, steps)


# The hash.

SPLITS = [("ab", "c"), ("a", "bc"), ("abc", ""), ("", "abc")]


@pytest.mark.parametrize(
    ("contents", "hashes"),
    [
        ([{FILE: SOURCE, "notes-of-anna.txt": "x"}, {FILE: SOURCE, "notes-of-bo.txt": "y"}], 1),
        ([{FILE: one, MASK: two} for one, two in SPLITS], 4),
        ([{FILE: SOURCE, "helpers.py": f"x = {n}\n"} for n in (1, 2)], 2),
    ],
    ids=["other files", "text that moves", "a module"],
)
def test_hash_is_that_of_the_sources_wherever_they_lie(steps, tmp_path, contents, hashes):
    found = set()
    for number, files in enumerate(contents):
        spread(tmp_path / str(number), files)
        found.add(read_folder(tmp_path / str(number), steps).sha256)
    assert len(found) == hashes
