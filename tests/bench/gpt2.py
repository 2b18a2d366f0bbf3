"""GPT-2 on the solutions' steps in NumPy against transformers: reading, and each new token.

The same random weights, the same machine, one thread each, in float32, taking turns in one process
so that the machine's other work meets both. Then where the time of NumPy's decoder goes.
"""

import cProfile
import importlib
import os
import pstats
import statistics
import subprocess
import sys
import tempfile
import time
import types
from pathlib import Path

import numpy as np

from grader.demos.gpt2 import names, own, tiny, weights
from grader.demos.gpt2.against import Gpt2, torch
from grader.steps import registry
from grader.steps.paths import ROOT

ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OPENBLAS", "OMP", "MKL", "VECLIB_MAXIMUM")}
ROUNDS = 7
PROMPT = 128
NEW = 16
ROWS = 8  # of the profile


def solutions():
    """The solutions' functions, in this process: here nobody is judged."""
    package = types.ModuleType("exercises")
    package.__path__ = [str(ROOT / "solutions")]
    sys.modules["exercises"] = package
    homes = own.find_wanted(registry.load())
    return types.SimpleNamespace(
        **{
            name: getattr(importlib.import_module(f"exercises.{step.id}"), name)
            for name, step in homes.items()
        }
    )


def seconds(work):
    """Return the time of a call, and its result."""
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def numpy_run(steps, params, n_heads, ids):
    """Seconds for the logits of a prompt, and, after it, for each new token through the cache."""
    prefill, _ = seconds(lambda: steps.decoder_logits(ids, params, n_heads))
    cache = steps.new_decoder_cache(len(params["blocks"]))
    _, cache = steps.decoder_step(ids, cache, params, n_heads)
    tokens = []
    for number in range(NEW):
        new = ids[number : number + 1]
        spent, (_, cache) = seconds(lambda new=new: steps.decoder_step(new, cache, params, n_heads))  # noqa: B023
        tokens.append(spent)
    return prefill, statistics.median(tokens)


def torch_run(other, ids):
    """The same of transformers."""
    network, prompt = other.network, torch.tensor(ids[None])
    prefill, _ = seconds(lambda: network(prompt, use_cache=False).logits)
    past = network(prompt, use_cache=True)[other.cache]
    tokens = []
    for number in range(NEW):
        new = prompt[:, number : number + 1]
        given = {"input_ids": new, other.cache: past, "use_cache": True}
        spent, _ = seconds(lambda given=given: network(**given))
        tokens.append(spent)
    return prefill, statistics.median(tokens)


def profiled(work):
    """The functions in which the time goes, with their share, most first."""
    profile = cProfile.Profile()
    profile.runcall(lambda: [work() for _ in range(ROUNDS)])
    spent = {name: figures[2] for (_, _, name), figures in pstats.Stats(profile).stats.items()}
    rows = sorted(spent.items(), key=lambda row: -row[1])[:ROWS]
    return [(name, time / sum(spent.values())) for name, time in rows]


def floor(params):
    """Milliseconds for one row through every matrix, each read from memory once; nothing else."""
    matrices = [params["embedding"].T]
    for block in params["blocks"]:
        matrices += [block["attention"][f"w_{name}"] for name in "qkvo"]
        matrices += [block["feed_forward"][name] for name in ("w_in", "w_out")]
    rows = {len(matrix): np.ones((1, len(matrix)), np.float32) for matrix in matrices}
    spent = [
        seconds(lambda: [rows[len(matrix)] @ matrix for matrix in matrices])[0]
        for _ in range(ROUNDS)
    ]
    return 1e3 * statistics.median(spent)


def told(what, mine, theirs):
    """One line: medians, the median of the ratios, and the ratio of the least times."""
    ratio = statistics.median(a / b for a, b in zip(mine, theirs))
    medians = (1e3 * statistics.median(column) for column in (mine, theirs))
    row = "".join(f"{value:>13.2f}" for value in medians)
    print(f"  {what:<32}{row}{ratio:>9.2f}{min(mine) / min(theirs):>9.2f}")


def compare(title, size, steps):
    """Prints the figures for a model of that size."""
    with tempfile.TemporaryDirectory() as folder:
        tiny.make(Path(folder), size)
        model = weights.read(Path(folder) / weights.WEIGHTS)
    params = names.to_params(model.tensors, model.config, np.float32)
    n_heads = model.config.n_heads
    other = Gpt2(model, np.float32)
    ids = np.random.RandomState(0).randint(0, size.vocabulary, PROMPT)
    mine, theirs = [], []
    for _ in range(ROUNDS):
        mine.append(numpy_run(steps, params, n_heads, ids))
        theirs.append(torch_run(other, ids))
    print(f"\n{title}: {model.parameters:,} parameters, medians of {ROUNDS}, milliseconds")
    print(f"  {'':<32}{'NumPy':>13}{'transformers':>13}{'ratio':>9}{'of least':>9}")
    for what, ours, others in zip(("reading", "each token after"), zip(*mine), zip(*theirs)):
        told(f"{what} {PROMPT}", ours, others)
    print(f"  one row through all matrices, and nothing else: {floor(params):.2f}")
    reading = profiled(lambda: steps.decoder_logits(ids, params, n_heads))
    _, cache = steps.decoder_step(ids, steps.new_decoder_cache(size.n_layers), params, n_heads)
    writing = profiled(lambda: steps.decoder_step(ids[:1], cache, params, n_heads))
    print(f"  where NumPy's time goes: {'reading':<28}writing")
    for (name, share), (other, part) in zip(reading, writing):
        print(f"  {share:>8.0%}  {name[:40]:<42}{part:>4.0%}  {other[:24]}")


def main():
    """The tiny model and the small one, where every BLAS was told of its one thread in time."""
    if ONE_THREAD.items() - os.environ.items():
        done = subprocess.run([sys.executable, __file__], env={**os.environ, **ONE_THREAD})
        sys.exit(done.returncode)
    torch.set_num_threads(1)
    steps = solutions()
    print("GPT-2: the solutions' decoder against transformers, float32, one thread each, random")
    print(f"weights; NumPy {np.__version__}, torch {torch.__version__}")
    compare("tiny", tiny.TINY, steps)
    compare("gpt2", tiny.SMALL, steps)


if __name__ == "__main__":
    main()
