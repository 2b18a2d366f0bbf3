"""Make a student's text harmless: nothing hidden, nothing endless, always encodable.

Escaping for a format (HTML, XML, CSV) follows where the text is written.
"""

MAX_TEXT = 4000
MAX_LINE = 500


def visible(text: str, limit: int = MAX_TEXT, kept: str = "\n\t") -> str:
    """Return a text in which nothing is hidden, reordered or endless.

    Characters that do not print, such as lone surrogates, are written as escapes. Characters in
    `kept` stay.
    """
    left = len(text) - limit
    cut = text if left <= 0 else f"{text[:limit]} … ({left:,} more characters)"
    plain = cut
    for char in kept:
        plain = plain.replace(char, "")
    if plain.isprintable():  # nearly always true, and a page has thousands of texts
        return cut
    return "".join(
        char if char.isprintable() or char in kept else ascii(char)[1:-1] for char in cut
    )


def one_line(text: str, limit: int = MAX_LINE) -> str:
    """Return the text on one line."""
    return visible(text, limit, kept="")
