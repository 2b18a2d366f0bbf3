"""Test how a run of grading counts, with a stand-in for the judges."""

from concurrent.futures import Executor, Future

from grader.classroom.gradebook import Gradebook
from grader.classroom.judge import Exam, Outcome
from grader.classroom.run import Run
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
