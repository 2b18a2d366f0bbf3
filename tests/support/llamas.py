"""Tiny Llamas for the tests of `llama`, and the code that runs them."""

import contextlib
from dataclasses import replace
from pathlib import Path

import numpy as np

from grader.demos.gpt2 import own, running, weights
from grader.demos.llama import tiny
from grader.demos.llama.family import LLAMA
from grader.intake.submission import Submission
from tests.support.gpt2s import REGISTRY, RIGHT


def make(folder: Path, **sizes: object) -> weights.Model:
    """A tiny model, written and read."""
    folder.mkdir(parents=True, exist_ok=True)
    tiny.make(folder, replace(tiny.TINY, **sizes))
    return LLAMA.read(folder / weights.WEIGHTS)


@contextlib.contextmanager
def decoder(host, model, sources=RIGHT, dtype=np.float32):
    """A decoder of these steps with the model's params."""
    functions = LLAMA.functions
    code = own.gather(host, REGISTRY, Submission("me", sources), {}, functions.wanted)
    params = LLAMA.names.to_params(model.tensors, model.config, dtype)
    program = code.program(REGISTRY)
    runs = running.Decoder(host, program, params, *model.config.sizes, functions=functions)
    with contextlib.closing(runs):
        yield runs
