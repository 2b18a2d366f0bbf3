"""Submissions as they lie in a class folder, written for a test."""

import json
import sys
import zipfile

import pytest

from grader.intake import folders_and_zips, handins

FILE = "step02_scores.py"
SOURCE = "def attention_scores(q, k):\n    return {}\n"
posix = pytest.mark.skipif(sys.platform == "win32", reason="no such files on Windows")


def source(mark="0"):
    return SOURCE.format(mark)


def notebook(mark="0"):
    return as_notebook(source(mark))


def as_notebook(*codes):
    cells = [{"cell_type": "code", "metadata": {}, "source": code} for code in codes]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


def write(path, mark="0", when=None):
    """A folder of one step file, a zip of it, a notebook, or a file, as the ending says."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix.lower() == ".zip":
        with zipfile.ZipFile(path, "w") as zipped:
            date = when or (2026, 1, 1, 0, 0, 0)
            zipped.writestr(zipfile.ZipInfo(FILE, date), source(mark))
    elif path.suffix.lower() == ".ipynb":
        path.write_text(notebook(mark))
    elif path.suffix.lower() in (".py", ".html"):
        path.write_text(source(mark))
    else:
        write(path / FILE, mark)


def packed(path, files):
    with zipfile.ZipFile(path, "w") as zipped:
        for name, text in files.items():
            zipped.writestr(name, text)


class Unsaid(zipfile.ZipInfo):
    """A member whose name is in some encoding, of which the zip says nothing."""

    def __init__(self, name, encoding="utf-8"):
        super().__init__(name)
        self.encoding = encoding

    def _encodeFilenameFlags(self):  # noqa: N802 (zipfile's own)
        return self.filename.encode(self.encoding), 0


def spread(path, files):
    for name, text in files.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(text if isinstance(text, bytes) else text.encode())


def read_place(place, steps):
    """What counts in a folder or a zip."""
    tree = folders_and_zips.Tree()
    tree.add(folders_and_zips.Spot(place))
    return handins.read_tree("anna", tree, steps)
