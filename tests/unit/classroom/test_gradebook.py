"""The gradebook: nothing lost, nothing twice, every error a sentence that says what to do."""

import os
from dataclasses import replace

import pytest

from grader.classroom import hidden_inputs
from grader.classroom.gradebook import LOCK, NAME, Gradebook, key_of
from grader.classroom.judge import Exam, Outcome
from grader.classroom.publishing import list_changes, note_points
from grader.intake.submission import Submission
from grader.report.problem import Problem
from grader.report.records import CheckVerdict, Graded, Report, Status, StepVerdict, Who
from tests.support.disks import little_room

EXAM = Exam("hidden", 7, "process", ("step02_scores",), "kit one")
LATER = replace(EXAM, kit="kit two")


def submission(student, text="def f(): pass\n"):
    return Submission(student, {"step02_scores": text})


def report(student="alice", points=1.0):
    status = Status.PASSED if points else Status.FAILED
    check = CheckVerdict("scores_agree", "attention_scores", "…", status, points, 1.0)
    step = StepVerdict("step02_scores", "Scores", status, points, 1.0, (check,))
    return Report(student, "hash", "hidden", 7, "process", (step,), {"network": True})


def marked(student, work, exam, **more):
    return Graded(student, None, sha256=work.sha256, key=key_of(exam, work), **more)


def graded_class(book, exam, points, numbers=None):
    """A finished run in which every student has these points; None is not gradable.

    numbers: of the students on a platform.
    """
    run = book.begin(exam)
    for student, score in points.items():
        if score is None:
            book.mark(run, Graded(student, None, "a broken zip"))
            continue
        one = submission(student, f"# {student} {score}\n" if score != 0.5 else "# the same\n")
        book.keep(one)
        book.record(key_of(exam, one), Outcome(report(student, score).to_json().encode(), "", 0.25))
        who = Who("Canvas", numbers[student]) if numbers else Who()
        book.mark(run, marked(student, one, exam, warnings=("a warning",), attempts=2, who=who))
    book.finish(run)
    return run


@pytest.fixture
def book(tmp_path):
    with Gradebook(tmp_path, write=True) as opened:
        yield opened


@pytest.fixture
def closed(tmp_path):
    """A gradebook with one result, which nobody has open."""
    with Gradebook(tmp_path, write=True) as opened:
        graded_class(opened, EXAM, {"alice": 1.0})
    return tmp_path


NAMES = ["alice", "Ünï", "a\nb", "\udcff\udc80", "../../x", "=cmd()", "x" * 300, "‮evil"]


def test_students_come_back_as_they_were_whatever_their_names(book, tmp_path):
    graded_class(book, EXAM, dict.fromkeys(NAMES, 1.0) | {"bob": None})
    with Gradebook(tmp_path) as reader:
        found = {graded.student: graded for graded in reader.graded()}
    assert set(found) == {*NAMES, "bob"}
    assert found["bob"].report is None
    assert found["bob"].reason == "a broken zip"
    for name in NAMES:
        assert found[name].report == report(name)
        assert (found[name].warnings, found[name].attempts) == (("a warning",), 2)


def test_own_modules_are_compared_with_the_steps_that_import_them(book):
    """Otherwise a copy could be hidden in one."""
    run = book.begin(EXAM)
    step = {"step02_scores": "from mine import *\n"}
    one = Submission("eve", step, modules={"mine": "x = 1\n", "other": "y = 2\n"})
    book.keep(one)
    book.mark(run, marked("eve", one, EXAM))
    book.finish(run)
    assert [*book.sources_of(run, "step02_scores")] == [("eve", "from mine import *\n\nx = 1\n")]
    assert [*book.sources_of(run, "step03_mask")] == []


def test_student_who_is_gone_is_in_the_next_run_no_more(book):
    run = graded_class(book, EXAM, {"alice": 1.0, "bob": 1.0})
    killed, again = book.begin(LATER), book.begin(LATER)
    book.mark(killed, Graded("bob", None))
    book.mark(again, Graded("alice", None))
    book.finish(again)
    assert [graded.student for graded in book.graded()] == ["alice"]
    assert [graded.student for graded in book.graded(run)] == ["alice", "bob"]


@pytest.mark.parametrize("change", ["suite", "seed", "isolation", "steps", "kit"])
def test_key_depends_on_all_of_the_exam(change):
    other = {"suite": "visible", "seed": 8, "isolation": "bubblewrap", "steps": (), "kit": "x"}
    one = submission("alice")
    assert key_of(EXAM, one) != key_of(replace(EXAM, **{change: other[change]}), one)


def test_key_depends_on_the_content_and_not_on_the_student():
    assert key_of(EXAM, submission("alice")) == key_of(EXAM, submission("bob"))
    assert key_of(EXAM, submission("alice")) != key_of(EXAM, submission("alice", "other"))
    refused = replace(submission("alice"), refused={"step03_mask": "it is too long"})
    assert key_of(EXAM, submission("alice")) != key_of(EXAM, refused)


def published(book, run):
    """Publish the run's points, so that the next run's changes are told."""
    note_points(book, run, book.graded(run))


def changed(book, run):
    return list(list_changes(book, run, list(book.graded(run))))


def test_changes_tell_who_and_why(book):
    first = graded_class(book, EXAM, {"alice": 0.5, "bob": 1.0, "carol": 0.0, "dan": 1.0})
    assert changed(book, first) == []
    published(book, first)
    run = graded_class(book, EXAM, {"alice": 0.5, "bob": 1.0, "carol": 1.0, "dan": None})
    found = {
        c.student: (c.because, c.before.score, c.before.report is None, c.after.report is None)
        for c in changed(book, run)
    }
    assert found == {
        "carol": ("handed in again", 0.0, False, False),
        "dan": ("not gradable any more: a broken zip", 1.0, False, True),
    }


def test_change_of_the_kit_is_the_reason_when_the_work_is_the_same(book):
    one = submission("alice")
    for exam, points in ((EXAM, 0.0), (LATER, 1.0)):
        run = book.begin(exam)
        book.record(key_of(exam, one), Outcome(report("alice", points).to_json().encode(), "", 0.1))
        book.mark(run, marked("alice", one, exam))
        book.finish(run)
        found = changed(book, run)
        published(book, run)
    (change,) = found
    assert change.because == "the kit changed"
    assert (change.before.report.score, change.after.report.score) == (0.0, 1.0)


def works(book, run, seed, *names, ended=True):
    """Mark these works in a round."""
    for name in names:
        one = submission(name, f"# {name}\n")
        book.mark(run, Graded(name, None, sha256=one.sha256, round=seed))
    if ended:
        book.finish(run)


def round_of(book, name):
    return book.round_of(submission(name, f"# {name}\n").sha256)


def test_round_ends_with_the_run_that_has_its_work(book):
    assert book.next_round(1) == 1
    run = book.begin(replace(EXAM, seed=1))
    works(book, run, 1, "anna", "ben", ended=False)
    assert book.next_round(1) == 1  # the run was killed
    book.finish(run)
    assert book.next_round(1) == 2
    works(book, book.begin(replace(EXAM, seed=2)), 1, "anna", "ben")
    assert book.next_round(1) == 2  # nobody is in it yet
    assert [book.next_round(first) for first in (0, 2, 7)] == [0, 2, 7]
    works(book, book.begin(replace(EXAM, suite="visible")), 0, "anna")
    assert [round_of(book, name) for name in ("anna", "anna, again")] == [1, None]


def test_secret_is_made_once(book, tmp_path):
    assert book.secret() is None
    secret = book.make_secret()
    assert len(secret) == 32
    book.begin(EXAM, proof=hidden_inputs.prove(secret))
    book.close()
    with Gradebook(tmp_path) as again:
        assert again.secret() == secret


SPOILT = {
    "damaged": "update secret set value = x'00'",
    "not bytes": "update secret set value = 'hello'",
    "lost": "delete from secret",
    "another course's": "update secret set value = zeroblob(32)",
    "one too many": "insert into secret values (zeroblob(32))",
}


@pytest.mark.parametrize("change", SPOILT.values(), ids=SPOILT)
def test_secret_that_is_not_this_courses_is_refused_and_never_replaced(book, change):
    book.begin(EXAM, proof=hidden_inputs.prove(book.make_secret()))
    book._do(change)
    with pytest.raises(Problem, match="is damaged, lost or another course's"):
        book.secret()


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
def test_gradebook_is_private_from_the_start_and_an_old_one_keeps_its_mode(book, tmp_path):
    book.make_secret()
    files = [*tmp_path.glob(f"{NAME}*")]
    assert len(files) > 1  # SQLite's own
    assert {file.stat().st_mode & 0o777 for file in files} == {0o600}
    book.close()
    (tmp_path / NAME).chmod(0o660)
    Gradebook(tmp_path, write=True).close()
    assert (tmp_path / NAME).stat().st_mode & 0o777 == 0o660


NUMBERS = {"anna_1202": "1202", "evileve_1300": "1300", "evilin_1300": "1300"}


@pytest.mark.parametrize("then", ["evileve_1300", "evilin_1300"])
def test_new_name_on_the_platform_hides_no_change(book, then):
    published(book, graded_class(book, EXAM, {"anna_1202": 1.0, "evileve_1300": 0.0}, NUMBERS))
    run = graded_class(book, EXAM, {"anna_1202": 1.0, then: 1.0}, NUMBERS)
    assert [(one.student, one.because) for one in changed(book, run)] == [(then, "handed in again")]


def test_student_who_took_an_earlier_name_again_is_compared_with_the_last_run(book):
    for name, points in (("evileve_1300", 1.0), ("evilin_1300", 0.0), ("evileve_1300", 1.0)):
        run = graded_class(book, EXAM, {name: points}, NUMBERS)
        found = changed(book, run)
        published(book, run)
    (change,) = found
    assert (change.before.student, change.before.report.score) == ("evilin_1300", 0.0)


def test_number_of_two_who_are_here_brings_neither_the_others_work(book):
    """A team's number on Moodle may be a student's."""
    published(book, graded_class(book, EXAM, {"evileve_1300": 0.0}, NUMBERS))
    run = graded_class(book, EXAM, {"evileve_1300": 0.0, "evilin_1300": 1.0}, NUMBERS)
    assert changed(book, run) == []


def test_second_writer_is_refused_while_the_first_is_open(book, tmp_path):
    with pytest.raises(Problem, match=r"another `grade` is at work in .*: wait for it"):
        Gradebook(tmp_path, write=True)
    with Gradebook(tmp_path) as reader:  # which needs no lock
        assert reader.last() == 0
    book.close()
    Gradebook(tmp_path, write=True).close()


def test_reading_where_nothing_was_graded_says_so(tmp_path):
    with pytest.raises(Problem, match=r"there is no gradebook in .*: grade into it first"):
        Gradebook(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_unfinished_gradebook_is_not_exported(book, tmp_path):
    book.begin(EXAM)
    with Gradebook(tmp_path) as reader, pytest.raises(Problem, match="to the end"):
        list(reader.graded())


DAMAGES = {
    "not a database": lambda data: b"hello" * 1000,
    "cut short": lambda data: data[: len(data) // 2],
    "overwritten in the middle": lambda data: data[:4096] + b"\xff" * 4096 + data[8192:],
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_damaged_gradebook_is_left_alone(tmp_path, damage):
    with Gradebook(tmp_path, write=True) as book:
        graded_class(book, EXAM, {f"student {i}": 1.0 for i in range(50)})
    path = tmp_path / NAME
    path.write_bytes(damaged := damage(path.read_bytes()))
    with pytest.raises(Problem, match=r"is damaged .*: move it away"):
        Gradebook(tmp_path, write=True)
    assert path.read_bytes() == damaged


def test_gradebook_of_the_release_before_is_read_and_goes_on(closed):
    """It has no table of notes."""
    with Gradebook(closed, write=True) as book:
        book._do("drop table note")
        book._do("pragma user_version = 3")
    with Gradebook(closed) as again:
        assert again.recall("shown") is None
        assert [graded.student for graded in again.graded()] == ["alice"]


def test_gradebook_of_a_later_kit_is_left_alone(closed):
    with Gradebook(closed, write=True) as book:
        book._do("pragma user_version = 99")
    with pytest.raises(Problem, match="of another version of the kit"):
        Gradebook(closed, write=True)


def test_full_disk_is_told_and_what_was_kept_stays(book):
    graded_class(book, EXAM, {"alice": 1.0})
    book._db.execute("pragma max_page_count = 20")
    with pytest.raises(Problem, match=r"there is no room left .* is kept; make room"):
        graded_class(book, LATER, {f"student {i}": 1.0 for i in range(500)})
    assert [graded.student for graded in book.graded()] == ["alice"]


@pytest.mark.parametrize("write", [True, False])
def test_gradebook_on_a_full_disk_is_not_called_damaged(closed, write):
    """Whoever moved it away would lose all results."""
    with little_room(4096), pytest.raises(Problem, match=r"is full or fails: what is grad"):
        Gradebook(closed, write=write)
    with Gradebook(closed) as book:
        assert [graded.student for graded in book.graded()] == ["alice"]


@pytest.mark.parametrize(
    ("blocked", "write", "advice"),
    [(LOCK, True, "choose another --out"), (f"{NAME}-wal", False, "copy its folder to where you")],
)
def test_folder_that_cannot_be_written_is_told(closed, blocked, write, advice):
    (closed / blocked).unlink(missing_ok=True)
    (closed / blocked).mkdir()  # holds for root too, who may write into read-only folders
    with pytest.raises(Problem, match=f"cannot be written: {advice}"):
        Gradebook(closed, write=write)


def test_nothing_is_written_by_opening_a_closed_gradebook_for_reading(closed):
    before = (closed / NAME).read_bytes()
    with Gradebook(closed) as reader:
        list(reader.graded())
    assert (closed / NAME).read_bytes() == before
