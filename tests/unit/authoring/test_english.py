"""The check of the English finds what the rules forbid, and nothing else."""

import pytest

from grader.authoring.english import NO_VERB, find_bad_english, find_forbidden, find_long_sentences


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("Next: mend the file.", 1),
        ("Whoever changes the kit runs its tests.", 1),
        ("any text, be it UTF-8 or not", 1),
        ("Otherwise it is said what can be seen.", 1),
        ("it is no zip archive", 1),
        ("an integer that is none", 1),
        ("Judge what stands in the notebook.", 1),
        ("there is no folder here. The value is None. The file is no longer there.", 0),
        ("amendments and commendations: nopeek reports a pattern", 0),
    ],
)
def test_forbidden_construction_is_found(text, count):
    assert len(find_forbidden(text)) == count


def test_docstring_of_a_function_begins_with_a_verb():
    for nouns in ("Which keys are real tokens.", "The scores.", "An empty cache.", "Mean of logs."):
        assert NO_VERB.match(nouns)
    for verbs in ("Return the features of each head.", "Add the mask to the scores."):
        assert not NO_VERB.match(verbs)


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
