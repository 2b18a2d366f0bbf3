"""Translate the names of a Llama's tensors into those of the steps.

Published files store a weight as (d_out, d_in), and the steps store it the other way round. The
names are those of transformers, and so is the order of a head's features: i and i + d_head/2 are a
pair.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from grader.demos.gpt2 import names
from grader.demos.gpt2.names import (
    Array,
    Names,
    Settings,
    Shapes,
    Tensors,
    read_end,
    read_head,
    read_size,
    show,
)
from grader.demos.gpt2.problems import Gpt2Error

HUGE = 1e100
MISTRAL_WINDOW = 4096  # a Mistral's default
HEAD, EMBEDDING = "lm_head.weight", "model.embed_tokens.weight"
# Settings that the steps compute, and the message for any other value.
AS_THE_STEPS = {
    "hidden_act": (("silu", None), "step 25's gate is silu"),
    "attention_bias": ((False, None), "step 21's heads have no biases"),
    "mlp_bias": ((False, None), "step 25's network has no biases"),
    "quantization_config": ((None,), "the steps compute with whole numbers of floating point"),
}
WEIGHTS = {
    "q": "self_attn.q_proj",
    "k": "self_attn.k_proj",
    "v": "self_attn.v_proj",
    "o": "self_attn.o_proj",
    "gate": "mlp.gate_proj",
    "up": "mlp.up_proj",
    "down": "mlp.down_proj",
}
NORMS = {"norm_1": "input_layernorm", "norm_2": "post_attention_layernorm"}


@dataclass(frozen=True)
class LlamaConfig(names.Config):
    """The sizes of a Llama. tied: whether the embedding is also the output head."""

    n_kv_heads: int
    d_head: int
    base: float
    eps: float
    tied: bool

    @property
    def sizes(self) -> tuple[float, ...]:
        """Return the arguments of the steps' functions after `params`."""
        return (self.n_heads, self.n_kv_heads, self.base, self.eps)


def _read(data: Settings, path: Path) -> LlamaConfig:
    for name, (known, reason) in AS_THE_STEPS.items():
        if data.get(name) not in known:
            said = f" = {show(data[name])}" if isinstance(data[name], str | bool) else ""
            raise Gpt2Error(f"{path} has {name}{said}, but {reason}: name another model")
    _check_layers(data, path)
    n_heads = read_size(data, path, "num_attention_heads")
    d_model = read_size(data, path, "hidden_size")
    n_kv_heads = read_size(data, path, "num_key_value_heads", otherwise=n_heads)
    if n_heads % n_kv_heads != 0:
        raise Gpt2Error(
            f"{path} shares {n_kv_heads} key heads among {n_heads} query heads: get it again"
        )
    d_head = read_head(data, path, d_model, n_heads)
    if d_head % 2:
        raise Gpt2Error(f"{path} has heads of {d_head} features, which have no pairs: get it again")
    return LlamaConfig(
        read_size(data, path, "num_hidden_layers"),
        n_heads,
        d_model,
        read_size(data, path, "intermediate_size"),
        read_size(data, path, "max_position_embeddings", otherwise=2048),
        read_size(data, path, "vocab_size"),
        read_end(data),
        n_kv_heads,
        d_head,
        _read_rope(data, path),
        _positive(data.get("rms_norm_eps", 1e-6), "rms_norm_eps", path),
        bool(data.get("tie_word_embeddings", False)),
    )


def _check_layers(data: Settings, path: Path) -> None:
    """Refuse layers that see only a window."""
    window = data.get("sliding_window", MISTRAL_WINDOW if data["model_type"] == "mistral" else None)
    layers = _typed(data, "layer_types", list, path)
    other = [kind for kind in layers if kind != "full_attention"]
    if window is not None or other:
        said = (
            f"layers of type {show(other[0])}" if other else f"a sliding window of {show(window)}"
        )
        raise Gpt2Error(
            f"{path} has {said}, but step 25's layers see the whole text: name another model"
        )


def _read_rope(data: Settings, path: Path) -> float:
    """Return the base of the rotary angles. Raise Gpt2Error if they are scaled, or partial."""
    rope: Settings = {}
    for name in ("rope_scaling", "rope_parameters"):
        rope |= _typed(data, name, dict, path)
    kind = rope.get("rope_type", rope.get("type", "default"))
    if kind not in ("default", None):
        raise Gpt2Error(
            f"{path} scales the rotary angles ({show(kind)}), which step 20 does not: "
            "name another model"
        )
    share = rope.get("partial_rotary_factor", data.get("partial_rotary_factor"))
    if share not in (None, 1, 1.0):
        raise Gpt2Error(
            f"{path} turns only a part of a head ({show(share)}), but step 20 turns all of it: "
            "name another model"
        )
    base = rope.get("rope_theta", data.get("rope_theta", 10000.0))
    return _positive(base, "rope_theta", path)


def _typed(data: Settings, name: str, kind: type[Any], path: Path) -> Any:
    """Return a setting of that type, empty if there is none."""
    value = kind() if data.get(name) is None else data[name]
    if not isinstance(value, kind):
        raise Gpt2Error(f"{path} has no usable {name}: get it again, with the weights")
    return value


def _positive(value: Any, name: str, path: Path) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < HUGE:
        raise Gpt2Error(f"{path} has no usable {name}: get it again, with the weights")
    return float(value)


def _settings(config: LlamaConfig) -> Settings:
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


def _shapes(config: LlamaConfig) -> Shapes:
    d, d_ff = config.d_model, config.d_ff
    wide, narrow = config.n_heads * config.d_head, config.n_kv_heads * config.d_head
    shapes: Shapes = {EMBEDDING: (config.vocabulary, d), "model.norm.weight": (d,)}
    if not config.tied:
        shapes[HEAD] = (config.vocabulary, d)
    sizes = {
        **{"q": (wide, d), "k": (narrow, d), "v": (narrow, d), "o": (d, wide)},
        **{"gate": (d_ff, d), "up": (d_ff, d), "down": (d, d_ff)},
    }
    block: Shapes = {f"{WEIGHTS[name]}.weight": sizes[name] for name in sizes}
    block |= {f"{name}.weight": (d,) for name in NORMS.values()}
    for layer in range(config.n_layers):
        shapes.update({f"model.layers.{layer}.{name}": shape for name, shape in block.items()})
    return shapes


def _full(name: str) -> str:
    """Return a tensor's name with the prefix that some files leave out."""
    return name if name == HEAD or name.startswith("model.") else f"model.{name}"


def _check(found: Tensors, config: LlamaConfig, where: str) -> None:
    biases = [name for name in found if name.startswith("model.layers.") and name.endswith(".bias")]
    if biases:
        raise Gpt2Error(
            f"{where} holds {len(biases)} biases, the first {biases[0]}, "
            "but steps 21 and 25 have none: name another model"
        )
    if config.tied and HEAD in found and not np.array_equal(found[HEAD], found[EMBEDDING]):
        raise Gpt2Error(
            f"{where} has an output head of its own, but config.json ties it to the embedding: "
            "weights and config.json must belong together"
        )


def to_params(
    tensors: Tensors, config: LlamaConfig, dtype: type[np.floating[Any]]
) -> dict[str, Any]:
    """Return the `params` of step 25, with numbers of that type."""

    def tensor(name: str) -> Array:
        return tensors[name].astype(dtype, copy=False)

    def weight(name: str) -> Array:
        return np.ascontiguousarray(tensor(name).T)

    def block(layer: str) -> dict[str, Any]:
        found = {f"w_{name}": weight(f"{layer}.{long}.weight") for name, long in WEIGHTS.items()}
        return {
            **{name: tensor(f"{layer}.{long}.weight") for name, long in NORMS.items()},
            "attention": {f"w_{name}": found[f"w_{name}"] for name in "qkvo"},
            "feed_forward": {f"w_{name}": found[f"w_{name}"] for name in ("gate", "up", "down")},
        }

    return {
        "embedding": tensor(EMBEDDING),
        "blocks": [block(f"model.layers.{layer}") for layer in range(config.n_layers)],
        "norm_f": tensor("model.norm.weight"),
        "w_out": weight(EMBEDDING if config.tied else HEAD),
    }


LLAMA = Names(
    title="Llama",
    kinds=("llama", "mistral"),
    prefix="",
    full=_full,
    read=_read,
    settings=_settings,
    shapes=_shapes,
    check=_check,
    to_params=to_params,
)
