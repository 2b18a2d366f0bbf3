"""Convert a notebook to an exercise file and back, so that a learner can switch at any time.

A file keeps its lesson. Each of its functions is replaced by the notebook's version. The notebook's
other definitions go above the function that they stand above in the notebook. If the file has one
of the functions below them earlier, they go above that one, which may read them.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterable, Sequence

from grader.intake.cells import Block, Known, cut_cell, find_bindings, find_code_words
from grader.notebooks.executions import Run
from grader.steps.registry import Registry, Step
from grader.steps.stubs import is_unfinished, without_self_study

_CELL = re.compile(r"^# %%", re.MULTILINE)
_SPACE = "\n\n\n"  # between the statements of a file


def _keep(
    runs: Sequence[Run], mine: Collection[str], others: Collection[str], file: str
) -> list[Block]:
    """Return the imports, definitions and constants of the cells, as they are judged.

    In a file, a trial that fails would keep all functions from being imported. So what uses a
    skipped value or a missing module is left out, unless the functions need it. So is what reads
    a function of another step at once, if nothing imports that. mine: the functions' names. others:
    those of other steps. file: the exercise file so far.
    """
    texts = (run.text for run in runs if not run.broken or run.defines & {*mine})
    blocks = [block for text in texts for block in cut_cell(text).blocks]
    known, found = Known(blocks), list[Block]()
    outer = frozenset[str]().union(*(one.bound for one in blocks if not one.missing))
    skipped: set[str] = set()
    for block in blocks:
        if block.kind in ("definition", "import"):
            kept = [] if block.missing else [block]
        elif block.kind != "other" and known.allows(block):
            kept = [block]
        else:
            inside = (one for one in block.inside if not one.missing)
            kept = [one for one in inside if one.bound.isdisjoint(outer)]
        for one in kept:
            if one.bound.isdisjoint((*mine, *others)):  # which may be called with anything
                known.note(one)
        found += kept
        skipped |= frozenset() if kept else block.bound
    needed = _find_needed(found, mine, file)
    imports = (one for one in (*cut_cell(file).blocks, *found) if one.kind == "import")
    away = frozenset(others).difference(*(one.bound for one in imports))
    kept = []
    for block in found:
        # A definition may use a skipped value only when it is called.
        sure = block.kind == "definition" and block in needed
        there = block.read_at_once.isdisjoint(away) and (sure or block.reads.isdisjoint(skipped))
        if block.kind == "import" or there:
            kept.append(block)
        else:
            skipped |= block.bound
    return kept


def _find_needed(blocks: Sequence[Block], mine: Collection[str], file: str) -> list[Block]:
    """Return the blocks of the functions and of all that these, or the file, may use."""
    used = find_code_words(file).union(mine)
    left, needed = list(blocks), list[Block]()
    while more := [one for one in left if not (one.bound or one.words).isdisjoint(used)]:
        used = used.union(*(block.words for block in more))
        left = [block for block in left if block not in more]
        needed += more
    return needed


def _by_function(
    blocks: Sequence[Block], mine: Collection[str], others: Collection[str]
) -> dict[str, list[str]]:
    """Return the texts that belong to each function, itself last; the rest is under "".

    A function that is wrapped or kept under another name has its earlier versions in its own text.
    One that is written gives way to no stub.

    mine: the step's functions, in the order of the file. others: those of other steps, which have
    files of their own.
    """
    made = [block for block in blocks if block.kind != "import"]
    last: dict[str, Block] = {}
    for block in made:
        for name in block.bound.intersection(mine):
            if name not in last or not is_unfinished(block.text):
                last[name] = block
    ends = {(id(block), name) for name, block in last.items()}
    bindings = find_bindings(made, frozenset(mine), ends)
    above: dict[str, list[str]] = {}  # each function, in the order of the notebook
    texts: dict[str, str] = {}
    waiting: list[str] = []
    begun: dict[str, list[str]] = {}  # earlier versions, with what reads them
    for block in blocks:
        text = block.text.rstrip()
        own = [name for name in block.names if name in mine]
        read = block.read_at_once.intersection(begun)
        if block.kind == "import":
            waiting += [] if own else [text]
        elif own and last[own[0]] is block:
            texts[own[0]] = _SPACE.join([*begun.pop(own[0], []), text])
            above[own[0]], waiting = waiting, []
        elif own and (id(block), own[0]) in bindings:
            begun.setdefault(own[0], []).append(text)
        elif not own and not set(block.names) & set(others):
            (begun[min(read)] if read else waiting).append(text)
    found: dict[str, list[str]] = {name: [] for name in above}
    for number, name in enumerate(above):
        first = min([*above][number:], key=[*mine].index)
        found[first] += above[name]
    return {name: [*some, texts[name]] for name, some in found.items()} | {"": waiting}


def _names_of(texts: Iterable[str]) -> set[str]:
    """Return the names that these texts define or assign."""
    blocks = [block for text in texts for block in cut_cell(text).blocks if block.kind != "import"]
    return {name for block in blocks for name in block.names}


def _without(part: str, names: Collection[str]) -> str:
    """Return the text without the definitions of these names."""
    for block in cut_cell(part).blocks:
        if block.kind != "import" and set(block.names) & set(names):
            gone = re.escape(block.text.rstrip())
            part = re.sub(rf"{gone}(\n+(?=\S)|\n)", "", part, count=1)
    return part


def _with_one(part: str, names: Collection[str]) -> str:
    """Return the text without what binds one of these names again below its definition."""
    defined: set[str] = set()
    for block in cut_cell(part).blocks:
        mine = block.bound.intersection(names)
        if block.kind != "import" and mine & defined:
            above, found, below = part.rpartition(f"\n{block.text.rstrip()}\n")
            part = above.rstrip("\n") + "\n" + below if found else part
        elif block.kind == "definition":
            defined |= mine
    return part


def _fill(part: str, texts: dict[str, list[str]], before: str) -> str:
    """Return one cell of a file, with its functions replaced. before: the file above it."""
    for block in cut_cell(part).blocks:
        name = block.names[0] if block.kind == "definition" and block.names else ""
        if name in texts:
            *above, own = texts.pop(name)
            head, _, tail = part.partition(block.text.rstrip())
            new = [text for text in above if not _holds(before + head, text)]
            part = head + _SPACE.join([*new, own]) + tail
    return part


def _holds(file: str, text: str) -> bool:
    """Return whether the file contains these lines as whole lines."""
    return f"\n{text}\n" in f"\n{file}\n"


def file_of(runs: Sequence[Run], step: Step, registry: Registry, file: str) -> str:
    """Return the exercise file with the cells' definitions. file: its text so far, or the stub."""
    mine = [function.name for function in step.functions]
    others = [name for name, home in registry.homes.items() if home is not step]
    texts = _by_function(_keep(runs, mine, others, file), mine, others)
    rest = texts.pop("")
    helpers = _names_of([*rest, *(text for some in texts.values() for text in some)]) - set(mine)
    starts = [0, *(match.start() for match in _CELL.finditer(file)), len(file)]
    parts = [_without(file[start:end], helpers) for start, end in itertools.pairwise(starts)]
    parts = [_with_one(part, texts) for part in parts]
    done = ""
    for part in parts:
        done += _fill(part, texts, done)
    left = [text for some in (*texts.values(), rest) for text in some if not _holds(done, text)]
    return done.rstrip("\n") + "".join(f"\n\n\n# %%\n{text}" for text in left) + "\n"


def _code(part: str) -> str:
    """Return the code in one cell of a file; in a text cell, any code below the text."""
    header, _, body = part.partition("\n")
    if "[markdown]" in header:
        body = re.sub(r"\A(?:#[^\n]*(?:\n|\Z))*", "", body)
    return body if header.startswith("# %%") else part


def cell_of(file: str) -> str:
    """Return the code of an exercise file as one cell."""
    parts = re.split(r"^(?=# %%)", without_self_study(file), flags=re.MULTILINE)
    code = [_code(part).strip("\n") for part in parts]
    return "\n\n\n".join(text for text in code if text.strip())
