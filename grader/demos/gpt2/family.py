"""Describe the families of published models that run on the steps, as data."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from operator import getitem
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Parts = Mapping[str, tuple[str, ...]]
HUGE = 1e100


@dataclass(frozen=True)
class Family:
    """A family of models.

    kind: the `model_type` in a config.json. network: its class in transformers. functions: of the
    steps, for logits, an empty cache, and logits through a cache. sizes: their arguments after
    `params`. known: values of settings that the steps compute; a setting may be missing. tiny: the
    sizes of a random model. rounding: how far transformers' logits may be off, as a part of the
    largest, if that does not depend on the numbers' size.

    embedding: the name of this tensor. whole, block: all tensors, each with the arrays of the steps
    that it holds side by side. Names have no prefix that all of a model's tensors share. layer: the
    prefix of the tensors in `block`, with the layer's number. transposed: weights are
    (d_out, d_in), unlike the steps'.
    """

    title: str
    kind: str
    network: str
    hub_name: str
    functions: tuple[str, str, str]
    sizes: Callable[[Any], tuple[float, ...]]
    known: Mapping[str, tuple[object, ...]]
    tiny: Mapping[str, object]
    embedding: str
    whole: Parts
    block: Parts
    layer: str
    transposed: bool = False
    rounding: float = 0.0

    def to_params(
        self, tensors: Mapping[str, Array], n_layers: int, dtype: type[np.floating[Any]]
    ) -> dict[str, Any]:
        """Return the `params` of the steps, with numbers of that type."""

        def collect(parts: Parts, prefix: str) -> dict[str, Any]:
            found: dict[str, Any] = {}
            for name, held in parts.items():
                tensor = tensors[prefix + name].astype(dtype, copy=False)
                if self.transposed and tensor.ndim == 2 and name != self.embedding:
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


def _llama_sizes(config: Any) -> tuple[float, ...]:
    """Return the sizes. Raise ValueError for heads or angles that the steps cannot make."""
    heads, shared = config.num_attention_heads, config.num_key_value_heads
    base = float(config.rope_parameters["rope_theta"])
    if heads % shared or config.head_dim % 2 or not 0 < base < HUGE:
        raise ValueError("heads that cannot be shared, or that have no pairs, or no angles")
    return (heads, shared, base, config.rms_norm_eps)


# GPT-2 stores its weights as (d_in, d_out), as the steps do. Its output head is the embedding.
GPT2 = Family(
    title="GPT-2",
    kind="gpt2",
    network="GPT2LMHeadModel",
    hub_name="openai-community/gpt2",
    functions=("decoder_logits", "new_decoder_cache", "decoder_step"),
    sizes=lambda config: (config.num_attention_heads,),
    known={
        "layer_norm_epsilon": (1e-5,),
        "activation_function": ("gelu_new", "gelu_pytorch_tanh"),
        "scale_attn_weights": (True,),
        "scale_attn_by_inverse_layer_idx": (False,),
        "add_cross_attention": (False,),
        "quantization_config": (),
    },
    tiny={"n_layer": 3, "n_head": 4, "n_embd": 48, "n_positions": 256, "vocab_size": 512},
    embedding="wte.weight",
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
LLAMA = Family(
    title="Llama",
    kind="llama",
    network="LlamaForCausalLM",
    hub_name="HuggingFaceTB/SmolLM2-135M",
    functions=("llama_logits", "new_llama_cache", "llama_step"),
    sizes=_llama_sizes,
    known={
        "hidden_act": ("silu",),
        "attention_bias": (False,),
        "mlp_bias": (False,),
        "quantization_config": (),
        "sliding_window": (),
        "layer_types": ("full_attention",),
        "rope_type": ("default",),
        "partial_rotary_factor": (1,),
    },
    # Heads are larger than d_model / n_heads, and two share a key head. base and eps are not the
    # steps' defaults. So code that ignores one of these is found.
    tiny={
        "num_hidden_layers": 3,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "hidden_size": 48,
        "head_dim": 16,
        "intermediate_size": 128,
        "max_position_embeddings": 256,
        "vocab_size": 512,
        "rope_theta": 5000.0,
        "rms_norm_eps": 0.01,
        "tie_word_embeddings": False,
    },
    embedding="embed_tokens.weight",
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
    rounding=1e-4,  # transformers computes norms and angles in float32 in any case
)
FAMILIES = {"gpt2": GPT2, "llama": LLAMA}
