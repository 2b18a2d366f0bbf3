"""Read the weights that `train` keeps as a GPT-2 whose tokens are characters."""

from __future__ import annotations

from pathlib import Path

from grader.demos.gpt2.names import GPT2, Config, to_tensors
from grader.demos.gpt2.problems import Gpt2Error
from grader.demos.gpt2.weights import Model
from grader.demos.training import weights
from grader.demos.training.run import Sizes, first_params
from grader.report.problem import Problem

FILE = weights.WEIGHTS


def is_trained(file: Path) -> bool:
    """Return whether `train` has written this file of weights."""
    return file.name == weights.WEIGHTS and file.with_name(weights.ABOUT).is_file()


def read(folder: Path) -> Model:
    """Return the model in the folder, its tensors under GPT-2's names."""
    try:
        arrays, about = weights.load(folder)
        sizes = Sizes(about.n_layers, about.n_heads, about.d_model, about.length)
        params = weights.refill(first_params(sizes, len(about.characters), 0), arrays)
        config = Config(
            n_layers=about.n_layers,
            n_heads=about.n_heads,
            d_model=about.d_model,
            d_ff=arrays["blocks.0.feed_forward.w_in"].shape[1],
            t_max=about.length,
            vocabulary=len(about.characters),
            end=None,
        )
        tensors = GPT2.check_tensors(to_tensors(params), config, str(folder))
        return Model(config, tensors, folder)
    except (Problem, LookupError, ValueError):
        raise Gpt2Error(f"{folder} holds no weights of `train` that can be read") from None
