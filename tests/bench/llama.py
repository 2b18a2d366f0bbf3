"""A Llama on the solutions' steps in NumPy against transformers: reading, and each new token.

The same random weights, one thread each, float32, taking turns in one process.
"""

import importlib
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from gpt2 import NEW, ONE_THREAD, PROMPT, ROUNDS, seconds, solutions, told, torch_run

from grader.demos.gpt2 import weights
from grader.demos.llama import tiny
from grader.demos.llama.against import Llama
from grader.demos.llama.family import LLAMA


def numpy_run(steps, params, config, ids):
    """Seconds for the logits of a prompt, and, after it, for each new token through the cache."""
    prefill, _ = seconds(lambda: steps.llama_logits(ids, params, *config.sizes))
    cache = steps.new_llama_cache(config.n_layers)
    _, cache = steps.llama_step(ids, cache, params, *config.sizes)
    tokens = []
    for number in range(NEW):
        new = ids[number : number + 1]
        spent, (_, cache) = seconds(
            lambda new=new: steps.llama_step(new, cache, params, *config.sizes)  # noqa: B023
        )
        tokens.append(spent)
    return prefill, statistics.median(tokens)


def compare(title, size, steps, rounds):
    """Prints the figures for a model of that size."""
    with tempfile.TemporaryDirectory() as folder:
        tiny.make(Path(folder), size, tokenizer=False)
        model = LLAMA.read(Path(folder) / weights.WEIGHTS)
    params = LLAMA.names.to_params(model.tensors, model.config, np.float32)
    network = Llama(model, np.float32).network
    ids = np.random.RandomState(0).randint(0, size.vocabulary, PROMPT)
    mine, theirs = [], []
    for _ in range(rounds):
        mine.append(numpy_run(steps, params, model.config, ids))
        theirs.append(torch_run(network, ids))
    print(f"\n{title}: {model.parameters:,} parameters, medians of {rounds}, milliseconds")
    print(f"  {'':<32}{'NumPy':>13}{'transformers':>13}{'ratio':>9}{'of least':>9}")
    for what, ours, others in zip(("reading", "each token after"), zip(*mine), zip(*theirs)):
        told(f"{what} {PROMPT}", ours, others)
    rate = 1 / statistics.median(token for _, token in mine)
    print(f"  cached generation in NumPy: {rate:.1f} tokens per second")


def main():
    """The tiny model and the small one, where every BLAS was told of its one thread in time."""
    if ONE_THREAD.items() - os.environ.items():
        done = subprocess.run([sys.executable, __file__], env={**os.environ, **ONE_THREAD})
        sys.exit(done.returncode)
    solutions()  # puts them where they import each other
    steps = importlib.import_module("exercises.step25_llama")
    print("Llama: the solutions' step 25 against transformers, float32, one thread each")
    compare("tiny", tiny.TINY, steps, ROUNDS)
    compare("small", tiny.SMALL, steps, 5)


if __name__ == "__main__":
    main()
