"""Find words and constructions that the rules for English forbid, wherever people read them."""

from __future__ import annotations

import ast
import io
import re
import tokenize
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
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
OPENING = re.compile(r"(What|Whether|Which|Who|Whose|Whoever)\b")
# A function does something. So its docstring begins with a verb, and not with a noun.
NOUN = re.compile(r"(The|An?|Each|Every|\w+ of)\b")


def find_bad_english() -> Iterator[str]:
    """Yield a line for each forbidden word or construction: where, what, and how to fix it."""
    for path in sorted([*PACKAGE.rglob("*.py"), *SOLUTIONS.glob("*.py")]):
        if path != Path(__file__):
            yield from _in_source(path)
    for path in sorted([*PACKAGE.rglob("*.html"), *PACKAGE.rglob("*.toml")]):
        text = without_markup(path.read_text(encoding="utf-8"))
        for number, line in enumerate(text.splitlines(), 1):
            yield from _name_place(path, number, find_forbidden(line))
    for path in [*pages(), ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md"]:
        yield from _in_guide(path)


def _in_source(path: Path) -> Iterator[str]:
    """Yield the findings in a module's docstrings, messages and comments."""
    source = path.read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from _name_place(path, node.lineno, find_forbidden(node.value))
        if isinstance(node, (ast.Module, ast.ClassDef, *FUNCTIONS)):
            text = ast.get_docstring(node) or ""
            if begins_badly(text, of_function=isinstance(node, FUNCTIONS)):
                finding = f"a docstring begins with {text.split()[0]!r}"
                yield from _name_place(path, node.body[0].lineno, [finding])
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield from _name_place(path, token.start[0], find_forbidden(token.string))


def _in_guide(path: Path) -> Iterator[str]:
    """Yield the findings in a guide's prose, without its blocks of code."""
    text = path.read_text(encoding="utf-8")
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    for paragraph in re.split(r"\n\s*\n|\n(?=[-|#]|\d+\. )", prose):
        place = text[: text.find(paragraph)].count("\n") + 1
        yield from _name_place(path, place, find_forbidden(paragraph))
        yield from _name_place(path, place, find_long_sentences(paragraph))


def without_markup(template: str) -> str:
    """Return a template with the same lines, but without the code in braces.

    >>> without_markup("{% if x is none %}{{ y }} is missing.")
    ' is missing.'
    """
    return re.sub(
        r"\{%.*?%\}|\{\{.*?\}\}", lambda code: "\n" * code[0].count("\n"), template, flags=re.S
    )


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


def begins_badly(docstring: str, *, of_function: bool) -> bool:
    """Return whether a docstring begins with a question word, or a function's with a noun.

    >>> begins_badly("The scores.", of_function=True)
    True
    >>> begins_badly("Return the scores.", of_function=True)
    False
    """
    return bool(OPENING.match(docstring) or (of_function and NOUN.match(docstring)))


def find_long_sentences(paragraph: str) -> list[str]:
    """Return the sentences of a paragraph that are too long; a cell of a table is one."""
    plain = re.sub(r"`[^`]*`|\]\([^)]*\)", "code", paragraph)
    sentences = re.split(r"(?<=[.!?:;*])\s+|\s*\|\s*", " ".join(plain.split()))
    long = [sentence for sentence in sentences if len(sentence.split()) > LONGEST]
    return [f"more than {LONGEST} words: {sentence[:60]!r}" for sentence in long]


def _name_place(path: Path, line: int, findings: list[str]) -> Iterator[str]:
    for finding in findings:
        yield f"{path.relative_to(ROOT)}:{line}: {finding}"
