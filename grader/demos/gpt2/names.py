"""Translate the names of a model's tensors into those of the steps' params, and back."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from operator import getitem
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Tensors = Mapping[str, Array]
Parts = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class Names:
    """The tensors of a model, each with the arrays of the steps that it holds side by side.

    Names have no prefix that all of a model's tensors share. layer: the prefix of the tensors in
    `block`, with the layer's number. transposed: weights are (d_out, d_in), unlike the steps'.
    """

    whole: Parts
    block: Parts
    layer: str
    transposed: bool = False

    @property
    def embedding(self) -> str:
        """Return the name of the embedding."""
        return next(name for name, held in self.whole.items() if held == ("embedding",))

    def to_params(
        self, tensors: Tensors, n_layers: int, dtype: type[np.floating[Any]]
    ) -> dict[str, Any]:
        """Return the `params` of the steps, with numbers of that type."""

        def collect(parts: Parts, prefix: str) -> dict[str, Any]:
            found: dict[str, Any] = {}
            for name, held in parts.items():
                tensor = tensors[prefix + name].astype(dtype, copy=False)
                if self.transposed and tensor.ndim == 2 and held != ("embedding",):
                    tensor = tensor.T
                for path, array in zip(held, np.split(tensor, len(held), axis=-1)):
                    *groups, last = path.split(".")
                    place = reduce(lambda tree, group: tree.setdefault(group, {}), groups, found)
                    place[last] = np.ascontiguousarray(array)
            return found

        blocks = [collect(self.block, self.layer.format(layer)) for layer in range(n_layers)]
        return {**collect(self.whole, ""), "blocks": blocks}

    def to_tensors(self, params: Any) -> dict[str, Array]:
        """Return the params under the model's names: the inverse, if nothing is transposed."""

        def join(tree: Any, held: tuple[str, ...]) -> Array:
            return np.concatenate([reduce(getitem, path.split("."), tree) for path in held], -1)

        found = {name: join(params, held) for name, held in self.whole.items()}
        for layer, block in enumerate(params["blocks"]):
            prefix = self.layer.format(layer)
            found |= {prefix + name: join(block, held) for name, held in self.block.items()}
        return found


# GPT-2 stores its weights as (d_in, d_out), as the steps do. Its output head is the embedding.
GPT2 = Names(
    whole={
        "wte.weight": ("embedding",),
        "wpe.weight": ("position",),
        "ln_f.weight": ("ln_f.gain",),
        "ln_f.bias": ("ln_f.bias",),
    },
    block={
        "ln_1.weight": ("ln_1.gain",),
        "ln_1.bias": ("ln_1.bias",),
        "attn.c_attn.weight": ("attention.w_q", "attention.w_k", "attention.w_v"),
        "attn.c_attn.bias": ("attention.b_q", "attention.b_k", "attention.b_v"),
        "attn.c_proj.weight": ("attention.w_o",),
        "attn.c_proj.bias": ("attention.b_o",),
        "ln_2.weight": ("ln_2.gain",),
        "ln_2.bias": ("ln_2.bias",),
        "mlp.c_fc.weight": ("feed_forward.w_in",),
        "mlp.c_fc.bias": ("feed_forward.b_in",),
        "mlp.c_proj.weight": ("feed_forward.w_out",),
        "mlp.c_proj.bias": ("feed_forward.b_out",),
    },
    layer="h.{}.",
)
# In transformers' order of a head's features, i and i + d_head/2 are a pair, as in step 20.
LLAMA = Names(
    whole={
        "embed_tokens.weight": ("embedding",),
        "norm.weight": ("norm_f",),
        "lm_head.weight": ("w_out",),
    },
    block={
        "input_layernorm.weight": ("norm_1",),
        **{f"self_attn.{name}_proj.weight": (f"attention.w_{name}",) for name in "qkvo"},
        "post_attention_layernorm.weight": ("norm_2",),
        "mlp.gate_proj.weight": ("feed_forward.w_gate",),
        "mlp.up_proj.weight": ("feed_forward.w_up",),
        "mlp.down_proj.weight": ("feed_forward.w_down",),
    },
    layer="layers.{}.",
    transposed=True,
)
