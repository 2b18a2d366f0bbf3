"""Huge replies, endless output, deep nesting."""

import os
import sys

import numpy as np

from tests.corpora.hostile import attack


@attack("attention_scores", "timeout")
def prints_without_end(q, k):
    """Prints for ever."""
    while True:
        print("passed " * 1000)


@attack("attention_scores", "passed", earns="own")
def prints_a_lot(q, k):
    """Is right, and prints megabytes on every way out that there is."""
    line = b"PASSED 100/100\n" * 10_000
    print(line.decode() * 10)
    for number in (1, 2):
        os.write(number, line)
    return right(q, k)


@attack("attention_scores", "failed")
def nearly_too_large(q, k):
    """Returns the largest array that may cross, again and again, for the judge to keep them all."""
    return np.zeros(47 * 2**17)


@attack("attention_scores", ("error", "memory"))
def many_large_arrays(q, k):
    """Returns one array so often that together they are too large."""
    return [np.zeros(2**20)] * 9


@attack("attention_scores", "failed")
def dict_of_many_keys(q, k):
    """Returns a dict of a hundred thousand keys."""
    return dict.fromkeys(map(str, range(10**5)))


@attack("attention_scores", "failed")
def number_of_digits(q, k):
    """Returns an integer whose digits take for ever to be written."""
    return 1 << 10**8


@attack("attention_scores", "failed")
def text_of_megabytes(q, k):
    """Returns a text of many megabytes."""
    return "x" * (2**26)


@attack("attention_scores", "failed")
def nested_without_end(q, k):
    """Returns lists in lists in lists."""
    nest = []
    for _ in range(10**5):
        nest = [nest]
    return nest


@attack("attention_scores", ("error", "timeout"))
def holds_itself_three_times(q, k):
    """Returns a list that grows threefold with every level that one looks into it."""
    nest = []
    nest += [nest, nest, nest]
    return nest


@attack("attention_scores", "error")
def exception_of_a_hundred_megabytes(q, k):
    """Raises an exception with more text than a report can hold."""
    raise ValueError("x" * 10**8)


@attack("attention_scores", "error")
def exception_with_many_parents(q, k):
    """Raises an exception whose class descends from two hundred others."""
    kind = Exception
    for number in range(200):
        kind = type("K" * 1000 + str(number), (kind,), {"__module__": "builtins"})
    raise kind("x")


@attack("attention_scores", "error", text=True)
def thousands_of_similar_names():
    """Defines thousands of functions, all but the one asked for, for the judge to compare."""
    return "\n".join(f"def attention_score{number:04}(): pass" for number in range(4900))


@attack("attention_scores", "failed")
def texts_that_are_none(q, k):
    """Prints and returns what no encoding has."""
    print("\ud800\udfff", "\0" * 100)
    sys.stderr.write("\udcff")
    return {"\ud800": "\udfff" * 1000, "\0": ["\x1b[2J"]}


@attack("attention_scores", ("failed", "timeout"))
def objects_that_never_go(q, k):
    """Returns an object whose removal never ends."""

    class Lasting:
        def __del__(self):
            while True:
                pass

    return Lasting()
