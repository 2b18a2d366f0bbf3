"""Make a Llama with random weights, as a substitute if there is no network.

Its files are those of any Llama, so every reader works on them. Its heads are larger than d_model /
n_heads, and two share a key head. base and eps are not the steps' defaults. So code that ignores
one of these is found.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from grader.demos.gpt2 import tiny as gpt2
from grader.demos.gpt2.weights import CONFIG, TOKENIZER, WEIGHTS
from grader.demos.llama.names import Config, expected_shapes

SEED = 2023
VERSION = 1  # to be raised with any change here: what was made before is not made again


@dataclass(frozen=True)
class Size:
    """The sizes to make."""

    n_layers: int = 3
    n_heads: int = 4
    n_kv_heads: int = 2
    d_model: int = 48
    d_head: int = 16
    d_ff: int = 128
    t_max: int = 256
    vocabulary: int = 512
    base: float = 5000.0
    eps: float = 0.01
    tied: bool = False


TINY = Size()
SMALL = Size(12, 12, 4, 768, 64, 2048, 2048, 32_000, 10000.0, 1e-5, True)
"""As large as the smallest published ones: about 100 million numbers."""


def make_cached() -> Path:
    """Return the folder of the tiny model, made on first use."""
    return gpt2.find_made(f"llama-tiny-{VERSION}", lambda folder: make(folder, TINY))


def make(folder: Path, size: Size, seed: int = SEED, *, tokenizer: bool = True) -> None:
    """Write a random Llama of that size into a folder, the same every time."""
    from safetensors.numpy import save_file

    end = None
    if tokenizer:
        end = gpt2.make_tokenizer(folder / TOKENIZER, min(size.vocabulary, TINY.vocabulary))
    config = Config(
        *(size.n_layers, size.n_heads, size.d_model, size.d_ff, size.t_max, size.vocabulary),
        *(end, size.n_kv_heads, size.d_head, size.base, size.eps, size.tied),
    )
    (folder / CONFIG).write_text(json.dumps(_settings(config), indent=1), encoding="utf-8")
    random = np.random.RandomState(seed)
    shapes = expected_shapes(config).items()
    save_file(
        {name: _tensor(name, shape, random) for name, shape in shapes},
        folder / WEIGHTS,
        {"format": "pt"},
    )


def _settings(config: Config) -> dict[str, object]:
    return {
        "model_type": "llama",
        "architectures": ["LlamaForCausalLM"],
        "hidden_act": "silu",
        "num_hidden_layers": config.n_layers,
        "num_attention_heads": config.n_heads,
        "num_key_value_heads": config.n_kv_heads,
        "head_dim": config.d_head,
        "hidden_size": config.d_model,
        "intermediate_size": config.d_ff,
        "max_position_embeddings": config.t_max,
        "vocab_size": config.vocabulary,
        "rope_theta": config.base,
        "rms_norm_eps": config.eps,
        "tie_word_embeddings": config.tied,
        "attention_bias": False,
        "mlp_bias": False,
        "bos_token_id": config.end,
        "eos_token_id": config.end,
    }


def _tensor(
    name: str, shape: tuple[int, ...], random: np.random.RandomState
) -> NDArray[np.float32]:
    """Return gains around 1, and weights that keep the size of their input."""
    values = random.standard_normal(shape)
    if len(shape) == 1:
        values = 1 + 0.2 * values
    elif "embed" in name:  # small, so that eps shows in the first norm
        values *= 0.2 / np.sqrt(shape[1])
    else:
        values /= np.sqrt(shape[1])
    return values.astype(np.float32)
