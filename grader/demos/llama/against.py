"""Run transformers' Llama on the same tensors, to compare the steps' model with it."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from grader.demos.gpt2.against import Floats, Network
from grader.demos.gpt2.weights import Model
from grader.demos.llama.names import EMBEDDING, HEAD, LLAMA

# Of the largest logit: transformers computes norms and angles in float32, whatever the weights are.
TOLERANCE = 1e-4


class Llama(Network):
    """A Llama of transformers, in float32 or float64."""

    def __init__(self, model: Model, dtype: type[np.floating[Any]]) -> None:
        config = LlamaConfig.from_dict(LLAMA.settings(model.config))
        kind = torch.float64 if dtype is np.float64 else torch.float32
        config.dtype = kind
        with torch.device("meta"):  # its random start would only be thrown away
            network = LlamaForCausalLM(config)
        tensors = {name: torch.tensor(tensor, dtype=kind) for name, tensor in model.tensors.items()}
        tensors.setdefault(HEAD, tensors[EMBEDDING])
        network.load_state_dict(tensors, strict=True, assign=True)
        # The angles' speeds do not belong to the weights, so they are made anew.
        network.model.rotary_emb = type(network.model.rotary_emb)(config)
        super().__init__(network)

    def tolerance(self, logits: Floats, n_layers: int) -> float:
        """Return how far right logits may be from this model's."""
        return TOLERANCE * max(1.0, float(np.abs(logits).max()))
