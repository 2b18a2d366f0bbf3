"""Test the list of similar work: shared by few, explained by nothing, and never guessed."""

import pytest

from grader.classroom import likeness
from grader.classroom.likeness import near_sources, own_lines, plain_code, same_answers
from grader.report.records import Diagnosis, Graded, Status
from tests.support.classes import check, report, step
from tests.support.stubs import stub_text

KNOWN = Diagnosis("score_no_scale", "Look.", "Not divided.")


def answering(student, fingerprint, name="scores_agree", **more):
    found = check(name, Status.FAILED, fingerprint=fingerprint, **more)
    return Graded(student, report(step(found)))


def crowd(size):
    return [Graded(f"s{i}", report(step(check()))) for i in range(size)]


# answers


def test_same_wrong_answers_are_listed():
    found = same_answers([answering("ann", "f1"), answering("ben", "f1"), answering("cy", "f2")])
    assert [(alike.students, alike.step) for alike in found] == [(("ann", "ben"), "Scaled scores")]
    assert found[0].why == ("The same wrong answers to the last bit: The rule of scores_agree.")


def test_students_who_share_several_answers_are_one_group():
    def both(student):
        names = ("scores_agree", "scores_rows")
        return [check(name, Status.FAILED, fingerprint=f"f{name}") for name in names]

    class_ = [Graded(name, report(step(*both(name)))) for name in ("ann", "ben")]
    (alike,) = same_answers(class_)
    assert alike.why.endswith("(and 1 more)")


def both(fingerprint, **more):
    return [answering(name, fingerprint, **more) for name in ("ann", "ben")]


SAID = Diagnosis("property:negated", "Look.", "Every number has the wrong sign.")
MANY = [answering(f"a{i}", "f1") for i in range(likeness.FEW + 1)]
CLASSES = {
    "a known mistake of somebody": ([*both("f1", diagnosis=KNOWN), answering("cy", "f1")], 0),
    "a pattern, which explains nothing": (both("f1", diagnosis=SAID), 1),
    "an answer of many": (MANY, 0),
    "an answer of few in a large class": ([*MANY, *crowd(300)], 1),
    "no fingerprint": (both(""), 0),
    "no report": ([Graded("x", None, "no zip"), Graded("y", None, "no zip")], 0),
}


@pytest.mark.parametrize(("class_", "groups"), CLASSES.values(), ids=CLASSES)
def test_answers_are_listed_if_only_few_share_them(class_, groups):
    assert len(same_answers(class_)) == groups


# sources

STUB = stub_text("step06_loss")
MINE = """
    total = 0.0
    count = 0
    for row, target in zip(logits.reshape(-1, logits.shape[-1]), targets.reshape(-1)):
        if ignore is not None and target == ignore:
            continue
        largest = row.max()
        shifted = [entry - largest for entry in row]
        total -= shifted[target] - np.log(sum(np.exp(entry) for entry in shifted))
        count += 1
    if count == 0:
        return 0.0
    return total / count
"""
OTHER = """
    wide = np.asarray(logits, dtype=float)
    level = wide - np.max(wide, axis=-1, keepdims=True)
    spread = np.log(np.exp(level).sum(axis=-1))
    picked = np.take_along_axis(level, np.asarray(targets)[..., None], axis=-1)[..., 0]
    losses = spread - picked
    keep = np.ones(losses.shape, dtype=bool)
    return float(losses[keep].mean()) if keep.any() else 0.0
"""


def renamed(source):
    swaps = {"total": "acc", "largest": "m", "shifted": "z", "count": "n", "entry": "e"}
    for old, new in swaps.items():
        source = source.replace(old, new)
    return source.replace("        largest", "        # the largest first\n        largest")


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("", ""),
        ("  \n\n", ""),
        ("    return 1 \r\n", "    return 1"),
        ("    # for total\n#\n    return 1  # total\n", "    return 1  # total"),
        # Else a comment with a carriage return after it would hide all that follows.
        *(
            (f"    # hidden{end}    a = 1{end}    b = 2{end}", "    a = 1\n    b = 2")
            for end in ("\r", "\n", "\r\n")
        ),
    ],
)
def test_own_lines_are_code_that_the_stub_has_not(written, kept):
    assert own_lines(STUB + written, STUB) == kept


def near(sources):
    return near_sources("Loss", STUB, sources)[0]


def test_source_that_is_not_compared_to_its_end_is_named():
    padded = "x = 1\n" * likeness.MAX_WRITTEN + STUB + renamed(MINE)
    _, cut = near_sources("Loss", STUB, [("ann", STUB + MINE), ("ben", padded)])
    assert cut == ["ben"]


def test_copy_with_something_added_is_listed_after_a_whole_one():
    more = STUB + renamed(MINE) + "\n\ndef own(a, b):\n    return {key: a[key] for key in b}\n"
    class_ = [("ann", STUB + MINE), ("ben", more), ("cy", STUB + OTHER), ("di", STUB + OTHER)]
    whole, near_ = near(class_)
    assert (whole.students, near_.students) == (("cy", "di"), ("ann", "ben"))
    assert near_.why == "Nearly the same code."


SHORT = STUB + "\n    return x @ weight + bias\n"
LIKE_NOBODY = {
    "stubs": [("ann", STUB), ("ben", STUB)],
    "short code": [("ann", SHORT), ("ben", SHORT)],
    "what many write": [(f"s{i}", f"{STUB}{MINE}# {i}\n") for i in range(likeness.FEW + 1)],
}


@pytest.mark.parametrize("sources", LIKE_NOBODY.values(), ids=LIKE_NOBODY)
def test_what_says_nothing_is_like_nobody(sources):
    assert near(sources) == []


@pytest.mark.parametrize(
    "source",
    ["(" * 900_000, "\ud800\x01" * 1000, "'''" * 10, "", "\n" * 900_000, "\\" * 9000, "é" * 9000],
    ids=["deep", "binary", "open string", "empty", "lines", "backslashes", "letters"],
)
def test_hostile_source_stops_nobody(source):
    """Nor does a long comment above a copy."""
    padded = "# what the lesson says\n" * 1000 + STUB + renamed(MINE)
    class_ = [("ann", STUB + MINE), ("eve", source), ("ben", padded)]
    assert [alike.students for alike in near(class_)] == [("ann", "ben")]


@pytest.mark.parametrize("piece", ["\\'", "\"'", "''" + "'", '"%0', "#'", "x"])
def test_no_source_keeps_its_reader_busy(piece):
    """With work that grows faster than the source, this never ends."""
    plain_code(piece * (likeness.MAX_WRITTEN // len(piece)))


def test_share_is_the_same_in_every_process():
    """Python's own hashes of texts are not."""
    text = "def f(x, y):\n" + "".join(f"    x{n} = x * {n} + y[{n}:] - x\n" for n in range(40))
    other = text.replace("x * 7 ", "(y - 3) * x ").replace("x * 30 ", "-x // y ")
    ((alike,), _) = near_sources("Step", "", [("ann", text), ("ben", other)])
    assert alike.share == pytest.approx(0.921, abs=0.001)
