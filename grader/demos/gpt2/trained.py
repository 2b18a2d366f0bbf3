"""Read the weights that `train` keeps as a GPT-2 whose tokens are characters."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from grader.demos.gpt2.names import GPT2, Array, Config
from grader.demos.gpt2.problems import Gpt2Error
from grader.demos.gpt2.weights import Model
from grader.demos.training import weights
from grader.report.problem import Problem

FILE = weights.WEIGHTS


def is_trained(file: Path) -> bool:
    """Return whether `train` has written this file of weights."""
    return file.name == weights.WEIGHTS and file.with_name(weights.ABOUT).is_file()


def read(folder: Path) -> Model:
    """Return the model in the folder, its tensors under GPT-2's names."""
    try:
        arrays, about = weights.load(folder)
        config = Config(
            n_layers=about.n_layers,
            n_heads=about.n_heads,
            d_model=about.d_model,
            d_ff=arrays["blocks.0.feed_forward.w_in"].shape[1],
            t_max=about.length,
            vocabulary=len(about.characters),
            end=None,
        )
        tensors = GPT2.check_tensors(_tensors(arrays, config), config, str(folder))
        return Model(config, tensors, folder)
    except (Problem, LookupError, ValueError):
        raise Gpt2Error(f"{folder} holds no weights of `train` that can be read") from None


def _tensors(arrays: dict[str, Array], config: Config) -> dict[str, Array]:
    found = {"wte.weight": arrays["embedding"], "wpe.weight": arrays["position"]}
    found |= {"ln_f.weight": arrays["ln_f.gain"], "ln_f.bias": arrays["ln_f.bias"]}
    for number in range(config.n_layers):
        old, new = f"blocks.{number}", f"h.{number}"
        for norm in ("ln_1", "ln_2"):
            found[f"{new}.{norm}.weight"] = arrays[f"{old}.{norm}.gain"]
            found[f"{new}.{norm}.bias"] = arrays[f"{old}.{norm}.bias"]
        for short, long in (("w", "weight"), ("b", "bias")):
            parts = [arrays[f"{old}.attention.{short}_{name}"] for name in "qkv"]
            found[f"{new}.attn.c_attn.{long}"] = np.concatenate(parts, axis=-1)
            found[f"{new}.attn.c_proj.{long}"] = arrays[f"{old}.attention.{short}_o"]
            for end, name in (("in", "c_fc"), ("out", "c_proj")):
                found[f"{new}.mlp.{name}.{long}"] = arrays[f"{old}.feed_forward.{short}_{end}"]
    return found
