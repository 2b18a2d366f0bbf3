"""Count and time the cost of a decoder's next token, without a cache and with one.

The decoder is a submission's, and runs in a worker beside the program that counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from grader.demos.growth import GrowthRow, Price
from grader.demos.submission_worker import NotReady, sources, step_of, worker_with
from grader.intake.submission import Submission
from grader.isolation import Host
from grader.isolation.client import Program, TimedOut, Worker
from grader.steps.decoder_params import block_params, decoder_params
from grader.steps.inputs import Draw
from grader.steps.registry import Registry

COUNTING = Path(__file__).with_name("counting.py")
FUNCTIONS = ("decoder_logits", "decoder_step", "new_decoder_cache")
# Narrow layers, so that attention is most of the work in texts that take no time.
D_MODEL, D_FF, N_HEADS, N_LAYERS, VOCABULARY = 8, 16, 2, 2, 16
MODEL = f"{N_LAYERS} layers, {N_HEADS} heads, d_model {D_MODEL}"
SHORTEST = 8
REPEATS = 3
LEAST = 3  # rows without which there is nothing to compare


def lengths(longest: int) -> list[int]:
    """Return the powers of two up to this number."""
    return [2**power for power in range(SHORTEST.bit_length() - 1, longest.bit_length())]


def rows(
    host: Host, registry: Registry, submission: Submission, longest: int
) -> Iterator[GrowthRow]:
    """Yield the costs at growing lengths. Raise NotReady if the decoder cannot be run.

    It ends before a length that takes too long, if there are enough lengths to compare.
    """
    steps = {name: step_of(registry, name) for name in FUNCTIONS}
    modules = sources(registry, submission, list(dict.fromkeys(steps.values())))
    own = {"counting": (COUNTING.read_text("utf-8"), "counting.py")}
    with worker_with(host, Program("counting", {**modules, **own}), "The decoder") as worker:
        worker.call("begin", [{name: step.id for name, step in steps.items()}], {})
        tokens, params = model(longest)
        for number, length in enumerate(lengths(longest)):
            try:
                row = _row(worker, tokens[:length], params)
            except TimedOut:
                if number < LEAST:
                    raise
                return
            yield row


def model(longest: int) -> tuple[Any, dict[str, Any]]:
    """Return a sequence of that length, and a decoder with as many positions."""
    draw = Draw("costs")
    blocks = [
        block_params(Draw("costs", "layer", number), D_MODEL, D_FF) for number in range(N_LAYERS)
    ]
    params = decoder_params(draw, VOCABULARY, longest, blocks)
    return draw.tokens(VOCABULARY, longest), params


def _row(worker: Worker, tokens: Any, params: dict[str, Any]) -> GrowthRow:
    (whole, logits), (cached, others) = (
        _price(worker, way, tokens, params) for way in ("whole", "cached")
    )
    apart = np.max(np.abs(logits - others)) if logits.shape == others.shape else np.inf
    return GrowthRow(len(tokens), whole, cached, float(apart))


def _price(worker: Worker, way: str, tokens: Any, params: dict[str, Any]) -> tuple[Price, Any]:
    """Return the cost of computing the logits that way, and the logits."""
    match worker.call("cost", [way, tokens, params, N_HEADS, REPEATS], {}).value:
        case [int(products), float(seconds), np.ndarray() as logits]:
            return Price(products, seconds), logits
    raise NotReady("The decoder's logits are not an array of numbers.")
