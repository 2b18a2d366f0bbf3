"""How an error is shown."""

import sys

from grader.report.problem import Problem


def test_long_error_is_wrapped_on_a_terminal_only(monkeypatch, capsys):
    words = "there is no step " + "projections " * 10
    Problem(words.strip()).show()
    assert capsys.readouterr().err.count("\n") == 1
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    Problem(words.strip()).show()
    told = capsys.readouterr().err
    assert max(map(len, told.splitlines())) <= 80
    assert " ".join(told.split()) == f"nopeek: {words.strip()}"
