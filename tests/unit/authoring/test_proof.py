"""Test the file that says which check catches each known mistake."""

from types import SimpleNamespace

import pytest

from grader.authoring.proof import caught_by, choose_check


def test_stored_checks_are_those_that_build_would_write(steps):
    for path, text in caught_by(steps).items():
        assert path.read_text("utf-8") == text, "caught_by.toml is out of date: run `make build`"


@pytest.mark.parametrize(
    ("failed", "named", "chosen"),
    [
        (["agree rows", "agree rows"], [], "agree"),
        (["agree rows", "rows"], [], "rows"),
        (["agree rows", "agree rows"], ["agree"], "rows"),
        (["agree rows", "agree rows"], ["agree", "rows"], "agree"),
        (["agree", "rows"], [], ""),
    ],
    ids=["first", "in both suites", "one without a mistake", "each has one", "none"],
)
def test_check_rejects_the_mistake_in_both_suites(failed, named, chosen):
    findings = [SimpleNamespace(failed=tuple(checks.split())) for checks in failed]
    assert choose_check(findings, named) == chosen
