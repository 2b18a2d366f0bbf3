"""HTML, terminal commands, templates and formulas in whatever a report may quote."""

import sys

from tests.corpora.hostile import attack


@attack("attention_scores", "error", suite="visible")
def markup_in_an_exception(q, k):
    """Raises text that is a script where it is not escaped."""
    raise ValueError("</pre><script>alert(1)</script><img src=x onerror=alert(2)>")


@attack("attention_scores", "failed", suite="visible")
def markup_in_the_output(q, k):
    """Prints the same, in the hope of another way onto the page."""
    print("</pre><script>alert(1)</script><img src=x onerror=alert(2)>")


@attack("attention_scores", "failed", suite="visible")
def markup_in_a_name(q, k):
    """Returns an object whose type is called like a tag."""
    return type("<script>alert(1)</script><img src=x onerror=alert(2)>", (), {})()


@attack("attention_scores", "error", suite="visible")
def commands_to_the_terminal(q, k):
    """Raises and prints what clears a screen, renames a window and rings a bell."""
    print("\x1b[2J\x1b]0;passed\x07\x9b31m\r\b")
    raise ValueError("\x1b[2J\x1b[1;1H\x1b]0;passed\x07 100 of 100 points\r\b\x9b2J")


@attack("attention_scores", "error", suite="visible")
def text_that_runs_backwards(q, k):
    """Uses the characters that reverse, join and hide what is read."""
    print("\u202edessap\u2066\u200b\ufeff")
    raise ValueError("\u202edessap\u2066\u2029\u0085\u200b\ufeff")


@attack("attention_scores", "error", suite="visible")
def templates_and_formats(q, k):
    """Raises what would be computed in a template, a format string or a cell."""
    print("{{ 7*191 }} {% raw %}")
    raise ValueError("{{ 7*191 }} {0.__class__} %s%n ${7*191} =7*191 @SUM(1)")


@attack("attention_scores", "error", suite="visible", text=True)
def a_line_full_of_markup():
    """Fails in a line of source that closes the page's own tags and clears the screen."""
    return (
        "def attention_scores(q, k):\n"
        "    raise ValueError  # </code></pre><script>alert(1)</script>\x1b[2J\u202e\n"
    )


@attack("attention_scores", "error", suite="visible", text=True)
def a_syntax_error_full_of_markup():
    """Is no Python, in words that are none either."""
    return "def attention_scores(q, k:  </pre><script>alert(1)</script>\x1b[2J\n"


@attack("attention_scores", "error", suite="visible", at_import=True)
def invented_file_names():
    """Raises a syntax error of a file whose name is a tag."""
    compile("f(", "</pre><script>alert(1)</script>\x1b[2J", "exec")


@attack("attention_scores", "failed", suite="visible")
def output_from_behind(q, k):
    """Replaces the stream that its output is taken from by one of its own."""

    class Stream:
        def write(self, text):
            return 10**9

        def text(self):
            return "<script>alert(1)</script>"

    sys.stdout.text = lambda: "<script>alert(1)</script>\x1b[2J" * 1000
    sys.stdout = sys.stderr = Stream()
