"""Whatever a worker sends, it is an answer or it is not: the judge's reading of random bytes."""

from types import SimpleNamespace

from hypothesis import strategies as st

from grader.isolation.client import Answer, CallFailed, Worker
from grader.isolation.wire import encode
from grader.isolation.worker.codec import HEADER, NONCE
from tests.support.examples import given, settings

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["ok", "raised", "printed", "value", "products", "kept", "type"])
            | st.sampled_from(["kinds", "message", "lines", "arguments", "innermost", "suggests"])
            | st.text(max_size=3),
            inner,
            max_size=4,
        )
    ),
    max_leaves=10,
)
ANSWERS = st.fixed_dictionaries(
    {"printed": st.text(max_size=5) | VALUES},
    optional={
        "ok": VALUES | st.fixed_dictionaries({"value": VALUES, "products": st.integers(0, 9)}),
        "raised": VALUES
        | st.fixed_dictionaries(
            {
                "type": st.text(max_size=5) | VALUES,
                "kinds": st.lists(st.text(max_size=5)) | VALUES,
                "message": st.text(max_size=5) | VALUES,
                "lines": st.lists(st.integers(-5, 5) | VALUES) | VALUES,
            },
            optional={"innermost": VALUES, "suggests": st.text(max_size=5) | VALUES},
        ),
    },
)


@st.composite
def changed(draw, values):
    """The bytes of a value, a few of them changed."""
    made = bytearray(encode(draw(values)))
    for _ in range(draw(st.integers(0, 3))):
        made[draw(st.integers(0, len(made) - 1))] = draw(st.integers(0, 255))
    return bytes(made[: draw(st.none() | st.integers(0, len(made)))])


REPLIES = st.binary(max_size=60) | changed(VALUES | ANSWERS) | ANSWERS.map(encode)


class Channel:
    """A worker's end that answers every question with the same bytes, in pieces."""

    def __init__(self, reply, sizes):
        self.reply = reply
        self.sizes = list(sizes)
        self.nonce = b""
        self.left = b""
        self.closed = False

    def settimeout(self, seconds):
        assert seconds > 0

    def sendall(self, data):
        self.nonce = HEADER.unpack(data[: HEADER.size])[1]
        self.left += self.reply(self.nonce)

    def recv(self, size):
        step = min(size, self.sizes.pop() if self.sizes else size)
        piece, self.left = self.left[:step], self.left[step:]
        return piece

    def close(self):
        self.closed = True


def worker(reply, sizes=()):
    """A worker on such a channel, and the numbers of the processes that were ended."""
    ended = []
    channel = Channel(reply, sizes)
    limits = SimpleNamespace(call_seconds=60.0)
    start = lambda: (channel, 7)  # noqa: E731
    host = SimpleNamespace(start=start, end=ended.append, limits=limits, audit=False)
    host.deadline = float("inf")
    return Worker(host, float("inf")), channel, ended


def ask(made):
    """What a call brings; whatever comes instead of an answer must be a failed call."""
    try:
        return made.call("f", [1], {})
    except CallFailed as failure:
        return failure


FRAMES = st.one_of(
    REPLIES.map(lambda data: lambda nonce: HEADER.pack(len(data), nonce) + data),
    REPLIES.map(lambda data: lambda nonce: data),
    st.tuples(st.integers(0, 2**64 - 1), REPLIES).map(
        lambda pair: lambda nonce: HEADER.pack(pair[0], nonce) + pair[1]
    ),
    REPLIES.map(lambda data: lambda nonce: HEADER.pack(len(data), bytes(NONCE)) + data),
)


@settings(max_examples=300)
@given(FRAMES, st.lists(st.integers(1, 9), max_size=9))
def test_any_frame_is_an_answer_or_a_failed_call(frame, sizes):
    made, channel, ended = worker(frame, sizes)
    result = ask(made)
    assert isinstance(result, (Answer, CallFailed))
    assert ended == ([] if made.alive else [7])
    assert channel.closed == (not made.alive)


@settings(max_examples=100)
@given(REPLIES, st.binary(min_size=1, max_size=40))
def test_frame_without_the_nonce_is_never_an_answer(data, nonce):
    wrong = nonce.ljust(NONCE, b"\0")[:NONCE]
    made, _, ended = worker(lambda true: HEADER.pack(len(data), wrong) + data)
    assert isinstance(ask(made), CallFailed)
    assert (made.alive, ended) == (False, [7])


@settings(max_examples=100)
@given(st.lists(st.integers(1, 30), max_size=30))
def test_answer_in_pieces_is_the_answer(sizes):
    data = encode({"ok": {"value": [1.5, "é"], "products": 3}, "printed": "p"})
    made, _, _ = worker(lambda nonce: HEADER.pack(len(data), nonce) + data, sizes)
    assert ask(made) == Answer([1.5, "é"], "p", 3)
    assert made.alive


@settings(max_examples=100)
@given(REPLIES)
def test_second_answer_is_never_taken_for_the_next(extra):
    data = encode({"ok": {"value": 1, "products": 0}, "printed": ""})
    frames = [data, extra]
    made, _, _ = worker(
        lambda nonce: b"".join(HEADER.pack(len(frame), nonce) + frame for frame in frames)
    )
    assert ask(made) == Answer(1)
    assert isinstance(ask(made), CallFailed)
    assert not made.alive
