"""Tiny GPT-2s for the tests of `gpt2`, and the decoders that run them."""

import contextlib
from dataclasses import replace
from pathlib import Path

import numpy as np

from grader.demos.gpt2 import names, own, running, tiny, weights
from grader.demos.gpt2.family import GPT2, Family
from grader.demos.gpt2.names import Config
from grader.intake.submission import Submission
from grader.steps import registry
from grader.steps.stubs import solutions

REGISTRY = registry.load()
RIGHT = solutions(REGISTRY)


def make(folder: Path, size: Config = tiny.TINY) -> weights.Model:
    """A tiny model, written and read."""
    folder.mkdir(parents=True, exist_ok=True)
    tiny.make(folder, size)
    return weights.read(folder / weights.WEIGHTS)


def family(model: weights.Model) -> Family:
    """GPT-2s of which this one is the tiny one."""
    return replace(GPT2, make_cached=lambda: model.folder)


def with_changes(changes: dict[str, tuple[str, str]]) -> dict[str, str]:
    """The right steps with one piece of text in some of them replaced."""
    sources = dict(RIGHT)
    for name, (old, new) in changes.items():
        assert sources[name].count(old) == 1, (name, old)
        sources[name] = sources[name].replace(old, new)
    return sources


@contextlib.contextmanager
def decoder(host, model, sources=RIGHT, dtype=np.float32):
    """A decoder of these steps with the model's params."""
    code = own.gather(host, REGISTRY, Submission("me", sources), {})
    params = names.to_params(model.tensors, model.config, dtype)
    running_decoder = running.Decoder(host, code.program(REGISTRY), params, model.config.n_heads)
    with contextlib.closing(running_decoder):
        yield running_decoder
