"""Find the steps that make the logits differ, by trying each one among right steps."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping

import numpy as np

from grader.demos.gpt2.against import Network, make_tiny
from grader.demos.gpt2.agreement import findings
from grader.demos.gpt2.family import Family
from grader.demos.gpt2.own import OwnCode
from grader.demos.gpt2.problems import CodeFailed
from grader.demos.gpt2.running import Decoder
from grader.isolation import Host
from grader.steps.registry import Registry, Step

LENGTH = 16
NEW = 4


def find_blamed(
    host: Host,
    registry: Registry,
    code: OwnCode,
    right: Mapping[str, str],
    family: Family,
) -> Iterator[Step]:
    """Yield the student's steps that disagree with transformers when the other steps are right."""
    tiny = make_tiny(family)
    ids = tiny.words.sample()[:LENGTH]
    against = Network(tiny, np.float64)
    params = tiny.params(np.float64)
    for part in code.parts:
        if not part.own or not all(other.step.id in right for other in code.parts):
            continue
        program = code.alone(part.step, right).program(registry)
        try:
            decoder = Decoder(host, program, params, tiny.sizes, family.functions)
        except CodeFailed:  # it needs more from the student's other steps than the solutions have
            continue
        with contextlib.closing(decoder):
            if not all(finding.ok for finding in findings(decoder, against, ids, NEW)):
                yield part.step
