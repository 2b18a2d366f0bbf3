"""Describe the families of published models that run on the steps, as data."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from grader.demos.gpt2 import names
from grader.demos.gpt2.running import Functions

Known = tuple[object, ...]
HUGE = 1e100


@dataclass(frozen=True)
class Family:
    """A family of models.

    types: the `model_type`s in a config.json. classes: the configuration and the model in
    transformers. known: values of settings that the steps compute; a setting may be missing.
    sizes: the arguments of the steps' functions after `params`. tiny: the sizes of a random model.
    rounding: how far transformers' logits may be off, as a part of the largest, if that does not
    depend on the numbers' size.
    """

    title: str
    types: tuple[str, ...]
    classes: tuple[str, str]
    hub_name: str
    names: names.Names
    functions: Functions
    known: Mapping[str, Known]
    sizes: Callable[[Any], tuple[float, ...]]
    tiny: Mapping[str, object]
    rounding: float = 0.0


def _llama_sizes(config: Any) -> tuple[float, ...]:
    """Return the sizes. Raise ValueError for heads or angles that the steps cannot make."""
    heads, shared = config.num_attention_heads, config.num_key_value_heads
    base = float(config.rope_parameters["rope_theta"])
    if heads % shared or config.head_dim % 2 or not 0 < base < HUGE:
        raise ValueError("heads that cannot be shared, or that have no pairs, or no angles")
    return (heads, shared, base, config.rms_norm_eps)


GPT2 = Family(
    title="GPT-2",
    types=("gpt2",),
    classes=("GPT2Config", "GPT2LMHeadModel"),
    hub_name="openai-community/gpt2",
    names=names.GPT2,
    functions=Functions("decoder_logits", "new_decoder_cache", "decoder_step"),
    known={
        "layer_norm_epsilon": (1e-5,),
        "activation_function": ("gelu_new", "gelu_pytorch_tanh"),
        "scale_attn_weights": (True,),
        "scale_attn_by_inverse_layer_idx": (False,),
        "add_cross_attention": (False,),
        "quantization_config": (),
    },
    sizes=lambda config: (config.num_attention_heads,),
    tiny={"n_layer": 3, "n_head": 4, "n_embd": 48, "n_positions": 256, "vocab_size": 512},
)
LLAMA = Family(
    title="Llama",
    types=("llama", "mistral"),
    classes=("LlamaConfig", "LlamaForCausalLM"),
    hub_name="HuggingFaceTB/SmolLM2-135M",
    names=names.LLAMA,
    functions=Functions("llama_logits", "new_llama_cache", "llama_step"),
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
    sizes=_llama_sizes,
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
    rounding=1e-4,  # transformers computes norms and angles in float32 in any case
)
FAMILIES = {"gpt2": GPT2, "llama": LLAMA}
