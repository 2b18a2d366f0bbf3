"""The instructor's page and what a student of a class is given: whole, harmless, complete."""

import base64
import hashlib
import re
from dataclasses import replace
from urllib.parse import unquote

import pytest

from grader.classroom.overview import FOLDED, LISTED, NAMED, Summary, class_page
from grader.classroom.run import NOTHING
from grader.classroom.serving import work_page
from grader.intake.submission import Submission
from grader.report.html.page import feedback
from grader.report.records import Alike, Diagnosis, Grade, Graded, Status, Who
from grader.report.sanitize import safe_name
from tests.support.classes import (
    HOSTILE,
    SAYS,
    check,
    not_gradable,
    report,
    right,
    step,
    unscaled,
    wrong,
)
from tests.unit.report.test_page import Tree

CLASS = (right(), wrong(), not_gradable(), wrong("dan", seconds=9.0))
ABSENT = not_gradable("dora", f"{NOTHING}.", who=Who(absent=NOTHING))
ALIKE = (Alike(("bob", "dan"), "Masks", "Nearly the same code.", 0.875),)
hostile = pytest.mark.parametrize("name", HOSTILE.values(), ids=HOSTILE)


ABOUT = {"title": "the class", "due": "", "suite": "hidden", "steps": (), "when": "today"}
ABOUT |= {"strays": {}, "unmatched": {}}
OTHER_LINKS = {"#not-gradable", "grades.csv", "changes.csv"}


def summed(class_):
    summary = Summary()
    for graded in class_:
        summary.add(graded)
    return summary


def html(class_=CLASS, alike=(), **about):
    return "".join(class_page(summed(class_), alike, {**ABOUT, **about})).lstrip()


class Page(Tree):
    """Without the script, which is no text of the page."""

    def __init__(self, text):
        self.script = re.search(r"<script>(.*)</script>", text, re.DOTALL)[1]
        super().__init__(text.replace(self.script, ""))

    @property
    def words(self):
        """With a space wherever an element starts or ends, and none before a comma."""
        return " ".join(" ".join(self.text).split()).replace(" ,", ",")


def of(class_=CLASS, alike=()):
    return Page(html(class_, alike))


def part(page, name):
    """The words between a heading and the next."""
    headings = (
        "Not gradable|Nothing handed in|Scores|Steps|Hardest checks|Commonest mistakes|Alike|All"
    )
    return re.search(rf" {name} (.*?)(?= (?:{headings}) |$)", page.words)[1]


def test_summary_numbers():
    assert summed(CLASS).spread == {
        **{"mean": 20 / 3, "median": 5.0, "lowest": 5.0, "highest": 10.0, "max_score": 10.0},
        **{"full": 1, "nothing": 0, "bins": [0, 0, 0, 0, 0, 2, 0, 0, 0, 1]},
    }
    assert summed([]).spread == summed([not_gradable()]).spread == {}


def test_points_of_steps_are_those_after_changes_by_hand():
    """An excused step counts for nobody, and one that could not be read is no zero."""
    changed = replace(wrong(), grade=Grade(8.0, 10.0, {"step02_scores": 3.0}))
    unread = replace(wrong("dan").report.steps[0], gradable=False, checks=())
    class_ = [right(), changed, Graded("dan", report(unread))]
    scores, masks = summed(class_).steps.values()
    assert (scores.points, scores.failed, scores.mean) == ([5.0, 3.0], 1, 4.0)
    assert masks.points == [5.0]
    page = Tree(feedback(changed))
    assert "The steps below come to 8 of 10 points." in " ".join(page.text)


def test_summary_counts_a_student_once_for_a_known_mistake():
    said = Diagnosis("property:negated", "Look.", "Every number has the wrong sign.")
    pattern = check("scores_rows", status=Status.FAILED, diagnosis=said)
    twice = Graded("bob", report(step(unscaled(), unscaled(name="scores_shapes"), pattern)))
    ((_, rows),) = summed([twice]).mistakes
    assert [row.graded.student for row in rows] == ["bob"]
    assert rows[0].graded.report is None


def test_hardest_checks_are_by_the_share_of_those_who_tried():
    tried = [check("a", Status.FAILED), check("b", Status.FAILED), check("c")]
    other = [check("a", Status.NOT_ATTEMPTED), check("b"), check("c")]
    found = summed([Graded("x", report(step(*tried))), Graded("y", report(step(*other)))])
    assert [(c.check, c.failed, c.passed, c.not_tried) for c in found.hardest] == [
        ("a", 1, 0, 1),
        ("b", 1, 1, 0),
    ]


def test_page_has_the_goal():
    page = of()
    assert "students 4 graded 3 not gradable 1 mean, of 10 6.7 median 5" in page.words
    assert "carol the zip holds more than 200 files" in part(page, "Not gradable")
    assert "Scaled scores 1 2 0" in part(page, "Steps")
    assert "The rule of scores_agree." in part(page, "Hardest checks")
    assert f"{SAYS} score_no_scale Scaled scores 2 bob, dan" in part(page, "Commonest mistakes")
    assert "carol work 1 0.0 not gradable: the zip" in page.words
    assert len(page.all("rect")) == 10


def test_page_says_once_that_somebody_handed_in_nothing():
    page = of((right(), ABSENT))
    assert page.words.count("dora") == 2
    assert " dora work 0 nothing handed in 1 graded with " in page.words


def test_page_links_every_student_to_an_existing_name():
    """Only `serve` has the pages of their work."""
    links = {(a["href"], a.get("class")) for a in of().all("a") if a["href"] not in OTHER_LINKS}
    pages = (("feedback", None), ("work", "served"))
    names = ("alice", "bob", "carol", "dan")
    assert links == {(f"{f}/{name}.html", kind) for f, kind in pages for name in names}


def test_page_lists_a_pair_that_is_alike_once_and_for_a_human():
    steps = ("Masks", "Softmax", "Output")
    page = of(alike=[Alike(("bob", "dan"), one, "Nearly the same code.", 0.875) for one in steps])
    assert "never a verdict" in page.words
    assert page.words.count("bob, dan Masks: ") == 1
    assert "bob, dan Softmax" not in page.words
    assert "Output: Nearly the same code. 88 %" in page.words
    assert "verdict" not in of().words


@pytest.mark.parametrize("class_", [[], [not_gradable()], [right()]], ids=len)
def test_page_of_a_small_class_is_whole(class_):
    assert f"{len(class_)} students" in of(class_).words


def test_page_needs_no_network_and_runs_its_own_script_only():
    text = html(alike=ALIKE)
    page = Page(text)
    assert not re.search(r"(https?:)?//[a-z]", text.replace(page.script, ""))
    (policy,) = [m["content"] for m in page.all("meta") if "http-equiv" in m]
    digest = base64.b64encode(hashlib.sha256(page.script.encode()).digest()).decode()
    assert "default-src 'none'" in policy
    assert f"script-src 'sha256-{digest}'" in policy
    assert not [name for _, found in page.elements for name in found if name.startswith("on")]


def test_page_is_complete_without_its_script():
    page = of()
    assert page.all("p", id="tools") == [{"id": "tools", "hidden": None}]
    assert page.all("button") == [{"type": "button", "id": "more", "hidden": None}]
    assert page.all("tr", hidden=None) == []
    assert "open" in page.all("details", id="all")[0]


@hostile
def test_page_survives_any_name_and_reason(name):
    class_ = [wrong(name), not_gradable(name + "!", reason=name), right("alice")]
    text = html(class_, [Alike((name, "alice"), name, name)])
    text.encode("utf-8")
    page = Page(text)
    for link in {a["href"] for a in page.all("a")} - OTHER_LINKS:
        folder, _, file = unquote(link).partition("/")
        names = [safe_name(one) for one in (name, name + "!", "alice")]
        assert (
            file.removesuffix(".html") in {"feedback": names, "work": names, "alike": "0"}[folder]
        )
    assert "<script>alert" not in text
    assert "onfocus=" not in text.replace("&#34;", "").replace(" onfocus=alert(1)", "")


def test_page_of_a_large_class_stays_small_where_it_lists():
    class_ = [wrong(f"s{i}") for i in range(FOLDED + 1)]
    page = of(class_, [Alike(("s1", f"s{i}"), "Masks", "why") for i in range(2, LISTED + 3)])
    assert f"and {FOLDED + 1 - NAMED} more" in page.words
    assert f"… and {FOLDED + 1 - LISTED} more: look for score_no_scale" in page.words
    assert "… and 1 more, less alike." in page.words
    assert "open" not in page.all("details", id="all")[0]


def test_bars_fill_the_drawing():
    ten, five, *rest = sorted(
        ((float(r["height"]), float(r["y"])) for r in of().all("rect")), reverse=True
    )
    assert (ten[0], five[0]) == (168, 84)
    assert {height for height, _ in rest} == {0}
    assert ten[0] + ten[1] == five[0] + five[1]


# what a student is given


NOTED = wrong(attempts=3, warnings=("Cell 3 was passed over.",))
NOTED = replace(NOTED, report=replace(NOTED.report, held={"network": True, "files": False}))
NO_ZERO = "This is not a score of 0"
GIVEN = {
    "the report with what was noted": (
        NOTED,
        "There were 3 attempts; this is the latest. Cell 3 was passed over.",
        *("bubblewrap; held: network; did not hold: files", "Hint. Look at the length."),
    ),
    "the name in the class": (replace(wrong("x"), student="bob"), "nopeek report: bob"),
    "why there is no score": (
        *(not_gradable(), "nopeek report: carol Your submission could not be graded."),
        *(NO_ZERO, "the zip holds more than 200 files"),
    ),
    "that nothing was handed in": (
        *(ABSENT, f"nopeek report: dora There is no work of yours. {NO_ZERO}"),
        "nothing was handed in. If you did hand in, tell your instructor.",
    ),
}


@pytest.mark.parametrize("given", GIVEN.values(), ids=GIVEN)
def test_feedback_says(given):
    graded, *said = given
    words = Tree(feedback(graded)).words
    assert [one for one in said if one not in words] == []


def test_feedback_with_very_many_notes_is_cut():
    tree = Tree(feedback(wrong(warnings=("Note.",) * 30)))
    assert tree.words.count("Note.") == 20
    assert "… and 10 more notes" in tree.words


@hostile
def test_feedback_survives_any_name_and_reason(name):
    for graded in (wrong(name, warnings=(name,)), not_gradable(name, reason=name)):
        text = feedback(graded)
        text.encode("utf-8")
        Tree(text)
        assert "<script>" not in text


FORM = {"token": "t", "who": "Tim", "changes": (), "problem": "", "comments": ()}


def test_work_page_says_that_points_are_more_than_the_maximum():
    graded = wrong(grade=Grade(12.0, 10.0, {"step02_scores": 7.0}))
    page = work_page(graded, Submission("bob", {}), FORM)
    assert "Masks: 5 of 5</h2>" in page
    assert "12 of 10 points: more than the maximum." in page
    assert "Scaled scores: 7 of 5: more than the maximum</h2>" in page
    assert page.count("more than the maximum") == 2
