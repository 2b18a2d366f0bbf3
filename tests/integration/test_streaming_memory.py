"""Streaming attention where all scores would take gigabytes, under the worker's memory limit."""

from dataclasses import replace

import numpy as np
import pytest

from grader.demos.submission_worker import NotReady, right_modules, worker_with
from grader.isolation import Process, start_host
from grader.isolation.client import Program
from tests.support import processes

STEP = "step23_streaming"
QUERIES, KEYS, BLOCK = 1024, 2**17, 512
GIB = QUERIES * KEYS * 8 / 2**30  # of the scores alone, and the softmax makes as many again
WHOLE = """

def streaming_attention(q, k, v, block, causal=False):
    return softmax(attention_scores(q, k)) @ v
"""
WHOLE_MASK = """

_blocks = streaming_attention

def streaming_attention(q, k, v, block, causal=False):
    far = np.subtract.outer(np.arange(q.shape[-2]), np.arange(k.shape[-2]))
    return _blocks(q, k, v, block, causal) + 0 * far.sum()
"""


@pytest.fixture
def stream(steps):
    """stream(more): what streaming_attention of the solution, followed by `more`, returns."""
    limits = replace(steps.limits, call_seconds=120.0, step_seconds=240.0)
    assert limits.memory_mib <= 1024 * GIB
    right = right_modules(steps)

    def stream(more=""):
        text, place = right[STEP]
        program = Program(STEP, {**right, STEP: (text + more, place)})
        with start_host(Process(), limits) as host, worker_with(host, program, "It") as worker:
            return worker.call("streaming_attention", [*GIVEN, BLOCK], {}).value

    return stream


_draw = np.random.RandomState(23)
GIVEN = _draw.standard_normal((QUERIES, 1)), *_draw.standard_normal((2, KEYS, 1))


def test_block_by_block_there_is_enough_memory_for_gigabytes_of_scores(stream):
    q, k, v = GIVEN
    out = stream()
    for row in (0, QUERIES - 1):
        weights = np.exp(k[:, 0] * q[row, 0])
        np.testing.assert_allclose(out[row], weights @ v / weights.sum(), rtol=0, atol=1e-10)


@pytest.mark.skipif(not processes.LINUX, reason="elsewhere nothing limits the memory")
@pytest.mark.parametrize("more", [WHOLE, WHOLE_MASK], ids=["scores", "mask"])
def test_whole_matrix_is_more_than_there_is(stream, more):
    with pytest.raises(NotReady, match="raised MemoryError in line"):
        stream(more)
