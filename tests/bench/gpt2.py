"""GPT-2 in NumPy on the solutions' steps against transformers: reading a prompt, and each new token.

The same random weights, the same machine, one thread each, in float32, taking turns in one process
so that the machine's other work meets both. Then where the time of NumPy's decoder goes.
"""

import cProfile
import importlib
import os
import pstats
import statistics
import sys
import tempfile
import time
import types
from pathlib import Path

for name in ("OPENBLAS", "OMP", "MKL", "VECLIB_MAXIMUM"):
    os.environ[f"{name}_NUM_THREADS"] = "1"

import numpy as np

from grader import registry
from grader.gpt2 import names, own, tiny, weights
from grader.gpt2.against import Gpt2, torch

ROUNDS = 7
PROMPT = 128
NEW = 16
ROWS = 8  # of the profile


def solutions():
    """The solutions' functions, in this process: here nobody is judged."""
    package = types.ModuleType("exercises")
    package.__path__ = [str(registry.ROOT / "solutions")]
    sys.modules["exercises"] = package
    homes = own.wanted(registry.load())
    return types.SimpleNamespace(
        **{
            name: getattr(importlib.import_module(f"exercises.{step.id}"), name)
            for name, step in homes.items()
        }
    )


def seconds(work):
    """How long it took, and what came of it."""
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


def torch_run(network, ids):
    """The same of transformers."""
    prompt = torch.tensor(ids[None])
    prefill, _ = seconds(lambda: network(prompt, use_cache=False).logits)
    past = network(prompt, use_cache=True).past_key_values
    tokens = []
    for number in range(NEW):
        new = prompt[:, number : number + 1]
        spent, _ = seconds(lambda new=new: network(new, past_key_values=past, use_cache=True))
        tokens.append(spent)
    return prefill, statistics.median(tokens)


def profiled(work):
    """The functions in which the time goes, by their own time, and its share."""
    profile = cProfile.Profile()
    profile.runcall(work)
    stats = pstats.Stats(profile).stats
    own_time = {name: figures[2] for name, figures in stats.items()}
    total = sum(own_time.values())
    rows = sorted(own_time.items(), key=lambda row: -row[1])[:ROWS]
    return [(function, time / total) for (_, _, function), time in rows]


def pieces(params, n_heads, ids):
    """Milliseconds of what one new token cannot do without: each weight is read once."""
    block = params["blocks"][0]
    x = np.ones((1, params["embedding"].shape[1]), np.float32)
    wide = np.ones((1, block["feed_forward"]["w_out"].shape[0]), np.float32)
    matrices = [block["attention"][f"w_{name}"] for name in "qkvo"]
    matrices.append(block["feed_forward"]["w_in"])
    last = block["feed_forward"]["w_out"]

    def layer():
        for matrix in matrices:
            x @ matrix
        wide @ last

    def median(work):
        return 1e3 * statistics.median(seconds(work)[0] for _ in range(ROUNDS))

    layers = median(lambda: [layer() for _ in params["blocks"]])
    return layers, median(lambda: x @ params["embedding"].T)


def compare(title, size, steps):
    """Prints the medians and the ratios for a model of that size."""
    with tempfile.TemporaryDirectory() as folder:
        tiny.make(Path(folder), size)
        model = weights.read(Path(folder) / weights.WEIGHTS)
    params = names.to_params(model.tensors, model.config, np.float32)
    n_heads = model.config.n_heads
    network = Gpt2(model, np.float32).network
    ids = np.random.RandomState(0).randint(0, size.vocabulary, PROMPT)
    mine, theirs = [], []
    for _ in range(ROUNDS):
        mine.append(numpy_run(steps, params, n_heads, ids))
        theirs.append(torch_run(network, ids))
    print(f"\n{title}: {model.parameters:,} parameters, medians of {ROUNDS}, milliseconds")
    print(f"  {'':<36}{'NumPy':>9}{'transformers':>14}{'ratio':>8}")
    for what, a, b in zip(
        (f"reading {PROMPT} tokens", f"each token after {PROMPT}, cached"), zip(*mine), zip(*theirs)
    ):
        a, b = (1e3 * statistics.median(column) for column in (a, b))
        ratios = statistics.median(x / y for x, y in zip(a_rows(mine, what), a_rows(theirs, what)))
        print(f"  {what:<36}{a:>9.2f}{b:>14.2f}{ratios:>8.2f}")
    layers, head = pieces(params, n_heads, ids)
    print(f"  of each token: {layers:.2f} the layers' matrices, {head:.2f} the output head")
    print("  where the time of NumPy's decoder goes, reading the prompt:")
    for function, share in profiled(lambda: steps.decoder_logits(ids, params, n_heads)):
        print(f"    {share:>5.0%}  {function}")


def a_rows(rows, what):
    """The column of what is compared."""
    return [row[0] if what.startswith("reading") else row[1] for row in rows]


def main():
    """The tiny model and the small one."""
    torch.set_num_threads(1)
    steps = solutions()
    print("GPT-2: the solutions' decoder against transformers, float32, one thread each, random")
    print(f"weights; NumPy {np.__version__}, torch {torch.__version__}")
    compare("tiny", tiny.TINY, steps)
    compare("gpt2", tiny.SMALL, steps)


if __name__ == "__main__":
    main()
