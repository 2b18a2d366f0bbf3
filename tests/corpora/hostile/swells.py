"""Sends the judge what it has not asked for, or more than anybody needs."""

import sys

import numpy as np

from tests.corpora.hostile import attack


def session():
    frame = sys._getframe()
    while "serve" not in dir(frame.f_locals.get("self")):
        frame = frame.f_back
    return frame.f_locals["self"]


def kept(self, value):
    """Data in place of the handle that the judge asked for."""
    return KEEPS[KIND](value)


KIND = "none"
KEEPS = {
    "none": lambda value: None,
    "text": lambda value: "abc",
    "much": lambda value: session().reply.tree(np.zeros(3 * 2**20)),
    "type": lambda value: {"foreign": "Cache"},
    "same": lambda value: {"handle": 0},
    "last": lambda value: {"handle": 2**63 - 1},
}


def keeping(kind):
    globals()["KIND"] = kind
    type(session()).keep = kept


@attack("new_cache", "error")
def nothing_for_a_handle():
    """Answers None where a cache's handle belongs."""
    keeping("none")


@attack("new_cache", "error")
def text_for_a_handle():
    """Answers a text."""
    keeping("text")


@attack("new_cache", "error")
def much_for_a_handle():
    """Answers 24 MiB."""
    keeping("much")


@attack("new_cache", "error")
def a_type_for_a_handle():
    """Answers the name of a type, which the judge can send nowhere."""
    keeping("type")


@attack("new_cache", ("failed", "error"))
def a_handle_of_its_own_choice():
    """Answers a handle with the greatest number there is."""
    keeping("last")


@attack("attend_with_cache", ("failed", "error"))
def one_handle_for_all(x_new, cache, w_q, w_k, w_v):
    """Gives every cache the same number."""
    keeping("same")
    return x_new @ w_v, []


@attack("attend_with_cache", ("failed", "error"))
def much_beside_a_handle(x_new, cache, w_q, w_k, w_v):
    """Sends 24 MiB as the cache on every call."""
    keeping("much")
    return x_new @ w_v, []


@attack("attend_with_cache", ("failed", "error"))
def a_list_for_a_pair(x_new, cache, w_q, w_k, w_v):
    """Has a pair of data sent where data and a handle belong."""
    type(session()).parcel = lambda *_: [None, None]
    return x_new @ w_v, []


@attack("attention_scores", ("failed", "error"))
def many_small_numbers(q, k):
    """Returns 47 MiB of int8, which are eight times as much once they are compared."""
    return np.zeros((47, 2**10, 2**10), np.int8)


@attack("attention", ("failed", "error"))
def much_where_only_time_is_looked_at(q, k, v, mask=None):
    """The same where a law looks at one axis only."""
    return np.zeros((23 * 2**20 // q.shape[-2], q.shape[-2], 2), np.int8)


@attack("attention_scores", "failed", suite="visible")
def millions_of_empty_lists(q, k):
    """Returns an array without numbers, which would be shown as four million lists."""
    return np.zeros((4 * 2**20, 0))


@attack("attention_scores", "error")
def exceptions_of_many_kinds(q, k):
    """Raises what has thousands of kinds, and as many lines."""
    type(session()).describe = lambda *_: {
        "type": "x" * 60_000,
        "kinds": ["x" * 2000] * 5000,
        "message": "x" * 60_000,
        "lines": list(range(5000)),
        "innermost": ["x" * 60_000, 5],
    }
    raise ValueError


@attack("attention_scores", "error", text=True)
def forty_lines_of_a_long_source():
    """Names forty lines at the end of the longest source that is read."""
    return (
        "def attention_scores(q, k):\n    import sys\n    frame = sys._getframe()\n"
        "    while 'serve' not in dir(frame.f_locals.get('self')):\n        frame = frame.f_back\n"
        "    told = {'type': 'ValueError', 'kinds': [], 'message': ''}\n"
        "    told['lines'] = [949_000 - n for n in range(40)]\n"
        "    type(frame.f_locals['self']).describe = lambda *_: {**told, 'innermost': None}\n"
        "    raise ValueError\n" + "\n" * 949_000
    )
