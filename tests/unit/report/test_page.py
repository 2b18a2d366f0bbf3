"""The page of a report: whole, harmless, readable, and with everything marked that is wrong."""

import itertools
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

from grader.report.grids import are_weights, exhibits, influence_grid
from grader.report.html.page import MAX_PRINTED_LINES, page
from grader.report.records import (
    Array,
    CheckVerdict,
    Diagnosis,
    Evidence,
    Influence,
    Report,
    Status,
    StepVerdict,
    report_from_json,
)
from grader.report.sanitize import MAX_TEXT

VOID = {"meta", "link", "input", "col"}
DRAWN = {"rect", "path"}  # of SVG, closed in themselves
HOSTILE = {
    "element": "<script>alert(1)</script>",
    "handler": "<img src=x onerror=alert(1)>",
    "double quote": '" onfocus="alert(1)',
    "single quote": "' onfocus='alert(1)",
    "end of the title": "</title></pre></svg></style><b>",
    "reference": "&lt;b&gt; &amp;",
    "template": "{{ 7 * 7 }} {% raw %}",
    "comment": "<!-- x --><![CDATA[ x ]]>",
    "escape sequence": "\x1b[2J\x1b]0;title\x07",
    "null byte": "a\x00b",
    "surrogate": "a\ud800b",
    "turned round": "a\u202eb\u2066c",
    "link": "https://example.org/x.js",
}


class Tree(HTMLParser):
    """Reads a page, and fails where an element is not closed in its turn."""

    def __init__(self, html):
        super().__init__(convert_charrefs=True)
        self.open, self.elements, self.text = [], [], []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        names = [name for name, _ in attributes]
        assert len(names) == len(set(names)), f"{tag} says something twice"
        self.elements.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        assert tag in DRAWN
        self.elements.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.text.append(data)

    def all(self, tag, **attributes):
        """The attributes of the elements of that kind, `class_` among those that they must have."""
        wanted = {name.rstrip("_"): value for name, value in attributes.items()}
        return [has for name, has in self.elements if name == tag and wanted.items() <= has.items()]

    @property
    def words(self):
        return " ".join("".join(self.text).split())


def array(name, values, wrong=None):
    values = np.asarray(values)
    marks = () if wrong is None else tuple(int(i) for i in np.flatnonzero(wrong))
    return Array(name, values.shape, values.tolist(), marks)


def check(status=Status.FAILED, **more):
    points = 1.0 if status is Status.PASSED else 0.0
    fields = {"check": "c", "function": "softmax", "title": "A title.", **more}
    return CheckVerdict(status=status, points=points, max_points=1.0, **fields)


def step(*checks, status=Status.FAILED, **more):
    earned, most = sum(c.points for c in checks), sum(c.max_points for c in checks)
    fields = {"step": "step04_softmax", "title": "Softmax", **more}
    return StepVerdict(status=status, points=earned, max_points=most, checks=checks, **fields)


def report(*steps, **more):
    fields = {"submission": "alice", "sha256": "ab" * 32, "suite": "visible", **more}
    return Report(**{"seed": 0, "isolation": "process", "steps": steps, **fields})


def case(**evidence):
    """A page with one failing case, open."""
    return page(report(step(check(evidence=Evidence("softmax(scores)", **evidence)))))


EXPECTED = np.array([[0.25, 0.75], [0.5, 0.5]])
GOT = np.array([[0.25, 0.75], [0.125, 0.875]])
MOVED = ((1.0, 0.0, 0.0, 0.0), (0.2, 1.0, 0.0, 0.31), (0.2, 0.0, 1.0, 0.0), (0.1, 0.1, 0.1, 1.0))
FULL = report(
    step(check(Status.PASSED), status=Status.PASSED, step="step01_projections", title="First"),
    step(
        check(Status.PASSED, title="It holds."),
        check(
            message="2 of 4 values are wrong.",
            evidence=Evidence(
                "softmax(scores)",
                (
                    *(array("scores", [[1.0, 2.0], [3.0, 4.0]]), array("mask", [[True, False]])),
                    *(array(f"params.blocks[{i}].ln_1.gain", [1.0]) for i in range(2)),
                ),
                (array("expected", EXPECTED),),
                (array("got", GOT, GOT != EXPECTED),),
                Influence(MOVED, all_matter=True),
            ),
            printed="here\n",
            diagnosis=Diagnosis("wrong", "Which axis?", "It sums over the queries."),
        ),
        check(Status.SKIPPED, message="Not counted yet."),
        check(Status.TIMEOUT, message="It had not returned after 5 s."),
        on_own_steps=False,
        message="It does not work yet on top of your own earlier steps: softmax.",
    ),
    step(check(Status.NOT_ATTEMPTED), status=Status.NOT_ATTEMPTED, step="odd", title="Third"),
)


TREE = Tree(page(FULL))


def test_page_is_well_formed_and_in_order():
    tags = [tag for tag, _ in TREE.elements]
    assert [tags.count(tag) for tag in ("html", "header", "nav", "main", "footer", "h1")] == [1] * 6
    levels = [int(tag[1]) for tag in tags if re.fullmatch(r"h\d", tag)]
    assert levels[0] == 1
    assert all(new <= old + 1 for old, new in itertools.pairwise(levels))
    ids = [attributes["id"] for _, attributes in TREE.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert {found["href"] for found in TREE.all("a")} == {f"#{name}" for name in ids}
    assert TREE.all("html", lang="en")
    assert TREE.all("meta", name="viewport")


def test_every_table_has_a_caption_and_headings_with_scope():
    assert len(TREE.all("table")) == len(TREE.all("caption")) == 5
    assert {found["scope"] for found in TREE.all("th")} == {"row", "col"}


def test_nothing_is_loaded_and_nothing_runs():
    policy = TREE.all("meta", **{"http-equiv": "Content-Security-Policy"})
    assert policy[0]["content"].startswith("default-src 'none'; style-src 'unsafe-inline'")
    loads = r"https?:|\bsrc=|url\(|@import|<script|javascript:"
    assert not re.search(loads, page(FULL), re.IGNORECASE)
    assert not [name for _, found in TREE.elements for name in found if name.startswith("on")]
    assert {found["href"] for found in TREE.all("link")} == {"data:,"}


def test_score_and_a_bar_for_every_step():
    assert "2 of 6 points" in TREE.words
    bars = [(bar["value"], bar["max"]) for bar in TREE.all("progress")]
    assert bars == [("2.0", "6.0"), ("1.0", "1.0"), ("1.0", "4.0"), ("0.0", "1.0")]
    assert all(bar["aria-label"] for bar in TREE.all("progress"))


def test_only_the_first_step_that_needs_work_is_open():
    folds = TREE.all("details", class_="step")
    assert ["open" in fold for fold in folds] == [False, True, False]
    tree = Tree(page(report(*FULL.steps[:1])))
    assert "Everything passed." in tree.words
    assert not any("open" in found for found in tree.all("details"))


def test_every_check_says_its_status_points_and_message():
    for expected in (
        "It holds.passed1/ of 1 points",
        "A title.needs work0/ of 1 points 2 of 4 values are wrong.",
        "not counted0/ of 1 points Not counted yet.",
        "too slow0/ of 1 points It had not returned after 5 s.",
        "This looks like a known mistake. It sums over the queries.",
        "Hint. Which axis?",
        "on top of your own earlier steps: softmax.",
        "4 checks: 1 passed, 1 needs work, 1 too slow, 1 not counted.",
        "Output and warnings of your code here",
        "softmax(scores) params: 2 blocks scores (2, 2)",
    ):
        assert expected in TREE.words
    assert "blocks[0]" not in TREE.words


def test_wrong_cells_are_marked_in_words():
    assert [(cell["title"], cell["aria-label"]) for cell in TREE.all("td", class_="wrong")] == [
        ("wrong; expected: 0.500", "0.125, wrong; expected: 0.500"),
        ("wrong; expected: 0.500", "0.875, wrong; expected: 0.500"),
    ]
    assert len(TREE.all("td", class_="due")) == 2
    assert "✗0.125" in TREE.words
    assert "got (2, 2) 2 wrong" in TREE.words
    assert "✗ marks what is wrong." in TREE.words


@pytest.mark.parametrize(
    ("expected", "got", "told"),
    [
        ((array("expected", EXPECTED),), 0.5 + 1e-7, "0.50000010, wrong; expected: 0.50000000"),
        ((), -0.5, "-0.500, wrong"),
    ],
    ids=["a small difference", "no right one"],
)
def test_wrong_cell_is_seen(expected, got, told):
    values = np.array([[0.25, 0.75], [0.5, got]])
    mine = array("got", values, [[False, False], [False, True]])
    (cell,) = Tree(case(expected=expected, got=(mine,))).all("td", class_="wrong")
    assert cell["aria-label"] == told


def test_influence_map_has_the_right_cells():
    (drawing,) = TREE.all("svg", class_="map influence")
    assert "Output 1 moved by 0.31 when only input 3 changed: it must not." in drawing["aria-label"]
    assert [len(TREE.all("g", class_=mark)) for mark in ("leak", "missing", "may")] == [1, 1, 9]
    assert "output 1 moved by 0.31 when only input 3 changed: it must not" in TREE.words
    assert "Output 2 did not move when only input 1 changed: it should." in TREE.words
    marks = [[cell.mark for cell in row] for row in influence_grid(Influence(MOVED)).cells]
    assert marks[1] == ["may", "may", "none", "leak"]
    assert marks[2] == ["may", "none", "may", "none"]


def test_weights_get_heat_maps_side_by_side():
    assert len(TREE.all("svg", class_="map heat")) == 2
    assert "row 1, column 0: 0.125, wrong; expected: 0.500" in TREE.words


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ([[0.5, 0.5], [0.0, 0.0]], True),
        ([[0.5, 0.5], [0.5, 0.4]], False),
        ([[1.5, -0.5]], False),
        ([[0.0, 0.0]], False),
        ([[True, False]], False),
        ([0.5, 0.5], False),
        (np.full((2, 3, 4), 0.25), True),
        (np.zeros((2, 0, 3)), False),
    ],
)
def test_weights_are_told_from_other_arrays(values, told):
    assert are_weights(array("expected", values)) is told


def test_slices_with_wrong_cells_come_first_and_the_rest_is_counted():
    expected = np.zeros((2, 4, 2, 2))
    got = expected.copy()
    got[0, 3], got[1, 1], got[1, 2], got[1, 3] = 1, 2, 3, 4
    inputs = array("x", expected), array("w", expected[0, 0])
    results = (array("expected", expected),), (array("got", got, got != expected),)
    shown = exhibits(Evidence("f(x)", inputs, *results))
    assert [grid.name for grid in shown[0].grids] == ["x[0, 3]", "x[1, 1]", "x[1, 2]", "w"]
    names = [grid.name for exhibit in shown[1:] for grid in exhibit.grids]
    assert names[1::2] == ["got[0, 3]", "got[1, 1]", "got[1, 2]"]
    assert names[0] == "expected[0, 3]"
    assert shown[-1].grids[1].note == "and 5 more slices, 1 of them with wrong cells"


def test_large_arrays_are_shortened_around_what_is_wrong():
    expected = np.ones((40, 300))
    got = expected.copy()
    got[33, 250] = 2
    evidence = Evidence("f(x)", (), (array("expected", expected),), (array("got", got, got != 1),))
    ((right, mine),) = (exhibit.grids for exhibit in exhibits(evidence))
    assert mine.down == right.down == (*range(11), 33)
    assert mine.across == (*range(11), 250)
    assert mine.cells[-1][-1].mark == "wrong"
    assert mine.note == "12 of 40 rows and 12 of 300 columns shown"


@pytest.mark.parametrize(
    ("shown", "words"),
    [
        (array("got", 2.5), "got 2.500"),
        (array("got", [1, 2]), "got (2,) 0 1 1 2"),
        (array("got", [[True]]), "got (1, 1) 0 0 True"),
        (array("got", np.zeros((0, 2, 2))), "got (0, 2, 2) empty"),
        (Array("got", (64, 64), None), "got (64, 64) 4,096 numbers: too many to show"),
        (array("got", [[np.nan, -np.inf]]), "0 nan -inf"),
        (array("got", [[0.0, 1e-9, 1e9]]), "0 0 1e-09 1e+09"),
    ],
    ids=lambda value: str(value) if isinstance(value, str) else "",
)
def test_arrays_of_every_shape(shown, words):
    assert words in Tree(case(got=(shown,))).words


def test_arrays_of_two_shapes_stand_beside_each_other():
    tree = Tree(case(expected=(array("expected", np.eye(2)),), got=(array("got", np.eye(3)),)))
    assert "expected (2, 2)" in tree.words
    assert "got (3, 3)" in tree.words
    assert tree.all("svg") == []


def test_one_cause_and_one_message_are_told_once():
    cause = Diagnosis("wrong", "Which axis?", "It sums over the queries.")
    words = Tree(page(report(step(*[check(diagnosis=cause)] * 3)))).words
    assert words.count("Which axis?") == 1
    assert words.count("The same cause as above.") == 2
    text = "There is no step04_softmax.py in the submission."
    checks = [check(Status.NOT_ATTEMPTED, message=text)] * 3
    html = page(report(step(*checks, status=Status.NOT_ATTEMPTED, message=text)))
    assert html.count(text) == 1
    assert page(report(step(*checks, status=Status.NOT_ATTEMPTED))).count(text) == 1


def test_code_in_a_sentence_is_set_as_code_and_escaped():
    text = "It raised ValueError (line 2: `return x < y`); `a lone backtick & <i>."
    html = page(report(step(check(message=text))))
    assert "(line 2: <code>return x &lt; y</code>); `a lone backtick &amp; &lt;i&gt;." in html


def test_report_without_steps_tells_no_seed():
    html = page(report(seed=987_654_321, suite="hidden"))
    assert "0 of 0 points" in Tree(html).words
    assert "987654321" not in html


def hostile_report(text):
    """The text in every place that a submission, or anything else, can have a say in."""
    found = array(text, GOT, GOT != EXPECTED)
    evidence = Evidence(text, (array(text, GOT),), (array(text, EXPECTED),), (found,))
    failed = check(
        **{"check": text, "function": text, "title": text, "message": text, "printed": text},
        evidence=replace(evidence, influence=Influence(MOVED)),
        diagnosis=Diagnosis(text, text, text),
    )
    judged = step(failed, check(), step=text, title=text, message=text + ".")
    return Report(text, text, text, 0, text, (judged,))


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_text_is_only_text(text):
    html = page(hostile_report(text))
    assert all(char.isprintable() or char == "\n" for char in html.encode("utf-8").decode())
    plain, tree = Tree(page(hostile_report("x"))), Tree(html)
    assert [tag for tag, _ in tree.elements] == [tag for tag, _ in plain.elements]
    pairs = zip(plain.elements, tree.elements)
    assert all(one.keys() == other.keys() for (_, one), (_, other) in pairs)
    seen = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
    assert tree.words.count(" ".join(seen.split())) >= 15


def test_huge_texts_are_cut():
    html = page(hostile_report("x" * 1_000_000))
    assert len(html) < 60 * MAX_TEXT * 2
    assert "(996,000 more characters)" in html


def test_printed_lines_are_cut():
    text = "\n".join(f"line {i}" for i in range(100))
    words = Tree(page(report(step(check(printed=text))))).words
    assert f"line {MAX_PRINTED_LINES - 1} … and 60 more lines" in words
    assert f"line {MAX_PRINTED_LINES}" not in words


def luminance(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (
        (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4) for p in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_colours_stand_out(scheme):
    both = re.findall(r"--([\w-]+): light-dark\((#\w{6}), (#\w{6})\);", page(report()))
    colours = {name: pair[scheme] for name, *pair in both}
    pairs = [*itertools.product(("text", "muted", "bad", "link"), ("page", "panel"))]
    pairs += [("good", "page"), ("text", "hint-panel"), ("text", "due-panel")]
    pairs += [("text", "bad-panel"), ("bad", "bad-panel")]
    for ink, ground in pairs:
        one, other = sorted((luminance(colours[ink]), luminance(colours[ground])))
        assert (other + 0.05) / (one + 0.05) >= 4.5, f"{ink} on {ground}"


def test_what_fails_comes_first():
    checks = (
        check(Status.PASSED, title="One.", function="linear"),
        check(Status.PASSED, title="Two.", function="softmax"),
        check(title="Three.", function="softmax"),
        check(Status.NOT_ATTEMPTED, title="Four.", function="attention"),
    )
    words = Tree(page(report(step(*checks)))).words
    places = [words.index(title) for title in ("Three.", "Two.", "One.", "Four.")]
    assert places == sorted(places)


def test_several_checks_need_work():
    wrong, error, passed = (check(s) for s in (Status.FAILED, Status.ERROR, Status.PASSED))
    assert "4 checks: 2 need work, 2 errors." in page(report(step(wrong, wrong, error, error)))
    assert "3 checks: 1 passed, 1 needs work, 1 error." in page(report(step(wrong, error, passed)))


@pytest.mark.parametrize("name", ["a_mistake", "property:rows"])
def test_map_is_open_where_it_shows_something(name):
    evidence = Evidence("softmax(x)", influence=Influence(MOVED, all_matter=True))
    html = page(report(step(check(evidence=evidence, diagnosis=Diagnosis(name, "?", "So.")))))
    assert "<summary>The map of influence</summary>" not in html
    assert "Who listens to whom?" in html


def test_three_checks_that_say_the_same_are_one_group():
    """Nineteen times "All 6 values are wrong" is one thing to read; numbers may differ."""
    said = [f"All {number} values are wrong." for number in range(2, 21)]
    checks = [check(title=f"Title {text}", message=text) for text in said]
    html = page(report(step(*checks, check(title="Another.", message="It leaks."))))
    assert html.count("18 more checks of this function fail in the same way") == 1
    before, _, folded = html.partition("fail in the same way")
    assert "Title All 2 values" in before
    assert "Title All 3 values" not in before
    assert "Title All 20 values" in folded
    assert "Another." in folded
    two = [check(message="No."), check(message="No."), check(message="Yes.")]
    assert "in the same way" not in page(report(step(*two)))


def test_report_read_from_json_has_its_infinite_numbers_again():
    results = (array("expected", [[0.0, -np.inf]]),), (array("got", [[np.inf, np.nan]]),)
    shown = Evidence("additive_mask(mask)", (array("mask", [[True, False]]),), *results)
    whole = report(step(check(evidence=shown)))
    again = report_from_json(whole.to_json())
    (found,) = again.steps[0].checks[0].evidence.expected
    assert found.cells == [[0.0, -np.inf]]
    assert page(again) == page(whole)
