"""Translate the names of GPT-2's tensors into those of the steps.

GPT-2's `Conv1D` stores its weights as (d_in, d_out), as the steps do. `c_attn` has the weights of
q, k and v side by side. The output head is the embedding itself.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.demos.gpt2.problems import Gpt2Error

Array = NDArray[Any]
Tensors = Mapping[str, Array]
EPS = 1e-5
TANH_GELU = ("gelu_new", "gelu_pytorch_tanh")
# Settings that the steps compute; None if the configuration does not have them.
AS_THE_STEPS = {
    "layer_norm_epsilon": (EPS, None),
    "activation_function": (*TANH_GELU, None),
    "scale_attn_weights": (True, None),
    "scale_attn_by_inverse_layer_idx": (False, None),
    "add_cross_attention": (False, None),
}


@dataclass(frozen=True)
class Config:
    """The sizes of a GPT-2. end: the id of the token that ends a text, if there is one."""

    n_layers: int
    n_heads: int
    d_model: int
    d_ff: int
    t_max: int
    vocabulary: int
    end: int | None

    @property
    def sizes(self) -> tuple[float, ...]:
        """Return the arguments of the steps' functions after `params`."""
        return (self.n_heads,)


def read_settings(path: Path, kinds: Sequence[str], family: str) -> dict[str, Any]:
    """Return all of a `config.json`. Raise Gpt2Error unless the model is of one of these types.

    family: its name in a message.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise Gpt2Error(f"{path} cannot be read as JSON: get it again") from error
    kind = data.get("model_type") if isinstance(data, dict) else None
    if kind not in kinds:
        raise Gpt2Error(
            f"{path} describes a model of type {kind!r}, not {kinds[0]!r}: "
            f"name weights of a {family}"
        )
    return dict(data)


def read_config(path: Path) -> tuple[Config, dict[str, Any]]:
    """Return the parsed `config.json`, and its whole text.

    Raise Gpt2Error if it is not GPT-2's.
    """
    data = read_settings(path, ["gpt2"], "GPT-2")
    for name, known in AS_THE_STEPS.items():
        if data.get(name) not in known:
            raise Gpt2Error(
                f"{path} has {name} = {data[name]!r}, which the steps do not compute: "
                f"they have {known[0]!r}"
            )
    return _config(data, path), data


def _config(data: Mapping[str, Any], path: Path) -> Config:
    def size(name: str, *others: str) -> int:
        value = next((data[key] for key in (name, *others) if data.get(key) is not None), None)
        if not isinstance(value, int) or value < 1:
            raise Gpt2Error(f"{path} says no {name}: get it again, with the weights")
        return value

    d_model, n_heads = size("n_embd"), size("n_head")
    if d_model % n_heads:
        raise Gpt2Error(f"{path} divides {d_model} features among {n_heads} heads: get it again")
    end = data.get("eos_token_id")
    d_ff = size("n_inner") if data.get("n_inner") else 4 * d_model
    return Config(
        *(size("n_layer"), n_heads, d_model, d_ff, size("n_positions", "n_ctx")),
        size("vocab_size"),
        end if isinstance(end, int) else None,
    )


def expected_shapes(config: Config) -> dict[str, tuple[int, ...]]:
    """Return the shape of every tensor that the steps need, by GPT-2's name for it."""
    d, d_ff = config.d_model, config.d_ff
    shapes: dict[str, tuple[int, ...]] = {
        "wte.weight": (config.vocabulary, d),
        "wpe.weight": (config.t_max, d),
        "ln_f.weight": (d,),
        "ln_f.bias": (d,),
    }
    block = {
        **{f"{name}.{part}": (d,) for name in ("ln_1", "ln_2") for part in ("weight", "bias")},
        **{"attn.c_attn.weight": (d, 3 * d), "attn.c_attn.bias": (3 * d,)},
        **{"attn.c_proj.weight": (d, d), "attn.c_proj.bias": (d,)},
        **{"mlp.c_fc.weight": (d, d_ff), "mlp.c_fc.bias": (d_ff,)},
        **{"mlp.c_proj.weight": (d_ff, d), "mlp.c_proj.bias": (d,)},
    }
    for layer in range(config.n_layers):
        shapes.update({f"h.{layer}.{name}": shape for name, shape in block.items()})
    return shapes


def bare(name: str) -> str:
    """Return GPT-2's name of a tensor without the prefix that some files have."""
    return name.removeprefix("transformer.")


def check_tensors(tensors: Tensors, config: Config, where: str) -> dict[str, Array]:
    """Return the tensors that the steps need, by bare name. Raise Gpt2Error unless all fit.

    Others are ignored, such as `attn.bias`, which is GPT-2's causal mask.
    """
    found = {bare(name): tensor for name, tensor in tensors.items()}
    shapes = expected_shapes(config)
    missing = [name for name in shapes if name not in found]
    if len(missing) == len(shapes):
        raise Gpt2Error(f"{where} holds none of GPT-2's tensors: name weights of a GPT-2")
    if missing:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise Gpt2Error(f"{where} lacks the tensor {missing[0]}{more}: get the weights again")
    for name, shape in shapes.items():
        if found[name].shape != shape:
            raise Gpt2Error(
                f"{where}: {name} has shape {found[name].shape}, but config.json asks for {shape}: "
                "weights and config.json must belong together"
            )
        if found[name].dtype.kind != "f":
            raise Gpt2Error(f"{where}: {name} is of type {found[name].dtype}, not floating point")
    _check_head(found, where)
    return {name: found[name] for name in shapes}


def _check_head(found: Tensors, where: str) -> None:
    head = found.get("lm_head.weight")
    if head is not None and not np.array_equal(head, found["wte.weight"]):
        raise Gpt2Error(
            f"{where} has an output head of its own, but step 12's is the embedding: "
            "name weights whose head is tied"
        )


def to_params(tensors: Tensors, config: Config, dtype: type[np.floating[Any]]) -> dict[str, Any]:
    """Return the `params` of step 12, with numbers of that type."""

    def tensor(name: str) -> Array:
        return tensors[name].astype(dtype, copy=False)

    def norm(name: str) -> dict[str, Array]:
        return {"gain": tensor(f"{name}.weight"), "bias": tensor(f"{name}.bias")}

    def block(layer: str) -> dict[str, Any]:
        weights = np.split(tensor(f"{layer}.attn.c_attn.weight"), 3, axis=-1)
        biases = np.split(tensor(f"{layer}.attn.c_attn.bias"), 3)
        contiguous = map(np.ascontiguousarray, weights)
        attention = {f"w_{letter}": weight for letter, weight in zip("qkv", contiguous)}
        attention |= {f"b_{letter}": bias for letter, bias in zip("qkv", biases)}
        attention["w_o"] = tensor(f"{layer}.attn.c_proj.weight")
        attention["b_o"] = tensor(f"{layer}.attn.c_proj.bias")
        ends = (("in", "c_fc"), ("out", "c_proj"))
        return {
            "ln_1": norm(f"{layer}.ln_1"),
            "attention": attention,
            "ln_2": norm(f"{layer}.ln_2"),
            "feed_forward": {
                f"{short}_{end}": tensor(f"{layer}.mlp.{name}.{long}")
                for end, name in ends
                for short, long in (("w", "weight"), ("b", "bias"))
            },
        }

    return {
        "embedding": tensor("wte.weight"),
        "position": tensor("wpe.weight"),
        "blocks": [block(f"h.{layer}") for layer in range(config.n_layers)],
        "ln_f": norm("ln_f"),
    }
