"""Typeset the formulas in lessons.

A lesson writes its formulas so that they can be read in a Python file. `formulas.toml` has the TeX
of each. The book gets MathML, which browsers draw without a script.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import latex2mathml.converter

from grader.steps.registry import read_toml

FILE = Path(__file__).with_name("formulas.toml")
_BLOCK = re.compile(r"(?:^    .*\n?(?:\n(?=    ))?)+", re.MULTILINE)


@cache
def read_formulas(path: Path = FILE) -> Mapping[str, str]:
    """Return the TeX of each formula, by its text."""
    return {entry["text"]: entry["tex"] for entry in read_toml(path)["formula"]}


def render_mathml(tex: str) -> str:
    """Return the MathML of a formula on a line of its own."""
    math: str = latex2mathml.converter.convert(tex, display="block")
    return math


def find_blocks(text: str) -> list[str]:
    """Return the indented blocks of a text, without their indentation."""
    return [_unindent(found) for found in _BLOCK.findall(text)]


def _unindent(block: str) -> str:
    return "\n".join(line[4:] for line in block.rstrip().splitlines())


def typeset(text: str) -> str:
    """Return the text with MathML in place of every indented block that is a known formula."""
    known = read_formulas()

    def replace(match: re.Match[str]) -> str:
        tex = known.get(_unindent(match[0]))
        if tex is None:
            return match[0]
        return f'<div class="formula" tabindex="0">{render_mathml(tex)}</div>\n'

    return _BLOCK.sub(replace, text)
