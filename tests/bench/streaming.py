"""Streaming attention against the plain one: seconds and peak memory, one thread, float32.

The solutions' functions, causal, one head of 64 features, blocks of 256 keys. The plain one goes up
to 4,096 positions: its matrix of scores has as many rows and columns.
"""

import gc
import importlib
import os
import subprocess
import sys
import time
import tracemalloc
import types

import numpy as np

from grader.steps.paths import ROOT

ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OPENBLAS", "OMP", "MKL", "VECLIB_MAXIMUM")}
LENGTHS = (256, 1024, 4096, 16_384, 65_536)
PLAIN = 4096
BLOCK, D_HEAD = 256, 64
TRACED = 16_384  # longer ones are not run a second time to be traced


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
    """MiB at most, beyond what was there."""
    tracemalloc.start()
    work()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most / 2**20


def main():
    """One line for each length."""
    if ONE_THREAD.items() - os.environ.items():
        done = subprocess.run([sys.executable, __file__], env={**os.environ, **ONE_THREAD})
        sys.exit(done.returncode)
    mask, output, streaming = solutions()
    print(f"Causal attention of T positions, {D_HEAD} features, float32; NumPy {np.__version__}")
    print(f"{'T':>8}{'plain, s':>12}{'MiB':>9}{'streaming, s':>14}{'MiB':>9}   scores alone, MiB")
    for length in LENGTHS:
        draw = np.random.RandomState(length)
        q, k, v = draw.standard_normal((3, length, D_HEAD)).astype(np.float32)
        works = {
            "plain": lambda q=q, k=k, v=v: output.attention(q, k, v, mask.causal_mask(len(q))),
            "stream": lambda q=q, k=k, v=v: streaming.streaming_attention(q, k, v, BLOCK, True),
        }
        cells = []
        for name, work in works.items():
            if name == "plain" and length > PLAIN:
                cells += [f"{'':>12}", f"{'':>9}"]
                continue
            spent = measure(work)
            most = f"{peak(work):,.1f}" if length <= TRACED else ""
            cells += [f"{spent:>{12 if name == 'plain' else 14}.3f}", f"{most:>9}"]
        print(f"{length:>8,}{''.join(cells)}{length**2 * 4 / 2**20:>12,.0f}", flush=True)


if __name__ == "__main__":
    main()
