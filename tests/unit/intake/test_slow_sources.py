"""Sources that are made to keep their reader busy: where the work grew faster, this never ends."""

import pytest

from grader.intake import folders_and_zips, handins, notebooks, submission
from grader.intake.filenames import step_meant
from grader.intake.folders_and_zips import Archive, Folder, SubmissionError
from grader.intake.submission import MAX_SOURCE, Submission
from grader.isolation.survey import forget_sources, place
from grader.isolation.worker.cells import NOTEBOOK
from grader.steps import registry
from tests.support.handed_in import as_notebook, packed, read_place, spread


def test_marks_of_a_notebook_are_read_once():
    """Each may be as long as the source."""
    source = f"{NOTEBOOK}\n" + "# %% x, cell 1\n" * 60_000 + f"# %% {'a' * 80_000}, cell 2\nx = 1\n"
    assert place(source, 60_003, "x.py")[0] == "x, cell 1, line 2"
    forget_sources()


# Notebooks: there may be forty of them, and each is asked for every function of every step.


@pytest.mark.parametrize(
    "text",
    [
        "a" + " " * 400_000 + "[0]=1",
        " " * 400_000 + "%",
        "%a\n" * 30_000,
        "(" * 400_000,
        'x = """' + "\n" * 90_000,
        "f(\n" * 30_000,
        "@a\n" * 30_000,
        "def softmax(x): pass\n" * 30_000,
        "x = " + "[" * 90 + "]" * 90 + "\n" + "a.b = c;" * 30_000,
    ],
    ids=range(9),
)
def test_a_long_notebook_keeps_nobody_waiting(text):
    """The survey ends at a deadline, and the judge reads each line once."""
    data = as_notebook("def softmax(x): pass\n", text).encode()
    assert notebooks.read(data, "work.ipynb", registry.load()).sources or text


def test_notebooks_of_a_submission_share_what_is_read(steps, tmp_path):
    first = f"def {steps.steps[0].functions[0].name}(x): pass\n"
    for name in "abcd":
        data = as_notebook(first + "# " + "x" * (MAX_SOURCE // 2) + "\n")
        (tmp_path / f"{name}.ipynb").write_text(data)
    with Folder.open(tmp_path) as folder:
        found = read_place(folder, steps)
    assert "1,000,000 characters of code" in found.warnings[0]
    assert found.unread == ("b.ipynb", "c.ipynb", "d.ipynb")


@pytest.mark.parametrize("inside", ["{}.zip", "{}/a.zip", "{}/a/b.zip", "{0}/a.zip {0}/d/b.zip"])
def test_few_zips_of_a_hand_in_are_opened(read, tmp_path, monkeypatch, inside):
    """Forty folders, each with a zip of twenty thousand names, kept the reader busy for 23 s."""
    opened = []

    def read_names(archive):
        opened.append(1)
        raise SubmissionError("it is empty")

    monkeypatch.setattr(Archive, "open", read_names)
    names = " ".join(map(inside.format, range(1, 41))).split()
    spread(tmp_path / "mallory", dict.fromkeys(names, ""))
    with pytest.raises(SubmissionError, match="it is empty"):
        read("mallory")
    assert len(opened) == folders_and_zips.MAX_ZIPS


def test_names_in_all_zips_of_a_hand_in_are_counted_together(read, tmp_path, monkeypatch):
    monkeypatch.setattr(folders_and_zips, "MAX_FILES", 50)
    (tmp_path / "mallory").mkdir()
    for number in range(6):
        packed(tmp_path / "mallory" / f"{number}.zip", {f"{name}.txt": "" for name in range(10)})
    with pytest.raises(SubmissionError, match="it holds more than 50 files"):
        read("mallory")


@pytest.mark.parametrize("count", [folders_and_zips.MAX_FOLDERS, 3 * folders_and_zips.MAX_FOLDERS])
def test_few_folders_are_open_at_a_time(read, tmp_path, count):
    for number in range(count):
        (tmp_path / "mallory" / str(number)).mkdir(parents=True)
    spread(tmp_path / "mallory", {"step04_softmax.py": "x = 1\n"})
    assert len(read("mallory").unread) == count - folders_and_zips.MAX_FOLDERS


@pytest.mark.parametrize(
    "data", [b"0," * 700_000 + b"0", b'"' + b"x" * (31 * 2**20) + b'"'], ids=["values", "bytes"]
)
def test_notebooks_of_a_submission_share_what_is_parsed(steps, tmp_path, data):
    """Forty that each reach the limits kept the reader busy for 40 s."""
    code = f"def {steps.steps[0].functions[0].name}(x): pass\n"
    text = as_notebook(code).encode()
    for name in "abcde":
        large = text.replace(b'"metadata": {}, "nbformat"', b'"large": [' + data + b'], "nbformat"')
        (tmp_path / f"{name}.ipynb").write_bytes(large)
    with Folder.open(tmp_path) as folder:
        found = read_place(folder, steps)
    assert found.unread[-1] == "e.ipynb"
    assert "more than 2,000,000 values" in found.warnings[0]


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
    monkeypatch.setattr(handins, "MAX_READ", 5)
    files = {f"m{number}.py": b"\xff" for number in range(8)}
    spread(tmp_path, {"step04_softmax.py": "x = 1\n", **files})
    with Folder.open(tmp_path) as folder:
        found = read_place(folder, steps)
    assert (list(found.sources), len(found.unread)) == (["step04_softmax"], 8)
    assert "m7.py is not read: the files before it are too many, or too large." in found.warnings


@pytest.mark.parametrize("name", ["step02" + "_1" * 400, "step02_" + "1" * 400, "step_" * 400])
def test_long_name_is_read_at_once(steps, name):
    step_meant(f"{name}x.py", steps)
