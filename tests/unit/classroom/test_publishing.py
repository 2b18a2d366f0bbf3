"""Whose sources are compared, and what is said when a class is large."""

import pytest

from grader.classroom import publishing
from grader.classroom.likeness import Likenesses
from grader.steps import registry

REGISTRY = registry.load()


class Book:
    def sources_of(self, run, step):
        return [("ann", f"{step} of ann"), ("ben", f"{step} of ben")]


@pytest.fixture
def compared(monkeypatch):
    """compared(students): the titles of the steps that are compared, and what is said."""
    titles, said, lexers = [], [], set()

    def near_sources(title, stub, sources, lexer):
        titles.append(title)
        lexers.add(lexer)
        assert len(lexers) == 1  # to start one takes half a second
        return Likenesses(())

    monkeypatch.setattr(publishing, "near_sources", near_sources)

    def compared(students):
        list(publishing._near(Book(), 1, REGISTRY, students, said.append))
        return titles, said

    return compared


def test_small_class_is_compared_without_a_word(compared):
    assert compared(30) == ([step.title for step in REGISTRY.steps], [])


def test_class_of_ten_thousand_is_compared_and_each_step_announced(compared):
    titles, said = compared(10_000)
    assert titles == [step.title for step in REGISTRY.steps]
    assert said[2] == f"Comparing the sources of step 3, {titles[2]} ..."
    assert len(said) == len(titles)


def test_class_that_is_too_large_is_not_compared_and_it_is_said(compared):
    titles, (said,) = compared(publishing.MAX_COMPARED + 1)
    assert titles == []
    assert "up to 50,000" in said


def test_nobody_is_compared_with_nobody(compared):
    assert compared(1) == ([], [])
