"""Measure who depends on whom in a stack of decoder blocks, one of which has no mask.

The blocks are a submission's, and run in a worker. Each token is replaced in turn, and the outputs
of every layer show which positions move.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grader.checks.compare import as_array, describe
from grader.checks.laws.influence import Bools, everything, movement, past
from grader.checks.student import Student, StudentFunction
from grader.demos.stacks import Stack
from grader.demos.submission_worker import NotReady, sources, step_of, worker_with
from grader.intake.submission import Submission
from grader.isolation import Host
from grader.isolation.client import Program
from grader.report.records import Influence
from grader.steps.decoder_params import block_params
from grader.steps.inputs import Arguments, Draw
from grader.steps.registry import Registry

BLOCK = "decoder_block"
N_HEADS, D_MODEL, D_FF = 2, 8, 16
Floats = NDArray[np.float64]


def measure_stack(
    host: Host,
    registry: Registry,
    submission: Submission,
    tokens: Sequence[str],
    layers: int,
    unmasked: int | None,
) -> Stack:
    """Return the stack of that many layers on those tokens. Raise NotReady if it cannot be run."""
    step = step_of(registry, BLOCK)
    program = Program(step.id, sources(registry, submission, [step]))
    with worker_with(host, program, BLOCK) as worker:
        block = getattr(Student(step, worker.call, worker.fetch), BLOCK)
        maps = tuple(_maps(block, _draw(len(tokens), layers), unmasked))
    return Stack(submission.id, tuple(tokens), unmasked, maps)


@dataclass(frozen=True)
class _Model:
    """The first block's input, (T, d_model), the replacement of each row, and the blocks."""

    text: Floats
    others: Floats
    blocks: Sequence[Arguments]


def _draw(length: int, layers: int) -> _Model:
    """Return blocks with random weights."""
    draw = Draw("leakmap", length)
    text, others = draw.normal(length, D_MODEL), draw.normal(length, D_MODEL)
    blocks = [
        block_params(Draw("leakmap", "layer", number), D_MODEL, D_FF) for number in range(layers)
    ]
    return _Model(text, others, blocks)


def _maps(block: StudentFunction, model: _Model, unmasked: int | None) -> Iterable[Influence]:
    """Yield a map for every layer: which of its outputs moved with which token."""
    text, others, length = model.text, model.others, len(model.text)
    masks = [_mask(length, number == unmasked) for number in range(len(model.blocks))]

    def outputs(x: Floats) -> list[Floats]:
        return list(_outputs(block, x, model, masks))

    before = outputs(text)
    if any(movement(*pair, -2).any() for pair in zip(before, outputs(text), strict=True)):
        raise NotReady(f"{BLOCK} gives another answer when it is asked again.")
    columns = []
    for source in range(length):
        here = np.arange(length)[:, None] == source
        pairs = zip(before, outputs(np.where(here, others, text)), strict=True)
        columns.append([movement(one, other, -2) for one, other in pairs])
    for moved in np.moveaxis(np.asarray(columns), 0, -1):  # (layer, position, token)
        rows = tuple(tuple(None if np.isnan(m) else float(m) for m in row) for row in moved)
        yield Influence(rows, True, (), "position", "token")


def _mask(length: int, everyone: bool) -> Bools:
    return everything(length, length) if everyone else past(length)


def _outputs(
    block: StudentFunction, x: Floats, model: _Model, masks: Sequence[Bools]
) -> Iterable[Floats]:
    """Yield the output of every layer; each layer reads the one below."""
    for params, mask in zip(model.blocks, masks, strict=True):
        value = block(x=x, params=params, n_heads=N_HEADS, mask=mask)
        array = as_array(value)
        if array is None or array.shape != x.shape:
            raise NotReady(f"{BLOCK} returned {describe(value)}; expected the shape {x.shape}.")
        x = array.astype(float)
        yield x
