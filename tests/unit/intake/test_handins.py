"""Where in a hand-in the step files may lie, and which of several counts."""

import pytest

from grader.intake.folders_and_zips import SubmissionError
from grader.intake.submission import NOT_TEXT
from tests.conftest import SOLUTIONS
from tests.support.handed_in import FILE, as_notebook, notebook, packed, source, spread
from tests.support.stubs import stub_text

OWN = SOLUTIONS["step02_scores"]

# Where the files lie.

PLACES = {
    "top": [FILE],
    "exercises": [f"exercises/{FILE}"],
    "one folder": [f"my work/{FILE}"],
    "a clone": [f"kit-main/{name}/{FILE}" for name in ("exercises", "solutions")],
    "four folders down": [f"a/b/c/d/{FILE}"],
    "beside other folders": [f"code/{FILE}", "docs/notes.txt", ".git/x.py", "__MACOSX/._x"],
    "notebook": ["notebooks/step02_scores.ipynb"],
    "copies below the top": [FILE, f"old/{FILE}", f"backup/{FILE}"],
}


@pytest.mark.parametrize("kind", ["folder", "zip"])
@pytest.mark.parametrize("paths", PLACES.values(), ids=PLACES.keys())
def test_files_are_found(read, tmp_path, paths, kind):
    make = packed if kind == "zip" else spread
    files = {path: notebook() if path.endswith("ipynb") else source() for path in paths}
    files |= {path: OWN for path in paths if "solutions" in path}
    make(tmp_path / ("alice.zip" if kind == "zip" else "alice"), files)
    assert "return 0" in read("alice").sources["step02_scores"]


SPREAD = {
    "a zip beside files": [("step03_mask.py", "x = 1\n")],
    "a zip beside a folder": [("kit/exercises/step03_mask.py", "x = 1\n")],
    "a zip beside a notebook": [("Lesson.ipynb", as_notebook("def softmax(s):\n    return s\n"))],
    "a zip beside a stub": [(FILE, stub_text("step02_scores"))],
    "a zip beside the same file": [(FILE, source("2"))],
}


@pytest.mark.parametrize("files", SPREAD.values(), ids=SPREAD)
@pytest.mark.parametrize("zipped", ["handin.zip", "exercises/handin.zip"])
def test_all_places_are_read(read, tmp_path, files, zipped):
    """Students leave earlier files beside the zip of `make handin`."""
    place = tmp_path / "Ann_1_assignsubmission_file"
    spread(place, {"exercises/notes.txt": "x", **dict(files)})
    packed(place / zipped, {FILE: source("2")})
    found = read("Ann_1")
    assert found.sources["step02_scores"] == source("2")
    assert (found.refused, found.unread) == ({}, ())


def test_zip_in_a_zip_is_read(read, tmp_path):
    packed(tmp_path / "inner.zip", {FILE: source("'mine'")})
    packed(tmp_path / "alice.zip", {"work/inner.zip": (tmp_path / "inner.zip").read_bytes()})
    assert "'mine'" in read("alice").sources["step02_scores"]


def test_stubs_that_may_hide_work_beside_them_are_not_graded(read, tmp_path):
    """Zero points would say that nothing was tried."""
    stubs = {f"{folder}/{FILE}": stub_text("step02_scores") for folder in ("exercises", "copy")}
    spread(tmp_path / "alice", {**stubs, f"solutions/{FILE}": OWN})
    assert "NotImplementedError" in read("alice").sources["step02_scores"]
    spread(tmp_path / "alice", {"old.rar": "Rar!"})
    with pytest.raises(SubmissionError, match=r"are untouched, but old\.rar may hold work"):
        read("alice")


# Which of several files counts.

BAD = b"# caf\xe9"
STUB = "def attention_scores(q, k):\n    raise NotImplementedError()\n"
STUB_CELL = as_notebook(STUB)
MINE, OTHER = source("'mine'"), source("'other'")
CELL, OTHER_CELL = notebook("'cell'"), notebook("'other'")
FINISHED = f"{STUB}\n\n{MINE}"
MASK = {"step03_mask.py": "x = 1\n"}
BOOK, WORK, OLD = "step02_scores.ipynb", "work.ipynb", f"old/{FILE}"
BELOW, BOOKS = f"exercises/{FILE}", f"notebooks/{BOOK}"
IMPORTS = "from exercises.step02_scores import *\n"
NO_BOOK = "x.ipynb is not read: it has no function of any step."
DEFINES_NONE = f"{FILE} is not read: it defines no function of step 2."
ALSO = "step02_scores is taken from {}; it is also in {}."
ANY = f"{FILE} could be any of {{}}, {{}}: keep one of them."
UNREADABLE = f"{FILE} cannot be read: {NOT_TEXT}."
TWO = "exercises.s could be any of s.py, exercises/s.py: keep one of them"
BROKEN = f"{BOOK} cannot be read: its JSON is broken in line 1."

# The files of a hand-in -> what is in the source of step 2, or why it is refused; what is told.
CHOICES = {
    "exercises below a notebook": ({"x.ipynb": as_notebook("1"), BELOW: MINE}, "'mine'", NO_BOOK),
    "finished file before the kit's notebook": ({BELOW: FINISHED, BOOKS: STUB_CELL}, "'mine'"),
    "finished file first": ({BELOW: FINISHED, BOOKS: CELL}, "'mine'", ALSO.format(BELOW, BOOKS)),
    "written before a stub": ({FILE: STUB, BELOW: MINE}, "'mine'"),
    "read before unreadable": ({FILE: BAD, BELOW: MINE}, "'mine'", UNREADABLE),
    "file before notebook": ({FILE: MINE, WORK: CELL}, "'mine'", ALSO.format(FILE, WORK)),
    "notebook before stub": ({FILE: STUB, WORK: CELL}, "'cell'"),
    "stub in a file before one in a cell": ({FILE: f"# mine\n{STUB}", WORK: STUB_CELL}, "# mine"),
    "notebook before unreadable": ({FILE: BAD, WORK: CELL}, "'cell'", UNREADABLE),
    "named notebook first": ({WORK: OTHER_CELL, BOOK: CELL}, "'cell'", ALSO.format(BOOK, WORK)),
    "written notebook first": ({BOOKS: STUB_CELL, WORK: CELL}, "'cell'"),
    "same code in two notebooks": (
        {"hw.ipynb": CELL, "hw (1).ipynb": as_notebook("", source("'cell'"))},
        "'cell'",
    ),
    "two notebooks": ({WORK: CELL, "hw.ipynb": OTHER_CELL, **MASK}, ANY.format("hw.ipynb", WORK)),
    "broken notebook beside a file": ({FILE: MINE, BOOK: "{"}, "'mine'", BROKEN),
    "broken notebook beside a stub": ({FILE: STUB, BOOK: "{", **MASK}, BROKEN),
    "two written files": ({FILE: MINE, OLD: OTHER, **MASK}, ANY.format(FILE, OLD)),
    "misnamed file before a stub": (
        {FILE: stub_text("step02_scores"), "step02_scores (1).py": MINE},
        "'mine'",
        f"step02_scores (1).py is read as {FILE}.",
    ),
    "file before a module": ({FILE: MINE, "helpers.py": OTHER}, "'mine'"),
    "file that only imports the step": ({FILE: MINE, f"test_{FILE}": IMPORTS}, "'mine'"),
    "program of make case": ({FILE: MINE, f"cases/{FILE}": f"{IMPORTS}{OTHER}"}, "'mine'"),
    "copy of a broken file": ({FILE: f"({MINE}", OLD: MINE}, "'mine'", DEFINES_NONE),
    "two that define a step": ({"a.py": MINE, "b.py": OTHER, **MASK}, ANY.format("a.py", "b.py")),
    "two modules of one name": (
        {
            **{FILE: MINE, "s.py": "x = 1\n", "exercises/s.py": "x = 2\n"},
            "exercises/step04_softmax.py": "",
        },
        "'mine'",
        *(f"{name} is not read: {TWO}." for name in ("s.py", "exercises/s.py")),
    ),
}


@pytest.mark.parametrize("row", CHOICES.values(), ids=CHOICES)
def test_one_rule_chooses(read, tmp_path, row):
    files, wanted, *told = row
    spread(tmp_path / "alice", files)
    found = read("alice")
    if "step02_scores" in found.refused:
        assert found.refused["step02_scores"] == wanted
    else:
        assert wanted in found.sources["step02_scores"]
    assert list(found.warnings) == told


@pytest.mark.parametrize("ending", [".ipynb.txt", ".ipynb.json", ".IPYNB.txt"])
def test_notebook_that_a_browser_has_renamed_is_one(read, tmp_path, ending):
    spread(tmp_path, {f"alice/step02_scores{ending}": CELL, f"bob{ending}": CELL})
    for student in ("alice", "bob"):
        assert "'cell'" in read(student).sources["step02_scores"]


# Names that are nearly right.

PLAINLY = """
Step02_Scores.py, step02_scores (1).py, step02_scores(2).py, step02_scores.py.txt,
step02_scores-1.py, step02_scores - Copy.py, step02_scores-Copy1.py, step02_scores - Copie.py,
Copy of step02_scores.py, Kopie von step02_scores.py, Copia de step02_scores (1).py,
step02 scores.py, step2_scores.py, step-2-scores.py, step02.py, STEP02_SCORES.PY, ｓtep02_scores.py,
step02_scores_final.py, step02_scores-final.py, step02_scores_v2.py, ada_step02_scores.py,
step02_scores copy.py, My copy of step02_scores.py, step02_final.py, Kopie step02.py, 12 step 2.py
"""
BY_CONTENT = ["scores.py", "step02_mask.py", "step02_score.py", "step99_scores.py", "s/scores.py"]


@pytest.mark.parametrize("name", [*PLAINLY.replace("\n", " ").strip().split(", "), *BY_CONTENT])
def test_file_is_read_as_the_step_that_its_name_or_functions_mean(read, tmp_path, name):
    spread(tmp_path / "alice", {"step03_mask.py": "x = 1\n", name: source()})
    submission = read("alice")
    assert dict(submission.sources) == {"step02_scores": source(), "step03_mask": "x = 1\n"}
    assert (submission.warnings, submission.unread) == ((f"{name} is read as {FILE}.",), ())


def test_file_with_everything_is_read_as_every_step(read, tmp_path):
    text = source() + "\nmy_softmax = lambda s: s\nsoftmax = my_softmax\n"
    spread(tmp_path / "alice", {"attention.py": text})
    submission = read("alice")
    assert dict(submission.sources) == {"step02_scores": text, "step04_softmax": text}
    assert submission.warnings == (f"attention.py is read as {FILE}, step04_softmax.py.",)


# Modules of the student's own.


@pytest.mark.parametrize("name", ["numpy.py", "random.py", "Typing.py", "exercises.py"])
@pytest.mark.parametrize("first", [FILE, "work.ipynb"])
@pytest.mark.parametrize("path", ["alice/{}", "alice/exercises/{}", "abel_1201_900001_{}"])
def test_module_of_ones_own_comes_along(read, tmp_path, name, first, path):
    """It may have any name that is not a step's."""
    step = source() if first == FILE else notebook()
    spread(tmp_path, {path.format(first): step, path.format(name): "x = 1\n"})
    submission = read("abel_1201" if "1201" in path else "alice")
    assert dict(submission.modules) == {name.removesuffix(".py"): "x = 1\n"}
    assert (submission.warnings, submission.unread) == ((), ())


def test_package_of_ones_own_comes_along(read, tmp_path):
    package = {"lib/__init__.py": "", "lib/ops.py": "x = 1\n", "lib/deep/more.py": "x = 2\n"}
    spread(tmp_path / "alice", {FILE: "import lib\n" + source(), **package})
    submission = read("alice")
    assert dict(submission.modules) == {"lib": "", "lib.ops": "x = 1\n", "lib.deep.more": "x = 2\n"}
    assert {name: file for name, (_, file) in submission.texts().items()} == {
        "lib": "exercises/lib/__init__.py",
        "lib.ops": "exercises/lib/ops.py",
        "lib.deep.more": "exercises/lib/deep/more.py",
        "step02_scores": f"exercises/{FILE}",
    }
    assert "x = 1\n" in submission.reachable("step02_scores")


@pytest.mark.parametrize("name", ["__init__.py", "my-helpers.py", "class.py", "notes.txt", "1.py"])
def test_file_that_cannot_be_imported_is_no_module(read, tmp_path, name):
    spread(tmp_path / "alice", {FILE: source(), name: "x = 1\n"})
    submission = read("alice")
    assert dict(submission.modules) == {}
    assert submission.unread == ((name,) if name.endswith(".py") else ())


@pytest.mark.parametrize(
    ("files", "kept", "first"),
    [
        ({f"m{n:03}.py": "" for n in range(60)}, 40, "m040.py"),
        ({f"m{n}.py": "#" * 300_000 for n in range(9)}, 3, "m3.py"),
    ],
    ids=["many", "large"],
)
def test_modules_are_bounded_in_number_and_size(read, tmp_path, files, kept, first):
    spread(tmp_path / "alice", {FILE: source(), **files})
    found = read("alice")
    assert (len(found.modules), len(found.unread)) == (kept, len(files) - kept)
    bounds = "only 40 files and 1,000,000 characters beside steps are read"
    assert found.warnings[0] == f"{first} is not read: {bounds}."
