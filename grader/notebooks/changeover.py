"""Convert a notebook to an exercise file and back, so that a learner can switch at any time.

The file is the lesson, with the notebook's functions in place of its stubs. The notebook's other
definitions, and the values that the functions need, go above the function that they stand above in
the notebook; or above an earlier one of the file, if that is among the functions below them. But no
statement changes places with one that binds what it reads when it runs.
"""

from __future__ import annotations

import builtins
import itertools
import re
from collections import deque
from collections.abc import Collection, Iterator, Sequence

from grader.intake.cells import Block, Known, cut_cell
from grader.notebooks.dataflow import Chain, names_of
from grader.notebooks.executions import Run
from grader.steps.registry import Registry, Step
from grader.steps.stubs import without_self_study

_CELL = re.compile(r"^# %%", re.MULTILINE)
_SPACE = "\n\n\n"  # between the statements of a file
_PROVIDED = {*dir(builtins), "__file__"}


def _is_lazy(blocks: Sequence[Block]) -> bool:
    """Return whether annotations are not read at once, as one of these imports says."""
    return any("__future__" in block.modules and "annotations" in block.names for block in blocks)


def _list_allowed(blocks: Sequence[Block], functions: Collection[str]) -> Iterator[Block]:
    """Yield the imports and definitions, and the other statements that a judge runs, too.

    Of the others, it yields the imports on a condition. functions: those of all steps, which may be
    called with anything.
    """
    known = Known(blocks)
    outer = frozenset[str]().union(*(one.bound for one in blocks if not one.missing))
    for block in blocks:
        if block.kind in ("definition", "import"):
            kept = [] if block.missing else [block]
        elif block.kind != "other" and known.allows(block):
            kept = [block]
        else:
            inside = (one for one in block.inside if not one.missing)
            kept = [one for one in inside if one.bound.isdisjoint(outer)]
        for one in kept:
            if one.bound.isdisjoint(functions):
                known.note(one)
        yield from kept


def _without_trials(runs: Sequence[Run], step: Step, registry: Registry) -> list[Block]:
    """Return the statements for the step's file: its functions, what these need, and the like.

    In a file, a trial that fails would keep all functions from being imported. So only definitions,
    imports and plain constants stay that nothing needs. What reads at once a name that is not there
    stays out, unless it is a function of the step.
    """
    mine = {function.name for function in step.functions}
    earlier = {one.id for one in registry.before(step)}
    texts = (run.text for run in runs if not run.broken or run.defines & mine)
    blocks = [block for text in texts for block in cut_cell(text).blocks]
    written = {name for one in blocks if not one.unfinished for name in one.bound & mine}
    of_others = registry.homes.keys() - mine
    there = {name for name in of_others if registry.homes[name].id in earlier} | _PROVIDED
    allowed = {id(one) for one in _list_allowed(blocks, registry.homes.keys())}
    kept: list[Block] = []
    lazy = _is_lazy(blocks)
    for block in blocks:
        names = names_of(block, lazy)
        imported = block.kind == "import"
        others = not (block.steps <= earlier if imported else block.bound.isdisjoint(of_others))
        stub = block.unfinished and not block.bound.isdisjoint(written)
        if others or stub:
            continue
        own = not block.bound.isdisjoint(mine)
        if id(block) in allowed and (own or names.at_once <= there):
            kept.append(block)
            there |= names.bound
        elif block.kind != "branch":
            there -= names.bound
        else:
            parts = [one for one in block.inside if id(one) in allowed and one.steps <= earlier]
            kept += parts
            there |= {name for one in parts for name in one.bound}
    return _without_unneeded(kept, mine)


def _without_unneeded(blocks: Sequence[Block], mine: Collection[str]) -> list[Block]:
    """Return the statements without values that nothing needs, and without what was replaced."""
    lazy = _is_lazy(blocks)
    chain = Chain(blocks, lazy)
    needed = chain.find_needed(mine)
    constant: set[str] = set()
    kept = []
    for number, block in enumerate(blocks):
        names = names_of(block, lazy)
        plain = block.kind == "assignment" and not (block.called or names.changed)
        plain = plain and names.at_once <= constant
        decorated = block.text.startswith("@")  # and perhaps noted by its decorator
        last = decorated or chain.is_last(number)
        stays = block.kind == "import" or (last and (plain or block.kind == "definition"))
        if number in needed or stays:
            kept.append(block)
            constant |= names.bound if plain or block.kind == "import" else set()
    return kept


def _fill(part: str, queue: deque[Block], last: dict[str, Block], before: str) -> str:
    """Return one cell of a file, with its functions replaced. before: the file above it.

    queue: the statements that are still to come. last: those that make the functions.
    """
    for block in cut_cell(part).blocks:
        end = last.get(block.names[0]) if block.kind == "definition" and block.names else None
        if end is not None:
            head, _, tail = part.partition(block.text.rstrip())
            texts = []
            while end in queue:
                one = queue.popleft()
                if not (one.kind == "import" and _holds(before + head, _text(one))):
                    texts.append(_text(one))
            part = head + _SPACE.join(texts) + tail
    return part


def _without(part: str, names: Collection[str]) -> str:
    """Return the text without the lesson's own definitions of these names."""
    for block in cut_cell(part).blocks:
        if block.kind != "import" and not block.bound.isdisjoint(names):
            gone = re.escape(block.text.rstrip())
            part = re.sub(rf"{gone}(\n+(?=\S)|\n)", "", part, count=1)
    return part


def _holds(file: str, text: str) -> bool:
    """Return whether the file contains these lines as whole lines."""
    return f"\n{text}\n" in f"\n{file}\n"


def file_of(runs: Sequence[Run], step: Step, registry: Registry, stub: str) -> str:
    """Return the exercise file with the cells' definitions. stub: the lesson without them."""
    mine = [function.name for function in step.functions]
    given = {block.text.rstrip() for block in cut_cell(stub).blocks if block.kind != "import"}
    blocks = _without_trials(runs, step, registry)
    blocks = [block for block in blocks if block.text.rstrip() not in given]
    future = [block for block in blocks if "__future__" in block.modules]
    chain = Chain([block for block in blocks if block not in future], _is_lazy(future))
    ordered = [name for block in cut_cell(stub).blocks for name in block.names if name in mine]
    queue = deque(chain.arrange({name: place for place, name in enumerate(ordered)}))
    last = {name: block for block in queue for name in names_of(block).bound if name in mine}
    starts = [0, *(match.start() for match in _CELL.finditer(stub)), len(stub)]
    parts = [stub[start:end] for start, end in itertools.pairwise(starts)]
    helpers = {name for block in queue if block.kind != "import" for name in block.bound}
    parts = [_without(part, helpers.difference(mine)) for part in parts]
    first = [block.text.strip() for block in future]
    first += _import_earlier(chain, step, registry, stub)
    done = ""
    for part in parts:
        if first and part.startswith("# %%\n"):
            part, first = part.replace("\n", "\n" + "\n".join(first) + "\n", 1), []
        filled = _fill(part, queue, last, done)
        done += filled if _has_code(filled) or not _has_code(part) else ""
    done = done.rstrip("\n")
    for block in queue:
        if not (block.kind == "import" and _holds(done, _text(block))):
            done += f"\n\n\n# %%\n{_text(block)}"
    return done + "\n"


def _text(block: Block) -> str:
    return block.text.strip("\n").rstrip()


def _has_code(part: str) -> bool:
    """Return whether a cell of a file is more than its first line."""
    return part.startswith("# %% [markdown]") or bool(part.partition("\n")[2].strip())


def _import_earlier(chain: Chain, step: Step, registry: Registry, stub: str) -> list[str]:
    """Return the imports of earlier steps' functions that neither notebook nor lesson has."""
    here = {name for block in cut_cell(stub).blocks for name in block.bound}
    missing = chain.unbound - here
    return [
        f"from exercises.{earlier.id} import {function.name}"
        for earlier in registry.before(step)
        for function in earlier.functions
        if function.name in missing
    ]


def with_file(runs: Sequence[Run], step: Step, file: str) -> list[Run]:
    """Return the executions, below the file's code if it has functions that none of them makes.

    A kernel that was started anew may have run the cells of a few functions only.
    """
    mine = {function.name for function in step.functions}
    code = cell_of(file)
    blocks = [one for one in cut_cell(code).blocks if one.kind != "import" and not one.unfinished]
    written = mine & {name for block in blocks for name in block.bound}
    made = {name for run in runs for name in run.makes}
    return [Run(0, "", code), *runs] if written - made else [*runs]


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
