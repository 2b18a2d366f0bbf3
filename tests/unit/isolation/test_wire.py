"""Values as bytes: what goes in comes out, and no bytes at all can hurt whoever reads them."""

import math
import struct
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from grader.isolation import wire
from grader.isolation.wire import Foreign, Handle, Laid, ProtocolError, decode, encode
from grader.isolation.worker import wire as worker
from grader.isolation.worker.codec import ValueDecoder
from tests.support.alike import alike

settings.register_profile("kit", deadline=None, database=None, derandomize=True)
settings.load_profile("kit")

MIB = 2**20
INTEGERS = st.integers(-(2**63), 2**63 - 1)
PRINTABLE = st.text(max_size=20)  # hypothesis leaves lone surrogates out of its texts
DTYPES = st.one_of(
    hnp.boolean_dtypes(),
    hnp.integer_dtypes(endianness="?"),
    hnp.unsigned_integer_dtypes(endianness="?"),
    hnp.floating_dtypes(endianness="?", sizes=(16, 32, 64)),
)
SHAPES = hnp.array_shapes(min_dims=0, max_dims=5, min_side=0, max_side=4)


def arrays():
    """Arrays of every type that crosses, of no, one or many numbers, some of them views."""
    plain = hnp.arrays(DTYPES, SHAPES)
    return st.one_of(plain, plain.map(np.transpose), plain.map(lambda array: np.flip(array)[...]))


def nested(leaves):
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.lists(inner, max_size=4),
            st.lists(inner, max_size=4).map(tuple),
            st.dictionaries(PRINTABLE, inner, max_size=4),
        ),
        max_leaves=8,
    )


SCALARS = st.one_of(st.none(), st.booleans(), INTEGERS, st.floats(), PRINTABLE)
VALUES = nested(st.one_of(SCALARS, arrays()))


# What goes in comes out.


@given(VALUES)
def test_value_decodes_to_itself(value):
    assert alike(decode(encode(value)), value)


@given(VALUES)
def test_value_survives_the_way_through_the_worker(value):
    inside, end = worker.read(encode(value), 0, {})
    assert end == len(encode(value))
    assert alike(inside, value)
    assert alike(decode(worker.write(inside)), value)


@given(st.text(st.characters(), max_size=30))
def test_text_reaches_the_worker_with_its_surrogates(text):
    assert worker.read(encode(text), 0, {})[0] == text


@given(st.text(st.characters(), max_size=30))
def test_text_comes_back_without_surrogates(text):
    printable = text.encode("utf-8", "replace").decode()
    assert decode(worker.write(text)) == printable


@given(st.integers(0, 2**64 - 1))
def test_handle_decodes_to_itself(number):
    assert decode(encode(Handle(number))) == Handle(number)


def test_handle_becomes_the_object_in_the_worker():
    kept = {3: object()}
    assert worker.read(encode([Handle(3), {"x": Handle(3)}]), 0, kept)[0] == [
        kept[3],
        {"x": kept[3]},
    ]


@given(arrays(), st.sampled_from(sorted(wire.LAYOUTS)), st.booleans())
def test_laid_array_lies_as_it_should(array, layout, writable):
    inside = worker.read(encode(Laid(array, layout, writable)), 0, {})[0]
    assert alike(inside, np.asarray(array))
    assert inside.flags.writeable is writable
    if inside.ndim >= 2 and min(inside.shape) > 1:
        assert inside.flags.c_contiguous is (layout == "C")
        assert inside.flags.f_contiguous is (layout == "F")
        assert (inside.strides[-1] < 0) is (layout == "reversed")


NUMBERS = {
    "zero": 0.0,
    "minus zero": -0.0,
    "infinity": math.inf,
    "NaN with a payload": struct.unpack(">d", bytes.fromhex("fff8000000abcdef"))[0],
    "denormal": 5e-324,
    "largest integer": 2**63 - 1,
    "smallest integer": -(2**63),
    "0-d": np.array(3.5),
    "0-d boolean": np.array(True),
    "empty": np.zeros((0,)),
    "empty in the middle": np.zeros((2, 0, 3), np.int8),
    "big-endian": np.arange(6, dtype=">i4").reshape(2, 3),
    "float16": np.array([1.5, -0.0, np.nan, np.inf], np.float16),
    "16 dimensions": np.ones((1,) * 16, np.uint8),
    "unsigned": np.array([2**64 - 1], np.uint64),
}


@pytest.mark.parametrize("value", NUMBERS.values(), ids=NUMBERS.keys())
def test_number_survives_both_ways(value):
    assert alike(decode(encode(value)), value)
    assert alike(decode(worker.write(worker.read(encode(value), 0, {})[0])), value)


def test_boolean_is_true_or_false_whatever_its_byte():
    data = encode(np.array([True, False, True]))
    assert decode(data[:-3] + b"\x02\x00\xff").view(np.uint8).tolist() == [1, 0, 1]


@pytest.mark.parametrize("value", [{1}, b"bytes", 1j, len], ids=repr)
def test_encode_refuses_what_has_no_encoding(value):
    with pytest.raises(TypeError, match="cannot be sent to the worker"):
        encode([value])


# Whatever a student returns, the worker's reply is one that the judge can read.

ANYTHING = nested(
    st.one_of(
        SCALARS,
        st.integers(),
        st.complex_numbers(),
        st.binary(max_size=5),
        st.text(st.characters(), max_size=5),
        hnp.arrays(hnp.scalar_dtypes(), SHAPES),
        hnp.arrays(hnp.array_dtypes(), hnp.array_shapes(max_dims=2, max_side=2)),
        st.sampled_from([len, {1}, range(3), np, Foreign, float("nan"), np.float32(1)]),
    )
)


@given(ANYTHING)
def test_reply_of_the_worker_can_always_be_read(value):
    decode(worker.write(value))


# No bytes can hurt.


def harmless(data):
    """Decodes, or raises ProtocolError and nothing else, without taking much memory."""
    tracemalloc.start()
    try:
        decode(data)
    except ProtocolError:
        pass
    finally:
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert peak < MIB + 200 * len(data)


@given(st.binary(max_size=200))
def test_arbitrary_bytes_are_harmless(data):
    harmless(data)


@given(st.lists(st.sampled_from([bytes([byte]) for byte in b"NTFIDSALUMHX\0\1\2\xff<f8"])))
def test_arbitrary_tags_are_harmless(pieces):
    harmless(b"".join(pieces))


@settings(max_examples=300)
@given(VALUES, st.data())
def test_mutated_bytes_are_harmless(value, draw):
    data = bytearray(encode(value))
    for _ in range(draw.draw(st.integers(1, 4))):
        start = draw.draw(st.integers(0, len(data)))
        end = start + draw.draw(st.integers(0, 8))
        data[start:end] = draw.draw(st.one_of(st.binary(max_size=9), st.just(b"\xff" * 4)))
    harmless(bytes(data))


@given(VALUES)
def test_cut_bytes_are_no_value(value):
    data = encode(value)
    for end in range(0, len(data), 1 + len(data) // 50):
        with pytest.raises(ProtocolError, match="ends too soon"):
            decode(data[:end])


def array_bytes(dtype, *shape, raw=b""):
    sizes = b"".join(struct.pack(">Q", size) for size in shape)
    return b"A" + bytes([len(dtype)]) + dtype + bytes([len(shape)]) + sizes + b"\0\1" + raw


def text_bytes(tag, size, raw=b""):
    return tag + struct.pack(">I", size) + raw


DEEPEST, MOST, LONGEST = ValueDecoder.max_depth, ValueDecoder.max_items, ValueDecoder.max_text
DEEP = text_bytes(b"L", 1) * DEEPEST
HOSTILE = {
    "nothing": (b"", "ends too soon"),
    "unknown kind": (b"Z", "unknown kind"),
    "two values": (b"NN", "more values than asked for"),
    "array without its numbers": (array_bytes(b"<f8", 3), "ends too soon"),
    "array of 2**63": (array_bytes(b"<f8", 2**63), "ends too soon"),
    "array of 2**256": (array_bytes(b"<f8", *[2**64 - 1] * 4), "ends too soon"),
    "empty array, very long": (array_bytes(b"<f8", 0, 2**63), "impossible shape"),
    "empty array, too large for NumPy": (array_bytes(b"<f8", 0, *[20_000] * 15), "impossible"),
    "17 dimensions": (array_bytes(b"|i1", *[1] * 17, raw=b"1"), "too many dimensions"),
    "255 dimensions": (array_bytes(b"|i1", *[1] * 255, raw=b"1"), "too many dimensions"),
    "objects": (array_bytes(b"|O", 1, raw=bytes(8)), "type that is not allowed"),
    "records": (array_bytes(b"f8,f8", 1, raw=bytes(16)), "type that is not allowed"),
    "subarrays": (array_bytes(b"(9999999,9999999)f8", 0), "type that is not allowed"),
    "complex": (array_bytes(b"<c16", 1, raw=bytes(16)), "type that is not allowed"),
    "long double": (array_bytes(b"<f16", 1, raw=bytes(16)), "type that is not allowed"),
    "big-endian": (array_bytes(b">f8", 1, raw=bytes(8)), "type that is not allowed"),
    "dates": (array_bytes(b"<M8[s]", 1, raw=bytes(8)), "type that is not allowed"),
    "strings": (array_bytes(b"<U1", 1, raw=bytes(4)), "type that is not allowed"),
    "a deprecated type": (array_bytes(b"a5", 1, raw=bytes(5)), "type that is not allowed"),
    "no type": (array_bytes(b"", 1), "type that is not allowed"),
    "a type that is no text": (array_bytes(b"\xff\xfe", 1), "type that is not allowed"),
    "text of 4 GiB": (text_bytes(b"S", 2**32 - 1), "too long"),
    "text cut short": (text_bytes(b"S", 5, b"1234"), "ends too soon"),
    "list of 4 billion": (text_bytes(b"L", 2**32 - 1), "too many items"),
    "tuple of 4 billion": (text_bytes(b"U", 2**32 - 1), "too many items"),
    "dict of 4 billion": (text_bytes(b"M", 2**32 - 1), "too many items"),
    "one item too many": (text_bytes(b"L", MOST + 1, b"N" * (MOST + 1)), "too many items"),
    "many small lists": (
        text_bytes(b"L", 200, text_bytes(b"L", 200, b"N" * 200) * 200),
        "too many items",
    ),
    "many small dicts": (
        text_bytes(b"L", 200, text_bytes(b"M", 200, (bytes(4) + b"N") * 200) * 200),
        "too many items",
    ),
    "nested too deeply": (DEEP + text_bytes(b"L", 1) + b"N", "nested too deeply"),
    "nested a million deep": (text_bytes(b"L", 1) * 1_000_000, "nested too deeply"),
    "dicts nested deeply": ((text_bytes(b"M", 1) + bytes(4)) * 1000, "nested too deeply"),
    "65 digits": (text_bytes(b"I", 65, b"1" * 65), "too long to be one"),
    "a million digits": (text_bytes(b"I", 10**6, b"1" * 10**6), "too long"),
    "integer of 65 bits": (text_bytes(b"I", 20, b"18446744073709551616"), "too long to be one"),
    "integer of letters": (text_bytes(b"I", 3, b"one"), "malformed integer"),
    "integer of nothing": (text_bytes(b"I", 0), "malformed integer"),
    "float cut short": (b"D1234567", "ends too soon"),
    "handle cut short": (b"H1234567", "ends too soon"),
    "too large": (bytes(wire.MAX_FRAME + 1), "too large"),
}


@pytest.mark.parametrize(("data", "words"), HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_bytes_are_refused(data, words):
    with pytest.raises(ProtocolError, match=words):
        decode(data)
    harmless(data)


def test_caps_allow_what_reaches_them():
    assert decode(DEEP + b"N") is not None
    assert len(decode(text_bytes(b"L", MOST, b"N" * MOST))) == MOST
    assert decode(text_bytes(b"S", LONGEST, b"x" * LONGEST)).strip("x") == ""
    assert decode(array_bytes(b"|i1", 0, 20_000)).shape == (0, 20_000)


def test_invalid_text_is_replaced_and_long_names_are_cut():
    assert decode(text_bytes(b"S", 3, b"a\xffb")) == "a\ufffdb"
    assert decode(text_bytes(b"X", 200, b"y" * 200)) == Foreign("y" * 80)
