"""Streaming attention against the plain one: seconds and peak memory, one thread, float32.

The solutions' functions, causal, one head of 64 features, blocks of 256 keys. The plain one goes up
to 4,096 positions: its matrix of scores has as many rows and columns. Both take turns, and the
allocator keeps freed memory for both, as it does in a worker.
"""

import gc
import importlib
import os
import statistics
import subprocess
import sys
import time
import tracemalloc
import types

import numpy as np

from grader.isolation.process import environment_in
from grader.steps.paths import ROOT

# One thread for every BLAS, and how memory is kept: what is set before a process starts.
AS_IN_A_WORKER = {name: value for name, value in environment_in("").items() if value.isdigit()}
LENGTHS = (256, 1024, 4096, 16_384, 65_536)
PLAIN = 4096
BLOCK, D_HEAD = 256, 64
ROUNDS = 5
OFTEN = 4096  # longer ones are run once: to be timed and traced, which slows large arrays little


def solutions():
    """The functions, in this process: here nobody is judged."""
    package = types.ModuleType("exercises")
    package.__path__ = [str(ROOT / "solutions")]
    sys.modules["exercises"] = package
    names = ("step03_mask", "step05_output", "step23_streaming")
    return [importlib.import_module(f"exercises.{name}") for name in names]


def measure(work):
    """Seconds that it took."""
    gc.collect()
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def peak(work):
    """Seconds that it took, and MiB at most, beyond what was there."""
    tracemalloc.start()
    spent = measure(work)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return spent, most / 2**20


def compare(mask, output, streaming, length):
    """The cells of one length: medians of both, and of the ratio, where there are both."""
    draw = np.random.RandomState(length)
    q, k, v = draw.standard_normal((3, length, D_HEAD)).astype(np.float32)
    works = [lambda: streaming.streaming_attention(q, k, v, BLOCK, True)]
    if length <= PLAIN:
        works.append(lambda: output.attention(q, k, v, mask.causal_mask(length)))
    once, most = zip(*map(peak, works))
    if length > OFTEN:
        return f"{'':>30}{once[0]:>14.3f}{most[0]:>9.1f}"
    times = [[measure(work) for work in works] for _ in range(ROUNDS)]
    stream, plain = (statistics.median(column) for column in zip(*times))
    ratio = statistics.median(ours / theirs for ours, theirs in times)
    return f"{plain:>12.4f}{most[1]:>9.1f}{ratio:>9.2f}{stream:>14.4f}{most[0]:>9.1f}"


def main():
    """One line for each length."""
    if AS_IN_A_WORKER.items() - os.environ.items():
        done = subprocess.run([sys.executable, __file__], env={**os.environ, **AS_IN_A_WORKER})
        sys.exit(done.returncode)
    functions = solutions()
    print(f"Causal attention of T positions, {D_HEAD} features, float32; NumPy {np.__version__}")
    print(f"medians of {ROUNDS} up to T = {OFTEN:,}, single runs above; ratio: streaming by plain")
    titles = f"{'plain, s':>12}{'MiB':>9}{'ratio':>9}{'streaming, s':>14}{'MiB':>9}"
    print(f"{'T':>8}{titles}   scores alone, MiB")
    for length in LENGTHS:
        scores = length**2 * 4 / 2**20
        print(f"{length:>8,}{compare(*functions, length)}{scores:>12,.0f}", flush=True)


if __name__ == "__main__":
    main()
