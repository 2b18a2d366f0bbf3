"""Display the output of a cell."""

from typing import Any


class Shown:
    """HTML if that can be shown, otherwise text.

    drawn: False for a sentence in place of a picture; data: other findings.
    """

    def __init__(self, html: str, text: str, *, drawn: bool = True, **data: Any) -> None:
        self.html = html
        self.text = text
        self.drawn = drawn
        self.data = data

    def _repr_html_(self) -> str:
        return self.html

    def __repr__(self) -> str:
        return self.text
