"""Translate the names of a Llama's tensors into those of the steps.

Published files store a weight as (d_out, d_in), and the steps store it the other way round. The
names are those of transformers, and so is the order of a head's features: i and i + d_head/2 are a
pair.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from grader.demos.gpt2 import names as gpt2
from grader.demos.gpt2.names import Array, Tensors
from grader.demos.gpt2.problems import Gpt2Error

KINDS = ("llama", "mistral")
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
class Config(gpt2.Config):
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


def read_config(path: Path) -> tuple[Config, dict[str, Any]]:
    """Return the parsed `config.json`, and its whole text.

    Raise Gpt2Error if the steps cannot run what it describes.
    """
    data = gpt2.read_settings(path, KINDS, "Llama")
    for name, (known, reason) in AS_THE_STEPS.items():
        if data.get(name) not in known:
            said = f" = {data[name]!r}" if isinstance(data[name], str | bool) else ""
            raise Gpt2Error(f"{path} has {name}{said}, but {reason}: name another model")
    _check_layers(data, path)
    return _config(data, path), data


def _check_layers(data: Mapping[str, Any], path: Path) -> None:
    """Refuse layers that see only a window."""
    window = data.get("sliding_window", MISTRAL_WINDOW if data["model_type"] == "mistral" else None)
    kinds = {str(kind) for kind in data.get("layer_types") or ()} - {"full_attention"}
    if window is not None or kinds:
        said = f"layers of type {min(kinds)!r}" if kinds else f"a sliding window of {window}"
        raise Gpt2Error(
            f"{path} has {said}, but step 25's layers see the whole text: name another model"
        )


def _read_rope(data: Mapping[str, Any], path: Path) -> float:
    """Return the base of the rotary angles. Raise Gpt2Error if they are scaled, or partial."""
    rope = {**(data.get("rope_scaling") or {}), **(data.get("rope_parameters") or {})}
    kind = rope.get("rope_type", rope.get("type", "default"))
    if kind not in ("default", None):
        raise Gpt2Error(
            f"{path} scales the rotary angles ({kind!r}), which step 20 does not: "
            "name another model"
        )
    share = rope.get("partial_rotary_factor", data.get("partial_rotary_factor"))
    if share not in (None, 1, 1.0):
        raise Gpt2Error(
            f"{path} turns only a part of a head ({share}), but step 20 turns all of it: "
            "name another model"
        )
    base = rope.get("rope_theta", data.get("rope_theta", 10000.0))
    return _positive(base, "rope_theta", path)


def _positive(value: Any, name: str, path: Path) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < np.inf:
        raise Gpt2Error(f"{path} has no usable {name}: get it again, with the weights")
    return float(value)


def _config(data: Mapping[str, Any], path: Path) -> Config:
    def size(name: str, otherwise: int | None = None) -> int:
        value = otherwise if data.get(name) is None else data[name]
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise Gpt2Error(f"{path} says no {name}: get it again, with the weights")
        return value

    d_model, n_heads = size("hidden_size"), size("num_attention_heads")
    n_kv_heads = size("num_key_value_heads", n_heads)
    if n_heads % n_kv_heads != 0:
        raise Gpt2Error(
            f"{path} shares {n_kv_heads} key heads among {n_heads} query heads: get it again"
        )
    if data.get("head_dim") is None and d_model % n_heads:
        raise Gpt2Error(f"{path} divides {d_model} features among {n_heads} heads: get it again")
    d_head = size("head_dim", d_model // n_heads)
    if d_head % 2:
        raise Gpt2Error(f"{path} has heads of {d_head} features, which have no pairs: get it again")
    end = data.get("eos_token_id")
    end = end[0] if isinstance(end, list) and end else end
    return Config(
        size("num_hidden_layers"),
        n_heads,
        d_model,
        size("intermediate_size"),
        size("max_position_embeddings", 2048),
        size("vocab_size"),
        end if isinstance(end, int) else None,
        n_kv_heads,
        d_head,
        _read_rope(data, path),
        _positive(data.get("rms_norm_eps", 1e-6), "rms_norm_eps", path),
        bool(data.get("tie_word_embeddings", False)),
    )


def expected_shapes(config: Config) -> dict[str, tuple[int, ...]]:
    """Return the shape of every tensor that the steps need, by its published name."""
    d, d_ff = config.d_model, config.d_ff
    wide, narrow = config.n_heads * config.d_head, config.n_kv_heads * config.d_head
    shapes: dict[str, tuple[int, ...]] = {
        EMBEDDING: (config.vocabulary, d),
        "model.norm.weight": (d,),
    }
    if not config.tied:
        shapes[HEAD] = (config.vocabulary, d)
    sizes = {
        **{"q": (wide, d), "k": (narrow, d), "v": (narrow, d), "o": (d, wide)},
        **{"gate": (d_ff, d), "up": (d_ff, d), "down": (d, d_ff)},
    }
    block: dict[str, tuple[int, ...]] = {f"{WEIGHTS[name]}.weight": sizes[name] for name in sizes}
    block |= {f"{name}.weight": (d,) for name in NORMS.values()}
    for layer in range(config.n_layers):
        shapes.update({f"model.layers.{layer}.{name}": shape for name, shape in block.items()})
    return shapes


def _full(name: str) -> str:
    """Return a tensor's name with the prefix that some files leave out."""
    return name if name == HEAD or name.startswith("model.") else f"model.{name}"


def check_tensors(tensors: Tensors, config: Config, where: str) -> dict[str, Array]:
    """Return the tensors that the steps need. Raise Gpt2Error unless all fit the configuration."""
    found = {_full(name): tensor for name, tensor in tensors.items()}
    shapes = expected_shapes(config)
    missing = [name for name in shapes if name not in found]
    if len(missing) == len(shapes):
        raise Gpt2Error(f"{where} holds none of a Llama's tensors: name weights of a Llama")
    if missing:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise Gpt2Error(
            f"{where} lacks the tensor {missing[0]}{more}: get the weights again, in one file"
        )
    biases = [name for name in found if name.startswith("model.layers.") and name.endswith(".bias")]
    if biases:
        raise Gpt2Error(
            f"{where} holds {len(biases)} biases, the first {biases[0]}, "
            "but steps 21 and 25 have none: name another model"
        )
    for name, shape in shapes.items():
        if found[name].shape != shape:
            raise Gpt2Error(
                f"{where}: {name} has shape {found[name].shape}, but config.json asks for {shape}: "
                "weights and config.json must belong together"
            )
        if found[name].dtype.kind != "f":
            raise Gpt2Error(f"{where}: {name} is of type {found[name].dtype}, not floating point")
    if config.tied and HEAD in found and not np.array_equal(found[HEAD], found[EMBEDDING]):
        raise Gpt2Error(
            f"{where} has an output head of its own, but config.json ties it to the embedding: "
            "weights and config.json must belong together"
        )
    return {name: found[name] for name in shapes}


def to_params(tensors: Tensors, config: Config, dtype: type[np.floating[Any]]) -> dict[str, Any]:
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
