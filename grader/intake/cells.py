"""Split a notebook's code cell into imports, definitions, assignments, and all other statements.

A cell is cut at its left margin without being parsed, because the judging process never parses
student source. This module knows only where Python's strings, brackets and comments end.
"""

from __future__ import annotations

import collections
import functools
import itertools
import keyword
import math
import re
import sys
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace

import numpy as np

_TOKEN = re.compile(r"\"\"\"|'''|[\"'#\n;]|[(\[{]|[)\]}]|\\\n|[=!<>:]=+|=")
_INDENT = re.compile(r"[ \t]*")
_INDENTED = re.compile(r"(?:[ \t]*(?:#[^\n]*)?\n)*([ \t]+)(?=[^\s#])")
# Without the indent: with it, the search would start at each space of a long line of spaces.
_MAGIC = re.compile(r"[%!?][^\n]*|[\w.]+\?{1,2}[ \t]*(?=\n)|[\w, ]{1,80}=[ \t]*[%!][^\n]*")
_WORD = re.compile(r"[^\W\d]\w*")
_DEFINES = re.compile(r"(?:async[ \t]+def|def|class)[ \t]+([^\W\d]\w*)")
_TARGET = re.compile(r"([^\W\d]\w*)[ \t]*(?::[^=\n]{1,200})?=(?!=)")
_IMPORT = re.compile(r"(?:from\s+([\w.]+)\s+)?import\b(.*)", re.DOTALL)
_CALL = re.compile(r"(?<![\w.])([^\W\d]\w*)(?:\.\w+)*\s*\(")
_STEP = re.compile(r"\bexercises\.(\w+)")
_CONTINUES = ("else", "elif", "except", "finally")
_COMPOUND = frozenset({"if", "for", "while", "with", "try", "def", "class", "async", *_CONTINUES})
_STATEMENTS = frozenset(keyword.kwlist) - {"None", "True", "False", "not", "lambda", "await"}
_HARMLESS = frozenset(
    {"abs", "bool", "bytes", "complex", "dict", "enumerate", "float", "frozenset"}
)
_HARMLESS |= {"int", "len", "list", "max", "min", "object", "range", "reversed", "round", "set"}
_HARMLESS |= {"slice", "sorted", "str", "sum", "tuple", "type", "zip"}
# What may hold an import that some machines need, and what may stand before it in its line.
_MAYBE = frozenset({"try", "if", "with"})
_HEAD = re.compile(r"\s*(?:(?:try|else|finally|(?:except|if|elif|with)\b[^:\n]*):)?\s*")
_IDLE = re.compile(r"pass\b|[rRbBuUfF]{0,2}[\"']")
# What `from math import *` and others may bind.
_STARRED = {
    module.__name__: frozenset(dir(module))
    for module in (math, collections, functools, itertools, np, np.linalg, np.random)
}
_STARS = re.compile(r"from\s+([\w.]+)\s+import\s*\(?\s*\*")
PROVIDED = sys.stdlib_module_names | {"numpy", "exercises"}


@dataclass(frozen=True)
class _Line:
    """A logical line: the physical lines from first up to end, without end.

    A semicolon ends one, too. start, stop: its place in the text. beside: whether it stands behind
    a semicolon. more: whether it ends at one.
    """

    first: int
    end: int
    start: int
    stop: int
    assigns: bool = False
    magic: bool = False
    beside: bool = False
    more: bool = False


@dataclass
class _Group:
    """The logical lines of a statement. simple: whether a semicolon may end it."""

    simple: bool
    lines: list[_Line] = field(default_factory=list)


@dataclass(frozen=True)
class Block:
    """A statement at the left margin with the lines that are indented below it.

    It may share its first or its last line with another one, behind or before a semicolon.
    kind is `import`, `definition`, `assignment` or `other`. names: the names that it binds.
    modules: the modules that it imports from. inner: whether it is an import in a `try`, an `if`
    or a `with`, so it may fail.
    """

    first: int
    end: int
    kind: str
    text: str
    names: tuple[str, ...]
    modules: tuple[str, ...] = ()
    inner: bool = False

    @functools.cached_property
    def bound(self) -> frozenset[str]:
        """Return the names that it binds, for fast lookup."""
        return frozenset(self.names)

    @functools.cached_property
    def imports(self) -> frozenset[str]:
        """Return the names that it imports, also by a star, if it is not from a step."""
        if self.kind != "import" or "exercises" in self.text:
            return frozenset()
        match = _STARS.match(self.text)
        return _STARRED.get(match[1], self.bound) if match else self.bound

    @functools.cached_property
    def steps(self) -> frozenset[str]:
        """Return the steps that it imports from, by id."""
        found = _STEP.findall(self.text) if self.kind == "import" else ()
        return frozenset(found)

    @functools.cached_property
    def called(self) -> frozenset[str]:
        """Return the first words of its calls, except inside lambdas; computed once."""
        return frozenset(match[1] for match in _CALL.finditer(self.text.partition("lambda")[0]))


@dataclass(frozen=True)
class Cut:
    """A cell's lines without magics, and the blocks that they form.

    magics: the first words of the removed magics. closed: whether all brackets and quotes are
    closed. If one is not, its block and all blocks below it are left out. lost: the functions and
    classes in those blocks, by name, with the numbers of their first lines.
    """

    lines: tuple[str, ...]
    blocks: tuple[Block, ...]
    magics: tuple[str, ...]
    closed: bool
    lost: tuple[tuple[str, int], ...] = ()


def _string_end(text: str, at: int, quote: str) -> int:
    """Return where the string that is open at `at` ends; -1 if it never does."""
    while True:
        end = text.find(quote, at)
        if len(quote) == 1:
            stop = _find_line_end(text, at, end)
            if stop >= 0:
                return stop
        if end < 0:
            return -1
        backslashes = end - len(text[at:end].rstrip("\\")) - at
        if backslashes % 2 == 0:
            return end + len(quote)
        at = end + 1


def _find_line_end(text: str, at: int, end: int) -> int:
    """Return the first unescaped line end between `at` and `end`, or -1 if there is none."""
    stop = text.find("\n", at, end if end >= 0 else len(text))
    while stop >= 0 and text[stop - 1] == "\\":
        stop = text.find("\n", stop + 1, end if end >= 0 else len(text))
    return stop


def _match_magic(text: str, at: int) -> re.Match[str] | None:
    """Return the magic on the line that begins there, or None."""
    indent = _INDENT.match(text, at)
    return _MAGIC.match(text, indent.end() if indent else at)


def _logical_lines(text: str) -> Iterator[_Line]:
    """Yield the logical lines, except one that is never closed."""
    at = start = first = number = depth = 0
    assigns = beside = False
    fresh = True
    while at < len(text):
        if fresh and (magic := _match_magic(text, at)):
            number += 1
            yield _Line(first, number, start, magic.end(), magic=True)
            at = start = magic.end() + 1
            first = number
            continue
        fresh = False
        token = _TOKEN.search(text, at)
        if token is None:
            return
        kind, at = token[0], token.end()
        if kind == "#":
            at = text.find("\n", at)
        elif kind[0] in "\"'":
            end = _string_end(text, at, kind)
            if end < 0:
                return
            number, at = number + text.count("\n", at, end), end
        elif kind in "([{":
            depth += 1
        elif kind in ")]}":
            depth = max(0, depth - 1)
        elif kind == "=":
            assigns = assigns or depth == 0
        elif kind == ";" and depth == 0:
            yield _Line(first, number + 1, start, at - 1, assigns, beside=beside, more=True)
            first, start, assigns, beside = number, at, False, True
        elif kind in ("\n", "\\\n"):
            number += 1
            if kind == "\n" and depth == 0:
                yield _Line(first, number, start, at - 1, assigns, beside=beside)
                first, start, assigns, beside, fresh = number, at, False, False, True


def _find_imported(text: str) -> list[tuple[str, str]]:
    """Return the modules that an import statement names, each with a name that it binds."""
    match = _IMPORT.match(re.sub(r"#[^\n]*|[()\\]", " ", text))
    pairs = []
    for item in match[2].split(",") if match else []:
        words = item.split()
        if words:
            source = match[1] if match and match[1] else words[0]
            pairs.append((source.split(".")[0], words[-1].split(".")[0]))
    return pairs


def _block(lines: list[str], text: str, group: _Group) -> Block:
    head = group.lines[0]
    first, end = head.first, group.lines[-1].end
    if group.simple and (head.beside or head.more):
        end, text = head.end, text[head.start : head.stop].strip()
    else:
        text = "\n".join(lines[first:end])
    word = _WORD.match(text)
    start = word[0] if word else ""
    if start in ("import", "from"):
        return _import(first, end, text)
    if start in ("def", "class", "async") or text.startswith("@"):
        defined = next((m for line in lines[first:end] if (m := _DEFINES.match(line))), None)
        return Block(first, end, "definition" if defined else "other", text, _first(defined))
    if head.assigns and start not in _STATEMENTS:
        return Block(first, end, "assignment", text, _first(_TARGET.match(text)))
    return Block(first, end, "other", text, ())


def _find_blocks(lines: list[str], text: str, group: _Group) -> Iterator[Block]:
    """Yield a statement's block, or its parts, and before it the imports in its `try` or `if`.

    The last one comes first, so that the first branch has the last word where several can import.
    """
    block = _block(lines, text, group)
    word = _WORD.match(block.text)
    if word and word[0] in _MAYBE:
        for line in reversed(group.lines):
            head = _HEAD.match(text, line.start, line.stop)
            inner = text[head.end() if head else line.start : line.stop].rstrip()
            if re.match(r"(?:import|from)\b", inner):
                parts = _split_import(_import(line.first, line.end, inner))
                yield from (replace(part, inner=True) for part in parts)
    yield from _split_import(block)


def _split_import(block: Block) -> list[Block]:
    """Return an import of several modules in parts: a worker's own, earlier steps, and all others.

    Each part is kept or left out for itself.
    """
    if len({_origin(module) for module in block.modules}) < 2:
        return [block]
    items: dict[str, list[str]] = {}
    for item in re.sub(r"#[^\n]*|\\", " ", block.text).partition("import")[2].split(","):
        words = item.split()
        if words:
            items.setdefault(_origin(words[0].split(".")[0]), []).append(" ".join(words))
    texts = [f"import {', '.join(some)}" for some in items.values()]
    return [_import(block.first, block.end, text) for text in texts]


def _origin(module: str) -> str:
    """Return where a module comes from: an earlier step, the worker, or nowhere."""
    return module if module == "exercises" else "provided" if module in PROVIDED else "missing"


def _import(first: int, end: int, text: str) -> Block:
    pairs = _find_imported(text)
    modules, bound = (tuple(dict.fromkeys(pair[i] for pair in pairs)) for i in (0, 1))
    return Block(first, end, "import", text, bound, modules)


def _first(match: re.Match[str] | None) -> tuple[str, ...]:
    return (match[1],) if match else ()


def _begins(line: str, decorated: bool) -> bool:
    """Return whether a line begins a statement at the left margin.

    decorated: whether the open block has had only decorators, comments and empty lines so far.
    """
    if not line or line[0] in " \t\f#":
        return False
    word = _WORD.match(line)
    return not (word and word[0] in _CONTINUES) and not decorated


def _is_compound(line: str) -> bool:
    """Return whether a statement may have others in its own lines: a function, a loop, ..."""
    word = _WORD.match(line)
    return line[0] == "@" or (word is not None and word[0] in _COMPOUND)


def _without_indent(text: str) -> str:
    """Return a cell without the indent of its first statement, as IPython runs it."""
    match = _INDENTED.match(text)
    if match is None:
        return text
    indent = match[1]
    return "\n".join(line.removeprefix(indent) for line in text.split("\n"))


def cut_cell(source: str) -> Cut:
    """Return the cell, cut into blocks."""
    text = _without_indent(source.replace("\r\n", "\n").replace("\r", "\n") + "\n")
    lines = text.split("\n")[:-1]
    groups: list[_Group] = []
    magics = []
    end, decorated, single = 0, False, False
    for line in _logical_lines(text):
        end = line.end - line.more
        head = lines[line.first]
        if line.magic:
            magics.append(head.split()[0])
            lines[line.first] = head[: len(head) - len(head.lstrip())] + "pass"
            head = lines[line.first]
        if line.beside:
            if text[line.start : line.stop].lstrip(" \t")[:1] in ("", "#"):
                continue
            if single:
                groups.append(_Group(simple=True))
        elif _begins(head, decorated):
            single = not _is_compound(head)
            groups.append(_Group(single))
            decorated = True
        else:
            single = False  # such as a `case` below its `match`
        if groups:
            groups[-1].lines.append(line)
            decorated = decorated and (not head or head[0] in "@#")
    closed = end == len(lines)
    if groups and not closed and _is_cut(groups[-1], lines[end], decorated):
        end = groups.pop().lines[0].first  # without its end it would be another function
    blocks = [part for group in groups for part in _find_blocks(lines, text, group)]
    return Cut(tuple(lines), tuple(blocks), tuple(magics), closed, tuple(_find_defined(lines, end)))


def _is_cut(group: _Group, line: str, decorated: bool) -> bool:
    """Return whether a group goes on in this line, which is never closed."""
    return not _begins(line, decorated) or (group.lines[-1].more and not group.simple)


def _find_defined(lines: list[str], first: int) -> Iterator[tuple[str, int]]:
    """Yield the functions and classes that begin at the left margin, from that line on."""
    for number in range(first, len(lines)):
        if match := _DEFINES.match(lines[number]):
            yield match[1], number


def idle(block: Block) -> bool:
    """Return whether a block does nothing: a lone string, or the rest of a magic."""
    return block.kind == "other" and _IDLE.match(block.text) is not None


def missing_modules(block: Block) -> list[str]:
    """Return the modules of an import block that a worker lacks."""
    return [module for module in block.modules if module not in PROVIDED]


def harmless(block: Block, imported: Collection[str]) -> bool:
    """Return whether an assignment calls only built-in types and imported names."""
    return all(
        name in _HARMLESS or name in imported or keyword.iskeyword(name) for name in block.called
    )
