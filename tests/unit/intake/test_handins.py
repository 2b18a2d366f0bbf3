"""Where in a hand-in the step files may lie, and which of several counts."""

import json
import re

import pytest

from grader.intake import entries as intake
from grader.intake.folders import SubmissionError
from tests.conftest import ROOT
from tests.support.handed_in import FILE, as_notebook, notebook, packed, source, spread, write
from tests.support.stubs import stub_text

NOT_UTF8 = "it is not UTF-8 text, and names no other encoding: save it as UTF-8"


@pytest.fixture
def read(steps, tmp_path):
    """read(student): what counts of a student of the class folder."""

    def read(student):
        entries = {entry.student: entry for entry in intake.entries(tmp_path, steps)}
        return intake.read(entries[student], steps)

    return read


# Where the files lie.


PLACES = {
    "top": [FILE],
    "exercises": [f"exercises/{FILE}"],
    "one folder": [f"my work/{FILE}"],
    "a clone": [f"kit-main/{name}/{FILE}" for name in ("exercises", "solutions", "tests")],
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
    files = {path: text if "solutions" not in path else "stolen" for path, text in files.items()}
    make(tmp_path / ("alice.zip" if kind == "zip" else "alice"), files)
    assert "return 0" in read("alice").sources["step02_scores"]


def test_nothing_is_taken_from_beside_the_exercises(read, tmp_path):
    other = "step03_mask.py"
    spread(tmp_path / "alice", {f"exercises/{FILE}": source(), f"solutions/{other}": "x = 1\n"})
    assert list(read("alice").sources) == ["step02_scores"]


BESIDE = {
    "another step": ("step03_mask.py", "x = 1\n", "return 2"),
    "a notebook of another step": ("Lesson.ipynb", json.dumps({"cells": []}), "return 2"),
    "an untouched file": (FILE, stub_text("step02_scores"), "return 2"),
    "a finished file": (FILE, source("1"), "return 1"),
}


@pytest.mark.parametrize(("name", "text", "counts"), BESIDE.values(), ids=BESIDE)
def test_zip_beside_other_files_is_read_after_them(read, tmp_path, name, text, counts):
    """Students leave earlier files beside the zip of `make handin`."""
    spread(tmp_path / "Ann_1_assignsubmission_file", {name: text})
    write(tmp_path / "Ann_1_assignsubmission_file" / "handin.zip", "2")
    found = read("Ann_1")
    assert counts in found.sources["step02_scores"]
    assert found.refused == {}
    assert "handin.zip is read, too, after the files beside it." in found.warnings


@pytest.mark.parametrize("damaged", [True, False])
def test_zips_beside_files_are_ignored_if_several_or_damaged(read, tmp_path, damaged):
    spread(tmp_path / "alice", {"step03_mask.py": "x = 1\n"})
    for name in ("1.zip", "2.zip"):
        write(tmp_path / "alice" / name)
    if damaged:
        (tmp_path / "alice" / "1.zip").unlink()
        (tmp_path / "alice" / "2.zip").write_text("no zip")
    found = read("alice")
    assert list(found.sources) == ["step03_mask"]
    ignored = "2.zip is ignored: only the files beside it are read. If it holds steps, unpack it."
    assert ignored in found.warnings


ABOVE = {
    "a folder": (f"hw/{FILE}", "handin.zip"),
    "the exercises": (f"exercises/{FILE}", "handin.zip"),
    "the exercises in a folder": (f"kit/exercises/{FILE}", "handin.zip"),
    "a file, in the exercises": (f"exercises/{FILE}", "exercises/handin.zip"),
}


@pytest.mark.parametrize(("path", "zipped"), ABOVE.values(), ids=ABOVE)
@pytest.mark.parametrize("finished", [True, False])
def test_zip_beside_a_folder_is_read_after_it(read, tmp_path, path, zipped, finished):
    """The folder may be the bundle's, still untouched, or the zip may be the bundle's."""
    place = tmp_path / "Ann_1_assignsubmission_file"
    spread(place, {path: source("1") if finished else stub_text("step02_scores")})
    packed(place / zipped, {FILE: source("2"), "step03_mask.py": "x = 3\n"})
    found = read("Ann_1")
    assert found.sources["step02_scores"] == source("1" if finished else "2")
    assert found.sources["step03_mask"] == "x = 3\n"
    assert f"{zipped.rpartition('/')[2]} is read, too, after the files beside it." in found.warnings


def test_zip_without_steps_does_not_hide_a_folder(read, tmp_path):
    spread(tmp_path / "alice", {f"kit/exercises/{FILE}": source("1")})
    packed(tmp_path / "alice" / "pictures.zip", {"a.txt": "a"})
    found = read("alice")
    assert found.sources["step02_scores"] == source("1")
    ignored = (
        "pictures.zip is ignored: only the files beside it are read. If it holds steps, unpack it."
    )
    assert found.warnings == (ignored,)


@pytest.mark.parametrize("path", [FILE, f"exercises/{FILE}"])
def test_folder_with_other_steps_is_named_if_it_is_ignored(read, tmp_path, path):
    spread(tmp_path / "alice", {path: source(), "rest/step03_mask.py": "x = 1\n"})
    found = read("alice")
    assert list(found.sources) == ["step02_scores"]
    assert found.warnings == ("rest is ignored: only the files beside it are read.",)


BESIDE_STUBS = {
    "a copy": ("exercises copy/{}", source()),
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
    if text in (source(), "Rar!"):
        with pytest.raises(SubmissionError, match=f"are untouched, but {name} may hold work"):
            read("alice")
    else:
        assert list(read("alice").sources) == ["step02_scores"]


@pytest.mark.parametrize("ending", ["", ".zip"])
@pytest.mark.parametrize("names", [("1", "2"), ("2026-11-20", "2026-11-21"), ("v1", "v2")])
def test_parts_of_a_hand_in_are_no_attempts(read, tmp_path, names, ending):
    """The second lacks what the first has: only one of them would count."""
    place = tmp_path / "alice"
    place.mkdir()
    for name, file in zip(names, (FILE, "step03_mask.py"), strict=True):
        if ending:
            packed(place / f"{name}.zip", {file: source()})
        else:
            spread(place / name, {file: source()})
    with pytest.raises(SubmissionError, match="all"):
        read("alice")


@pytest.mark.parametrize("ending", ["", ".zip"])
def test_parts_in_notebooks_of_any_name_are_no_attempts(read, tmp_path, ending):
    place = tmp_path / "alice"
    place.mkdir()
    for number, made in (("1", source()), ("2", "def softmax(scores):\n    return 1\n")):
        files = {f"week{number}.ipynb": as_notebook(f"import math\n{made}")}
        if ending:
            packed(place / f"{number}.zip", files)
        else:
            spread(place / number, files)
    with pytest.raises(SubmissionError, match="all"):
        read("alice")


def test_notebooks_that_are_handed_in_again_are_attempts(read, tmp_path):
    for number in ("1", "2"):
        spread(tmp_path / "alice" / number, {"hw.ipynb": as_notebook(source(number))})
    assert "return 2" in read("alice").sources["step02_scores"]


@pytest.mark.parametrize(
    "trial",
    [
        "class A:\n    def softmax(self): pass\n",
        "x = 'def softmax(x)'\n",
        "def softmax(scores):\n    raise NotImplementedError\n",
    ],
)
def test_notebook_that_only_names_a_step_is_an_attempt(read, tmp_path, trial):
    for number, more in (("1", trial), ("2", "")):
        made = as_notebook(source(number), more)
        spread(tmp_path / "alice" / number, {"hw.ipynb": made})
    assert "return 2" in read("alice").sources["step02_scores"]


def test_many_notebooks_are_attempts_that_are_not_compared(read, tmp_path):
    for number in range(12):
        made = {"hw.ipynb": as_notebook(source() if number < 11 else "def softmax(x): pass\n")}
        spread(tmp_path / "alice" / str(number), made)
    assert list(read("alice").sources) == ["step04_softmax"]


def test_attempt_with_more_steps_than_the_one_before_counts(read, tmp_path):
    spread(tmp_path / "alice" / "1", {FILE: source("1")})
    spread(tmp_path / "alice" / "2", {FILE: source("2"), "step03_mask.py": "x = 1\n"})
    submission = read("alice")
    assert "return 2" in submission.sources["step02_scores"]
    assert list(submission.sources) == ["step02_scores", "step03_mask"]


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


def test_only_canvas_renames_files_that_are_handed_in_again(read, tmp_path):
    for name in (FILE, "step02_scores-1.py"):
        (tmp_path / f"Ann_1_assignsubmission_file_{name}").write_text(source(repr(name)))
    found = read("Ann_1")
    assert found.sources == {"step02_scores": source(repr(FILE))}
    assert found.warnings == (f"{FILE} counts for its step; ignored: step02_scores-1.py.",)


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


def test_notebook_that_cannot_be_read_is_not_replaced_by_an_old_folder(read, tmp_path):
    spread(tmp_path / "alice", {"step02_scores.ipynb": "{", f"old/{FILE}": source()})
    with pytest.raises(SubmissionError, match="its JSON is broken in line 1"):
        read("alice")


def test_finished_file_goes_before_a_stub_at_the_top(read, tmp_path):
    spread(tmp_path / "alice", {FILE: STUB, f"exercises/{FILE}": source("'mine'")})
    submission = read("alice")
    assert "'mine'" in submission.sources["step02_scores"]
    assert submission.warnings == (
        f"Ignored, because another file has the same step: {FILE} (exercises/{FILE} counts).",
    )


def test_every_file_that_is_passed_over_is_named(read, tmp_path):
    other = "step03_mask.py"
    files = {FILE: source("'top'"), other: "def causal_mask(t_q):\n    return 0\n"}
    below = {f"exercises/{name}": text for name, text in {FILE: source(), other: STUB}.items()}
    spread(tmp_path / "alice", {**files, **below})
    submission = read("alice")
    assert "'top'" in submission.sources["step02_scores"]
    assert submission.warnings == (
        f"Ignored, because another file has the same step: exercises/{FILE} ({FILE} counts), "
        f"exercises/{other} ({other} counts).",
    )


def test_file_in_exercises_replaces_one_that_cannot_be_read(read, tmp_path):
    spread(tmp_path / "alice", {f"exercises/{FILE}": source("'mine'")})
    (tmp_path / "alice" / FILE).write_bytes(b"# caf\xe9")
    submission = read("alice")
    assert ("'mine'" in submission.sources["step02_scores"], dict(submission.refused)) == (True, {})
    assert submission.warnings == (f"{FILE} cannot be read: {NOT_UTF8}.",)


def test_file_in_exercises_that_cannot_be_read_refuses_nothing_at_the_top(read, tmp_path):
    spread(tmp_path / "alice", {FILE: source(), "exercises/step03_mask.py": "x = 1\n"})
    (tmp_path / "alice" / "exercises" / FILE).write_bytes(b"# caf\xe9")
    submission = read("alice")
    assert (set(submission.sources), dict(submission.refused)) == (
        {"step02_scores", "step03_mask"},
        {},
    )
    assert submission.warnings == (f"exercises/{FILE} cannot be read: {NOT_UTF8}.",)


def test_modules_of_both_places_are_read_and_the_upper_one_counts(read, tmp_path):
    files = {FILE: source(), "shared.py": "x = 1\n", "exercises/shared.py": "x = 2\n"}
    files |= {"exercises/step03_mask.py": "x = 1\n", "exercises/other.py": "x = 3\n"}
    spread(tmp_path / "alice", files)
    submission = read("alice")
    assert dict(submission.modules) == {"shared": "x = 1\n", "other": "x = 3\n"}
    assert submission.warnings == ("exercises/shared.py is ignored: another shared.py is read.",)


# A mix of files and notebooks.


def test_file_goes_before_a_notebook(read, tmp_path):
    spread(tmp_path / "alice", {FILE: source("'file'"), "work.ipynb": notebook("'cell'")})
    submission = read("alice")
    assert "'file'" in submission.sources["step02_scores"]
    assert "taken from step02_scores.py; it is also in work.ipynb" in submission.warnings[0]


@pytest.mark.parametrize("folder", ["", "exercises/"])
def test_untouched_file_gives_way_to_a_notebook(read, tmp_path, folder):
    other = "notebooks/" if folder else ""
    spread(tmp_path / "alice", {folder + FILE: STUB, f"{other}work.ipynb": notebook("'cell'")})
    submission = read("alice")
    assert "'cell'" in submission.sources["step02_scores"]
    assert f"taken from work.ipynb; it is also in {folder}{FILE}" in submission.warnings[0]


def test_file_stays_if_the_notebook_is_a_stub_too(read, tmp_path):
    stub = json.dumps({"cells": [{"cell_type": "code", "metadata": {}, "source": STUB}]})
    spread(tmp_path / "alice", {FILE: f"# mine\n{STUB}", "work.ipynb": stub})
    submission = read("alice")
    assert submission.sources["step02_scores"].startswith("# mine")
    assert submission.warnings == (
        f"step02_scores is taken from {FILE}; it is also in work.ipynb.",
    )


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
    assert f"{FILE} cannot be read: {NOT_UTF8}." in submission.warnings
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


def test_notebook_for_trials_goes_after_the_one_with_more_functions(read, tmp_path):
    both = source("'work'") + "def softmax(scores, axis=-1):\n    return scores\n"
    cells = [{"cell_type": "code", "metadata": {}, "source": both}]
    files = {"Untitled.ipynb": notebook("'trial'"), "work.ipynb": json.dumps({"cells": cells})}
    spread(tmp_path / "alice", files)
    assert "'work'" in read("alice").sources["step02_scores"]


def test_copy_of_a_notebook_goes_after_it(read, tmp_path):
    files = {"work-Copy1.ipynb": notebook("'copy'"), "work.ipynb": notebook("'cell'")}
    spread(tmp_path / "alice", files)
    assert "'cell'" in read("alice").sources["step02_scores"]


@pytest.mark.parametrize(
    "names",
    [("hw_v1", "hw_v2"), ("hw2", "hw2 (1)"), ("attempt1", "final"), ("hw2-old", "hw2")],
)
def test_between_two_written_notebooks_nobody_guesses(read, tmp_path, names):
    files = {f"{name}.ipynb": notebook(f"'{name}'") for name in names}
    spread(tmp_path / "alice", {**files, "step03_mask.py": "x = 1\n"})
    submission = read("alice")
    assert list(submission.sources) == ["step03_mask"]
    told = " and ".join(sorted(files)) if len(files) == 2 else ""
    assert list(submission.refused) == ["step02_scores"]
    reason = submission.refused["step02_scores"]
    assert reason.startswith("step02_scores could be taken from any of "), told
    assert reason.endswith(": keep one of them.")


def test_two_notebooks_with_the_same_code_are_one(read, tmp_path):
    cells = [{"cell_type": "code", "metadata": {}, "source": text} for text in ("", source("'x'"))]
    files = {"hw.ipynb": notebook("'x'"), "hw (1).ipynb": json.dumps({"cells": cells})}
    spread(tmp_path / "alice", files)
    submission = read("alice")
    assert "'x'" in submission.sources["step02_scores"]
    assert submission.warnings[0].startswith("step02_scores is taken from hw.ipynb;")


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
    assert submission.warnings == (
        "step02_scores is taken from work.ipynb; it is also in notebooks/step02_scores.ipynb.",
    )


def test_broken_notebook_does_not_refuse_a_finished_file(read, tmp_path):
    spread(tmp_path / "alice", {FILE: source(), "step02_scores.ipynb": "{"})
    submission = read("alice")
    assert (list(submission.sources), dict(submission.refused)) == (["step02_scores"], {})
    assert submission.warnings == (
        "step02_scores.ipynb cannot be read: its JSON is broken in line 1.",
    )


def test_broken_notebook_refuses_the_step_of_a_stub(read, tmp_path):
    spread(tmp_path / "alice", {FILE: STUB, "step02_scores.ipynb": "{"})
    assert list(read("alice").refused) == ["step02_scores"]


def test_broken_notebook_costs_its_step_only(read, tmp_path):
    spread(tmp_path / "alice", {FILE: source(), "step03_mask.ipynb": "{"})
    submission = read("alice")
    assert list(submission.sources) == ["step02_scores"]
    sentence = "step03_mask.ipynb cannot be read: its JSON is broken in line 1."
    assert dict(submission.refused) == {"step03_mask": sentence}
    assert submission.warnings == (sentence,)


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("step02_scores.ipynb", b"{", "its JSON is broken in line 1"),
        (FILE, b"# caf\xe9", NOT_UTF8),
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
OTHERWISE = ["step02_mask.py", "step02_scores_old.py", "step99_scores.py", "scores.py", "step2.txt"]
OTHERWISE += ["of step02_scores.py", "Copy step02_scores.py", "My copy of step02_scores.py"]


@pytest.mark.parametrize("name", PLAINLY)
def test_file_is_read_as_the_step_that_its_name_means(read, tmp_path, name):
    spread(tmp_path / "alice", {"step03_mask.py": "x = 1\n", name: source()})
    submission = read("alice")
    assert dict(submission.sources) == {"step02_scores": source(), "step03_mask": "x = 1\n"}
    assert submission.warnings == (f"{name} is read as {FILE}.",)
    assert dict(submission.modules) == {}


@pytest.mark.parametrize("name", OTHERWISE)
def test_file_that_may_be_anything_is_taken_for_no_step(read, tmp_path, name):
    spread(tmp_path / "alice", {"step03_mask.py": "x = 1\n", name: source()})
    assert list(read("alice").sources) == ["step03_mask"]


def test_misnamed_file_alone_is_found(read, tmp_path):
    spread(tmp_path / "alice", {"inner/Step2 scores (1).py": source()})
    assert list(read("alice").sources) == ["step02_scores"]


def test_exact_name_wins(read, tmp_path):
    spread(tmp_path / "alice", {FILE: source("'exact'"), "step02_scores (1).py": source()})
    submission = read("alice")
    assert "'exact'" in submission.sources["step02_scores"]
    assert submission.warnings == (f"{FILE} counts for its step; ignored: step02_scores (1).py.",)


def test_written_copy_goes_before_a_stub_of_the_exact_name(read, tmp_path):
    stub = stub_text("step02_scores")
    spread(tmp_path / "alice", {FILE: stub, "step02_scores (1).py": source("'copy'")})
    submission = read("alice")
    assert "'copy'" in submission.sources["step02_scores"]
    assert submission.warnings == (
        f"step02_scores (1).py is read as {FILE}, because {FILE} is a stub.",
    )


def test_between_two_misnamed_files_nobody_guesses(read, tmp_path):
    files = {"step02_scores (1).py": source(), "step02_scores (2).py": source()}
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
def test_module_that_shadows_another_is_left_out(read, tmp_path, name):
    spread(tmp_path / "alice", {FILE: source(), name: "x = 1\n"})
    submission = read("alice")
    assert dict(submission.modules) == {}
    assert submission.warnings == (
        f"{name}: ignored, because Python or NumPy has a module of that name. Rename it.",
    )


@pytest.mark.parametrize("name", ["__init__.py", "my-helpers.py", "class.py", "notes.txt", "1.py"])
def test_file_that_cannot_be_imported_is_no_module(read, tmp_path, name):
    spread(tmp_path / "alice", {FILE: source(), name: "x = 1\n"})
    assert dict(read("alice").modules) == {}


def test_modules_are_bounded_in_number_and_size(read, tmp_path):
    spread(tmp_path / "many", {FILE: source(), **{f"m{n:03}.py": "" for n in range(60)}})
    spread(tmp_path / "large", {FILE: source(), **{f"m{n}.py": "#" * 300_000 for n in range(9)}})
    assert len(read("many").modules) == 40
    assert read("many").warnings == ("Only the first 40 files beside the steps are read.",)
    assert list(read("large").modules) == ["m0", "m1", "m2"]
    assert read("large").warnings == ("m3.py is ignored: the files beside the steps are too long.",)


def test_module_that_is_no_text_is_told(read, tmp_path):
    spread(tmp_path / "alice", {FILE: source()})
    (tmp_path / "alice" / "helpers.py").write_bytes(b"# caf\xe9")
    submission = read("alice")
    assert dict(submission.modules) == {}
    assert submission.warnings == (f"helpers.py cannot be read: {NOT_UTF8}.",)


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
        grade(intake.read(entry, steps), only=steps.steps[:2])
        for entry in intake.entries(tmp_path, steps)
    ]
    assert [report.submission for report in reports] == ["cells", "folder", "zip"]
    assert [report.passed for report in reports] == [True] * 3
