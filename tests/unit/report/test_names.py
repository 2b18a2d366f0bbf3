"""Names that others have chosen, as file names and in sentences."""

import unicodedata

import pytest
from hypothesis import strategies as st

from grader.report.sanitize import one_line, safe_name
from tests.support.examples import given

STRANGE = ["..", "...", "a b", "Ünal", "漢字", "🎉", "a\nb", "\x1b[31mred", "=1+1", "-rf", "con"]
STRANGE += ["x" * 240, "<script>alert(1)", "\u202eevil", "NUL.txt", "e\u0301", "é", "a\udcff"]


@pytest.mark.parametrize("name", ["alice", "a.b@c.org", "s12345", "anna_2", "x" * 60, "1", "a+b"])
def test_plain_id_is_its_own_file_name(name):
    assert safe_name(name) == name


OTHERS = ["", ".", "a.", "Alice", "a/b", "a\\b", "a:b", "~", "a\0", "con", "aux.txt"]


@pytest.mark.parametrize("name", STRANGE + OTHERS)
def test_other_id_is_encoded(name):
    safe = safe_name(name)
    assert safe != name
    assert len(safe) <= 100
    assert set(safe) <= set("abcdefghijklmnopqrstuvwxyz0123456789_~")
    assert safe_name(safe) != safe


def folded(text):
    return unicodedata.normalize("NFKC", text).casefold()


@given(st.lists(st.text(st.characters(), max_size=12) | st.sampled_from(STRANGE), unique=True))
def test_ids_never_share_a_file_name(names):
    assert len({folded(safe_name(name)) for name in names}) == len(names)


def test_ids_that_differ_by_case_or_accents_only_have_names_of_their_own():
    names = ["Alice", "alice", "ALICE", "é", "e\u0301", "ﬁ", "fi", "a\u200bb", "ab"]
    assert len({folded(safe_name(name)) for name in names}) == len(names)


@given(st.text(st.characters()))
def test_any_name_can_be_shown_on_one_line(name):
    text = one_line(name, 80)
    assert text.isprintable()
    assert len(text.encode()) >= len(text)
