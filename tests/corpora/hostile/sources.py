"""Sources that are hard to read: for the parser, the compiler, and whoever else parses them."""

from tests.corpora.hostile import attack


@attack("attention_scores", "error", text=True)
def parentheses_without_end():
    """Is nothing but parentheses."""
    return "(" * 200_000


@attack("attention_scores", "error", text=True)
def signs_without_end():
    """Is a number with a hundred thousand signs."""
    return "x = " + "-" * 100_000 + "1\n"


@attack("attention_scores", "error", text=True)
def calls_without_end():
    """Calls what a call returned, for as long as the file may be."""
    return "x = f" + "()" * 100_000 + "\n"


@attack("attention_scores", "error", text=True)
def constants_that_explode():
    """Has the compiler compute what no memory holds."""
    return "x = 'a' * 10**12\ny = (((1,) * 10**4) * 10**4) * 10**4\n"


@attack("attention_scores", "error", text=True)
def numbers_that_explode():
    """Writes a number whose digits take quadratic time to read."""
    return "x = " + "9" * 900_000 + "\n"


@attack("attention_scores", ("error", "timeout"), text=True)
def lines_without_end():
    """Has as many lines as fit."""
    return "x=1\n" * 249_000


@attack("attention_scores", "error", text=True)
def blocks_without_end():
    """Goes in deeper than any block may."""
    return "".join(" " * depth + "if 1:\n" for depth in range(500))


@attack("attention_scores", "error", text=True)
def names_that_are_null():
    """Has a null byte in it."""
    return "def attention_scores(q, k):\n    return '\0'\n"


@attack("attention_scores", "error", text=True)
def half_a_character():
    """Has half of a character in it."""
    return "def attention_scores(q, k):\n    return 1 \ud800\n"


@attack("attention_scores", "error", text=True)
def no_source_at_all():
    """Hands in an empty file."""
    return ""


@attack("attention_scores", "error", text=True)
def ends_the_workers_text():
    """Closes quotes and brackets that a careless grader puts around it."""
    return '"""\n\'\'\'\n)]}\n### END SOLUTION\nEOF\n__import__("os")._exit(0)\n'
