"""Where in a hand-in the step files may lie, and which of several counts."""

import json
import re
import zipfile

import pytest

from grader.intake import entries as intake
from grader.intake.folders import SubmissionError
from grader.intake.submission import NOT_TEXT
from tests.conftest import ROOT
from tests.support.handed_in import FILE, as_notebook, notebook, packed, source, spread, write
from tests.support.stubs import stub_text


@pytest.fixture
def read(steps, tmp_path):
    """read(student): what counts of a student of the class folder."""

    def read(student):
        entries = {entry.student: entry for entry in intake.entries(tmp_path)}
        return intake.read(entries[student], steps)

    return read


# Where the files lie.


PLACES = {
    "top": [FILE],
    "exercises": [f"exercises/{FILE}"],
    "one folder": [f"my work/{FILE}"],
    "a clone": [f"kit-main/{name}/{FILE}" for name in ("exercises", "solutions")],
    "four folders down": [f"a/b/c/d/{FILE}"],
    "folder in a folder": [f"a/b/{FILE}"],
    "beside other folders": [f"code/{FILE}", "docs/notes.txt", ".git/x.py", "__MACOSX/._x"],
    "notebook": ["notebooks/step02_scores.ipynb"],
    "copies below the top": [FILE, f"old/{FILE}", f"backup/{FILE}"],
}


@pytest.mark.parametrize("kind", ["folder", "zip"])
@pytest.mark.parametrize("paths", PLACES.values(), ids=PLACES.keys())
def test_files_are_found(read, tmp_path, paths, kind):
    make = packed if kind == "zip" else spread
    files = {path: notebook() if path.endswith("ipynb") else source() for path in paths}
    own = (ROOT / "solutions" / FILE).read_text(encoding="utf-8")
    files = {path: text if "solutions" not in path else own for path, text in files.items()}
    make(tmp_path / ("alice.zip" if kind == "zip" else "alice"), files)
    assert "return 0" in read("alice").sources["step02_scores"]


def test_unchanged_files_of_the_kit_are_not_read(read, tmp_path):
    """In a clone of the kit, its solutions are beside the exercises."""
    own = {f"solutions/{name}": (ROOT / "solutions" / name).read_text("utf-8") for name in KITS}
    spread(tmp_path / "alice", {f"exercises/{FILE}": stub_text("step02_scores"), **own})
    found = read("alice")
    assert (list(found.sources), found.unread) == (["step02_scores"], ())
    assert "NotImplementedError" in found.sources["step02_scores"]


KITS = (FILE, "step03_mask.py")
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


def test_steps_may_be_in_several_folders(read, tmp_path):
    spread(tmp_path / "alice", {f"1/{FILE}": source(), "2/step03_mask.py": "x = 1\n"})
    assert list(read("alice").sources) == ["step02_scores", "step03_mask"]


def test_zip_in_a_zip_is_read(read, tmp_path):
    packed(tmp_path / "inner.zip", {FILE: source("'mine'")})
    with zipfile.ZipFile(tmp_path / "alice.zip", "w") as outer:
        outer.write(tmp_path / "inner.zip", "work/inner.zip")
    (tmp_path / "inner.zip").unlink()
    assert "'mine'" in read("alice").sources["step02_scores"]


def test_zip_in_a_zip_in_a_zip_is_named(read, tmp_path):
    inside = FILE, source().encode()
    for name in ("c.zip", "b.zip", "a.zip", "alice.zip"):
        with zipfile.ZipFile(tmp_path / name, "w") as outer:
            outer.writestr(*inside)
        inside = name, (tmp_path / name).read_bytes()
    for name in "abc":
        (tmp_path / f"{name}.zip").unlink()
    with pytest.raises(SubmissionError, match=r"a.zip/b.zip: it is a zip in a zip in a zip"):
        read("alice")


def test_archive_that_is_not_read_is_named(read, tmp_path):
    spread(tmp_path / "alice", {FILE: source(), "old.rar": "Rar!", "broken.zip": "PK"})
    found = read("alice")
    assert set(found.unread) == {"old.rar", "broken.zip"}
    assert "old.rar is not read: only zip archives are read" in " ".join(found.warnings)


@pytest.mark.parametrize("name", ["old/step02_scores.py", "step02_scores (1).py", "work.zip"])
def test_two_written_files_of_a_step_are_named(read, tmp_path, name):
    spread(tmp_path / "alice", {FILE: source("1"), "step03_mask.py": "x = 1\n"})
    if name.endswith(".zip"):
        packed(tmp_path / "alice" / name, {FILE: source("2")})
        name = f"{name}/{FILE}"
    else:
        spread(tmp_path / "alice", {name: source("2")})
    found = read("alice")
    assert list(found.sources) == ["step03_mask"]
    assert set(re.split(", | could be any of |: keep", found.refused["step02_scores"])) >= {
        FILE,
        name,
    }


BESIDE_STUBS = {
    "a zip": ("old.rar", "Rar!"),
    "a stub": ("exercises copy/{}", stub_text("step02_scores")),
    "the kit's own": ("solutions/{}", (ROOT / "solutions" / FILE).read_text(encoding="utf-8")),
}


@pytest.mark.parametrize(("path", "text"), BESIDE_STUBS.values(), ids=BESIDE_STUBS)
def test_stubs_that_may_hide_work_beside_them_are_not_graded(read, tmp_path, path, text):
    """Zero points would say that nothing was tried."""
    path = path.format(FILE)
    spread(tmp_path / "alice", {f"exercises/{FILE}": stub_text("step02_scores"), path: text})
    name = path.partition("/")[0]
    if text == "Rar!":
        with pytest.raises(SubmissionError, match=f"are untouched, but {name} may hold work"):
            read("alice")
    else:
        assert list(read("alice").sources) == ["step02_scores"]


def test_zip_in_a_students_folder_is_read(read, tmp_path):
    write(tmp_path / "Ann_1_assignsubmission_file_" / "work.zip")
    assert read("Ann_1").sources == {"step02_scores": source()}


def test_loose_files_are_one_submission(read, tmp_path):
    for number, name in enumerate(("step01_projections.py", "step02_scores-1.py")):
        (tmp_path / f"doejohn_12345_67890{number}_{name}").write_text(source(number))
    assert read("doejohn_12345").sources == {
        "step01_projections": source("0"),
        "step02_scores": source("1"),
    }


def test_missing_steps_are_just_not_there(read, tmp_path):
    write(tmp_path / "alice")
    submission = read("alice")
    assert (list(submission.sources), dict(submission.refused)) == (["step02_scores"], {})


def test_own_path_is_an_entry(steps, tmp_path):
    for name in ("alice", "bob.zip", "carol.ipynb"):
        write(tmp_path / name)
        submission = intake.read(intake.alone(tmp_path / name), steps)
        assert (submission.id, list(submission.sources)) == (name.split(".")[0], ["step02_scores"])


# Work at the top and in `exercises`.

SCRATCH = json.dumps({"cells": [{"cell_type": "code", "metadata": {}, "source": "1 + 1"}]})
STUB = "def attention_scores(q, k):\n    raise NotImplementedError()\n"


@pytest.mark.parametrize("beside", ["scratch.ipynb", "step01_projections.py", "step03_mask (1).py"])
@pytest.mark.parametrize("room", ["exercises/", "notebooks/"])
def test_file_at_the_top_does_not_hide_the_exercises(read, tmp_path, beside, room):
    text = SCRATCH if beside.endswith("ipynb") else "x = 1\n"
    spread(tmp_path / "alice", {beside: text, f"{room}{FILE}": source("'mine'")})
    assert "'mine'" in read("alice").sources["step02_scores"]


@pytest.mark.parametrize("kind", ["folder", "zip"])
def test_notebook_without_steps_does_not_hide_a_folder(read, tmp_path, kind):
    files = {"scratch.ipynb": SCRATCH, f"kit-main/exercises/{FILE}": source("'mine'")}
    (packed if kind == "zip" else spread)(
        tmp_path / ("alice.zip" if kind == "zip" else "alice"), files
    )
    assert "'mine'" in read("alice").sources["step02_scores"]


def test_finished_file_goes_before_a_stub_at_the_top(read, tmp_path):
    spread(tmp_path / "alice", {FILE: STUB, f"exercises/{FILE}": source("'mine'")})
    submission = read("alice")
    assert "'mine'" in submission.sources["step02_scores"]
    assert submission.warnings == ()


def test_file_in_exercises_replaces_one_that_cannot_be_read(read, tmp_path):
    spread(tmp_path / "alice", {f"exercises/{FILE}": source("'mine'")})
    (tmp_path / "alice" / FILE).write_bytes(b"# caf\xe9")
    submission = read("alice")
    assert ("'mine'" in submission.sources["step02_scores"], dict(submission.refused)) == (True, {})
    assert submission.warnings == (f"{FILE} cannot be read: {NOT_TEXT}.",)


def test_file_in_exercises_that_cannot_be_read_refuses_nothing_at_the_top(read, tmp_path):
    spread(tmp_path / "alice", {FILE: source(), "exercises/step03_mask.py": "x = 1\n"})
    (tmp_path / "alice" / "exercises" / FILE).write_bytes(b"# caf\xe9")
    submission = read("alice")
    assert (set(submission.sources), dict(submission.refused)) == (
        {"step02_scores", "step03_mask"},
        {},
    )
    assert submission.warnings == (f"exercises/{FILE} cannot be read: {NOT_TEXT}.",)


def test_modules_of_all_places_are_read_and_none_of_two_with_one_name(read, tmp_path):
    files = {FILE: source(), "shared.py": "x = 1\n", "exercises/shared.py": "x = 2\n"}
    files |= {"exercises/step03_mask.py": "x = 1\n", "exercises/other.py": "x = 3\n"}
    files |= {"same.py": "x = 4\n", "exercises/same.py": "x = 4\n"}
    spread(tmp_path / "alice", files)
    submission = read("alice")
    assert dict(submission.modules) == {"other": "x = 3\n", "same": "x = 4\n"}
    assert set(submission.unread) == {"shared.py", "exercises/shared.py"}
    assert (
        "shared.py is not read: exercises.shared could be any of shared.py, exercises/shared.py: "
        "keep one of them."
    ) in submission.warnings


# A mix of files and notebooks.


def test_file_goes_before_a_notebook(read, tmp_path):
    spread(tmp_path / "alice", {FILE: source("'file'"), "work.ipynb": notebook("'cell'")})
    submission = read("alice")
    assert "'file'" in submission.sources["step02_scores"]
    assert submission.warnings == (
        "step02_scores is taken from step02_scores.py; it is also in work.ipynb.",
    )


@pytest.mark.parametrize("folder", ["", "exercises/"])
def test_untouched_file_gives_way_to_a_notebook(read, tmp_path, folder):
    other = "notebooks/" if folder else ""
    spread(tmp_path / "alice", {folder + FILE: STUB, f"{other}work.ipynb": notebook("'cell'")})
    submission = read("alice")
    assert "'cell'" in submission.sources["step02_scores"]
    assert submission.warnings == ()


def test_file_stays_if_the_notebook_is_a_stub_too(read, tmp_path):
    stub = json.dumps({"cells": [{"cell_type": "code", "metadata": {}, "source": STUB}]})
    spread(tmp_path / "alice", {FILE: f"# mine\n{STUB}", "work.ipynb": stub})
    submission = read("alice")
    assert submission.sources["step02_scores"].startswith("# mine")
    assert submission.warnings == ()


REBOUND = {
    "defined again": STUB + "\n\n" + source("'file'"),
    "assigned": f"{STUB}\n\ndef mine(q, k):\n    return 'file'\n\nattention_scores = mine\n",
    "long": "class Base:\n    def f(self):\n        raise NotImplementedError\n\n"
    + source("'file'")
    + "#" * 100_000,
    "imported": "'file'\nfrom exercises.shared import attention_scores\n\n"
    "def plot(weights):\n    raise NotImplementedError()\n",
}


@pytest.mark.parametrize("text", REBOUND.values(), ids=REBOUND.keys())
@pytest.mark.parametrize("written", [False, True], ids=["kit's notebook", "written notebook"])
def test_finished_file_goes_before_a_notebook(read, tmp_path, text, written):
    """The kit's own layout: `exercises` finished, `notebooks` untouched."""
    cells = [{"cell_type": "code", "metadata": {}, "source": source() if written else STUB}]
    files = {
        f"exercises/{FILE}": text,
        "notebooks/step02_scores.ipynb": json.dumps({"cells": cells}),
    }
    spread(tmp_path / "alice", files)
    assert "'file'" in read("alice").sources["step02_scores"]


def test_finished_file_with_an_abstract_class_goes_before_a_notebook(read, tmp_path):
    base = "class Base:\n    def scores(self):\n        raise NotImplementedError()\n\n"
    spread(tmp_path / "alice", {FILE: base + source("'file'"), "work.ipynb": notebook("'cell'")})
    assert "'file'" in read("alice").sources["step02_scores"]


def test_unreadable_file_gives_way_to_a_notebook_and_is_told(read, tmp_path):
    spread(tmp_path / "alice", {"work.ipynb": notebook("'cell'")})
    (tmp_path / "alice" / FILE).write_bytes(b"# caf\xe9")
    submission = read("alice")
    assert "'cell'" in submission.sources["step02_scores"]
    assert f"{FILE} cannot be read: {NOT_TEXT}." in submission.warnings
    assert dict(submission.refused) == {}


@pytest.mark.parametrize("ending", [".ipynb.txt", ".ipynb.json", ".IPYNB.txt"])
def test_notebook_that_a_browser_has_renamed_is_one(read, tmp_path, ending):
    spread(tmp_path / "alice", {f"step02_scores{ending}": notebook("'cell'")})
    (tmp_path / f"bob{ending}").write_text(notebook("'cell'"))
    (tmp_path / "carl").mkdir()
    (tmp_path / "carl" / f"step02_scores{ending}").write_text("{")
    for student in ("alice", "bob"):
        assert "'cell'" in read(student).sources["step02_scores"]
    with pytest.raises(SubmissionError, match="its JSON is broken in line 1"):
        read("carl")


@pytest.mark.parametrize(
    "names",
    [("hw_v1", "hw_v2"), ("hw2", "hw2 (1)"), ("work", "work-Copy1"), ("Untitled", "hw2")],
)
def test_between_two_written_notebooks_nobody_guesses(read, tmp_path, names):
    files = {f"{name}.ipynb": notebook(f"'{name}'") for name in names}
    spread(tmp_path / "alice", {**files, "step03_mask.py": "x = 1\n"})
    submission = read("alice")
    assert list(submission.sources) == ["step03_mask"]
    told = ", ".join(sorted(files))
    assert dict(submission.refused) == {
        "step02_scores": f"{FILE} could be any of {told}: keep one of them."
    }


def test_two_notebooks_with_the_same_code_are_one(read, tmp_path):
    cells = [{"cell_type": "code", "metadata": {}, "source": text} for text in ("", source("'x'"))]
    files = {"hw.ipynb": notebook("'x'"), "hw (1).ipynb": json.dumps({"cells": cells})}
    spread(tmp_path / "alice", files)
    submission = read("alice")
    assert "'x'" in submission.sources["step02_scores"]
    assert (submission.warnings, submission.unread) == ((), ())


def test_notebook_of_the_steps_name_goes_first(read, tmp_path):
    files = {"a.ipynb": notebook("'other'"), "step02_scores.ipynb": notebook("'named'")}
    spread(tmp_path / "alice", files)
    assert "'named'" in read("alice").sources["step02_scores"]


def test_notebook_with_something_written_goes_before_an_untouched_one(read, tmp_path):
    cells = [{"cell_type": "code", "metadata": {}, "source": STUB}]
    files = {"notebooks/step02_scores.ipynb": json.dumps({"cells": cells})}
    spread(tmp_path / "alice", {**files, "work.ipynb": notebook("'cell'")})
    submission = read("alice")
    assert "'cell'" in submission.sources["step02_scores"]
    assert submission.warnings == ()


def test_broken_notebook_does_not_refuse_a_finished_file(read, tmp_path):
    spread(tmp_path / "alice", {FILE: source(), "step02_scores.ipynb": "{"})
    submission = read("alice")
    assert (list(submission.sources), dict(submission.refused)) == (["step02_scores"], {})
    assert submission.warnings == (
        "step02_scores.ipynb cannot be read: its JSON is broken in line 1.",
    )


def test_broken_notebook_refuses_the_step_of_a_stub(read, tmp_path):
    files = {FILE: STUB, "step02_scores.ipynb": "{", "step03_mask.py": "x = 1\n"}
    spread(tmp_path / "alice", files)
    assert list(read("alice").refused) == ["step02_scores"]


def test_broken_notebook_costs_its_step_only(read, tmp_path):
    spread(tmp_path / "alice", {FILE: source(), "step03_mask.ipynb": "{"})
    submission = read("alice")
    assert list(submission.sources) == ["step02_scores"]
    sentence = "step03_mask.ipynb cannot be read: its JSON is broken in line 1."
    assert dict(submission.refused) == {"step03_mask": sentence}
    assert submission.warnings == ()


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("step02_scores.ipynb", b"{", "its JSON is broken in line 1"),
        (FILE, b"# caf\xe9", NOT_TEXT),
    ],
)
def test_work_of_which_nothing_can_be_read_is_not_gradable(read, tmp_path, name, data, reason):
    """A zero would say that it is wrong."""
    (tmp_path / "alice").mkdir()
    (tmp_path / "alice" / name).write_bytes(data)
    with pytest.raises(SubmissionError, match=f"^{re.escape(name)} cannot be read: {reason}$"):
        read("alice")


# Names that are nearly right.

PLAINLY = [
    "Step02_Scores.py",
    "step02_scores (1).py",
    "step02_scores(2).py",
    "step02_scores.py.txt",
    "step02_scores-1.py",
    "step02_scores - Copy.py",
    "step02_scores-Copy1.py",
    "step02_scores - Copie.py",
    "Copy of step02_scores.py",
    "Kopie von step02_scores.py",
    "Copia de step02_scores (1).py",
    "step02 scores.py",
    "step2_scores.py",
    "step-2-scores.py",
    "step02.py",
    "STEP02_SCORES.PY",
    "ｓtep02_scores.py",
]
PLAINLY += ["step02_scores_final.py", "step02_scores-final.py", "step02_scores_v2.py"]
PLAINLY += ["ada_step02_scores.py", "step02_scores copy.py", "My copy of step02_scores.py"]
PLAINLY += ["step02_final.py", "Kopie step02.py", "12 step 2.py"]
BY_CONTENT = ["scores.py", "step02_mask.py", "step02_score.py", "step99_scores.py", "s/scores.py"]


@pytest.mark.parametrize("name", PLAINLY)
def test_file_is_read_as_the_step_that_its_name_means(read, tmp_path, name):
    spread(tmp_path / "alice", {"step03_mask.py": "x = 1\n", name: source()})
    submission = read("alice")
    assert dict(submission.sources) == {"step02_scores": source(), "step03_mask": "x = 1\n"}
    assert (submission.warnings, submission.unread) == ((f"{name} is read as {FILE}.",), ())


@pytest.mark.parametrize("name", BY_CONTENT)
def test_file_that_defines_a_missing_steps_function_is_read_as_the_step(read, tmp_path, name):
    spread(tmp_path / "alice", {"step03_mask.py": "x = 1\n", name: source()})
    submission = read("alice")
    assert dict(submission.sources) == {"step02_scores": source(), "step03_mask": "x = 1\n"}
    assert submission.warnings == (f"{name} is read as {FILE}.",)


def test_file_with_everything_is_read_as_every_step(read, tmp_path):
    text = source() + "\nmy_softmax = lambda s: s\nsoftmax = my_softmax\n"
    spread(tmp_path / "alice", {"attention.py": text})
    submission = read("alice")
    assert dict(submission.sources) == {"step02_scores": text, "step04_softmax": text}
    assert submission.warnings == (f"attention.py is read as {FILE}, step04_softmax.py.",)


def test_two_files_that_define_a_missing_steps_function_are_named(read, tmp_path):
    spread(tmp_path / "alice", {"a.py": source("1"), "b.py": source("2"), "step03_mask.py": ""})
    assert dict(read("alice").refused) == {
        "step02_scores": f"{FILE} could be any of a.py, b.py: keep one of them."
    }


def test_file_is_not_read_as_a_step_that_it_only_imports(read, tmp_path):
    """Such a file plots or tests what is in the step."""
    text = "from exercises.step02_scores import attention_scores\n"
    files = {"test_step02_scores.py": text, "plot.py": f"import math\n{text}"}
    spread(tmp_path / "alice", {FILE: source(), **files})
    submission = read("alice")
    assert dict(submission.sources) == {"step02_scores": source()}
    assert (dict(submission.refused), submission.unread) == ({}, ())


@pytest.mark.parametrize("place", ["exercises/", ""])
def test_program_of_make_case_is_not_a_step(read, tmp_path, place):
    """It has exactly the step's name, and imports from the step."""
    case = "from exercises.step02_scores import attention_scores\nattention_scores(1, 2)\n"
    spread(tmp_path / "alice", {f"{place}{FILE}": source("'mine'"), f"cases/{FILE}": case})
    submission = read("alice")
    assert "'mine'" in submission.sources["step02_scores"]
    assert (dict(submission.refused), submission.unread, submission.warnings) == ({}, (), ())


def test_step_in_a_file_beats_one_in_a_module(read, tmp_path):
    spread(tmp_path / "alice", {FILE: source("'mine'"), "helpers.py": source("'other'")})
    submission = read("alice")
    assert "'mine'" in submission.sources["step02_scores"]
    assert (list(submission.modules), submission.warnings) == (["helpers"], ())


def test_misnamed_file_alone_is_found(read, tmp_path):
    spread(tmp_path / "alice", {"inner/Step2 scores (1).py": source()})
    assert list(read("alice").sources) == ["step02_scores"]


def test_written_copy_goes_before_a_stub_of_the_exact_name(read, tmp_path):
    stub = stub_text("step02_scores")
    spread(tmp_path / "alice", {FILE: stub, "step02_scores (1).py": source("'copy'")})
    submission = read("alice")
    assert "'copy'" in submission.sources["step02_scores"]
    assert submission.warnings == (f"step02_scores (1).py is read as {FILE}.",)


def test_between_two_misnamed_files_nobody_guesses(read, tmp_path):
    files = {"step02_scores (1).py": source("1"), "step02_scores (2).py": source("2")}
    spread(tmp_path / "alice", {"step03_mask.py": "x = 1\n", **files})
    submission = read("alice")
    assert list(submission.sources) == ["step03_mask"]
    assert dict(submission.refused) == {
        "step02_scores": f"{FILE} could be any of step02_scores (1).py, step02_scores (2).py: "
        "keep one of them."
    }


# Modules of the student's own.


@pytest.mark.parametrize("way", ["folder", "exercises", "zip", "canvas", "beside a notebook"])
def test_module_of_ones_own_comes_along(read, tmp_path, way):
    files = {FILE: source(), "helpers.py": "x = 1\n"}
    if way == "canvas":
        files = {f"abel_1201_90000{n}_{name}": text for n, (name, text) in enumerate(files.items())}
        spread(tmp_path, files)
    elif way == "zip":
        packed(tmp_path / "alice.zip", {f"top/{name}": text for name, text in files.items()})
    elif way == "exercises":
        spread(tmp_path / "alice" / "exercises", files)
    elif way == "folder":
        spread(tmp_path / "alice", files)
    else:
        spread(tmp_path / "alice", {"work.ipynb": notebook(), "helpers.py": "x = 1\n"})
    submission = read("abel_1201" if way == "canvas" else "alice")
    assert dict(submission.modules) == {"helpers": "x = 1\n"}
    assert submission.warnings == ()


@pytest.mark.parametrize("name", ["numpy.py", "random.py", "Typing.py", "exercises.py"])
def test_module_may_have_any_name_that_is_not_a_steps(read, tmp_path, name):
    spread(tmp_path / "alice", {FILE: source(), name: "x = 1\n"})
    submission = read("alice")
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


def test_modules_are_bounded_in_number_and_size(read, tmp_path):
    spread(tmp_path / "many", {FILE: source(), **{f"m{n:03}.py": "" for n in range(60)}})
    spread(tmp_path / "large", {FILE: source(), **{f"m{n}.py": "#" * 300_000 for n in range(9)}})
    assert len(read("many").modules) == 40
    assert len(read("many").unread) == 20
    reason = "m040.py is not read: only 40 files beside the steps are read."
    assert read("many").warnings[0] == reason
    assert list(read("large").modules) == ["m0", "m1", "m2"]
    reason = "m3.py is not read: the files beside the steps are too long."
    assert read("large").warnings[0] == reason


def test_module_that_is_no_text_is_told(read, tmp_path):
    spread(tmp_path / "alice", {FILE: source()})
    (tmp_path / "alice" / "helpers.py").write_bytes(b"# caf\xe9")
    submission = read("alice")
    assert dict(submission.modules) == {}
    assert submission.warnings == (f"helpers.py is not read: {NOT_TEXT}.",)


def test_hash_is_that_of_the_modules_too(read, tmp_path):
    for name, text in {"alice": "x = 1\n", "bob": "x = 2\n"}.items():
        spread(tmp_path / name, {FILE: source(), "helpers.py": text})
    assert read("alice").sha256 != read("bob").sha256


def test_solutions_can_be_handed_in_every_way(grade, steps, tmp_path):
    files = {
        step.filename: (ROOT / "solutions" / step.filename).read_text(encoding="utf-8")
        for step in steps.steps[:2]
    }
    spread(tmp_path / "folder", files)
    packed(tmp_path / "zip.zip", {f"top/{name}": text for name, text in files.items()})
    cells = [
        {"cell_type": "code", "metadata": {}, "source": "# %%" + cell}
        for text in files.values()
        for cell in text.split("# %%")[1:]
    ]
    (tmp_path / "cells.ipynb").write_text(json.dumps({"cells": cells, "nbformat": 4}))
    reports = [
        grade(intake.read(entry, steps), only=steps.steps[:2]) for entry in intake.entries(tmp_path)
    ]
    assert [report.submission for report in reports] == ["cells", "folder", "zip"]
    assert [report.passed for report in reports] == [True] * 3
