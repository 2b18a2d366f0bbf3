"""The solutions' training step against torch's eager one: the default model of `make train`.

The same start, the same 50 batches, float64, one thread each, taking turns in one process, whose
allocator keeps freed memory for both, as it does in a worker. Then where the time of NumPy's step
goes, and what computing activations again costs: the forward functions that backward functions
call.
"""

import cProfile
import importlib
import os
import pstats
import statistics
import subprocess
import sys
import time
import types

import numpy as np
import torch
import torch.nn.functional as F

from grader.demos.training import run, stories
from grader.demos.training.weights import flatten
from grader.isolation.process import environment_in
from grader.steps.paths import ROOT

# One thread for every BLAS, and how memory is kept: what is set before a process starts.
AS_IN_A_WORKER = {name: value for name, value in environment_in("").items() if value.isdigit()}
ROUNDS, LR, MAX_NORM = 50, 0.003, 1.0
AGREE = 1e-9
AGAIN = ("layer_norm", "attention", "linear", "gelu", "softmax", "apply_mask", "attention_scores")
ROWS = 8


def training():
    """The solutions' step 19, in this process: here nobody is judged."""
    package = types.ModuleType("exercises")
    package.__path__ = [str(ROOT / "solutions")]
    sys.modules["exercises"] = package
    return importlib.import_module("exercises.step19_training")


def torch_loss(params, tokens, n_heads):
    """The loss of a pre-norm decoder whose head is its embedding."""
    inputs, targets = tokens[:, :-1], tokens[:, 1:]
    x = params["embedding"][inputs] + params["position"][: inputs.shape[1]]
    d = x.shape[-1]

    def norm(values, name):
        return F.layer_norm(values, (d,), params[f"{name}.gain"], params[f"{name}.bias"])

    for number in range(sum(name.endswith("ln_1.gain") for name in params)):
        block = f"blocks.{number}"
        a, f = f"{block}.attention", f"{block}.feed_forward"
        normed = norm(x, f"{block}.ln_1")
        q, k, v = (
            (normed @ params[f"{a}.w_{n}"] + params[f"{a}.b_{n}"])
            .unflatten(-1, (n_heads, -1))
            .transpose(1, 2)
            for n in "qkv"
        )
        heard = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2)
        x = x + heard @ params[f"{a}.w_o"] + params[f"{a}.b_o"]
        inner = norm(x, f"{block}.ln_2") @ params[f"{f}.w_in"] + params[f"{f}.b_in"]
        x = x + F.gelu(inner, approximate="tanh") @ params[f"{f}.w_out"] + params[f"{f}.b_out"]
    logits = norm(x, "ln_f") @ params["embedding"].T
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


def clip(tensors):
    """As step 19 does it: torch's own clip_grad_norm_ adds 1e-6 to the norm."""
    gradients = [tensor.grad for tensor in tensors]
    norm = torch.nn.utils.get_total_norm(gradients)
    if norm > MAX_NORM:
        torch._foreach_mul_(gradients, MAX_NORM / norm)


def seconds(work):
    """Return the time of a call, and its result."""
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def share_again(stats):
    """The share of the time that backward functions spend in forward ones."""
    total = sum(figures[2] for figures in stats.values())
    spent = 0.0
    for (_, _, name), (_, _, _, _, callers) in stats.items():
        if name in AGAIN:
            spent += sum(
                figures[3]
                for (_, _, caller), figures in callers.items()
                if caller.endswith("_backward")
            )
    return spent / total


def main():
    """Medians of the steps, and their losses, which must agree."""
    if AS_IN_A_WORKER.items() - os.environ.items():
        done = subprocess.run([sys.executable, __file__], env={**os.environ, **AS_IN_A_WORKER})
        sys.exit(done.returncode)
    torch.set_num_threads(1)
    steps, sizes = training(), run.Sizes()
    text = stories.prepare(stories.stories(), sizes.length)
    params = run.first_params(sizes, len(text.characters), 0)
    state = steps.new_adamw(params)
    tensors = {
        name: torch.tensor(array, requires_grad=True) for name, array in flatten(params).items()
    }
    optimiser = torch.optim.AdamW(tensors.values(), lr=LR)

    def torch_step(tokens):
        optimiser.zero_grad()
        loss = torch_loss(tensors, torch.tensor(tokens), sizes.n_heads)
        loss.backward()
        clip(tensors.values())
        optimiser.step()
        return float(loss.detach())

    draw = np.random.RandomState(0)
    mine, theirs, apart = [], [], 0.0
    for _ in range(ROUNDS):
        starts = draw.randint(0, len(text.tokens) - sizes.length, sizes.batch)
        tokens = text.tokens[starts[:, None] + np.arange(sizes.length + 1)]
        spent, (loss, params, state) = seconds(
            lambda: steps.train_step(tokens, params, state, sizes.n_heads, LR)  # noqa: B023
        )
        other, expected = seconds(lambda: torch_step(tokens))  # noqa: B023
        mine.append(spent)
        theirs.append(other)
        apart = max(apart, abs(loss - expected))
    number = sum(array.size for array in flatten(params).values())
    print(f"A training step of the default model: {number:,} parameters, float64, one thread each,")
    print(f"NumPy {np.__version__}, torch {torch.__version__}, medians of {ROUNDS}")
    ratio = statistics.median(a / b for a, b in zip(mine, theirs))
    one, two = (1e3 * statistics.median(column) for column in (mine, theirs))
    least = min(mine) / min(theirs)
    print(f"  NumPy {one:.1f} ms, torch {two:.1f} ms, ratio {ratio:.2f}; of the least {least:.2f}")
    print(f"  the losses of all {ROUNDS} steps are at most {apart:.0e} apart")
    assert apart <= AGREE
    profile = cProfile.Profile()
    profile.runcall(
        lambda: [steps.train_step(tokens, params, state, sizes.n_heads, LR) for _ in range(5)]
    )
    stats = pstats.Stats(profile).stats
    print(f"  computing activations again: {share_again(stats):.0%} of NumPy's time")
    spent = {name: figures[2] for (_, _, name), figures in stats.items()}
    for name, own in sorted(spent.items(), key=lambda row: -row[1])[:ROWS]:
        print(f"  {own / sum(spent.values()):>6.0%}  {name[:50]}")


if __name__ == "__main__":
    main()
