"""Count the cost of a decoder's next token, without a cache and with one.

The decoder is a submission's, and runs in a worker beside the program that counts.
"""

import math
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.demos.submission_worker import NotReady, program_of, step_of, worker_with
from grader.intake.submission import Submission
from grader.isolation import Host
from grader.isolation.client import Program, TimedOut
from grader.steps.inputs import Draw, block_params, decoder_params
from grader.steps.registry import Registry

COUNTING = Path(__file__).with_name("counting.py")
FUNCTIONS = ("decoder_logits", "decoder_step", "new_decoder_cache")
# Narrow layers, so that attention is most of the work in texts that take no time.
D_MODEL, D_FF, N_HEADS, N_LAYERS, VOCABULARY = 8, 16, 2, 2, 16
MODEL = f"{N_LAYERS} layers, {N_HEADS} heads, d_model {D_MODEL}"
SHORTEST = 3  # the power of two that the shortest sequence has tokens
LONGEST = 512  # tokens
LEAST = 3  # rows without which there is nothing to compare
FITTED = 3  # of the longest texts: shorter ones say more of the layers' widths than of the length
APART = 1e-6
NAMES = ("without a cache", "with the cache")


@dataclass(frozen=True)
class GrowthRow:
    """The multiplications for one token, both ways, at the end of a sequence of that length.

    apart: how far the two ways' logits differ, which should be only by rounding.
    """

    length: int
    whole: int
    cached: int
    apart: float


def rows(
    host: Host, registry: Registry, submission: Submission, longest: int = LONGEST
) -> Iterator[GrowthRow]:
    """Yield the costs at growing lengths. Raise NotReady if the decoder cannot be run.

    It ends before a length that takes too long, if there are enough lengths to compare.
    """
    steps = {name: step_of(registry, name) for name in FUNCTIONS}
    modules = program_of(registry, submission, [*steps.values()]).sources
    counting = (COUNTING.read_text("utf-8"), "counting.py")
    program = Program("counting", {**modules, "counting": counting})
    with worker_with(host, program, "The decoder") as worker:
        worker.call("begin", [{name: step.id for name, step in steps.items()}], {})
        # Params with as many positions as the longest sequence has.
        draws = [Draw("costs", "layer", number) for number in range(N_LAYERS)]
        blocks = [block_params(draw, D_MODEL, D_FF) for draw in draws]
        params = decoder_params(Draw("costs"), VOCABULARY, longest, blocks)
        tokens = Draw("costs").tokens(VOCABULARY, longest)
        for length in (2**power for power in range(SHORTEST, longest.bit_length())):
            try:
                found = worker.call("compare", [tokens[:length], params, N_HEADS], {}).value
            except TimedOut:
                if length < 2 ** (SHORTEST + LEAST):
                    raise
                return
            match found:
                case [int(whole), int(cached), float(apart)]:
                    yield GrowthRow(length, whole, cached, apart)
                case _:
                    raise NotReady("The decoder's logits are not an array of numbers.")


def find_powers(rows: Sequence[GrowthRow]) -> tuple[float, float]:
    """Return the k of T^k that fits the multiplications best: without a cache and with one.

    It is the slope of the line nearest to the logarithms of the longest sequences.
    """
    rows = rows[-FITTED:]
    lengths = [math.log(row.length) for row in rows]

    def find_slope(counts: list[int]) -> float:
        if len(counts) < 2 or min(counts) <= 0:
            return 0.0
        return statistics.linear_regression(lengths, [*map(math.log, counts)]).slope

    return find_slope([row.whole for row in rows]), find_slope([row.cached for row in rows])


def describe_growth(rows: Sequence[GrowthRow]) -> list[str]:
    """Describe the figures, which are in order of length, in words."""
    whole, cached = find_powers(rows)
    sentences = [
        f"From {rows[-FITTED:][0].length} to {rows[-1].length} tokens the multiplications for one "
        f"token {_say_power(whole)} without a cache and {_say_power(cached)} with it.",
        "Without a cache all T tokens meet each other once more: T². With it one query meets T "
        "keys: T. In short texts most of the work is in the layers' own matrices, whose cost for "
        "each token read does not depend on T; so the powers come near 2 and 1 only in long texts.",
    ]
    if all(row.whole == row.length * row.cached for row in rows):
        sentences.insert(
            1,
            "At every length the pass without a cache makes exactly T times as many: it does for "
            "all T rows what the cache leaves to be done for one.",
        )
    wrong = [row.length for row in rows if not row.apart <= APART]
    if wrong:
        sentences.insert(
            0,
            f"The two ways give different logits (first at {wrong[0]} tokens), so their work "
            "cannot be compared: fix that first.",
        )
    return sentences


def _say_power(power: float) -> str:
    """Describe growth by its power; a power that rounds to 0 is not growth."""
    return f"grow like T^{power:.1f}" if power >= 0.05 else "do not grow"
