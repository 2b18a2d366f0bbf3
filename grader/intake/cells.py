"""Split a notebook's code cell into imports, definitions, assignments, and all other statements.

A cell is cut at its left margin without being parsed, because the judging process never parses
student source. This module knows only where Python's strings, brackets and comments end.
"""

from __future__ import annotations

import builtins
import collections
import functools
import itertools
import keyword
import math
import re
import sys
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field, replace

import numpy as np

from grader.steps.stubs import is_unfinished

_TOKEN = re.compile(r"\"\"\"|'''|[\"'#\n;]|[(\[{]|[)\]}]|\\\n|<<=|>>=|[=!<>:]=+|=")
_INDENT = re.compile(r"[ \t]*")
_INDENTED = re.compile(r"(?:[ \t]*(?:#[^\n]*)?\n)*([ \t]+)(?=[^\s#])")
# Without the indent: with it, the search would start at each space of a long line of spaces.
_REST = r"(?:[^\\\n]|\\.|\\\n)*"  # of a line, which may go on behind a backslash
_MAGIC = re.compile(rf"[%!?]{_REST}|[\w.]+\?{{1,2}}[ \t]*(?=\n)|[\w, ]{{1,80}}=[ \t]*[%!]{_REST}")
_WORD = re.compile(r"[^\W\d]\w*")
_DEFINES = re.compile(r"(?:async[ \t]+def|def|class)[ \t]+([^\W\d]\w*)")
_TARGET = re.compile(r"([^\W\d]\w*)[ \t]*(?::[^=\n]{1,200})?=(?!=)")
_NAMES = r"[ \t]*\*?\w+(?:[ \t]*,[ \t]*\*?\w+)*[ \t]*(?:,[ \t]*)?"
_TARGETS = re.compile(rf"(?:{_NAMES}=(?!=))+")  # of `a, b = c = 1, 2`
_IMPORT = re.compile(r"(?:from\s+([\w.]+)\s+)?import\b(.*)", re.DOTALL)
_CALL = re.compile(r"(?<![\w.])([^\W\d]\w*)((?:\.\w+)*)\s*\(")
_READ = re.compile(r"(?<![\w.])[^\W\d]\w*")
_KEYWORD = re.compile(r"([(,])\s*[^\W\d]\w*\s*=(?!=)")
_LAMBDA = re.compile(r"\blambda\b")
_METHOD = re.compile(r"([^\W\d]\w*)\.\w+[ \t]*\(")
_QUOTED = re.compile(r"#[^\n]*|(\b[a-zA-Z]{1,2})?(\"\"\"|'''|[\"'])")
_FIELD = re.compile(r"\{([^{}]*)\}")
_DEF = re.compile(r"[ \t]*(?:async[ \t]+)?def\b(?:[^\n]*?\)[ \t]*(?:->[^:\n]{0,200})?:)?")
_LOOP = re.compile(r"^[ \t]*(?:async[ \t]+)?(?:for|while)\b", re.MULTILINE)
_NAMED = re.compile(r"\b(def|class)[ \t]+\w+")  # what is not called there
_STEP = re.compile(r"\bexercises\.(\w+)")
_CONTINUES = ("else", "elif", "except", "finally")
_COMPOUND = frozenset({"if", "for", "while", "with", "try", "def", "class", "async", *_CONTINUES})
_STATEMENTS = frozenset(keyword.kwlist) - {"None", "True", "False", "not", "lambda", "await"}
_PARAMETERS = re.compile(r"\blambda\b([^:]{0,200}):")
_CLASS = re.compile(r"^class\b", re.MULTILINE)
# Built-in types with the exceptions among them, and what a class calls itself in its methods.
_HARMLESS = frozenset(name for name, one in vars(builtins).items() if isinstance(one, type))
_HARMLESS |= {"cls", "self"}
_HARMLESS |= {"abs", "all", "any", "callable", "chr", "divmod", "format", "getattr", "hasattr"}
_HARMLESS |= {"hash", "id", "isinstance", "issubclass", "iter", "len", "max", "min", "next", "ord"}
_HARMLESS |= {"pow", "print", "repr", "round", "setattr", "sorted", "sum", "vars"}
# What may hold an import that some machines need, and what may stand before it in its line.
_MAYBE = frozenset({"try", "if", "with"})
_HEAD = re.compile(
    r"\s*(?:(?:try|else|finally|(?:except|if|elif|with)\b[^\n]*?):\s*(?=(?:import|from)\b))?"
)
_IDLE = re.compile(r"pass\b|[rRbBuUfF]{0,2}[\"']")
# What `from math import *` and others may bind.
_STARRED = {
    module.__name__: frozenset(dir(module))
    for module in (math, collections, functools, itertools, np, np.linalg, np.random)
}
# Modules that run code, again and again or elsewhere.
_RUNNING = frozenset({"timeit", "cProfile", "profile", "subprocess", "multiprocessing"})
_RUNNING |= {"concurrent", "threading", "asyncio", "runpy", "doctest", "unittest", "trace", "pdb"}
_STARS = re.compile(r"from\s+([\w.]+)\s+import\s*(?:\(\s*)?\*")
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
    kind is `import`, `definition`, `assignment`, `branch` (a `try`, an `if` or a `with`), `call`
    (of a method) or `other`. names: the names that it binds. modules: the modules that it imports
    from. inside: the imports in a branch. The first one comes last, so that it has the last word
    where several can import.
    """

    first: int
    end: int
    kind: str
    text: str
    names: tuple[str, ...]
    modules: tuple[str, ...] = ()
    inside: tuple[Block, ...] = ()

    @functools.cached_property
    def bound(self) -> frozenset[str]:
        """Return the names that it binds, for fast lookup."""
        return frozenset(self.names)

    @functools.cached_property
    def code(self) -> str:
        """Return its text without comments and strings, except for the fields of f-strings."""
        return _without_strings(self.text)

    @functools.cached_property
    def imports(self) -> frozenset[str]:
        """Return the names that it imports, also by a star, if it is not from a step."""
        if self.kind != "import" or "exercises" in self.code or _RUNNING & {*self.modules}:
            return frozenset()
        match = _STARS.match(self.text)
        return _STARRED.get(match[1], self.bound) if match else self.bound

    @functools.cached_property
    def unfinished(self) -> bool:
        """Return whether it has a function that is still a stub; a block may bind many names."""
        return is_unfinished(self.text)

    @functools.cached_property
    def loops(self) -> bool:
        """Return whether it has a loop."""
        return _LOOP.search(self.code) is not None

    @functools.cached_property
    def assigned(self) -> frozenset[str]:
        """Return the names that a branch assigns."""
        lines = _without_bodies(self.code).split("\n") if self.kind == "branch" else ()
        return frozenset(name for line in lines for name in _find_targets(line.lstrip()))

    @functools.cached_property
    def missing(self) -> tuple[str, ...]:
        """Return the modules that it imports from and a worker lacks."""
        return tuple(module for module in self.modules if module not in PROVIDED)

    @functools.cached_property
    def words(self) -> frozenset[str]:
        """Return all words of its code."""
        return find_code_words(self.text)

    @functools.cached_property
    def reads(self) -> frozenset[str]:
        """Return the words of its code, except targets, keywords and those after a dot."""
        code = self.code
        if self.kind == "assignment" and (targets := _TARGETS.match(code)):
            code = code[targets.end() :]
        elif self.kind == "assignment" and self.names:
            code = code.removeprefix(self.names[0])  # an annotation is read
        return frozenset(_READ.findall(_KEYWORD.sub(r"\1", code)))

    @functools.cached_property
    def parameters(self) -> frozenset[str]:
        """Return the words between each `lambda` and its colon."""
        return frozenset(_READ.findall(" ".join(_PARAMETERS.findall(self.code))))

    @functools.cached_property
    def makes_class(self) -> bool:
        """Return whether it defines a class."""
        return self.kind == "definition" and _CLASS.search(self.code) is not None

    @functools.cached_property
    def read_at_once(self) -> frozenset[str]:
        """Return the words that it reads when it runs, not when a function that it defines does."""
        if self.kind != "definition":
            return self.reads
        return frozenset(_READ.findall(_NAMED.sub("", _without_bodies(self.code))))

    @functools.cached_property
    def steps(self) -> frozenset[str]:
        """Return the steps that it imports from, by id."""
        found = _STEP.findall(self.code) if self.kind == "import" else ()
        return frozenset(found)

    @functools.cached_property
    def called(self) -> frozenset[tuple[str, bool]]:
        """Return the first words of its calls, and whether a method of it is called.

        Calls inside of a lambda do not count, nor inside of a branch's functions; computed once.
        """
        code = _without_bodies(self.code) if self.kind == "branch" else self.code
        code = _NAMED.sub(r"\1", code)
        lines = [code] if self.kind in ("assignment", "call") else code.split("\n")
        shown = (_LAMBDA.split(line, maxsplit=1)[0] for line in lines)
        calls = (match for line in shown for match in _CALL.finditer(line))
        return frozenset((match[1], match[2] != "") for match in calls)


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
            number += magic[0].count("\n") + 1
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
        elif kind in ("=", "<<=", ">>="):
            assigns = assigns or depth == 0
        elif kind == ";" and depth == 0:
            yield _Line(first, number + 1, start, at - 1, assigns, beside=beside, more=True)
            first, start, assigns, beside = number, at, False, True
        elif kind in ("\n", "\\\n"):
            number += 1
            if kind == "\n" and depth == 0:
                yield _Line(first, number, start, at - 1, assigns, beside=beside)
                first, start, assigns, beside, fresh = number, at, False, False, True


def find_code_words(text: str) -> frozenset[str]:
    """Return all words of a text outside of comments and strings."""
    return frozenset(re.findall(r"\w+", _without_strings(text)))


def _without_strings(text: str) -> str:
    """Return a text without its comments and strings, except for the fields of f-strings."""
    kept: list[str] = []
    at = 0
    while quoted := _QUOTED.search(text, at):
        kept.append(text[at : quoted.start()])
        at = quoted.end()
        if quoted[2]:
            end = _string_end(text, at, quoted[2])
            inside, at = text[at:end], end if end >= 0 else len(text)
            kept.append("''")
            if "f" in (quoted[1] or "").lower():
                kept += (f" {field} " for field in _FIELD.findall(inside))
    return "".join([*kept, text[at:]])


def _without_bodies(code: str) -> str:
    """Return code without the bodies of its functions, which run later or never."""
    kept: list[str] = []
    inside: int | None = None
    for line in code.split("\n"):
        indent = len(line) - len(line.lstrip(" \t"))
        if inside is not None and (indent > inside or not line.strip()):
            continue
        head = _DEF.match(line)
        inside = indent if head else None
        kept.append(head[0] if head else line)
    return "\n".join(kept)


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
        return Block(first, end, "assignment", text, _find_targets(text))
    if start in _MAYBE:
        return Block(first, end, "branch", text, ())
    if _METHOD.match(text) and start not in _STATEMENTS:
        return Block(first, end, "call", text, ())
    return Block(first, end, "other", text, ())


def _find_blocks(lines: list[str], text: str, group: _Group) -> Iterator[Block]:
    """Yield a statement's block, or its parts."""
    block = _block(lines, text, group)
    if block.kind == "branch":
        block = replace(block, inside=tuple(_find_inside(lines, text, group)))
    yield from _split_import(block)


def _find_inside(lines: list[str], text: str, group: _Group) -> Iterator[Block]:
    """Yield the imports in a branch."""
    for line in _last_first(lines, group.lines):
        head = _HEAD.match(text, line.start, line.stop)
        inner = text[head.end() if head else line.start : line.stop].rstrip()
        if re.match(r"(?:import|from)\b", inner):
            yield from _split_import(_import(line.first, line.end, inner))


def _last_first(lines: Sequence[str], within: Sequence[_Line]) -> Iterator[_Line]:
    """Yield the lines of a `try` or an `if`, its last part first, and each part in order."""
    parts: list[list[_Line]] = [[]]
    for line in within:
        word = _WORD.match(lines[line.first].lstrip(" \t"))
        if word and word[0] in _CONTINUES and not line.beside:
            parts.append([])
        parts[-1].append(line)
    for part in reversed(parts):
        yield from part


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


def _find_targets(text: str) -> tuple[str, ...]:
    match = _TARGETS.match(text)
    return tuple(_WORD.findall(match[0])) if match else _first(_TARGET.match(text))


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
            head = head[: len(head) - len(head.lstrip())] + "pass"
            lines[line.first : line.end] = [head, *[""] * (line.end - line.first - 1)]
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


def find_bindings(
    blocks: Sequence[Block], names: frozenset[str], last: Set[tuple[int, str]]
) -> set[tuple[int, str]]:
    """Return the bindings of these names that count: the last ones, and those that are read.

    As in a kernel, a statement that reads a name at the margin gets the binding above it. So a
    function that is wrapped, or kept under another name, needs its earlier bindings.

    blocks: those that are kept, and those that bind one of the names. A binding is the `id` of a
    block and a name. Blocks below the last binding of a name do not count.
    """
    found: set[tuple[int, str]] = set()
    begun: set[str] = set()
    read: set[str] = set()  # below, and not yet bound
    for block in reversed(blocks):
        bound = block.bound & names
        counts = {name for name in bound if (id(block), name) in last or name in read}
        if bound and not counts:
            continue
        found.update((id(block), name) for name in counts)
        begun |= counts
        read -= bound
        read |= block.read_at_once & names & begun
    return found


class Known:
    """Knows what the kept statements of some cells have bound, and so what others may call.

    blocks: all of the cells.
    """

    def __init__(self, blocks: Iterable[Block]) -> None:
        makers = (one for one in blocks if one.kind == "import" or one.makes_class)
        self._modules = frozenset[str]().union(*(one.bound for one in makers))
        """The names of modules and classes, whose methods are known or may take long."""
        self._callable: set[str] = set()
        self._values: set[str] = set()
        self._waiting: dict[str, list[Block]] = {}
        """The functions that call one that is not defined yet, by its name."""
        self._woken: set[str] = set()
        """The names for which no function waits any more: each is waited for once."""
        self._last: dict[str, Block] = {}
        """What has defined each name last."""

    def note(self, block: Block) -> None:
        """Remember what a kept block binds."""
        if block.kind == "import":
            self._callable |= block.imports
            return
        if block.kind == "assignment":
            soon = all(self._is_callable(name) for name in block.reads - block.parameters)
        else:
            soon = block.kind == "definition" and self.allows(block)
        self._callable -= block.bound
        self._values -= block.bound
        self._last |= dict.fromkeys(block.bound, block)
        if soon:
            self._make_callable(block)
        elif block.kind == "definition" and not block.loops:
            self._must_wait(block)
        if block.kind == "assignment":
            self._values |= block.bound
        self._values |= block.assigned
        for one in block.inside:
            self.note(one)

    def _must_wait(self, block: Block) -> bool:
        """Return whether a function calls what is not known yet, and remember it if so.

        That may be defined below it, as where the code is written from the top down.
        """
        unknown = self._find_unknown(block)
        if unknown is not None and unknown not in self._woken:
            self._waiting.setdefault(unknown, []).append(block)
        return unknown is not None

    def _make_callable(self, block: Block) -> None:
        """Note that a function, or what was made of functions, returns soon; so do its callers."""
        left = [block]
        while left:
            one = left.pop()
            if all(self._last.get(name) is one for name in one.bound):
                self._callable |= one.bound
                self._woken |= one.bound
                callers = [other for name in one.bound for other in self._waiting.pop(name, ())]
                left += (caller for caller in callers if not self._must_wait(caller))

    def _is_callable(self, name: str) -> bool:
        return name in _HARMLESS or name in self._callable or keyword.iskeyword(name)

    def allows(self, block: Block) -> bool:
        """Return whether a block calls only what returns soon.

        That is a built-in type, an imported name, a method of a constant, or an own function or
        class that calls no more than that. What is made of these alone may be called, too, such as
        a lambda. A function may also call methods of its own names. A branch or a function has no
        loop either. A statement that is only a call has to be of a constant's method.
        """
        if block.kind == "call":
            match = _METHOD.match(block.text)
            if match is None or match[1] not in self._values:
                return False
        elif block.kind != "assignment" and block.loops:
            return False
        return self._find_unknown(block) is None

    def _find_unknown(self, block: Block) -> str | None:
        """Return a name that a block calls and that may be anything."""
        own = frozenset[str]().union(*(one.imports for one in block.inside))
        known = (
            self._is_callable(name) or name in own or (of_method and self._has_methods(name, block))
            for name, of_method in block.called
        )
        return next((name for (name, _), ok in zip(block.called, known) if not ok), None)

    def _has_methods(self, name: str, block: Block) -> bool:
        """Return whether a name's methods return soon: a constant's, or one of a function's own."""
        own = block.kind == "definition" and name not in self._modules
        return own or name in self._values or name in block.assigned
