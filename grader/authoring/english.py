"""Find words and constructions that the rules for English forbid, wherever people read them."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from grader.authoring.guides import pages
from grader.steps.paths import PACKAGE, ROOT, SOLUTIONS

LONGEST = 25  # words in a sentence of a guide
FORBIDDEN = {
    r"\b[Mm]end(s|ed|ing)?\b": "write fix",
    r"\b[Ww]hoever\b": "name the person",
    r"\bbe it\b": "write whether, or even if",
    r"\b(is|are|was|were|be|been) (told|said)\b": "name who says it: nopeek reports",
    r"(?<!here )\b(is|are|was|were) (no|none)\b(?! longer| more| other| different)": "write is not",
    r"\b[Ww]hat stands\b": "name the thing",
    r"\bgoes? on where\b": "write continues",
    r"\blikeliest\b": "write most likely",
    r"\bcommonest\b": "write most common",
}
MARKUP = re.compile(r"\{%.*?%\}|\{\{.*?\}\}")
# A function does something, so its docstring does not begin with a noun or a question word.
VERBLESS = "its docstring does not begin with a verb"
NO_VERB = re.compile(r"(What|Whether|Which|Who|Whose|Whoever|The|An?|Each|Every|\w+ of)\b")


def find_bad_english() -> Iterator[str]:
    """Yield a line for each forbidden word or construction: where, what, and how to fix it."""
    texts = [*PACKAGE.rglob("*.py"), *SOLUTIONS.glob("*.py"), *PACKAGE.rglob("*.html")]
    for path in sorted([*texts, *PACKAGE.rglob("*.toml")]):
        if path != Path(__file__):
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                yield from _name_place(path, number, find_forbidden(MARKUP.sub("", line)))
        tree = ast.parse(path.read_text(encoding="utf-8") if path.suffix == ".py" else "")
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and NO_VERB.match(ast.get_docstring(node) or ""):
                yield from _name_place(path, node.lineno, [VERBLESS])
    for path in [*pages(), ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md"]:
        text = path.read_text(encoding="utf-8")
        prose = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
        for paragraph in re.split(r"\n\s*\n|\n(?=[-|#]|\d+\. )", prose):
            place = text[: text.find(paragraph)].count("\n") + 1
            found = find_forbidden(paragraph) + find_long_sentences(paragraph)
            yield from _name_place(path, place, found)


def find_forbidden(text: str) -> list[str]:
    """Return what is forbidden in a text, each with its remedy.

    >>> find_forbidden("Mend this.")
    ["'Mend': write fix"]
    """
    return [
        f"{found[0]!r}: {remedy}"
        for pattern, remedy in FORBIDDEN.items()
        for found in re.finditer(pattern, text)
    ]


def find_long_sentences(paragraph: str) -> list[str]:
    """Return the sentences of a paragraph that are too long; a cell of a table is one."""
    plain = re.sub(r"`[^`]*`|\]\([^)]*\)", "code", paragraph)
    sentences = re.split(r"(?<=[.!?:;*])\s+|\s*\|\s*", " ".join(plain.split()))
    long = [sentence for sentence in sentences if len(sentence.split()) > LONGEST]
    return [f"more than {LONGEST} words: {sentence[:60]!r}" for sentence in long]


def _name_place(path: Path, line: int, findings: list[str]) -> Iterator[str]:
    for finding in findings:
        yield f"{path.relative_to(ROOT)}:{line}: {finding}"
