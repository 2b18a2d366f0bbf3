"""Maps of influence: right code gives none, wrong code is told which cell is wrong, and no more."""

import json
import re
from dataclasses import asdict, replace

import numpy as np
import pytest

from grader.answer_key import reference
from grader.answer_key.variants import FAIR, MISTAKES, read
from grader.authoring.build import ReferenceTrial
from grader.checks.compare import Broken
from grader.checks.influence_inputs import CALLS, MAPS, mapped, maps_of
from grader.checks.laws import Case, future_does_not_matter, prefix_gives_the_same
from grader.checks.laws.influence import Moves, Nudge, everything, own, past
from grader.engine import causes
from grader.engine.bench import Trial
from grader.engine.causes import TRIED, telling
from grader.engine.grading import make_grader
from grader.report.grids import influence_grid
from grader.report.html.page import page
from grader.report.influences import findings, kind
from grader.report.records import Influence, Report, Status, StepVerdict, from_plain
from grader.report.text.influence_map import MAP_SIGNS, draw_map
from grader.report.text.sheet import Sheet
from grader.steps import registry
from grader.steps.inputs import Draw
from tests.conftest import SEED, STEPS

pytestmark = pytest.mark.long

EACH = [
    pytest.param(step, name, one, id=f"{name}-{number}")
    for step in STEPS
    for name, maps in maps_of(step).items()
    for number, one in enumerate(maps)
]
FUNCTIONS = [(step, name) for step in STEPS for name in maps_of(step)]
MOST_RUNS = 30


def right(step, name):
    """The reference's function, called as the map calls it."""
    if name not in CALLS:
        return getattr(reference, name)
    limits = registry.load().limits
    return mapped(ReferenceTrial(step, None, "visible", limits).student, name)


def signs(influence):
    """The map as the terminal has it: one word for each row."""
    rows = range(len(influence.moved))
    columns = range(len(influence.moved[0]))
    return ["".join(MAP_SIGNS[kind(influence, i, j)] for j in columns) for i in rows]


@pytest.mark.parametrize(("step", "name", "one"), EACH)
def test_reference_moves_with_all_that_it_may_and_with_nothing_else(step, name, one):
    found = one.draw(right(step, name))
    assert (np.asarray(found.moved) > 0).tolist() == one.sees.tolist()
    # What is near 0 would be told as missing to right code that is off by rounding.
    assert min(value for row in found.moved for value in row if value) > 1e-3
    assert findings(found) == []


@pytest.mark.parametrize(("step", "name"), FUNCTIONS, ids=lambda value: str(value))
def test_maps_of_a_function_take_few_runs(step, name):
    runs = 0
    function = right(step, name)

    def counting(**arguments):
        nonlocal runs
        runs += 1
        return function(**arguments)

    assert telling(counting, maps_of(step)[name]) is None
    assert 0 < runs <= MOST_RUNS


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.id)
def test_fair_variants_are_told_of_nothing(step, steps, host):
    grader, told = make_grader(steps, host, "visible", 0, [step]), {}
    for variant in read(FAIR, step):
        attempt = grader.attempt(variant.submission, step, grader.right)
        with Trial(grader.bench, attempt) as trial:
            for name, maps in maps_of(step).items():
                if (found := telling(mapped(trial.student, name), maps)) is not None:
                    told[variant.name, name] = findings(found)
    assert told == {}


def test_maps_are_of_functions_that_exist():
    assert {*CALLS} <= {*MAPS} <= {one.name for step in STEPS for one in step.functions}


# What is drawn for known mistakes, which of their functions, and beside which check.
DRAWN = {
    "out_skips_last_key": ["###..", "####.", "####?"],
    "mask_none_attention": ["###!!", "####!", "#####"],
    "mask_window_off_by_k_self": ["#....", "##...", "###..", "?###.", "??###"],
    "pad_ignored_self": ["#....", "##...", "###..", "##!#.", "##!##"],
    "kv_keeps_last_chunk": ["#....", "##...", "###..", "??##.", "??###"],
    "kv_chunk_unmasked": ["#....", "##...", "###..", "####!", "#####"],
    "gen_u_reversed": ["....", "....", "....", "?..!", "??!!", "?##!", "####"],
    "mask_in_first_block_only_decoder": ["#!!!!", "##!!!", "###!!", "####!", "#####"],
    "stack_first_only_decoder": ["#....", "?#...", "??#..", "???#.", "????#"],
    "pad_replaces_causal_decoder": ["#!.!!", "##.!!", "###!!", "##.#!", "##.##"],
    "gen_wrong_position_logits": ["#..", ".#.", "..#", "#??", "###", "###", "###"],
    "kv_not_updated_decoder": ["#....", "##...", "###..", "##?#.", "##?##"],
    "always_causal": ["#????", "##???", "###??", "####?", "#####"],
    "places_last_beginning": [".....", "#?...", "##?..", "###?.", "#####"],
    "stream_whole_blocks": ["####?", "####?", "####?"],
    "stream_local_mask": ["#?#.!", "####!", "#####"],
    "chunk_causal_only": ["#.....", "##....", "###...", ".###..", ".!###.", ".!!###"],
    "keeps_too_few": ["#.....", "##....", "?##...", ".?##..", "..###.", "...###"],
    "step_mask_upper_left": ["#....", "##...", "#?#..", "#??#.", "##??#"],
    "gen_prompt_last_token_only_writing": ["#..", ".#.", "..#", "??#", "??#", "??#", "??#"],
}
# In a stack the map says which block it is about.
BLOCKS = {
    "mask_in_first_block_only_decoder": "blocks[1]",
    "mask_in_last_block_only_decoder": "blocks[0]",
    "pad_in_first_block_only_decoder": "blocks[1]",
    "pad_in_last_block_only_decoder": "blocks[0]",
    "logits_last_block_open": "blocks[1]",
}
TOLD = (
    *("mask_window_off_by_k_self", "kv_chunk_unmasked", "gen_u_reversed"),
    *("pad_replaces_causal_decoder", "stream_local_mask", "chunk_causal_only"),
    "step_mask_upper_left",
)


def verdicts_on(names, suite, steps, host):
    """The verdicts on these mistakes. Without their causes, for time is short."""
    # Where several steps have one of that name, the first one's.
    named = {v.name: (step, v) for step in reversed(STEPS) for v in read(MISTAKES, step)}
    chosen = [named[name] for name in names]
    judged = [step for step in STEPS if any(step is other for other, _ in chosen)]
    grader = make_grader(steps, host, suite, SEED, judged)
    grader.library.right = {}
    return {v.name: grader.step(v.submission, step) for step, v in chosen}


@pytest.fixture(scope="module")
def drawn(steps, host):
    """The visible suite's verdicts."""
    return verdicts_on({**DRAWN, **BLOCKS}, "visible", steps, host)


@pytest.fixture(scope="module")
def told(steps, host):
    """The hidden suite's verdicts."""
    return verdicts_on(TOLD, "hidden", steps, host)


def maps_in(verdict):
    """The maps beside the checks of a step."""
    return [c.evidence.influence for c in verdict.checks if c.evidence and c.evidence.influence]


@pytest.mark.parametrize("name", {**DRAWN, **BLOCKS})
def test_mistake_is_drawn(drawn, name):
    (found, *_) = [one for one in maps_in(drawn[name]) if one.how.startswith(TRIED)]
    assert signs(found) == DRAWN.get(name, signs(found))
    if name in BLOCKS:
        assert f"Only the attention of {BLOCKS[name]} added something." in found.how


@pytest.mark.parametrize("name", TOLD)
def test_hidden_suite_tells_positions_only(told, name):
    checks = told[name].checks
    assert all(check.evidence is None for check in checks)
    (message,) = (check.message for check in checks if TRIED in check.message)
    assert re.search(r"(oved|did not move) when only .* changed: it |Nothing moved", message)
    assert "moved by 0" not in message
    assert not re.search(r"\d\.\d|e-\d", message)


def test_maps_survive_being_data(drawn):
    for verdict in drawn.values():
        assert from_plain(StepVerdict, asdict(verdict)) == verdict
        assert from_plain(StepVerdict, json.loads(json.dumps(asdict(verdict)))).checks[0].check


def mistake(name):
    """Return a known mistake of step 5."""
    return next(one for one in read(MISTAKES, STEPS[4]) if one.name == name)


def test_nothing_is_drawn_of_code_that_passes(judge, monkeypatch):
    monkeypatch.setattr(causes, "Trial", None)  # what would draw stumbles over it
    verdict = judge("5", read(FAIR, STEPS[4])[0].source)
    assert verdict.status is Status.PASSED
    assert maps_in(verdict) == []


def test_without_time_there_is_no_map_and_the_verdict_is_the_same(judge, monkeypatch):
    source = mistake("mask_window_off_by_k_self").source
    drawn = judge("5", source)
    monkeypatch.setattr(causes, "SECONDS", 0.0)
    plain = judge("5", source)
    assert maps_in(plain) == []
    told = [[(c.status, c.diagnosis, c.message) for c in v.checks] for v in (plain, drawn)]
    assert told[0] == told[1]


# Small functions of a text, for the rules of drawing.

T = 4
X = Draw("maps", "small").normal(T, 2)
CHANGE = Nudge({"x": X}, {"x": X + 1}, {"x": -2})
PAST = Moves(CHANGE, past(T))


def running_sum(x):
    return np.cumsum(x, axis=-2)


def unstable(x):
    """Its last row is NaN where the text has anything but its own numbers."""
    with np.errstate(invalid="ignore"):
        wild = 0.0 * np.where(np.array_equal(x, X), 1.0, np.inf)
    return running_sum(x) + np.where(np.arange(len(x)) == len(x) - 1, wild, 0.0)[:, None]


def test_unstable_is_not_leaking_and_not_missing():
    found = PAST.draw(unstable)
    assert signs(found) == ["#...", "##..", "###.", "~~~~"]
    assert found.moved[3] == (None,) * T
    assert findings(found) == []
    everywhere = PAST.draw(lambda x: np.full(x.shape, np.nan if x is not X else 1.0))
    assert "!" not in "".join(signs(everywhere))


RANDOM = np.random.default_rng(0)


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda x: running_sum(x) + RANDOM.normal(size=x.shape), "returned something else"),
        *((lambda x, one=one: one, "no such time axis") for one in (None, np.zeros((3, 2)), (X,))),
        (lambda x: np.zeros((T, 2 if np.array_equal(x, X) else 3)), "shape of the result"),
    ],
)
def test_what_gives_no_steady_result_in_time_has_no_map(function, words):
    with pytest.raises(Broken, match=words):
        PAST.draw(function)


def test_constant_is_told_in_one_sentence():
    told = findings(PAST.draw(lambda x: np.zeros_like(x)))
    assert told == ["Nothing moved, whichever token changed."]


def test_ids_that_became_others_moved_by_one():
    change = Nudge({"x": np.arange(T)}, {"x": np.arange(T) + 100}, {"x": -1})
    found = Moves(change, own(T), -1).draw(lambda x: x)
    assert found.moved == tuple(map(tuple, np.eye(T).tolist()))


@pytest.mark.parametrize(("outputs", "inputs"), [(2, 5), (3, 3), (1, 4)])
def test_map_without_allowed_lines_up_at_the_last_position(outputs, inputs):
    found = Influence(tuple(map(tuple, np.ones((outputs, inputs)).tolist())))
    may = past(outputs, inputs)
    assert signs(found) == ["".join("#" if cell else "!" for cell in row) for row in may]


def test_everything_may_be_seen_where_nothing_is_hidden():
    found = Moves(CHANGE, everything(T, T)).draw(lambda x: x * 0 + x.sum(axis=0))
    assert findings(found) == []
    assert set("".join(signs(found))) == {"#"}


def broken_by(law, function):
    case = Case({"x": X}, {}, lambda name, arguments: arguments["x"])
    with pytest.raises(Broken, match="Position") as found:
        law(function, [case], along={"x": -2})
    return found.value.evidence.influence


def test_law_draws_its_own_case():
    found = broken_by(future_does_not_matter, lambda x: x[::-1].copy())
    assert signs(found) == ["...!", "..!.", ".#..", "#..."]
    assert findings(found)[0].startswith("Position 0 moved by")
    assert "when only token 3 changed: it must not" in findings(found)[0]


def test_law_draws_the_change_that_it_found():
    """A leak that only large numbers make is drawn with large numbers."""

    def leaks_when_large(x):
        return running_sum(x) + (np.abs(x).max() > 50)

    assert findings(broken_by(future_does_not_matter, leaks_when_large))


def test_law_draws_nothing_where_no_value_leaks():
    assert broken_by(prefix_gives_the_same, lambda x: running_sum(x) * len(x)) is None


def test_map_from_before_there_was_allowed_can_be_read(drawn):
    verdict = drawn["mask_none_attention"]
    data = json.loads(json.dumps(asdict(verdict)))
    for check in data["checks"]:
        found = (check["evidence"] or {}).get("influence")
        if found:
            check["evidence"]["influence"] = {"moved": [[1.0, 0.5], [0.0, 1.0]], "all_matter": True}
    assert signs(maps_in(from_plain(StepVerdict, data))[0]) == ["#!", "?#"]


def test_failing_calls_are_passed_over(host, steps):
    """A function that raises has no map, and the next one still gets its own."""
    step, variant = STEPS[4], mistake("mask_none_self")
    source = variant.source + "\n\ndef attention_output(weights):\n    pass\n"
    source = source.replace("return attention_output(weights, v)", "return weights @ v")
    grader = make_grader(steps, host, "visible", 0, [step])
    submission = replace(variant.submission, sources={step.id: source})
    verdicts = [
        grader.bench.verdict(check, Status.FAILED, "It failed.")
        for check in step.checks
        if check.function in ("attention_output", "masked_self_attention")
    ]
    grader.bench.shows = False
    attempt = grader.attempt(submission, step, grader.right)
    trial = Trial(grader.bench, attempt)
    trial.verdicts = verdicts
    shown = causes.with_maps(trial)
    told = {verdict.function for verdict in shown if TRIED in verdict.message}
    assert told == {"masked_self_attention"}


def printed(influence, width=80):
    """The map as it stands in a terminal of that width."""
    sheet = Sheet(width)
    draw_map(sheet, influence)
    lines = [text for text, _ in sheet.rows]
    assert max(map(len, lines)) <= width
    return lines


def test_terminal_shows_the_map_and_says_the_first_pair():
    moved = ((1.0, 0.0, 0.31), (0.0, None, 0.0))
    found = Influence(moved, True, ((True,) * 2 + (False,),) * 2, "position", "u", "Tried so.")
    assert [line.strip() for line in printed(found)] == [
        "",
        "Tried so.",
        "Who listens to whom? Column: u that changed; row: position that moved",
        "0 1 2",
        "0 # ? !",
        "1 ? ~ .",
        "# moved   . did not   ! moved, and must not   ? did not, and should",
        "~ is not a number",
        "Position 0 moved by 0.31 when only u 2 changed: it must not.",
        "Position 0 did not move when only u 1 changed: it should. The same holds",
        "for 1 more pair.",
    ]


def test_terminal_cuts_a_large_map_around_what_is_wrong_and_says_so():
    moved = np.tril(np.ones((40, 40)))
    moved[20, 35] = 1
    lines = printed(Influence(tuple(map(tuple, moved.tolist()))))
    assert sum(bool(re.match(r" +\d+ +[#.!]", line)) for line in lines) == 12
    assert any("!" in line and line.split()[0] == "20" for line in lines)
    assert any("12 of 40 rows and 12 of 40 columns shown" in line for line in lines)


@pytest.mark.parametrize("name", ["mask_window_off_by_k_self", "gen_u_reversed"])
def test_maps_fit_into_the_terminal_and_the_page(drawn, name):
    (influence, *_) = maps_in(drawn[name])
    text = " ".join(" ".join(printed(influence)).split())
    html = page(Report("alice", "ab", "visible", 0, "process", (drawn[name],)))
    drawing = html[html.index('<svg class="map influence"') :].split("</svg>")[0]
    for sentence in findings(influence):
        assert sentence in text
        assert sentence in drawing
    cells = "".join(signs(influence))
    for which, sign in (("leak", "!"), ("missing", "?"), ("may", "#")):
        assert drawing.count(f'<g class="{which}">') == cells.count(sign)
    assert "<desc>" in drawing


def test_border_runs_between_what_may_and_what_must_not():
    allowed = ((True, False, False), (True, True, False))
    grid = influence_grid(Influence(((1.0, 0.0, 0.0), (1.0, 1.0, 0.0)), allowed=allowed))
    assert grid.border == ((0, 1, 1, 0), (1, 2, 1, 0), (1, 1, 0, 1))
