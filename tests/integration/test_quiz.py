"""The key of every question is what the reference says; a known mistake gives its distractor."""

import importlib
import json
import math
from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner

from grader.answer_key import reference, variants
from grader.authoring.bundle.contents import contents
from grader.cli import quiz as quizzing
from grader.cli.main import cli
from grader.steps import quiz
from grader.steps.registry import read_toml
from tests.conftest import ROOT
from tests.conftest import STEPS as ALL_STEPS

MISTAKES = ROOT / "grader" / "answer_key" / "mistakes"
R = SimpleNamespace(**vars(reference))
STEPS = [step for step in ALL_STEPS if (quiz.FOLDER / f"{step.id}.toml").is_file()]
PLAIN = {step.id: read_toml(quiz.FOLDER / f"{step.id}.toml")["question"] for step in STEPS}
ENTRIES = {entry["id"]: entry for entries in PLAIN.values() for entry in entries}
STEP_OF = {entry["id"]: step for step in STEPS for entry in PLAIN[step.id]}
QUESTIONS = {one.id: one for step in STEPS for one in quiz.questions(step)}
INF = np.inf


def array(*rows):
    return np.array(rows, dtype=np.float64)


def normal(*shape):
    return np.random.RandomState(7).standard_normal(shape)


def moved(call, x, row):
    """The rows of a result that change when one row of the input does."""
    other = x.copy()
    other[row] += np.arange(1, x.shape[-1] + 1)  # no norm takes this out
    return np.flatnonzero(np.abs(call(x) - call(other)).max(axis=-1) > 1e-9)


def divisor(f, d_k):
    """What a dot product is divided by."""
    return d_k / f.attention_scores(np.ones((1, d_k)), np.ones((1, d_k))).item()


def attended(f, x, mask):
    return f.attention(x, x[..., ::-1], x, mask)


def leaking_ways(f):
    """Which ways of masking let a change of the last token move the first output."""
    mask = f.causal_mask(3)
    ways = [
        lambda s: f.softmax(np.where(mask, s, -INF)),
        lambda s: f.softmax(np.where(mask, s, 0.0)),
        lambda s: f.softmax(s) * mask,
        lambda s: (w := f.softmax(s) * mask) / w.sum(axis=-1, keepdims=True),
    ]

    def leaks(way):
        outputs = []
        for last in (1.0, 3.0):
            x = array([1.0, 0.5], [0.2, 1.0], [last, last])
            outputs.append(f.attention_output(way(f.attention_scores(x, x)), x)[0])
        return np.abs(outputs[0] - outputs[1]).max() > 1e-9

    return [number for number, way in enumerate(ways) if leaks(way)]


def heads_params(d):
    weights = {name: normal(4, d, d)[i] for i, name in enumerate(("w_q", "w_k", "w_v", "w_o"))}
    return weights | {name: np.zeros(d) for name in ("b_q", "b_k", "b_v", "b_o")}


def block_params(d):
    norm = {"gain": np.ones(d), "bias": np.zeros(d)}
    return {"ln_1": norm, "ln_2": norm, "attention": heads_params(d), "feed_forward": forward(d)}


def forward(d):
    return {
        **{"w_in": normal(d, 4 * d), "b_in": np.zeros(4 * d)},
        **{"w_out": normal(4 * d, d), "b_out": np.zeros(d)},
    }


def stack(f, *masks):
    def run(x):
        for mask in masks:
            x = f.decoder_block(x, block_params(8), 2, mask)
        return x

    return moved(run, normal(4, 8), 3)


def decoder(d):
    params = {"embedding": normal(50, d), "position": normal(8, d)}
    return params | {"blocks": [block_params(d)], "ln_f": block_params(d)["ln_1"]}


def reach(blocks):
    """How far ahead position 0 sees if each of the blocks lets one more position in."""
    step = np.tri(30, 30, 1, dtype=int)
    return np.flatnonzero(np.linalg.matrix_power(step, blocks)[0]).max()


def corrupted_kinds(f):
    """How many of 1,000 tokens are chosen, hidden, replaced and kept: numbers evenly spread."""
    select, replace = np.meshgrid((np.arange(100) + 0.5) / 100, (np.arange(100) + 0.5) / 100)
    tokens = np.zeros(select.shape, dtype=int)
    corrupted, targets = f.mask_tokens(tokens, select, replace, tokens + 1, 9)
    chosen = targets != -100
    counts = [(chosen & (corrupted == kind)).sum() for kind in (9, 1, 0)]
    return np.array([[chosen.sum(), *counts]]) / 10


def targets_of_14b(f):
    ids = np.array([5, 3, 8]), array(0.02, 0.60, 0.10), array(0.95, 0.25, 0.31)
    return f.mask_tokens(*ids, np.array([1, 1, 1]), 9)[1][None]


def cross(f, memory):
    return f.cross_attention(normal(3, 8), memory, heads_params(8), 1)


P8 = np.log(array(4, 2, 1, 1))
KEYS = {
    "1a": lambda f: f.linear(np.ones((5, 3, 6)), np.ones((6, 4))).shape,
    "1b": lambda f: moved(lambda x: f.linear(x, normal(6, 4)), normal(4, 6), 2),
    "1c": lambda f: f.linear(array([1, 2]), array([1, 0, 2], [0, 1, 3]), array(10, 20, 30)),
    "1e": lambda f: sum(np.ones(shape).size for shape in ((6, 4), (6, 4), (6, 3))),
    "2a": lambda f: f.attention_scores(np.ones((2, 9)), np.ones((7, 9))).shape,
    "2b": lambda f: divisor(f, 9),
    "2c": lambda f: (
        f.attention_scores(2 * P8[None], 2 * P8[None]).item()
        / f.attention_scores(P8[None], P8[None]).item()
    ),
    "2d": lambda f: f.attention_scores(
        array([2, 0, 0, 0], [0, 0, 0, 4]), array([1, 0, 0, 3], [3, 0, 0, 1])
    ),
    "2e": lambda f: divisor(f, 64),
    "3a": lambda f: f.causal_mask(2, 4).astype(int),
    "3b": lambda f: int(f.causal_mask(1024).sum()),
    "3c": leaking_ways,
    "3e": lambda f: np.flatnonzero(
        (f.causal_mask(4) & f.padding_mask(np.array([9, 4, 9, 7]), 9))[2]
    ),
    "4a": lambda f: f.softmax(array([2, 2, -INF])),
    "4d": lambda f: f.softmax(array(3, 4))[1],
    "4e": lambda f: f.softmax(array([-INF, -INF])),
    "5a": lambda f: f.attention_output(array([1, 0], [0.25, 0.75]), array([4], [8])),
    "5b": lambda f: moved(lambda x: f.masked_self_attention(x, *normal(3, 4, 4)), normal(3, 4), 1),
    "5c": lambda f: moved(
        lambda x: attended(f, attended(f, x, None), f.causal_mask(3)), normal(3, 4), 2
    ),
    "6a": lambda f: f.shift_tokens(np.arange(4))[1].size,
    "6b": lambda f: math.exp(0.924),
    "6c": lambda f: f.cross_entropy(np.log(array([1, 1], [1, 3], [1, 1])), np.array([0, 0, 0])),
    "7a": lambda f: 5 + 1 + 1 + 1,
    "7b": lambda f: sum(range(5, 9)),
    "7c": lambda f: f.causal_mask(3, 8).shape,
    "7d": lambda f: int((~f.causal_mask(3, 8)).sum()),
    "8a": lambda f: int(f.sample_token(P8, 0.6)),
    "8b": lambda f: int(f.sample_token(P8, 0.5)),
    "8c": lambda f: f.softmax(np.where(np.sort(P8)[-2] <= P8, P8, -INF))[None],
    "8e": lambda f: 4 + 1 + 1,
    "9a": lambda f: divisor(f, f.split_heads(np.ones((1, 12)), 3).shape[-1]),
    "9b": lambda f: f.split_heads(np.ones((2, 5, 12)), 4).shape,
    "9c": lambda f: f.split_heads(array([1, 2, 3, 4], [5, 6, 7, 8]), 2)[1],
    "9e": lambda f: f.split_heads(np.ones((5, 16)), 8).shape[0],
    "10a": lambda f: f.attention_scores(np.ones((2, 5, 8)), np.ones((2, 7, 8))).shape,
    "10b": lambda f: f.cross_attention(normal(2, 5, 8), normal(2, 7, 8), heads_params(8), 1).shape,
    "10c": lambda f: f.shift_right(np.array([[4, 7, 2, 9]]), 1),
    "10e": lambda f: moved_by_memory(f),
    "11a": lambda f: f.layer_norm(array([1, 3]), np.ones(2), np.zeros(2)),
    "11b": lambda f: moved(lambda x: f.feed_forward(x, forward(8)), normal(4, 8), 1),
    "11d": lambda f: sum(one.size for one in forward(8).values()),
    "12a": lambda f: stack(f, np.ones((4, 4), dtype=bool), f.causal_mask(4)),
    "12b": lambda f: stack(f, f.causal_mask(4), f.causal_mask(4)),
    "12d": lambda f: f.decoder_logits(np.zeros((2, 5), dtype=int), decoder(8), 2).shape,
    "12e": lambda f: int(reach(12)),
    "13a": lambda f: 2 * 24 * 2048 * 1024 * np.dtype(np.float16).itemsize / 2**20,
    "13b": lambda f: np.arange(8)[6:],
    "13d": lambda f: f.attention_scores(np.ones((2, 4, 1, 8)), np.ones((2, 4, 7, 8))).shape,
    "13e": lambda f: 3 + 1 + 1 + 1,
    "14a": corrupted_kinds,
    "14b": targets_of_14b,
    "14c": lambda f: [
        row for row in range(4) if 1 in moved(lambda x: attended(f, x, None), normal(4, 4), row)
    ],
}


def moved_by_memory(f):
    memory = normal(4, 8)
    other = memory.copy()
    other[2] += 1.0
    return np.flatnonzero(np.abs(cross(f, memory) - cross(f, other)).max(axis=-1) > 1e-9)


def with_mistake(name, step):
    """The namespaces of functions in which that mistake stands in for the right one."""
    for earlier in STEPS:
        for one in variants.read(MISTAKES, earlier):
            if name in (one.id, one.name) and earlier.number <= step.number:
                module = importlib.import_module(f"grader.answer_key.mistakes.{one.step}")
                changed = {place: getattr(module, how) for place, how in one.places.items()}
                yield one, SimpleNamespace(**{**vars(R), **changed})


def answers_with(name, question, step):
    found = {}
    for one, functions in with_mistake(name, step):
        try:
            found[one.says] = quiz.read(question, KEYS[question.id](functions))
        except quiz.AnswerError:  # of another shape
            continue
    return found


def test_first_two_parts_have_questions():
    assert [step.id for step in ALL_STEPS if step.part <= 2] == [step.id for step in STEPS]


def test_what_can_be_computed_is():
    kinds = ("number", "matrix", "shape", "positions")
    assert set(KEYS) == {one.id for one in QUESTIONS.values() if one.kind in kinds}


@pytest.mark.parametrize("name", KEYS)
def test_key_is_what_the_reference_says(name):
    assert quiz.mark(QUESTIONS[name], KEYS[name](R)).right


TRACED = [
    (entry["id"], one["from"], one)
    for entry in ENTRIES.values()
    for one in entry.get("wrong", ())
    if "from" in one
]


@pytest.mark.parametrize(
    ("name", "mistake", "wrong"),
    TRACED,
    ids=lambda one: one if isinstance(one, str) else one["answer"],
)
def test_known_mistake_gives_its_wrong_answer(name, mistake, wrong):
    question = QUESTIONS[name]
    answers = answers_with(mistake, question, STEP_OF[name])
    assert quiz.read(question, wrong["answer"]) in answers.values()
    assert wrong["why"] in answers or any(said.startswith(wrong["why"][:30]) for said in answers)


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.id)
def test_step_has_questions_with_reasons(step):
    entries = PLAIN[step.id]
    assert len(entries) >= 5
    assert [entry["id"] for entry in entries] == [
        f"{step.number}{'abcdefghij'[i]}" for i in range(len(entries))
    ]
    for entry in entries:
        answers = [entry.get("answer", ""), *(one["answer"] for one in entry.get("wrong", ()))]
        read = [quiz.read(QUESTIONS[entry["id"]], answer) for answer in answers]
        assert len(set(read)) == len(read)
        assert len(read) > 1 or entry["kind"] == "open"
        if entry["kind"] == "choice":
            assert set(read) == set(entry["options"])


def test_answer_may_be_written_in_several_ways():
    matrix, positions = QUESTIONS["3a"], QUESTIONS["12a"]
    for given in ("1 1 1 0; 1 1 1 1", "[[1, 1, 1, 0], [1, 1, 1, 1]]", reference.causal_mask(2, 4)):
        assert quiz.mark(matrix, given).right
    for given in ({0, 1, 2, 3}, "3 2 1 0", [0, 1, 2, 3], np.arange(4)):
        assert quiz.mark(positions, given).right
    assert quiz.mark(QUESTIONS["5d"], "cbad").right
    assert quiz.mark(QUESTIONS["6c"], "2.773/3").right


@pytest.mark.parametrize(
    ("name", "given", "says"),
    [
        ("3b", "many", "one number"),
        ("3b", "", "one number"),
        ("3b", "1/0", "one number"),
        ("3b", "nan", "finite"),
        ("3b", [1, 2], "one number"),
        ("3a", "1 1; 0 1", "2 rows of 4 numbers, yours has 2 rows of 2"),
        ("3a", "a b", "not a matrix"),
        ("3a", 5, "row by row"),
        ("3a", np.ones((2, 4, 1)), "one number"),
        ("1a", "5 x 3", "a shape"),
        ("5b", "{-1}", "set of positions"),
        ("5b", 1.5, "set of positions"),
        ("1d", "z", "one letter of a, b, c"),
        ("5d", "c b a", "each once"),
    ],
)
def test_answer_of_another_form_gets_a_sentence(name, given, says):
    with pytest.raises(quiz.AnswerError, match=says):
        quiz.mark(QUESTIONS[name], given)


def test_bundle_holds_no_answer(steps):
    step = STEPS[2]
    files = contents(steps, [step], {})
    found = [name for name in files if "/questions/" in name]
    preface, path = (f"grader/steps/questions/{one.id}.json" for one in (quiz.PREFACE, step))
    assert found == [preface, path]
    locked = json.loads(files[path])
    assert {key for one in locked for key in one} == {
        *("id", "kind", "ask", "options", "shape", "digits", "salt", "key", "locked")
    }
    text = files[path].decode()
    for entry in PLAIN[step.id]:
        assert entry["why"] not in text
        assert all(one["why"] not in text for one in entry.get("wrong", ()))


def test_bundle_marks_as_the_kit_does(tmp_path, steps):
    step = STEPS[2]
    files = contents(steps, [step], {})
    (tmp_path / f"{step.id}.json").write_bytes(files[f"grader/steps/questions/{step.id}.json"])
    assert quiz.questions(step, tmp_path) == quiz.questions(step)


@pytest.fixture
def asked(tmp_path, monkeypatch):
    monkeypatch.setattr(quizzing, "MEMORY", tmp_path / ".quiz.json")
    return lambda *words: CliRunner().invoke(cli, ["quiz", *words])


def test_command_gives_a_reason_and_keeps_progress(asked):
    wrong = asked("3b", "1048576")
    assert wrong.exit_code == 1
    assert wrong.output.startswith("Not yet. The mask allows everything.")
    right = asked("3b", "524800")
    assert right.exit_code == 0
    assert right.output.startswith("Right. ")
    assert "3b" not in asked("3").output
    assert "Masks: 1 of 6 answered" in asked().output


def test_command_takes_a_negative_answer(asked):
    assert asked("3b", "-5").output.startswith("Not yet. Work it through")


def test_command_without_a_terminal_says_how_to_answer(asked):
    told = asked("3")
    assert told.exit_code == 0
    assert told.output.rstrip().endswith('To answer: make quiz STEP=3a ANSWER="..."')


@pytest.mark.parametrize(
    ("words", "says"),
    [(["3z"], "no question 3z"), (["99"], "no step '99'"), (["3", "5"], "name the question too")],
)
def test_command_says_what_is_not_there(asked, words, says):
    told = asked(*words)
    assert told.exit_code == 2
    assert says in told.output
