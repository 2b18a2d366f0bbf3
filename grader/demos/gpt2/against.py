"""Run transformers' GPT-2 on the same tensors, to compare the steps' decoder with it.

Besides the reference, only this module and Llama's import torch. It reads the tensors by GPT-2's
names, so a slip in the translation to the steps' names is seen.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import GPT2Config, GPT2LMHeadModel
from transformers.utils import logging

from grader.demos.gpt2.agreement import tolerance
from grader.demos.gpt2.names import GPT2
from grader.demos.gpt2.weights import Model

Floats = NDArray[np.floating[Any]]
logging.set_verbosity_error()  # its warnings are meant for its own users


def _name_cache(network: torch.nn.Module) -> str:
    """Return the name of a model's KV cache: `cache` in newer versions of transformers."""
    wanted = inspect.signature(network.forward).parameters
    return "cache" if "cache" in wanted else "past_key_values"


class Network:
    """A model of transformers with its weights."""

    def __init__(self, network: torch.nn.Module) -> None:
        torch.set_grad_enabled(False)
        torch.set_num_threads(1)  # as the worker has; and it need not be fast
        self.network = network.eval()
        self.cache = _name_cache(network)

    def tolerance(self, logits: Floats, n_layers: int) -> float:
        """Return how far right logits may be from this model's."""
        return tolerance(logits, n_layers, logits.dtype.itemsize)

    def logits(self, ids: Sequence[int]) -> Floats:
        """Return the logits of the whole sequence in one pass: (T,) -> (T, V)."""
        return self._array(self.network(torch.tensor([ids])).logits)

    def stepwise(self, ids: Sequence[int]) -> Floats:
        """Return the logits token by token, through the cache."""
        rows, past = [], None
        for token in ids:
            out, past = self.go_on([token], past)
            rows.append(self._array(out.logits))
        return np.concatenate(rows)

    def greedy(self, ids: Sequence[int], n_new: int) -> tuple[list[int], Floats]:
        """Return the most likely continuation, and the logits (n_new, V) of its tokens."""
        rows, past, new = [], None, list(ids)
        for _ in range(n_new):
            out, past = self.go_on(new, past)
            rows.append(self._array(out.logits)[-1])
            new = [int(rows[-1].argmax())]
        return [int(row.argmax()) for row in rows], np.stack(rows)

    def go_on(self, new: Sequence[int], past: Any) -> tuple[Any, Any]:
        """Return the output for new tokens after those in a cache, or None, and their cache."""
        out = self.network(torch.tensor([new]), **{self.cache: past}, use_cache=True)
        return out, out[self.cache]

    @staticmethod
    def _array(logits: torch.Tensor) -> Floats:
        array: Floats = logits[0].numpy()
        return array


class Gpt2(Network):
    """transformers' GPT-2, in float32 or float64."""

    def __init__(self, model: Model, dtype: type[np.floating[Any]]) -> None:
        with torch.device("meta"):  # its random start would only be thrown away
            network = GPT2LMHeadModel(GPT2Config.from_dict(GPT2.settings(model.config)))
        kind = torch.float64 if dtype is np.float64 else torch.float32
        tensors = {
            f"transformer.{name}": torch.tensor(tensor, dtype=kind)
            for name, tensor in model.tensors.items()
        }
        tensors["lm_head.weight"] = tensors["transformer.wte.weight"]
        network.load_state_dict(tensors, strict=True, assign=True)
        super().__init__(network)
