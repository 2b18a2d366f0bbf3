"""The laws of a cache: a text fed in chunks is a function of the text, and knows its chunks."""

import numpy as np
import pytest

from grader.answer_key import reference
from grader.checks import laws
from grader.checks.compare import Broken
from grader.checks.laws import Case, InChunks
from grader.checks.laws.chunks import spell_section
from grader.checks.student import StudentFunction
from grader.isolation.client import Answer
from grader.isolation.wire import Foreign, Laid
from grader.steps.inputs import Draw
from tests.conftest import STEPS
from tests.visible.decoders import decoder

ATTEND, STEP = STEPS[6].function("attend_with_cache"), STEPS[12].function("decoder_step")
LIKE = "masked_self_attention"


def arrived(value):
    """An argument as a worker has it: its own, and without wrappers, in nested ones as well."""
    if isinstance(value, dict):
        return {name: arrived(item) for name, item in value.items()}
    if isinstance(value, list):
        return [arrived(item) for item in value]
    array = value.array if isinstance(value, Laid) else value
    return array.copy() if isinstance(array, np.ndarray) else array


class Pupil:
    """In the place of a worker: calls a function here. Kept results are numbered objects."""

    def __init__(self, attend):
        self.attend = attend
        self.kept = []

    def ask(self, name, args, kwargs, *, keep=False, arguments=False, **_):
        args = [arrived(arg) for arg in args]
        value = self.attend(*args)
        self.kept.append(value)
        kept = len(self.kept) - 1 if keep else None
        return Answer(value, kept=kept, arguments=[args, kwargs] if arguments else None)

    def fetch(self, kept):
        return self.kept[kept]

    def in_chunks(self, *chunks, like=LIKE):
        return InChunks(StudentFunction(ATTEND, self.ask), tuple, like, chunks)


def case(length=5, salt=0):
    draw = Draw("chunks", salt)
    shapes = {"x": (length, 4), "w_q": (4, 3), "w_k": (4, 3), "w_v": (4, 2)}
    arguments = {name: draw.normal(*shape) for name, shape in shapes.items()}
    return Case(arguments, {}, lambda name, given: getattr(reference, name)(**given))


def agree(attend, *chunks):
    laws.agrees_in_parts(Pupil(attend).in_chunks(*chunks), [case(sum(chunks))])


def keeps_the_laws(function, whole, along):
    laws.agrees_in_parts(function, [whole])
    laws.agrees(function, [whole])
    laws.prefix_gives_the_same(function, [whole], along=along)
    laws.future_does_not_matter(function, [whole], along=along)
    laws.leaves_arguments_alone(function, [whole])


def unmasked(x_new, cache, w_q, w_k, w_v):
    """Right token by token."""
    cache = (*cache, (x_new @ w_k, x_new @ w_v))
    k, v = (np.concatenate(parts, axis=-2) for parts in zip(*cache))
    return reference.attention(x_new @ w_q, k, v), cache


@pytest.mark.parametrize("chunks", [(5,), (2, 3), (1, 1, 1, 1, 1), (4, 1)], ids=str)
def test_right_code_agrees_however_the_text_is_cut(chunks):
    function = Pupil(reference.attend_with_cache).in_chunks(*chunks)
    keeps_the_laws(function, case(), {"x": -2})


@pytest.mark.parametrize("chunks", [(5,), (3, 2), (1, 1, 1, 1, 1)], ids=str)
def test_text_of_tokens_is_cut_along_its_last_axis(chunks):
    draw = Draw("chunks of tokens")
    sizes = {"vocabulary": 4, "t_max": 5, "n_layers": 2, "n_heads": 2, "d_head": 3, "d_ff": 5}
    arguments = {"tokens": draw.tokens(4, 3, 5), "params": decoder(draw, **sizes), "n_heads": 2}
    whole = Case(arguments, sizes, lambda name, given: getattr(reference, name)(**given))
    pupil = Pupil(reference.decoder_step)
    function = InChunks(StudentFunction(STEP, pupil.ask), lambda: None, "decoder_logits", chunks)
    assert function.text == "tokens"
    keeps_the_laws(function, whole, {"tokens": -1})


def test_wrong_chunk_is_named():
    agree(unmasked, 1, 1, 1)
    second = r"positions 1\.\.2 \(chunk number 2 of 3, of 1 \+ 2 \+ 1 positions\): Some of the 4"
    with pytest.raises(Broken, match=second):
        agree(unmasked, 1, 2, 1)
    first = r"y_new for positions 0\.\.1 \(chunk number 1 of 7\): Some of the 4 values"
    with pytest.raises(Broken, match=first):
        agree(unmasked, 2, *[1] * 6)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (np.zeros((5, 4)), "x[2:3]"),
        (Laid(np.zeros((2, 5, 4)), "reversed"), "x[..., 2:3, :]"),
        (np.arange(5), "x[2:3]"),
        (np.zeros((2, 5), dtype=int), "x[..., 2:3]"),
    ],
    ids=["vectors", "batch", "tokens", "batch of tokens"],
)
def test_section_is_spelled_as_code_that_runs(text, said):
    assert spell_section("x", text, 2, 3) == said
    array = text.array if isinstance(text, Laid) else text
    assert eval(said, {"x": array}).size == array.size // 5


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (
            np.ones((2, 2)),
            r"returned floats of shape \(2, 2\); expected 2 results: \(y_new, cache\)",
        ),
        (Foreign("tuple of 3"), "returned a tuple of 3; expected 2 results"),
        (Foreign("NoneType"), "a `return` missing"),
        ((None, ()), r"y_new for positions 0\.\.1 .* is None"),
        (
            (np.ones((1, 2)), ()),
            r"y_new for positions 0\.\.1 .*: The shape is \(1, 2\); expected \(2, 2\)",
        ),
    ],
    ids=str,
)
def test_what_is_no_pair_of_result_and_cache_is_told(value, words):
    with pytest.raises(Broken, match=words):
        agree(lambda *args: value, 2, 1)


@pytest.mark.parametrize(
    ("outputs", "words"),
    [
        ([np.ones(2)], r"y_new is floats of shape \(2,\); its axis -2 should be time, 2 long"),
        ([np.ones((2, 3)), np.ones((1, 2))], r"\(1, 2\) for chunk 2, but had \(2, 3\) for chunk 1"),
    ],
)
def test_pieces_that_do_not_fit_together_are_told(outputs, words):
    left = list(outputs)
    function = Pupil(lambda *args: (left.pop(0), ())).in_chunks(2, 1)
    with pytest.raises(Broken, match=words):
        laws.agrees(function, [case(3)])


def test_weights_may_change_from_chunk_to_chunk():
    one, other = case(2).arguments, case(3, salt=1).arguments
    both = {name: (one[name], other[name]) for name in ("x", "w_k", "w_v")}
    changing = case().changed(**both)
    function = Pupil(reference.attend_with_cache).in_chunks(2, 3, like="attend_in_chunks")
    laws.agrees_in_parts(function, [changing])
    inputs = {"x": np.concatenate(both["x"]), "w_k": other["w_k"], "w_v": other["w_v"]}
    again = reference.masked_self_attention(**{**changing.arguments, **inputs})
    assert np.abs(again - reference.attend_in_chunks(**changing.arguments))[2:].min() > 1e-3


def test_text_that_should_be_rejected_is_told():
    """Even if nothing fits together; and otherwise by its last call."""
    function = Pupil(lambda *args: (np.ones((0, 2)), ())).in_chunks(2, 1)
    words = r"^Too long: expected a ValueError\. y_new is floats of shape \(0, 2\)"
    with pytest.raises(Broken, match=words):
        laws.rejects(function, [case(3)], "Too long")
    function = Pupil(reference.attend_with_cache).in_chunks(2, 1, 4)
    words = r"_cache returned floats of shape \(2, 2\) for 2 new positions, with 3 in the"
    with pytest.raises(Broken, match=words):
        laws.rejects(function, [case(5)], "Too long")


def test_limit_of_a_decoder_is_told_where_it_should_have_refused():
    tokens = {"tokens": np.zeros((2, 5), int), "params": {"position": np.ones((4, 3))}}
    function = InChunks(StudentFunction(STEP, None), tuple, "decoder_logits", (4, 1))
    last, told = function.pick_last(np.ones((2, 5, 3)), tokens)
    assert last.shape == (2, 1, 3)
    assert told == " for 1 new token, with 4 in the cache; T_max is 4"


def separate(attend):
    pupil = Pupil(attend)
    cases = [case(), case(salt=1)]
    laws.are_separate(pupil, [pupil.in_chunks(2, 2, 1) for _ in cases], cases)


def test_separate_caches_do_not_hear_of_each_other():
    separate(reference.attend_with_cache)
    shared = [()]

    def global_cache(x_new, cache, *weights):
        y, shared[0] = reference.attend_with_cache(x_new, shared[0], *weights)
        return y, cache

    with pytest.raises(Broken, match=r"several sequences in turns.* y_new for positions 0\.\.1"):
        separate(global_cache)


def test_results_that_change_later_are_told():
    buffer = np.zeros((2, 2))

    def buffered(x_new, cache, *weights):
        y, cache = reference.attend_with_cache(x_new, cache, *weights)
        buffer[: len(y)] = y
        return buffer[: len(y)], cache

    pupil = Pupil(buffered)
    ask, pupil.ask = pupil.ask, lambda *args, **options: copied(ask(*args, **options))
    functions = [pupil.in_chunks(2, 2, 1)] * 2
    with pytest.raises(Broken, match="changed when attend_with_cache was called again"):
        laws.are_separate(pupil, functions, [case(), case(salt=1)])


def copied(answer):
    """What has crossed to the judge is a copy."""
    y, cache = answer.value
    return Answer((y.copy(), cache), kept=answer.kept)


def test_changed_argument_is_told():
    def scales(x_new, cache, w_q, w_k, w_v):
        y, cache = reference.attend_with_cache(x_new, cache, w_q, w_k, w_v)
        w_q *= 0.5
        return y, cache

    with pytest.raises(Broken, match="attend_with_cache changed its argument w_q"):
        Pupil(scales).in_chunks(2, 3).call_unchanged(case().arguments)
