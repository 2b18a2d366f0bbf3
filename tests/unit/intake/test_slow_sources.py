"""Sources that are made to keep their reader busy: the work grows with their length, no faster."""

import json
import sys
import time
import zipfile

import pytest

from grader.intake import cells, entries, handins, notebooks, search, submission
from grader.intake.archives import Archive
from grader.intake.filenames import find_original, step_meant
from grader.intake.folders import Folder, SubmissionError
from grader.intake.submission import MAX_SOURCE, Submission
from grader.isolation.worker.statements import compile_text
from grader.steps import registry
from grader.steps.stubs import is_unfinished

REPEATED = ["@a\n", "@\n\n", "# a\n", "a=\\\n", "a.", "a ", "(", "\n", " ", "%a\n"]
REPEATED += ["a;", "a=1;", ";", "  #\n"]


class Steps:
    """Counts the lines of Python that are run, and ends what runs far more than it should."""

    def __init__(self, most):
        self.left = most

    def __enter__(self):
        sys.settrace(self._trace)
        return self

    def __exit__(self, *error):
        sys.settrace(None)

    def _trace(self, frame, event, argument):
        self.left -= 1
        if self.left < 0:
            sys.settrace(None)
            raise AssertionError("the work grows faster than the source")
        return self._trace


@pytest.mark.parametrize("unit", REPEATED, ids=repr)
def test_cells_are_cut_in_steps_that_grow_with_their_length(unit):
    source = unit * (6000 // len(unit))
    with Steps(most=60 * len(source) + 10_000):
        cells.cut_cell(source)


@pytest.mark.parametrize("unit", ["\n", "\r\n", " ", "\t\n", "    raise Not\n"], ids=repr)
def test_longest_source_is_searched_for_functions_to_be_written_at_once(unit):
    """With a pattern that looks at empty lines again and again, this takes hours."""
    assert not is_unfinished(unit * (MAX_SOURCE // len(unit)))


def test_imports_of_all_names_are_read_in_time_that_grows_with_their_number():
    """Each may replace every name above it. If it looked at all of those, this would take 20 s."""
    stub = "def f():\n    raise NotImplementedError\n"
    names = "".join(f"a{number} = 1\n" for number in range(8_000))
    start = time.process_time()
    assert not is_unfinished(stub + names + "import *\n" * 12_000)
    assert is_unfinished(names + "import *\n" * 12_000 + stub)
    assert time.process_time() - start < 4


def test_forged_first_line_of_a_notebook_is_believed_line_by_line():
    """One line may be named a quarter of a million times, and each time takes a millisecond."""
    forged = submission.NOTEBOOK.format(functions="softmax", lines="2 " * 250_000)
    source = f"{forged}\n# from x, cell 1 ({'a' * 480_000}\n"
    start = time.process_time()
    assert submission.place(source, 2, "x.py")[0] == "x.py, line 2"
    submission.forget_lines()
    assert time.process_time() - start < 4


@pytest.mark.parametrize("lines", ["9" * 5_000, "9" * 900_000, "2 " + "9" * 5_000])
def test_forged_first_line_of_a_notebook_with_a_large_number_is_no_line(lines):
    forged = submission.NOTEBOOK.format(functions="softmax", lines=lines)
    source = f"{forged}\n# from x, cell 1\ndef softmax(): pass\n"
    assert submission.place(source, 3, "x.py")[0] == "x.py, line 3"
    submission.forget_lines()
    assert compile_text(source, "x.py")


# Notebooks: there may be forty of them, and each is asked for every function of every step.


def every_function(steps):
    return "".join(f"def {f.name}(): pass\n" for step in steps.steps for f in step.functions)


def notebook(*sources):
    made = [{"cell_type": "code", "metadata": {}, "source": source} for source in sources]
    return json.dumps({"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode()


@pytest.mark.parametrize(
    "more",
    [
        "import " + ",".join(f"a{i}" for i in range(3000)),
        "import " + ",".join(["a"] * 3000),
    ],
    ids=["many names", "one name"],
)
def test_import_of_many_names_is_read_once_for_all_steps(steps, more):
    data = notebook(every_function(steps) + more)
    with Steps(most=200_000):  # 450,000 if for each
        assert notebooks.read(data, "work.ipynb", steps).sources


def test_callers_do_not_wait_for_the_same_name_again_and_again():
    """If they did, this would take half a minute."""
    known = "".join(f"def a{number}(): 0\n" for number in range(30))
    calls = "; ".join(f"a{number}()" for number in range(30))
    callers = "".join(f"def f{number}(): {calls}; b(); c()\n" for number in range(1_000))
    made = "def b(): 0\ndef b(): z()\ndef c(): 0\ndef c(): z()\n" * 500
    start = time.process_time()
    notebooks.read(notebook(known + callers + made + "def softmax(x): 0\n"), "x", registry.load())
    assert time.process_time() - start < 8


def test_statement_that_binds_all_functions_is_searched_for_a_stub_once(steps, monkeypatch):
    looked = []
    monkeypatch.setattr(cells, "is_unfinished", looked.append)
    all_of_them = ", ".join(function.name for step in steps.steps for function in step.functions)
    notebooks.read(notebook(f"{all_of_them} = pick(1)\n"), "work.ipynb", steps)
    assert len(looked) == 1


def test_many_names_are_not_copied_for_each_statement_below():
    """If they were, this would take minutes."""
    names = "from os import " + ",".join(f"a{number}" for number in range(100_000)) + "\n"
    start = time.process_time()
    notebooks.read(notebook(names + "b = 1\n" * 9_000), "work.ipynb", registry.load())
    assert time.process_time() - start < 10


@pytest.mark.parametrize("text", ["a{}[0]=1", "from math import{}sin", "a{}=1", "f{}(1)"])
def test_blanks_are_read_once(text):
    """If each were looked at from every other, these would take minutes."""
    start = time.process_time()
    data = notebook(text.format(" " * 400_000) + "\ndef softmax(x): pass\n")
    assert notebooks.read(data, "work.ipynb", registry.load()).sources
    assert time.process_time() - start < 10


def test_calls_of_an_assignment_are_looked_for_once_for_all_steps(steps, monkeypatch):
    looked = []

    class Pattern:
        def finditer(self, text):
            looked.append(text)
            return iter(())

    monkeypatch.setattr(cells, "_CALL", Pattern())
    book = notebooks.read(notebook(every_function(steps) + "x = f(1)\n"), "work.ipynb", steps)
    assert len(book.sources) == len(steps.steps)
    assert looked == ["x = f(1)\n"]


def test_warnings_of_a_notebook_are_not_compared_with_each_other(steps):
    """If they were, this would take half a minute."""
    data = notebook(every_function(steps) + "".join(f"import mod{i}\n" for i in range(9000)))
    start = time.process_time()
    assert len(notebooks.read(data, "work.ipynb", steps).warnings) == 9000
    assert time.process_time() - start < 8


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("# " + "x" * (MAX_SOURCE // 2) + "\n", "its code is longer than 1,000,000 characters"),
        ("a=1\n" * (notebooks.MAX_STATEMENTS // 2 + 1), "it has more than 10,000 statements"),
        ("\n" * (notebooks.MAX_LINES // 2 + 1), "its code has more than 100,000 lines"),
    ],
    ids=["code", "statements", "lines"],
)
def test_notebooks_of_a_submission_share_what_is_read(steps, tmp_path, source, reason):
    first = f"def {steps.steps[0].functions[0].name}(x): pass\n"
    for name in "abcd":
        (tmp_path / f"{name}.ipynb").write_bytes(notebook(first + source))
    with Folder.open(tmp_path) as folder:
        found = handins.submission("anna", folder, steps)
    late = [warning for warning in found.warnings if reason in warning]
    assert [warning[:7] for warning in late] == ["b.ipynb", "c.ipynb", "d.ipynb"]
    assert found.unread == ("b.ipynb", "c.ipynb", "d.ipynb")


@pytest.mark.parametrize("inside", ["{}.zip", "{}/a.zip", "{}/a/b.zip", "{0}/a.zip {0}/d/b.zip"])
def test_few_zips_of_a_hand_in_are_opened(steps, tmp_path, monkeypatch, inside):
    """Forty folders, each with a zip of twenty thousand names, kept the reader busy for 23 s."""
    opened = []

    def read_names(archive, changed):
        opened.append(1)
        raise SubmissionError("it is empty")

    monkeypatch.setattr(Archive, "open", read_names)
    for number in range(1, 41):
        for name in inside.format(number).split():
            path = tmp_path / "mallory" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(b"")
    (entry,) = entries.entries(tmp_path, steps)
    with pytest.raises(SubmissionError, match="it is empty"):
        entries.read(entry, steps)
    assert len(opened) == search.MAX_ZIPS


def test_names_in_all_zips_of_a_hand_in_are_counted_together(steps, tmp_path, monkeypatch):
    monkeypatch.setattr(search, "MAX_FILES", 50)
    (tmp_path / "mallory").mkdir()
    for number in range(6):
        with zipfile.ZipFile(tmp_path / "mallory" / f"{number}.zip", "w") as zipped:
            for name in range(10):
                zipped.writestr(f"{name}.txt", "")
    (entry,) = entries.entries(tmp_path, steps)
    with pytest.raises(SubmissionError, match="it holds more than 50 files"):
        entries.read(entry, steps)


@pytest.mark.parametrize("count", [search.MAX_FOLDERS, 3 * search.MAX_FOLDERS])
def test_few_folders_are_open_at_a_time(steps, tmp_path, count):
    for number in range(count):
        (tmp_path / "mallory" / str(number)).mkdir(parents=True)
    (tmp_path / "mallory" / "step04_softmax.py").write_text("x = 1\n")
    (entry,) = entries.entries(tmp_path, steps)
    assert len(entries.read(entry, steps).unread) == count - search.MAX_FOLDERS


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"0," * 700_000 + b"0", "it holds more than 2,000,000 values"),
        (b'"' + b"x" * (31 * 2**20) + b'"', "it is larger than 128 MiB"),
    ],
    ids=["values", "bytes"],
)
def test_notebooks_of_a_submission_share_what_is_parsed(steps, tmp_path, data, reason):
    """Forty that each reach the limits kept the reader busy for 40 s."""
    code = f"def {steps.steps[0].functions[0].name}(x): pass\n"
    whole = json.loads(notebook(code))
    for name in "abcde":
        text = json.dumps({**whole, "metadata": {"large": "here"}}).encode()
        (tmp_path / f"{name}.ipynb").write_bytes(text.replace(b'"here"', b"[" + data + b"]"))
    with Folder.open(tmp_path) as folder:
        found = handins.submission("anna", folder, steps)
    late = [warning for warning in found.warnings if f"{reason}, together" in warning]
    assert [warning[:7] for warning in late][-1:] == ["e.ipynb"]


def test_modules_that_name_each_other_are_searched_once(monkeypatch):
    """With a search for each name in all that was found so far, this takes a minute."""
    searched = []

    def normalize(form, text):
        searched.append(text)
        return text

    monkeypatch.setattr(submission.unicodedata, "normalize", normalize)
    names = [f"m{number}" for number in range(40)]
    modules = dict(zip(names, [*names[1:], ""], strict=True))
    modules = dict(reversed(modules.items()))
    mine = Submission("mallory", {"step02_scores": "m0"}, modules=modules)
    for _ in range(2):
        assert set(mine.reachable("step02_scores").split()) == set(names)
    assert len(searched) == 1 + len(names)


def test_sources_of_a_hand_in_are_bounded_together(steps, tmp_path, monkeypatch):
    """A zip may hold twenty thousand of them, each with a megabyte."""
    monkeypatch.setattr(handins, "MAX_SOURCES", 5)
    (tmp_path / "step04_softmax.py").write_text("x = 1\n")
    for number in range(8):
        (tmp_path / f"m{number}.py").write_bytes(b"\xff")
    with Folder.open(tmp_path) as folder:
        found = handins.submission("anna", folder, steps)
    assert (list(found.sources), len(found.unread)) == (["step04_softmax"], 8)
    assert "m7.py is not read: there are too many source files." in found.warnings


@pytest.mark.parametrize("name", ["step02" + "_1" * 400, "step02_" + "1" * 400, "step_" * 400])
def test_long_name_is_read_at_once(steps, name):
    start = time.process_time()
    step_meant(f"{name}x.py", steps)
    find_original(f"{name} (1)" * 9, {})
    assert time.process_time() - start < 1
