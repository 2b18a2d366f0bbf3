"""The check of the English finds what the rules forbid, and nothing else."""

import pytest

from grader.authoring.english import (
    begins_badly,
    find_bad_english,
    find_forbidden,
    find_long_sentences,
    without_markup,
)


@pytest.mark.parametrize(
    "text",
    [
        "Next: mend the file.",
        "Whoever changes the kit runs its tests.",
        "any text, be it UTF-8 or not",
        "Otherwise it is said what can be seen.",
        "it is no zip archive",
        "an integer that is none",
        "Judge what stands in the notebook.",
    ],
)
def test_forbidden_construction_is_found(text):
    assert len(find_forbidden(text)) == 1


@pytest.mark.parametrize(
    "text",
    [
        "there is no folder here",
        "The value is None.",
        "The file is no longer there.",
        "amendments and commendations",
        "nopeek reports a pattern",
    ],
)
def test_plain_english_passes(text):
    assert find_forbidden(text) == []


@pytest.mark.parametrize(
    ("docstring", "of_class", "of_function"),
    [
        ("Which keys are real tokens.", True, True),
        ("The scores, with -∞ where attending is forbidden.", False, True),
        ("An empty cache for one layer.", False, True),
        ("Mean of -log p(target) in nats.", False, True),
        ("Return the features of each head.", False, False),
        ("Add the mask to the scores.", False, False),
    ],
)
def test_docstring_of_a_function_begins_with_a_verb(docstring, of_class, of_function):
    assert begins_badly(docstring, of_function=False) == of_class
    assert begins_badly(docstring, of_function=True) == of_function


def test_template_is_read_without_its_code():
    assert without_markup("{% if x\nis none %}{{ y }} is no zip.\n") == "\n is no zip.\n"


def test_sentence_may_have_25_words():
    sentence = "word " * 24 + "word. "
    assert find_long_sentences(sentence * 2) == []
    assert len(find_long_sentences("one " + sentence)) == 1


def test_code_and_cells_are_counted_as_readers_see_them():
    assert find_long_sentences("`" + "a " * 40 + "`") == []
    assert find_long_sentences("| " + "a " * 20 + "| " + "b " * 20 + "|") == []


def test_kit_follows_the_rules():
    assert list(find_bad_english()) == []
