"""Whatever is handed in, it is read or refused with a sentence: random, but the same every time."""

import ast
import io
import json
import warnings
import zipfile
from pathlib import Path

from hypothesis import example
from hypothesis import strategies as st

from grader.intake import entries as intake
from grader.intake import notebooks
from grader.intake.folders_and_zips import Archive, SubmissionError
from grader.intake.notebooks import RawCell
from grader.isolation.survey import place
from grader.isolation.worker import cells
from grader.notebooks.saving import file_of
from grader.steps import registry
from grader.steps.stubs import stub_of
from tests.support.examples import given, settings
from tests.support.handed_in import read_place

STEPS = registry.load()
FILES = [step.filename for step in STEPS.steps[:3]]
SOURCE = "def attention_scores(q, k):\n    return 0\n"


def tried(read):
    """Return what was read, or None after a refusal with one line of text; allow nothing else."""
    try:
        return read()
    except SubmissionError as error:
        reason = str(error)
    assert reason.isprintable()
    assert 0 < len(reason) < 1000
    return None


def well_formed(taken):
    """A submission of the known steps, with texts that can be sent on."""
    known = {step.id for step in STEPS.steps}
    assert set(taken.sources) | set(taken.refused) <= known
    assert not set(taken.sources) & set(taken.refused)
    for text in [*taken.sources.values(), *taken.refused.values(), *taken.warnings]:
        assert text.encode() is not None
        assert "\0" not in text
    assert all(warning.isprintable() for warning in taken.warnings)
    return True


# Zips.


@st.composite
def zips(draw):
    """A zip of some files, with some of its bytes changed, left out or put in."""
    names = st.sampled_from([*FILES, "work.ipynb", "a/b", "../x", "a\\b", ".git/x", "x.zip"])
    folders = st.sampled_from(["", "exercises/", "work/", "a/b/", "notebooks/"])
    members = draw(st.lists(st.tuples(folders, names, st.binary(max_size=60)), max_size=5))
    data = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as zipped:
        warnings.simplefilter("ignore", UserWarning)
        for folder, name, content in members:
            info = zipfile.ZipInfo(folder + name)
            info.external_attr = draw(st.sampled_from([0, 0o100644, 0o120777, 0o10644])) << 16
            zipped.writestr(info, content)
    made = bytearray(data.getvalue())
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, len(made) - 1))
        change = draw(st.sampled_from(["set", "cut", "insert"]))
        if change == "set":
            made[at] = draw(st.integers(0, 255))
        elif change == "cut":
            del made[at : at + draw(st.integers(1, 8))]
            made = made or bytearray(b"P")
        else:
            made[at:at] = draw(st.binary(max_size=8))
    return bytes(made)


@settings(max_examples=200)
@given(zips() | st.binary(max_size=200) | st.binary(max_size=80).map(lambda b: b"PK\5\6" + b))
def test_any_bytes_are_a_zip_or_refused(data):
    with io.BytesIO(data) as file:
        taken = tried(lambda: read_place(Archive.open(file), STEPS))
    assert taken is None or well_formed(taken)


# Notebooks.

WORDS = ["cells", "worksheets", "source", "input", "metadata", "nbgrader", "grade_id", "solution"]
WORDS += ["cell_type", "code", "markdown", "grade", "attention_scores", "softmax", "linear"]
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(WORDS)
TEXTS = st.text(st.characters(), max_size=20)
JSON = st.recursive(
    SCALARS | TEXTS | st.just(SOURCE),
    lambda inner: (
        st.lists(inner, max_size=5) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=5)
    ),
    max_leaves=20,
)
FRAGMENTS = [SOURCE, "def softmax(x): return x\n", "import numpy as np\n", "%time x\n", "!ls\n"]
FRAGMENTS += ["x = 1\n", "f(\n", ")\n", "'''", '"', "#", "\\\n", "    y\n", "\t", "@a\n", "\r"]
FRAGMENTS += ["class A:\n", "    pass\n", "from x import (a,\n b)\n", "x = [\n", "]\n", "\x0c"]
FRAGMENTS += ["try:\n", "    import y\n", "except A: import b\n", "else:\n", "if x:\n"]
FRAGMENTS += ["x: int = 2\n", "a == b\n", "a?\n", "lambda: 0\n", "é = 1\n"]
CELLTEXT = st.lists(st.sampled_from(FRAGMENTS) | TEXTS, max_size=8).map("".join)
CELLS = st.fixed_dictionaries(
    {"cell_type": st.sampled_from(["code", "code", "raw", "markdown"]), "source": CELLTEXT | JSON},
    optional={
        "metadata": JSON
        | st.fixed_dictionaries(
            {"nbgrader": st.fixed_dictionaries({"grade_id": st.sampled_from(WORDS)})}
        )
    },
)


def read_notebook(data):
    taken = tried(lambda: notebooks.read(data, "work.ipynb", STEPS))
    for source in taken.sources.values() if taken else ():
        assert source.encode()
    return taken


@settings(max_examples=120)
@given(st.lists(CELLS, max_size=6) | JSON)
def test_any_cells_are_a_notebook_or_refused(made):
    read_notebook(json.dumps({"cells": made}).encode())


@settings(max_examples=100)
@given(JSON.map(json.dumps).map(str.encode) | st.binary(max_size=200))
def test_any_bytes_are_a_notebook_or_refused(data):
    read_notebook(data)


@settings(max_examples=60)
@given(st.lists(CELLS, max_size=3), st.data())
def test_notebook_cut_anywhere_is_refused(made, data):
    whole = json.dumps({"cells": made}).encode()
    part = whole[: data.draw(st.integers(0, len(whole) - 1))]
    assert read_notebook(part) is None


# Cells.


PARTS = [part for part in FRAGMENTS if part not in ("\\\n", "\x0c") and part[0] not in "%!"]


@settings(max_examples=300)
@given(st.lists(st.sampled_from(PARTS), max_size=8))
@example(["x = '''\n", "a\\'''\n", "'''\n"])
@example(["'a\\\n", "b'\n"])
def test_a_cell_that_is_python_stays_as_it_is(parts):
    text = "".join(parts)
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return
    made, commands, broken = cells.parse(cells.split_lines(text))
    assert ast.dump(ast.Module(made, [])) == ast.dump(ast.Module(tree.body, []))
    assert (commands, broken) == ([], (0, 0))


@settings(max_examples=150)
@given(
    st.lists(
        CELLTEXT.map(lambda text: text.encode("utf-8", "replace").decode().replace("\0", "")),
        max_size=4,
    )
)
def test_a_notebooks_text_keeps_its_lines_and_its_file_is_python(texts):
    made = [*texts, "def softmax(x): pass"]
    raws = [RawCell(number, True, False, "", text) for number, text in enumerate(made, 1)]
    step = STEPS.find("4")
    source = notebooks.of_cells(raws, "work.ipynb", STEPS).sources[step.id]
    ast.parse(file_of(source, (), step, stub_of(step)))
    for number, line in enumerate(source.split("\n"), 1):
        where, _ = place(source, number, "")
        if ", cell " in where and line and not line.startswith("# %% work"):
            cell, _, at = where.partition(", cell ")[2].partition(", line ")
            theirs = cells.split_lines(made[int(cell) - 1].rstrip())
            assert line.removeprefix("#" * line.startswith("## %%")) == theirs[int(at) - 1]


# Folders.

NAMES = [*FILES, "work.ipynb", "exercises", "notebooks", "1", "2", "alice", "alice.zip", "x.zip"]
NAMES += ["alice (1).zip", "alice_attempt_2.zip", "bob_12_assignsubmission_file_", "a.tar.gz"]
NAMES += ["bob_12345_678901_x.zip", "2026-01-01", ".git", "__MACOSX", "é\n", "README.md"]
CONTENT = st.one_of(zips(), st.just(SOURCE.encode()), st.binary(max_size=20), st.none())


def grow(top, paths):
    for parts, content in paths:
        path = top.joinpath(*parts)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if content is None:
                path.symlink_to(top)
            else:
                path.write_bytes(content)
        except OSError:
            continue


PATHS = st.lists(
    st.tuples(st.lists(st.sampled_from(NAMES), min_size=1, max_size=4), CONTENT), max_size=6
)


@settings(max_examples=100)
@given(paths=PATHS)
def test_any_tree_is_a_class_folder(tmp_path_factory, paths):
    top = Path(tmp_path_factory.mktemp("class"))
    grow(top, paths)
    listing = intake.list_class(top)
    visible = [path.name for path in top.iterdir() if not path.name.startswith((".", "__"))]
    attempts = {
        name
        for entry in listing.entries
        for name in (*entry.who.files, *(one.name for one in entry.found))
    }
    assert attempts | set(listing.ignored) == set(visible)
    for entry in listing.entries:
        taken = tried(lambda entry=entry: intake.read(entry, STEPS))
        assert taken is None or well_formed(taken)
