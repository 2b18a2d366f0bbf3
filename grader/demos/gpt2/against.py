"""Read a published model with transformers, to compare the steps' decoder with it.

Besides the reference, only this module imports torch. transformers reads the tensors by their
published names, so a slip in the translation to the steps' names is seen.
"""

import inspect
import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.torch import load_file
from transformers.utils import logging

from grader.demos.gpt2.family import Family
from grader.demos.gpt2.names import Array
from grader.demos.gpt2.tokens import Words, make_tokenizer, read_tokenizer
from grader.demos.training.weights import CONFIG
from grader.report.problem import Problem
from grader.report.sanitize import one_line

Floats = NDArray[np.floating[Any]]
HEAD = "lm_head.weight"
TOLERANCE, LAYERS = 1e-6, 3  # of the largest logit: what rounding may do in so many layers
MISTRAL = {"sliding_window": 4096}  # a Mistral's default
# Buffers in older files: causal masks, and the speeds of angles.
BUFFERS = re.compile(r"\.attn\.(masked_)?bias$|rotary_emb\.inv_freq$")
SEED = 2019
MAX_CONFIG = 2**20  # bytes
logging.set_verbosity_error()  # its warnings are meant for its own users


def _show(value: Any) -> str:
    """Return a stranger's setting as a message may repeat it."""
    return one_line(repr(value), 80)


@dataclass(frozen=True)
class Model:
    """A model of transformers with its weights, and its tokenizer.

    sizes: the arguments of the steps' functions after `params`.
    """

    family: Family
    network: Any
    sizes: tuple[float, ...]
    words: Words

    @property
    def config(self) -> Any:
        """Return the configuration of transformers."""
        return self.network.config

    @property
    def tensors(self) -> dict[str, Array]:
        """Return the weights, by name without the prefix."""
        states = self.network.state_dict().items()
        return {_bare(self.network, name): tensor.numpy() for name, tensor in states}

    def params(self) -> dict[str, Any]:
        """Return the `params` of the steps."""
        return self.family.names.to_params(self.tensors, self.config.num_hidden_layers, np.float32)

    def tolerance(self, logits: Floats, n_layers: int) -> float:
        """Return how far right logits may be from this model's."""
        largest = max(1.0, float(np.abs(logits).max()))
        return (self.family.rounding or TOLERANCE * max(1.0, n_layers / LAYERS)) * largest

    def logits(self, ids: Sequence[int]) -> Floats:
        """Return the logits of the whole sequence in one pass: (T,) -> (T, V)."""
        return np.asarray(self.network(torch.tensor([ids])).logits[0])

    def stepwise(self, ids: Sequence[int]) -> Floats:
        """Return the logits token by token, through the cache."""
        rows, past = [], None
        for token in ids:
            out, past = self.go_on([token], past)
            rows.append(np.asarray(out.logits[0]))
        return np.concatenate(rows)

    def greedy(self, ids: Sequence[int], n_new: int) -> tuple[list[int], Floats]:
        """Return the most likely continuation, and the logits (n_new, V) of its tokens."""
        rows, past, new = [], None, list(ids)
        for _ in range(n_new):
            out, past = self.go_on(new, past)
            rows.append(np.asarray(out.logits[0, -1]))
            new = [int(rows[-1].argmax())]
        return [int(row.argmax()) for row in rows], np.stack(rows)

    def go_on(self, new: Sequence[int], past: Any) -> tuple[Any, Any]:
        """Return the output for new tokens after those in a cache, or None, and their cache."""
        has_cache = "cache" in inspect.signature(self.network.forward).parameters
        name = "cache" if has_cache else "past_key_values"  # by its version
        out = self.network(torch.tensor([new]), **{name: past}, use_cache=True)
        return out, out[name]


def read(file: Path, family: Family) -> Model:
    """Return the model with its weights in that file, and its config.json beside it."""
    path = file.with_name(CONFIG)
    if not path.is_file():
        raise Problem(
            f"there is no {CONFIG} beside {file}: it says how many heads there are, "
            "which the weights do not"
        )
    config, sizes = _read_config(path, family)
    tensors = _read_tensors(file)
    if config.num_hidden_layers > len(tensors):  # an empty model of so many may fill the memory
        raise Problem(
            f"{file} holds {len(tensors)} tensors, but config.json asks for "
            f"{config.num_hidden_layers} layers: get both again, or name another model"
        )
    try:
        network = _empty(family, config)
    except Exception as error:  # transformers has no type of its own for it
        raise Problem(_say_unusable(path, family)) from error
    words = read_tokenizer(file.parent, config.vocab_size)
    return _complete(family, network, tensors, sizes, words, str(file))


def _read_config(path: Path, family: Family) -> tuple[Any, tuple[float, ...]]:
    """Return the configuration and the sizes. Raise Problem if the steps compute another."""
    try:
        if path.stat().st_size > MAX_CONFIG:
            raise ValueError("too large")
        data = json.loads(path.read_text(encoding="utf-8"))
        kind = data.get("model_type")
    except (ValueError, AttributeError, RecursionError) as error:
        raise Problem(f"{path} cannot be read as JSON: get it again") from error
    if kind not in family.types:
        raise Problem(
            f"{path} describes a model of type {_show(kind)}, not {family.types[0]!r}: "
            f"name weights of a {family.title}"
        )
    try:
        config = getattr(transformers, family.classes[0]).from_dict(data)
        sizes = family.sizes(config)
    except Exception as error:  # transformers has no type of its own for it
        raise Problem(_say_unusable(path, family)) from error
    angles = getattr(config, "rope_parameters", None) or {}
    settings = {**(MISTRAL if kind == "mistral" else {}), **data, **angles}
    for name, known in family.known.items():
        value = settings.get(name)
        for one in value if isinstance(value, list) else [value]:
            if one is not None and one not in known:
                raise Problem(
                    f"{path} has {name} = {_show(one)}, which the steps do not compute: "
                    "name another model"
                )
    return config, sizes


def _say_unusable(path: Path, family: Family) -> str:
    return f"{path} describes no {family.title} that can be made: get it again, with the weights"


def _read_tensors(file: Path) -> dict[str, torch.Tensor]:
    """Return all floating-point tensors in a safetensors file, as float32."""
    try:
        found = load_file(os.fspath(file))
    except SafetensorError as error:
        raise Problem(
            f"{file} is not a whole safetensors file (an interrupted download?): get it again"
        ) from error
    floats = {name: tensor for name, tensor in found.items() if tensor.is_floating_point()}
    return {name: t.float() for name, t in floats.items() if not BUFFERS.search(name)}


def _empty(family: Family, config: Any) -> Any:
    """Return the model of transformers without numbers, which would only be thrown away."""
    with torch.device("meta"):
        return getattr(transformers, family.classes[1])(config)


def _bare(network: Any, name: str) -> str:
    """Return a tensor's name without the prefix that most of the network's have."""
    return name.removeprefix(f"{network.base_model_prefix}.")


def _complete(
    family: Family,
    network: Any,
    tensors: Mapping[str, torch.Tensor],
    sizes: tuple[float, ...],
    words: Words,
    where: str = "",
) -> Model:
    """Return the model after giving the network its tensors. Raise Problem unless all fit."""
    names = {_bare(network, name): name for name in network.state_dict()}
    found = {names.get(bare := _bare(network, name), bare): t for name, t in tensors.items()}
    embedding = found.get(names[family.names.embedding])
    tied = network.config.tie_word_embeddings or HEAD not in family.names.whole
    if (
        tied
        and embedding is not None
        and not torch.equal(found.setdefault(HEAD, embedding), embedding)
    ):
        raise Problem(
            f"{where} has an output head of its own, but it should be the embedding: "
            "name another model"
        )
    got, wanted = (
        {name: tuple(tensor.shape) for name, tensor in states.items()}
        for states in (found, network.state_dict())
    )
    for name in {**wanted, **got}:
        if got.get(name) != wanted.get(name):
            raise Problem(
                f"{where} does not fit its config.json: {name} is {got.get(name, 'absent')}, "
                f"expected {wanted.get(name, 'absent')}: get both again, or name another model"
            )
    torch.set_grad_enabled(False)
    torch.set_num_threads(1)  # as the worker has; and it need not be fast
    network.load_state_dict(found, assign=True)
    network.tie_weights()
    if angles := getattr(network.base_model, "rotary_emb", None):
        # The angles' speeds do not belong to the weights, so they are made anew.
        network.base_model.rotary_emb = type(angles)(network.config)
    return Model(family, network.eval(), sizes, words)


def make_tiny(family: Family, **sizes: object) -> Model:
    """Return a model with random weights, the same every time. sizes: instead of the tiny one's.

    The weights are larger than a fresh model's. Otherwise gelu would not bend, attention would not
    choose, and a wrong decoder would give nearly the same logits as a right one.
    """
    tokenizer, end = make_tokenizer()
    made = getattr(transformers, family.classes[0])(
        **{**family.tiny, **sizes}, bos_token_id=end, eos_token_id=end
    )
    random, network = np.random.RandomState(SEED), _empty(family, made)
    tensors = {
        name: _draw(_bare(network, name), tuple(tensor.shape), family, random)
        for name, tensor in network.state_dict().items()
        if name != HEAD or not made.tie_word_embeddings
    }
    words = Words(tokenizer, made.vocab_size)
    return _complete(family, network, tensors, family.sizes(made), words)


def _draw(
    name: str, shape: tuple[int, ...], family: Family, random: np.random.RandomState
) -> torch.Tensor:
    """Return gains around 1, biases around 0, and weights that keep the size of their input."""
    values = random.standard_normal(shape)
    if len(shape) == 1:
        values = 0.2 * values + name.endswith("weight")
    elif name in {family.names.embedding, "wpe.weight"}:  # small, so that eps shows in the norms
        values *= 0.2 / np.sqrt(shape[1])
    else:
        values /= np.sqrt(shape[1 if family.names.transposed else 0])
    return torch.tensor(values, dtype=torch.float32)
