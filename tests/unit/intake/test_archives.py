"""Zips: what is read out of them, and what hostile or broken ones are refused for."""

import io
import re
import stat
import struct
import tracemalloc
import zipfile

import pytest

from grader.intake import entries, folders_and_zips
from grader.intake.folders_and_zips import Archive, SubmissionError
from grader.intake.submission import NOT_TEXT
from tests.support.handed_in import FILE, read_place, source

SOURCE = source()


def zipped(*members, method=zipfile.ZIP_DEFLATED):
    """A zip's bytes, of (name or ZipInfo, text) pairs."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", method) as archive:
        for name, text in members:
            archive.writestr(name, text)
    return data.getvalue()


def info(name=FILE, kind=0, **attributes):
    made = zipfile.ZipInfo(name)
    for attribute, value in {"external_attr": kind << 16, **attributes}.items():
        setattr(made, attribute, value)
    return made


@pytest.fixture
def read(steps):
    """read(bytes): the submission in a zip."""
    return lambda data: read_place(Archive.open(io.BytesIO(data)), steps)


# What is taken.

TAKEN = {
    "deflated": zipped((FILE, SOURCE)),
    "backslashes": zipped((info("work\\" + FILE), SOURCE)),
    "a dot before": zipped(("./" + FILE, SOURCE)),
    "between other bytes": b"#!/bin/sh\nexit\n" + zipped((FILE, SOURCE)) + b"\n" * 30,
    "with folders": zipped(("work/", ""), ("work/" + FILE, SOURCE)),
    "litter beside": zipped(("__MACOSX/._" + FILE, "x"), (".DS_Store", "x"), (FILE, SOURCE)),
    "an icon of macOS beside": zipped(
        ("steps/Icon\r", ""), ("__MACOSX/steps/._Icon\r", "x"), ("steps/" + FILE, SOURCE)
    ),
    "a link beside": zipped((info("python", stat.S_IFLNK), "/usr/bin/python"), (FILE, SOURCE)),
    "no date": zipped((info(date_time=(1980, 0, 0, 0, 0, 0)), SOURCE)),
    "10,000 other files": zipped((FILE, SOURCE), *((f"lib/{n}.txt", "") for n in range(10_000))),
}


@pytest.mark.parametrize("data", TAKEN.values(), ids=TAKEN.keys())
def test_step_file_is_taken(read, data):
    taken = read(data)
    assert (dict(taken.sources), dict(taken.refused)) == ({"step02_scores": SOURCE}, {})


# What costs a step.


def patched(data, signature, offset, value):
    """The zip with bytes changed in the first header of that kind."""
    at = data.index(signature) + offset
    return data[:at] + value + data[at + len(value) :]


PLAIN = zipped((FILE, SOURCE))
STORED = zipped((FILE, SOURCE), method=zipfile.ZIP_STORED)
DAMAGED = "the archive is damaged there"
FEW = "it is encrypted, or compressed in a way that few programs know"
COSTLY = {
    "link": (lambda: zipped((info(kind=stat.S_IFLNK), "/etc/passwd")), "it is not a regular file"),
    "pipe": (lambda: zipped((info(kind=stat.S_IFIFO), "")), "it is not a regular file"),
    "encrypted": (lambda: patched(PLAIN, b"PK\1\2", 8, b"\1\0"), FEW),
    "rare compression": (lambda: zipped((FILE, SOURCE), method=zipfile.ZIP_LZMA), FEW),
    "too long": (
        lambda: zipped((FILE, b"#" * 1_000_001), method=zipfile.ZIP_STORED),
        "it is longer than 1,000,000 bytes",
    ),
    "damaged": (lambda: patched(STORED, b"return", 0, b"R"), DAMAGED),
    "says it is shorter": (lambda: patched(PLAIN, b"PK\1\2", 24, struct.pack("<L", 5)), DAMAGED),
    "another name inside": (lambda: patched(PLAIN, b"PK\3\4", 30, b"STEP"), DAMAGED),
    "not UTF-8": (lambda: zipped((FILE, b"# caf\xe9")), NOT_TEXT),
}


@pytest.mark.parametrize(("make", "reason"), COSTLY.values(), ids=COSTLY.keys())
def test_member_is_refused_with_a_sentence(read, make, reason):
    with pytest.raises(SubmissionError, match=re.escape(f"{FILE} cannot be read: {reason}")):
        read(make())


def test_name_that_differs_by_case_is_told(read):
    taken = read(zipped((FILE, SOURCE), (FILE.upper(), "x = 1\n")))
    assert dict(taken.sources) == {"step02_scores": SOURCE}
    assert taken.unread == (FILE.upper(),)


OUTSIDE = ["../{}", "a/../../{}", "/{}", "C:/{}", "..\\{}", "\\\\host\\{}", "a\nb/{}"]


@pytest.mark.parametrize("name", OUTSIDE)
def test_path_that_leads_elsewhere_is_a_name_only(read, name):
    taken = read(zipped((info(name.format(FILE)), SOURCE)))
    assert dict(taken.sources) == {"step02_scores": SOURCE}


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_last_of_two_members_with_one_name_is_read(read):
    taken = read(zipped((FILE, "x = 1\n"), (FILE, SOURCE)))
    assert dict(taken.sources) == {"step02_scores": SOURCE}


# What costs everything.


def zip64(size):
    """A zip64 end record with a directory of any size."""
    record = struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, 45, 45, 0, 0, 1, 1, size, 0)
    locator = struct.pack("<4sLQL", b"PK\6\7", 0, len(PLAIN) - 22, 1)
    last = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 0xFFFF, 0xFFFF, 2**32 - 1, 2**32 - 1, 0)
    return PLAIN[:-22] + record + locator + last


BROKEN = "it is not a zip archive, or it is damaged"
TOO_LONG = "its table of contents is too long|damaged"
FATAL = {
    "truncated": (lambda: PLAIN[:-30], BROKEN),
    "nothing": (lambda: b"", BROKEN),
    "directory of 4 GiB": (lambda: patched(PLAIN, b"PK\5\6", 12, b"\xfe\xff\xff\xff"), TOO_LONG),
    "zip64 of an exabyte": (lambda: zip64(2**60), TOO_LONG),
    "zip64 of no size": (lambda: zip64(2**64 - 1), TOO_LONG),
    "long directory": (
        lambda: zipped(*((f"{n}-{'x' * 400}.txt", "") for n in range(10_000))),
        "its table of contents is too long",
    ),
    "too many": (
        lambda: zipped(*((f"{n}.txt", "") for n in range(20_001))),
        "it holds more than 20,000 files",
    ),
}


@pytest.mark.parametrize(("make", "reason"), FATAL.values(), ids=FATAL.keys())
def test_archive_is_refused(read, make, reason):
    with pytest.raises(SubmissionError, match=reason):
        read(make())


def test_giant_archive_is_refused(steps, tmp_path):
    with (tmp_path / "giant.zip").open("wb+") as file:
        file.truncate(folders_and_zips.MAX_ARCHIVE + 1)
    with pytest.raises(SubmissionError, match="its archives are larger than 200 MiB"):
        entries.read(entries.alone(tmp_path / "giant.zip"), steps)


def test_bomb_takes_no_memory(read):
    bomb = zipped((FILE, bytes(50_000_000)), ("step03_mask.ipynb", bytes(50_000_000)))
    tracemalloc.start()
    try:
        with pytest.raises(
            SubmissionError, match=f"{FILE} cannot be read: it unpacks to more than"
        ):
            read(bomb)
        assert tracemalloc.get_traced_memory()[1] < 10 * 2**20
    finally:
        tracemalloc.stop()
