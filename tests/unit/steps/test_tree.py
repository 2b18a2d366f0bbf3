"""Test the walk over trees: what it yields side by side."""

import pytest

from grader.checks.laws.cases import have_one_form
from grader.steps.tree import name_path, named_leaves, pairs


class Unread(list):
    """A list that nobody may look into: a submission's may have millions of items."""

    def __iter__(self):
        raise AssertionError("looked into")

    def __getitem__(self, place):
        raise AssertionError("looked into")


def test_parts_of_another_form_are_not_looked_into():
    many = Unread([1, 2, 3])
    for right in ({"a": 1}, [1, 2], 5, {0: 1, 1: 2, 2: 3}):
        assert list(pairs({"x": right}, {"x": many})) == [(("x",), right, many)]
        assert not have_one_form(right, many)


def test_empty_parts_of_one_form_have_no_leaves():
    assert list(pairs({"a": [], "b": ()}, {"a": (), "b": []})) == []
    assert list(pairs([], {})) == [((), [], {})]


def test_paths_are_written_as_one_writes_them():
    assert name_path((0, "w", 2, "b")) == "[0].w[2].b"
    assert named_leaves([{"w": 1}], "steps") == {"steps[0].w": 1}
    with pytest.raises(ValueError, match="too long"):
        named_leaves({"k" * 2000: 1})
