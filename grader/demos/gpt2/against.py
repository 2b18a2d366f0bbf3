"""Read a published model with transformers, and compare the steps' decoder with it.

Besides the reference, only this module imports torch. transformers reads the tensors by their
published names, so a slip in the translation to the steps' names is seen.
"""

import itertools
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.torch import load_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from tokenizers.decoders import DecodeStream
from transformers.utils import logging

from grader.demos.gpt2.family import Array, Family
from grader.demos.gpt2.running import Floats, OwnDecoder
from grader.demos.submission_worker import NotReady
from grader.demos.weights import CONFIG, TOKENIZER
from grader.report.problem import Problem
from grader.report.sanitize import one_line

HEAD = "lm_head.weight"
TOLERANCE, LAYERS = 1e-6, 3  # of the largest logit: what rounding may do in so many layers
# Buffers in older files: causal masks, and the speeds of angles.
BUFFERS = re.compile(r"\.attn\.(masked_)?bias$|rotary_emb\.inv_freq$")
SEED = 2019
MAX_CONFIG = 2**20  # bytes
GREEDY = 12  # tokens
PROMPT = "A model that writes reads from left to right. At every place it asks"
END = "<|endoftext|>"
COMMON = "etaoinshrdlucmfw"  # letters
VOCABULARY = 512
SLOW = (
    "The logits are float64 though the weights are float32: somewhere a float64 number or array "
    "makes float64 of the rest, as np.sqrt(2.0) and angles do and 2.0**0.5 does not. From there "
    "on NumPy makes a float64 copy of every weight in every call, which is many times slower."
)
logging.set_verbosity_error()  # its warnings are meant for its own users


@dataclass(frozen=True)
class Model:
    """A model of transformers with its weights, by names without the prefix, and its tokenizer.

    sizes: the arguments of the steps' functions after `params`.
    """

    family: Family
    network: Any
    tensors: Mapping[str, Array]
    sizes: tuple[float, ...]
    tokenizer: Tokenizer

    def params(self) -> dict[str, Any]:
        """Return the `params` of the steps."""
        n_layers = self.network.config.num_hidden_layers
        return self.family.to_params(self.tensors, n_layers, np.float32)

    def tolerance(self, logits: Floats) -> float:
        """Return how far right logits may be from this model's."""
        largest, deep = max(1.0, float(np.abs(logits).max())), self.network.config.num_hidden_layers
        return (self.family.rounding or TOLERANCE * max(1.0, deep / LAYERS)) * largest

    def logits(self, ids: Sequence[int]) -> Floats:
        """Return the logits of the whole sequence in one pass: (T,) -> (T, V)."""
        return np.asarray(self.network(torch.tensor([ids])).logits[0])

    def begin(self) -> str:
        """Return a text to continue: a single token, if the model was taught no such words."""
        try:
            if self.blank is None and self.ids(PROMPT):
                return PROMPT
        except Problem:
            pass
        return next(filter(str.isalpha, self.list_words()), self.list_words()[0])

    def ids(self, text: str) -> list[int]:
        """Return the text's tokens. Raise Problem for a token without an embedding."""
        try:
            found: list[int] = self.tokenizer.encode(text).ids
        except Exception as error:  # the library has no type of its own for it
            raise Problem(
                "the prompt has a character that the model was never taught: leave it out"
            ) from error
        vocabulary = self.network.config.vocab_size
        if any(number >= vocabulary for number in found):
            raise Problem(
                f"the tokenizer makes ids that the model's {vocabulary:,} embeddings have not:"
                " tokenizer and weights must belong together"
            )
        return found

    @property
    def blank(self) -> str | None:
        """Return the token that stands for a word that the model does not know, if there is one."""
        token = getattr(self.tokenizer.model, "unk_token", None)
        return token if token and self.tokenizer.token_to_id(token) is not None else None

    def list_unknown(self, text: str) -> list[str]:
        """Return the words of the text that the model does not know, each once."""
        if self.blank is None:
            return []
        read = self.tokenizer.encode(text)
        found = [text[slice(*place)] for place in read.offsets]
        pairs = zip(found, read.tokens, strict=True)
        return list(dict.fromkeys(w for w, token in pairs if token == self.blank != w))

    def list_words(self) -> list[str]:
        """Return every token of the vocabulary, in order."""
        return sorted(self.tokenizer.get_vocab())

    def stream(self) -> Callable[[int], str]:
        """Return a function that turns the ids of one sequence into text, one by one.

        A character can be spread over several tokens: then it comes with the last of them.
        """
        stream = DecodeStream(skip_special_tokens=True)

        def add(token: int) -> str:
            if self.tokenizer.id_to_token(token) is None:
                return f"<{token}>"  # an embedding that the tokenizer has no word for
            return stream.step(self.tokenizer, token) or ""

        return add


def read(file: Path, family: Family) -> Model:
    """Return the model with its weights in that file, and its config.json beside it."""
    settings = _read_settings(file, family)
    try:
        found = load_file(os.fspath(file))
    except SafetensorError as error:
        raise Problem(
            f"{file} is not a whole safetensors file (an interrupted download?): get it again"
        ) from error
    floats = {name: tensor for name, tensor in found.items() if tensor.is_floating_point()}
    tensors = {name: t.float() for name, t in floats.items() if not BUFFERS.search(name)}
    network = _configure(file, settings, family, len(tensors))
    words = file.with_name(TOKENIZER)
    if not words.is_file():
        raise Problem(f"there is no {TOKENIZER} in {file.parent}: get it, with the weights")
    try:
        tokenizer = Tokenizer.from_file(str(words))
    except Exception as error:  # the library has no type of its own for it
        raise Problem(f"{words} is not a tokenizer: get it again") from error
    return _complete(family, network, tensors, tokenizer, str(file))


def _read_settings(file: Path, family: Family) -> dict[str, Any]:
    """Return what the config.json beside the weights says, if it is of that family."""
    path = file.with_name(CONFIG)
    if not path.is_file():
        raise Problem(
            f"there is no {CONFIG} beside {file}: it says how many heads there are, "
            "which the weights do not"
        )
    try:
        if path.stat().st_size > MAX_CONFIG:
            raise ValueError("too large")
        settings: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        kind = settings.get("model_type")
    except (ValueError, AttributeError, RecursionError) as error:
        raise Problem(f"{path} cannot be read as JSON: get it again") from error
    if kind != family.kind:
        raise Problem(
            f"{path} describes a model of type {one_line(repr(kind), 80)}, "
            f"not {family.kind!r}: name weights of a {family.title}"
        )
    return settings


def _configure(file: Path, settings: dict[str, Any], family: Family, n_tensors: int) -> Any:
    """Return the network without numbers. Raise Problem if the steps compute another."""
    path = file.with_name(CONFIG)
    try:
        config = getattr(transformers, family.network).config_class.from_dict(settings)
        config._attn_implementation = "sdpa"  # it could name code on the hub
        family.sizes(config)
        every = {**settings, **(getattr(config, "rope_parameters", None) or {})}
        for name, known in family.known.items():
            value = every.get(name)
            for one in value if isinstance(value, list) else [value]:
                if one is not None and one not in known:
                    raise Problem(
                        f"{path} has {name} = {one_line(repr(one), 80)}, "
                        "which the steps do not compute: name another model"
                    )
        if config.num_hidden_layers > n_tensors:  # an empty model of so many may fill the memory
            raise Problem(
                f"{file} holds {n_tensors} tensors, but {CONFIG} asks for "
                f"{config.num_hidden_layers} layers: get both again, or name another model"
            )
        return _empty(family, config)
    except Problem:
        raise
    except Exception as error:  # transformers has no type of its own for it
        raise Problem(
            f"{path} describes no {family.title} that can be made: get it again, with the weights"
        ) from error


def _empty(family: Family, config: Any) -> Any:
    """Return the model of transformers without numbers, which would only be thrown away."""
    with torch.device("meta"):
        return getattr(transformers, family.network)(config)


def _complete(
    family: Family,
    network: Any,
    tensors: Mapping[str, torch.Tensor],
    tokenizer: Tokenizer,
    where: str = "",
) -> Model:
    """Return the model after giving the network its tensors. Raise Problem unless all fit."""
    prefix = f"{network.base_model_prefix}."  # which most tensors have, and a file may leave out
    found = {name.removeprefix(prefix): tensor for name, tensor in tensors.items()}
    empty = network.state_dict()
    wanted = {name.removeprefix(prefix): name for name in empty}
    embedding = found.get(family.embedding)
    tied = network.config.tie_word_embeddings or HEAD not in family.whole
    if (
        tied
        and embedding is not None
        and not torch.equal(found.setdefault(HEAD, embedding), embedding)
    ):
        raise Problem(
            f"{where} has an output head of its own, but it should be the embedding: "
            "name another model"
        )
    got = {name: tuple(tensor.shape) for name, tensor in found.items()}
    sizes = {name: tuple(empty[full].shape) for name, full in wanted.items()}
    for name in {**sizes, **got}:
        if got.get(name) != sizes.get(name):
            raise Problem(
                f"{where} does not fit its config.json: {name} is {got.get(name, 'absent')}, "
                f"expected {sizes.get(name, 'absent')}: get both again, or name another model"
            )
    torch.set_grad_enabled(False)
    torch.set_num_threads(1)  # as the worker has; and it need not be fast
    network.load_state_dict({wanted[name]: tensor for name, tensor in found.items()}, assign=True)
    network.tie_weights()
    if angles := getattr(network.base_model, "rotary_emb", None):
        # The angles' speeds do not belong to the weights, so they are made anew.
        network.base_model.rotary_emb = type(angles)(network.config)
    arrays = {name: tensor.numpy() for name, tensor in found.items()}
    return Model(family, network.eval(), arrays, family.sizes(network.config), tokenizer)


def make_tokenizer() -> tuple[Tokenizer, int]:
    """Return a tokenizer of bytes and pairs of letters, and the id that ends a text."""
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    pairs = list(itertools.product(COMMON, COMMON))[: VOCABULARY - len(letters) - 1]
    tokens = [END, *letters, *map("".join, pairs)]
    numbers = {token: number for number, token in enumerate(tokens)}
    tokenizer = Tokenizer(models.BPE(numbers, pairs))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([END])
    return tokenizer, numbers[END]


def make_tiny(family: Family, **sizes: object) -> Model:
    """Return a model with random weights, the same every time. sizes: instead of the tiny one's.

    The weights are larger than a fresh model's. Otherwise gelu would not bend, attention would not
    choose, and a wrong decoder would give nearly the same logits as a right one.
    """
    tokenizer, end = make_tokenizer()
    config = getattr(transformers, family.network).config_class(
        **{**family.tiny, **sizes}, bos_token_id=end, eos_token_id=end
    )
    random, network, tensors = np.random.RandomState(SEED), _empty(family, config), {}
    for name, tensor in network.state_dict().items():
        shape = tuple(tensor.shape)
        values = random.standard_normal(shape)
        if len(shape) == 1:  # a gain around 1, or a bias around 0
            values = 0.2 * values + name.endswith("weight")
        elif name.endswith((family.embedding, "wpe.weight")):  # small, so that eps shows in norms
            values *= 0.2 / np.sqrt(shape[1])
        else:  # of a size that keeps that of the input
            values /= np.sqrt(shape[1 if family.transposed else 0])
        if name != HEAD or not config.tie_word_embeddings:
            tensors[name] = torch.tensor(values, dtype=torch.float32)
    return _complete(family, network, tensors, tokenizer)


@dataclass(frozen=True)
class Comparison:
    """The result of one comparison. note: a further observation."""

    ok: bool
    said: str
    note: str = ""


def findings(
    decoder: OwnDecoder, model: Model, ids: Sequence[int], room: int
) -> Iterator[tuple[str, Comparison]]:
    """Yield the comparisons one by one; room: how many tokens may follow these."""
    expected = model.logits(ids)
    allowed = model.tolerance(expected)
    ways: dict[str, Callable[[], Comparison]] = {
        decoder.get_logits: lambda: _compare_logits(decoder.logits(ids), expected, allowed),
        f"{decoder.get_step}, token by token": lambda: _compare_logits(
            decoder.stepwise(ids), expected, allowed
        ),
    }
    if room:
        ways[f"{decoder.get_step}, writing"] = lambda: _compare_tokens(
            model, ids, decoder.greedy(ids, min(room, GREEDY)), allowed
        )
    for what, compare in ways.items():
        try:
            yield what, compare()
        except NotReady as failure:
            yield what, Comparison(False, str(failure))


def _compare_logits(got: Floats, expected: Floats, allowed: float) -> Comparison:
    """Compare logits (T, V) with the expected ones."""
    apart = np.abs(got.astype(np.float64) - expected).max(axis=-1)
    wrong = ~(apart <= allowed)  # NaN is wrong
    if wrong.any():
        return Comparison(False, _difference(apart, wrong, float(np.abs(expected).max())))
    positions = "1 position" if len(apart) == 1 else f"{len(apart)} positions"
    note = SLOW if got.dtype.itemsize > expected.itemsize else ""
    return Comparison(True, f"agrees at {positions}, at most {apart.max():.1e} apart", note)


def _difference(apart: Floats, wrong: NDArray[np.bool_], scale: float) -> str:
    if np.isnan(apart).any():
        return f"is NaN from position {int(np.isnan(apart).argmax())} on"
    first, count = int(wrong.argmax()), int(wrong.sum())
    where = "at every position"
    if count < len(wrong):
        where = f"at {count} of {len(wrong)} positions, first at {first}"
    hint = ""
    if first == 0 and not wrong[-1]:
        hint = "; the last is right, so an earlier one may see what comes after it"
    elif first > 0 and wrong[first:].all():
        hint = ", and at all after it"
    return f"differs by up to {apart.max():.2g} (the largest logit is {scale:.2g}) {where}{hint}"


def _compare_tokens(
    model: Model, ids: Sequence[int], text: list[int], allowed: float
) -> Comparison:
    """Compare a greedy text with the most likely tokens; of two nearly equal ones accept either."""
    rows = model.logits([*ids, *text[:-1]])[len(ids) - 1 :]
    for place, (row, token) in enumerate(zip(rows, text, strict=True)):
        if token != row.argmax():
            if row.max() - row[token] <= 2 * allowed:
                return Comparison(True, f"agrees, the same {place} tokens and then a tie")
            return Comparison(False, f"differs, another token {place + 1} than transformers'")
    return Comparison(True, f"agrees, the same {len(text)} tokens")
