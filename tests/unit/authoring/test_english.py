"""The check of the English finds what the rules forbid, and nothing else."""

import pytest

from grader.authoring.english import NO_VERB, find_bad_english, find_forbidden, find_long_sentences


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
    ("docstring", "is_bad"),
    [
        ("Which keys are real tokens.", True),
        ("The scores, with -∞ where attending is forbidden.", True),
        ("An empty cache for one layer.", True),
        ("Mean of -log p(target) in nats.", True),
        ("Return the features of each head.", False),
        ("Add the mask to the scores.", False),
    ],
)
def test_docstring_of_a_function_begins_with_a_verb(docstring, is_bad):
    assert bool(NO_VERB.match(docstring)) == is_bad


def test_sentence_may_have_25_words():
    sentence = "word " * 24 + "word. "
    assert find_long_sentences(sentence * 2) == []
    assert len(find_long_sentences("one " + sentence)) == 1


def test_code_and_cells_are_counted_as_readers_see_them():
    assert find_long_sentences("`" + "a " * 40 + "`") == []
    assert find_long_sentences("| " + "a " * 20 + "| " + "b " * 20 + "|") == []


@pytest.mark.long
def test_kit_follows_the_rules():
    assert list(find_bad_english()) == []
