"""Test how a run of grading counts, with a stand-in for the judges."""

from concurrent.futures import Executor, Future

from click.testing import CliRunner

from grader.classroom.gradebook import Gradebook
from grader.classroom.judge import Exam, Outcome
from grader.classroom.run import Run
from grader.classroom.tables import HEADER
from grader.cli.main import cli
from grader.intake import entries
from grader.steps import registry
from tests.support.classes import right
from tests.support.handed_in import write

REGISTRY = registry.load()
EXAM = Exam("visible", 0, "process", ("step02_scores",), "a kit")


class Standing(Executor):
    """In place of judges: everybody is right."""

    def submit(self, function, /, *args, **kwargs):
        answer = Future()
        answer.set_result(Outcome(right().report.to_json().encode(), "", 0.5))
        return answer


def counted(book, folder):
    """How many were judged, and how many were known from before."""
    progress = Run(REGISTRY, book, EXAM).grade(entries.entries(folder, REGISTRY), Standing(), 1)
    return progress.judged, progress.kept


def test_same_work_of_two_students_is_not_known_from_before(tmp_path):
    for name in ("anna", "ben", "cy", "di"):
        write(tmp_path / "class" / name)
    (tmp_path / "out").mkdir()
    with Gradebook(tmp_path / "out", write=True) as book:
        assert counted(book, tmp_path / "class") == (4, 0)
        assert counted(book, tmp_path / "class") == (0, 4)


def test_change_by_hand_while_a_class_is_graded_is_on_its_pages(tmp_path, monkeypatch):
    """The run takes hours, and its pages and table are written at its end."""
    write(tmp_path / "class" / "anna")
    out = tmp_path / "out"
    judged = Run.grade

    def changed_meanwhile(self, *arguments):
        with (out / "overrides.csv").open("w", encoding="utf-8") as file:
            file.write(f"{HEADER}\nanna,,3,,oral exam,Tim,today\n")
        return judged(self, *arguments)

    monkeypatch.setattr(Run, "grade", changed_meanwhile)
    asked = ["grade", str(tmp_path / "class"), "--out", str(out), "--isolation", "process"]
    done = CliRunner().invoke(cli, [*asked, "--suite", "visible", "--step", "2"])
    assert done.exit_code == 0, done.output
    assert "anna,3," in (out / "grades.csv").read_text(encoding="utf-8")
