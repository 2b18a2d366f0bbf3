import itertools

_numbers = itertools.count(1)
_store = {}


def open_handle(**state):
    n = next(_numbers)
    _store[n] = state
    return n


def state(handle):
    return _store[handle]
