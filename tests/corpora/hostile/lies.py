"""Objects that lie about what they are, or make up their minds later."""

import ctypes
import sys

import numpy as np

from tests.corpora.hostile import attack


def zeros(q, k):
    return np.zeros((*q.shape[:-1], k.shape[-2]))


def always(*args, **kwargs):
    return True


class Agreeable(np.ndarray):
    """Equal to anything, near to everything."""

    __eq__ = __le__ = __ge__ = __lt__ = __gt__ = always
    __hash__ = None
    __array_priority__ = 1e9

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return True

    def __array_function__(self, function, types, args, kwargs):
        return True

    def all(self, *args, **kwargs):
        return True

    def __sub__(self, other):
        return np.zeros(self.shape)

    __rsub__ = __sub__


@attack("attention_scores", "failed")
def array_that_equals_everything(q, k):
    """Returns zeros in an array whose every comparison says True."""
    return zeros(q, k).view(Agreeable)


@attack("softmax", "failed")
def array_that_shows_another(scores, axis=-1):
    """Returns an object whose __array__ looks for the right answer in the frames that call it."""

    class Late:
        def __array__(self, *args, **kwargs):
            frame = sys._getframe()
            while frame:
                for value in frame.f_locals.values():
                    if isinstance(value, np.ndarray) and value.shape == scores.shape:
                        return value
                frame = frame.f_back
            return np.zeros(scores.shape)

    return Late()


@attack("softmax", "failed")
def interface_to_nowhere(scores, axis=-1):
    """Returns an object that claims to be numbers at an address that is none."""

    class Nowhere:
        __array_interface__ = {
            "shape": scores.shape,
            "typestr": "<f8",
            "data": (0xDEAD0000, False),
            "version": 3,
        }

    return Nowhere()


@attack("softmax", "failed")
def claims_to_be_an_array(scores, axis=-1):
    """Returns an object whose __class__ says ndarray."""

    class Claims:
        __class__ = np.ndarray
        shape = scores.shape
        dtype = scores.dtype

    return Claims()


@attack("attention_scores", "failed")
def array_of_agreeable_objects(q, k):
    """Returns objects that equal everything, in an array of the right shape."""

    class Anything(float):
        __eq__ = __le__ = __ge__ = always
        __hash__ = None
        __sub__ = __rsub__ = __abs__ = lambda self, *_: 0.0

    result = np.empty(zeros(q, k).shape, object)
    result[...] = Anything()
    return result


@attack("attention_scores", "failed")
def records(q, k):
    """Returns an array of records with the right shape."""
    return np.zeros(zeros(q, k).shape, "f8,f8")


@attack("attention_scores", "failed")
def terabytes_of_one_number(q, k):
    """Returns an array that is tiny here and would be eight terabytes there."""
    return np.broadcast_to(np.float64(0), (10**6, 10**6))


@attack("attention_scores", "error")
def strides_into_the_dark(q, k):
    """Returns a view that reaches far outside of its buffer."""
    shape = zeros(q, k).shape
    return np.lib.stride_tricks.as_strided(q, shape, (2**40,) * len(shape))


@attack("attention_scores", "error")
def empty_of_impossible_shape(q, k):
    """Returns an empty array with an axis of 2**40."""
    return np.empty((0, 2**40))


@attack("attention_scores", "failed")
def not_a_number_everywhere(q, k):
    """Returns NaN, which compares as nothing at all."""
    return zeros(q, k) * np.nan


@attack("attention_scores", "failed")
def boxed_nans(q, k):
    """Returns NaNs that carry the inputs in the bits that nobody looks at."""
    bits = np.full(zeros(q, k).shape, 0x7FF8_0000_0000_0001, np.uint64)
    return (bits | 0xDEADBEEF).view(np.float64)


@attack("attention_scores", "failed")
def infinite_everywhere(q, k):
    """Returns infinities, hoping that a difference of two of them is overlooked."""
    return zeros(q, k) + np.inf


@attack("attention_scores", "failed")
def bytes_the_other_way_round(q, k):
    """Returns right bytes under the wrong byte order."""
    return (q @ np.swapaxes(k, -1, -2) / q.shape[-1] ** 0.5).view(">f8")


@attack("attention_scores", "passed", earns="own")
def right_in_odd_types(q, k):
    """Returns right values as long doubles of the other byte order: strange, and right."""
    return right(q, k).astype(np.longdouble).astype(">f8")


@attack("attention_scores", "failed")
def everything_masked(q, k):
    """Returns a masked array, all of it masked, so that NumPy leaves it out of comparisons."""
    return np.ma.masked_all(zeros(q, k).shape)


@attack("attention_scores", "failed")
def generator_of_rows(q, k):
    """Returns a generator, to be evaluated where the answers are."""
    return (row for row in zeros(q, k))


@attack("attention_scores", "failed")
def memory_that_changes(q, k):
    """Returns a view of memory, in the hope of writing into it later."""
    return memoryview(zeros(q, k))


@attack("attention_scores", "failed")
def single_number(q, k):
    """Returns a number without axes, which converters turn into any shape."""
    return np.float64(0)


@attack("attention_scores", "failed")
def imaginary_part(q, k):
    """Returns complex numbers whose real parts are right."""
    return q @ np.swapaxes(k, -1, -2) / q.shape[-1] ** 0.5 + 1j


@attack("attention_scores", "failed")
def numbers_as_text(q, k):
    """Returns the right numbers as texts, for a judge that converts."""
    return (q @ np.swapaxes(k, -1, -2) / q.shape[-1] ** 0.5).astype(str)


@attack("cross_entropy", "failed")
def float_that_equals_everything(logits, targets, ignore_id=None):
    """Returns a number that says yes to any comparison."""

    class Agreeable(float):
        __eq__ = __le__ = __ge__ = __lt__ = __gt__ = always
        __hash__ = None
        __sub__ = __rsub__ = __abs__ = lambda self, *_: 0.0
        __float__ = lambda self: 0.0

    return Agreeable(3)


@attack("causal_mask", "failed")
def truth_of_all_bytes(t_q, t_k=None):
    """Returns booleans made of bytes that are neither 0 nor 1."""
    return np.full((t_q, t_k or t_q), 0xA5, np.uint8).view(bool)


@attack("attention_scores", "failed")
def foreign_object_in_a_dict(q, k):
    """Returns a dict with something in it that cannot be sent on to a diagnosis."""
    return {"scores": {1}, "more": [{"x": object()}]}


@attack("attention_scores", "failed")
def pretends_to_be_a_handle(q, k):
    """Returns what a diagnosis takes for an object of its own, equal to every answer."""
    return {"handle of": 0}


@attack("project_qkv", "failed")
def results_that_pretend_to_be_handles(x, w_q, w_k, w_v):
    """Returns the same in a tuple of the right length."""
    return ({"handle of": 0}, {"handle of": 1}, {"handle of": 2})


@attack("attention_scores", "failed")
def pretends_to_be_foreign(q, k):
    """Returns the words in which a diagnosis is told of an object that cannot cross."""
    return {"a foreign object": "ndarray"}


@attack("attention_scores", "failed")
def writes_over_a_number(q, k):
    """Overwrites the worker's own tuples and floats in memory, and returns zeros."""
    value = 12345.678
    ctypes.c_double.from_address(id(value) + 16).value = 0.0
    return zeros(q, k) + value


@attack("attend_with_cache", "failed", right=True)
def cache_that_is_a_handle(x_new, cache, w_q, w_k, w_v):
    """Returns a cache that looks like the judge's number for another one."""
    return x_new @ w_v + 7, {"handle of": 2**63}
