"""Values as bytes: what goes in comes out, and no bytes at all can hurt whoever reads them."""

import json
import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from grader.isolation.wire import Foreign, Handle, Laid, ProtocolError, decode, encode
from grader.isolation.worker import wire as worker
from grader.isolation.worker.codec import PARTS, Decoder
from tests.support.alike import alike
from tests.support.examples import given, settings

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


FLOATS = st.floats(allow_nan=False) | st.just(math.nan)  # JSON keeps no NaN's other bits
SCALARS = st.one_of(st.none(), st.booleans(), INTEGERS, FLOATS, PRINTABLE)
VALUES = nested(st.one_of(SCALARS, arrays()))


def read(data, kept=None):
    """What a worker makes of a request, and where that ends."""
    return worker.RequestDecoder(kept or {}).read(data)


def reply(value):
    """What a worker sends of a value that a student's function returned."""
    writer = worker.Reply()
    return writer.encode(writer.tree(value))


# What goes in comes out.


@given(VALUES)
def test_value_decodes_to_itself(value):
    assert alike(decode(encode(value)), value)


@given(VALUES)
def test_value_survives_the_way_through_the_worker(value):
    inside, end = read(encode(value))
    assert end == len(encode(value))
    assert alike(inside, value)
    assert alike(decode(reply(inside)), value)


@given(st.text(st.characters(), max_size=30))
def test_text_reaches_the_worker_with_its_surrogates(text):
    assert read(encode(text))[0] == text


@given(st.text(st.characters(), max_size=30))
def test_text_comes_back_without_surrogates(text):
    printable = text.encode("utf-8", "replace").decode()
    assert decode(reply(text)) == printable


@given(st.integers(0, 2**63 - 1))
def test_handle_decodes_to_itself(number):
    assert decode(encode(Handle(number))) == Handle(number)


def test_handle_becomes_the_object_in_the_worker():
    kept = {3: object()}
    assert read(encode([Handle(3), {"x": Handle(3)}]), kept)[0] == [kept[3], {"x": kept[3]}]


@given(arrays(), st.sampled_from(["C", "F", "strided", "reversed"]), st.booleans())
def test_laid_array_lies_as_it_should(array, layout, writable):
    inside = read(encode(Laid(array, layout, writable)))[0]
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
    "not a number": math.nan,
    "a NaN with a payload": np.frombuffer(bytes.fromhex("efcdab000000f8ff"), "<f8"),
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
    assert alike(decode(reply(read(encode(value))[0])), value)


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
    decode(reply(value))


# No bytes can hurt.


def parts(text, numbers=b""):
    return PARTS.pack(len(text), len(numbers)) + text.encode("ascii") + numbers


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


TREES = nested(SCALARS | st.sampled_from(["<f8", "|b1", 2**62, -1]))
KINDS = st.sampled_from(["tuple", "dict", "array", "handle", "foreign", "other"])


@given(st.dictionaries(KINDS, TREES, max_size=2), st.binary(max_size=20))
def test_arbitrary_trees_are_harmless(tree, numbers):
    harmless(parts(json.dumps(tree), numbers))


@pytest.mark.long
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


def array(code, *shape, raw=b""):
    return parts(json.dumps({"array": f"{code} {','.join(map(str, shape))} C 1"}), raw)


MOST, LONGEST = Decoder.max_items, Decoder.max_text
NESTS = {"lists": ("[", "]"), "tuples": ('{"tuple":[', "]}"), "dicts": ('{"dict":{"":', "}}")}


def nest(kind, depth):
    begin, end = NESTS[kind]
    return parts(begin * depth + "1" + end * depth)


HOSTILE = {
    "nothing": (b"", "ends too soon"),
    "half of the lengths": (bytes(11), "ends too soon"),
    "no JSON": (parts(""), "not JSON"),
    "no text": (PARTS.pack(2, 0) + b"\xff\xfe", "not JSON"),
    "two values in one": (parts("1 1"), "not JSON"),
    "unknown kind": (parts('{"thing": 1}'), "unknown kind"),
    "no kind": (parts("{}"), "unknown kind"),
    "two values": (2 * parts("1"), "more values than asked for"),
    "numbers of no array": (parts("1", bytes(8)), "more numbers than asked for"),
    "array without its numbers": (array("<f8", 3), "ends too soon"),
    "two arrays of one's numbers": (
        parts(json.dumps([{"array": "|i1 2 C 1"}] * 2), bytes(2)),
        "ends too soon",
    ),
    "array of 2**62": (array("<f8", 2**62), "ends too soon"),
    "array of 2**248": (array("<f8", *[2**62] * 4), "ends too soon"),
    "empty array, very long": (array("<f8", 0, 2**62), "impossible shape"),
    "empty array, too large for NumPy": (array("<f8", 0, *[20_000] * 15), "impossible"),
    "shape below nothing": (array("<f8", -1), "impossible shape"),
    "shape of words": (array("<f8", "one"), "impossible shape"),
    "17 dimensions": (array("|i1", *[1] * 17, raw=b"1"), "too many dimensions"),
    "no shape": (parts('{"array": "<f8 C 1"}', bytes(24)), "impossible shape"),
    "shape that is long": (array("<f8", *[1] * 300), "type that is not allowed"),
    "list for an array": (parts('{"array": ["<f8", [3]]}'), "unknown kind"),
    "half an array": (parts('{"array": "<f8"}'), "ends too soon"),
    "records": (array("f8,f8", 1, raw=bytes(16)), "type that is not allowed"),
    "subarrays": (array("(9999999,9999999)f8", 0), "type that is not allowed"),
    "no type": (array("", 1), "type that is not allowed"),
    **{
        f"an array of {code}": (array(code, 1, raw=bytes(16)), "type that is not allowed")
        for code in ("|O", "<c16", "<f16", ">f8", "<M8[s]", "<U1", "a5")
    },
    "text of 4 GiB": (PARTS.pack(2**32 - 1, 0), "ends too soon"),
    "numbers without end": (PARTS.pack(1, 2**64 - 1) + b"1", "ends too soon"),
    "much JSON": (parts(" " * Decoder.max_json + "1"), "too long"),
    "long text": (parts(json.dumps("x" * (LONGEST + 1))), "too long"),
    "one item too many": (parts(json.dumps([0] * (MOST + 1))), "too many items"),
    "many small lists": (parts(json.dumps([[0] * 200] * 200)), "too many items"),
    "many small dicts": (
        parts(json.dumps([{"dict": dict.fromkeys(map(str, range(200)))}] * 200)),
        "too many items",
    ),
    **{
        f"{kind} nested {depth} deep": (nest(kind, depth), "nested too deeply")
        for kind in NESTS
        for depth in (Decoder.max_depth + 1, 100_000)
    },
    "a million digits": (parts("1" * 10**6), "too long to be one"),
    "integer of 65 bits": (parts("18446744073709551616"), "too long to be one"),
    "handle below nothing": (parts('{"handle": -1}'), "below nothing"),
}


@pytest.mark.parametrize(("data", "words"), HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_bytes_are_refused(data, words):
    with pytest.raises(ProtocolError, match=words):
        decode(data)
    harmless(data)


def test_caps_allow_what_reaches_them():
    assert all(decode(nest(kind, Decoder.max_depth)) for kind in NESTS)
    assert len(decode(parts(json.dumps([0] * MOST)))) == MOST
    assert decode(parts(json.dumps("x" * LONGEST))).strip("x") == ""
    assert decode(array("|i1", 0, 20_000)).shape == (0, 20_000)


def test_number_of_a_million_digits_is_read():
    assert decode(parts("0." + "1" * 10**6)) == pytest.approx(1 / 9)


def test_invalid_text_is_replaced_and_long_names_are_cut():
    assert decode(PARTS.pack(5, 0) + b'"a\xffb"') == "a\ufffdb"
    assert decode(parts('"a\\ud800b"')) == "a?b"
    assert decode(parts(json.dumps({"foreign": "y" * 200}))) == Foreign("y" * 80)
