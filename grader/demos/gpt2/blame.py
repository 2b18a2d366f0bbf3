"""Find the steps that make the logits differ, by trying each one among right steps."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from grader.demos.gpt2.agreement import Floats, Other, findings
from grader.demos.gpt2.family import Family
from grader.demos.gpt2.own import OwnCode
from grader.demos.gpt2.problems import CodeFailed
from grader.demos.gpt2.running import Decoder
from grader.isolation import Host
from grader.steps.registry import Registry, Step

LENGTH = 16
NEW = 4


class _Once:
    """Another decoder's results for one sequence, computed once for many comparisons."""

    def __init__(self, other: Other, ids: Sequence[int]) -> None:
        self.whole, self.steps = other.logits(ids), other.stepwise(ids)
        self.continued = other.greedy(ids, NEW)
        self.tolerance = other.tolerance

    def logits(self, _: Sequence[int]) -> Floats:
        return self.whole

    def stepwise(self, _: Sequence[int]) -> Floats:
        return self.steps

    def greedy(self, _: Sequence[int], __: int) -> tuple[list[int], Floats]:
        return self.continued


def find_blamed(
    host: Host,
    registry: Registry,
    code: OwnCode,
    right: Mapping[str, str],
    family: Family,
) -> Iterator[Step]:
    """Yield the student's steps that disagree with transformers when the other steps are right."""
    tiny = family.read_tiny()
    ids = [7 * position % tiny.config.vocabulary for position in range(LENGTH)]
    against = _Once(family.load_other()(tiny, np.float64), ids)
    params = family.names.to_params(tiny.tensors, tiny.config, np.float64)
    for part in code.parts:
        if not part.own or not all(other.step.id in right for other in code.parts):
            continue
        program = code.alone(part.step, right).program(registry)
        try:
            decoder = Decoder(host, program, params, *tiny.config.sizes, functions=family.functions)
        except CodeFailed:  # it needs more from the student's other steps than the solutions have
            continue
        with contextlib.closing(decoder):
            if not all(finding.ok for finding in findings(decoder, against, ids, NEW)):
                yield part.step
