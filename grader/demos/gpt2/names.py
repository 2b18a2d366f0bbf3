"""Translate the names of a family's tensors and settings into those of the steps; here GPT-2's.

GPT-2's `Conv1D` stores its weights as (d_in, d_out), as the steps do. `c_attn` has the weights of
q, k and v side by side. The output head is the embedding itself.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.demos.gpt2.problems import Gpt2Error

Array = NDArray[Any]
Tensors = Mapping[str, Array]
Settings = dict[str, Any]
Shapes = dict[str, tuple[int, ...]]
MAX_TEXT = 2**20  # bytes of a config.json; published ones have a few thousand
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
    """The sizes of a model. end: the id of the token that ends a text, if there is one."""

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


@dataclass(frozen=True)
class Names:
    """Know the names in a family's files, and what they mean in the steps.

    kinds: its `model_type`s. prefix: of a tensor's name in a file; some files leave it out. read:
    makes the sizes of a `config.json`. settings: makes a `config.json` of sizes. shapes: the
    tensors that the steps need, by full name. check: raises Gpt2Error if others mean something that
    the steps do not compute.
    """

    title: str
    kinds: tuple[str, ...]
    prefix: str
    full: Callable[[str], str]
    read: Callable[[Settings, Path], Any]
    settings: Callable[[Any], Settings]
    shapes: Callable[[Any], Shapes]
    check: Callable[[Tensors, Any, str], None]
    to_params: Callable[..., dict[str, Any]]

    def read_config(self, path: Path) -> Any:
        """Return the sizes that a `config.json` has. Raise Gpt2Error if the steps have others."""
        try:
            if path.stat().st_size > MAX_TEXT:
                raise ValueError
            data = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            raise Gpt2Error(f"{path} cannot be read as JSON: get it again") from error
        kind = data.get("model_type") if isinstance(data, dict) else None
        if kind not in self.kinds:
            raise Gpt2Error(
                f"{path} describes a model of type {show(kind)}, not {self.kinds[0]!r}: "
                f"name weights of a {self.title}"
            )
        return self.read(data, path)

    def check_tensors(self, tensors: Tensors, config: Any, where: str) -> dict[str, Array]:
        """Return the tensors that the steps need, by full name. Raise Gpt2Error unless all fit.

        Others are ignored, such as `attn.bias`, which is GPT-2's causal mask.
        """
        if config.n_layers > len(tensors):
            raise Gpt2Error(
                f"{where} holds {len(tensors)} tensors, but config.json asks for "
                f"{config.n_layers} layers: weights and config.json must belong together"
            )
        found = {self.full(name): tensor for name, tensor in tensors.items()}
        shapes = self.shapes(config)
        missing = [name for name in shapes if name not in found]
        if len(missing) == len(shapes):
            title = f"a {self.title}" if self.title != "GPT-2" else self.title
            raise Gpt2Error(
                f"{where} holds none of {title}'s tensors: name weights of a {self.title}"
            )
        if missing:
            more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
            raise Gpt2Error(
                f"{where} lacks the tensor {missing[0]}{more}: get the weights again, in one file"
            )
        for name, shape in shapes.items():
            _check_tensor(found[name], shape, f"{where}: {name}")
        self.check(found, config, where)
        return {name: found[name] for name in shapes}


def _check_tensor(tensor: Array, shape: tuple[int, ...], which: str) -> None:
    if tensor.shape != shape:
        raise Gpt2Error(
            f"{which} has shape {tensor.shape}, but config.json asks for {shape}: "
            "weights and config.json must belong together"
        )
    if tensor.dtype.kind != "f":
        raise Gpt2Error(f"{which} is of type {tensor.dtype}, not floating point")


def show(value: Any) -> str:
    """Return a setting as a message may repeat it: a stranger's text may be a million letters."""
    return repr(value) if len(repr(value)) <= 80 else "something long"


def read_size(data: Settings, path: Path, *names: str, otherwise: int | None = None) -> int:
    """Return the size under the first of these names. Raise Gpt2Error unless it is a size."""
    value = next((data[name] for name in names if data.get(name) is not None), otherwise)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value < 2**31:
        raise Gpt2Error(f"{path} says no {names[0]}: get it again, with the weights")
    return value


def read_head(data: Settings, path: Path, d_model: int, n_heads: int) -> int:
    """Return the features of a head. Raise Gpt2Error if heads cannot have equally many."""
    if data.get("head_dim") is None and d_model % n_heads:
        raise Gpt2Error(f"{path} divides {d_model} features among {n_heads} heads: get it again")
    return read_size(data, path, "head_dim", otherwise=d_model // n_heads)


def read_end(data: Settings) -> int | None:
    """Return the id of the token that ends a text, the first if there are several."""
    end = data.get("eos_token_id")
    end = end[0] if isinstance(end, list) and end else end
    return end if isinstance(end, int) and not isinstance(end, bool) else None


def _read(data: Settings, path: Path) -> Config:
    for name, known in AS_THE_STEPS.items():
        if data.get(name) not in known:
            raise Gpt2Error(
                f"{path} has {name} = {show(data[name])}, which the steps do not compute: "
                f"they have {known[0]!r}"
            )
    d_model, n_heads = read_size(data, path, "n_embd"), read_size(data, path, "n_head")
    read_head({}, path, d_model, n_heads)
    return Config(
        read_size(data, path, "n_layer"),
        n_heads,
        d_model,
        read_size(data, path, "n_inner", otherwise=4 * d_model),
        read_size(data, path, "n_positions", "n_ctx"),
        read_size(data, path, "vocab_size"),
        read_end(data),
    )


def _settings(config: Config) -> Settings:
    return {
        "model_type": "gpt2",
        "architectures": ["GPT2LMHeadModel"],
        "activation_function": "gelu_new",
        "layer_norm_epsilon": EPS,
        "n_layer": config.n_layers,
        "n_head": config.n_heads,
        "n_embd": config.d_model,
        "n_inner": config.d_ff,
        "n_positions": config.t_max,
        "vocab_size": config.vocabulary,
        "bos_token_id": config.end,
        "eos_token_id": config.end,
    }


def _shapes(config: Config) -> Shapes:
    d, d_ff = config.d_model, config.d_ff
    shapes: Shapes = {
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


def _check_head(found: Tensors, config: Config, where: str) -> None:
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


def to_tensors(params: Any) -> dict[str, Array]:
    """Return the parameters under GPT-2's names: the inverse of `to_params`."""
    found = {"wte.weight": params["embedding"], "wpe.weight": params["position"]}
    found |= _norm("ln_f", params["ln_f"])
    for layer, block in enumerate(params["blocks"]):
        name, attention, network = f"h.{layer}", block["attention"], block["feed_forward"]
        found |= _norm(f"{name}.ln_1", block["ln_1"]) | _norm(f"{name}.ln_2", block["ln_2"])
        for long, short in (("weight", "w"), ("bias", "b")):
            parts = [attention[f"{short}_{letter}"] for letter in "qkv"]
            found[f"{name}.attn.c_attn.{long}"] = np.concatenate(parts, axis=-1)
            found[f"{name}.attn.c_proj.{long}"] = attention[f"{short}_o"]
            found[f"{name}.mlp.c_fc.{long}"] = network[f"{short}_in"]
            found[f"{name}.mlp.c_proj.{long}"] = network[f"{short}_out"]
    return found


def _norm(name: str, params: Any) -> dict[str, Array]:
    return {f"{name}.weight": params["gain"], f"{name}.bias": params["bias"]}


GPT2 = Names(
    title="GPT-2",
    kinds=("gpt2",),
    prefix="transformer.",
    full=lambda name: name.removeprefix("transformer."),
    read=_read,
    settings=_settings,
    shapes=_shapes,
    check=_check_head,
    to_params=to_params,
)
