"""Ask the learner's decoder about the learner's words, and return its answers as plain data."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.demos.gpt2.small import Small
from grader.demos.submission_worker import NotReady, step_of, worker_with
from grader.demos.training.run import modules
from grader.intake.submission import Submission
from grader.isolation import Host
from grader.isolation.client import CallFailed, Program, Worker
from grader.steps.registry import Registry

EXPLORING = Path(__file__).with_name("exploring.py")
FUNCTIONS = (
    *("softmax", "attention", "decoder_block", "decoder_logits"),
    *("new_decoder_cache", "decoder_step", "decoder_generate"),
)
NEEDED = 13  # the last step that the explorer asks
MOST_WORDS, NEW_WORDS, LIKELIEST = 24, 8, 8
STILL = 1e-9  # a logit that moves by less has not moved
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Request:
    """A request: the words, which layers have their mask, and which trained weights."""

    words: tuple[str, ...]
    masked: tuple[bool, ...]
    cheat: bool = False


def read_words(text: str, small: Small) -> tuple[str, ...]:
    """Read the words of a prompt. Raise NotReady for none, too many, or an unknown one."""
    words = tuple(text.lower().replace(".", " . ").replace("?", " ? ").split())
    if not words:
        raise NotReady("Type at least one word.")
    if len(words) > MOST_WORDS:
        raise NotReady(f"You typed {len(words)} words: type at most {MOST_WORDS}.")
    unknown = [word for word in words if word not in small.words]
    if unknown:
        raise NotReady(f"The model has never seen {unknown[0][:40]!r}: choose from the list.")
    return words


def explore(
    host: Host, registry: Registry, submission: Submission, small: Small, request: Request
) -> dict[str, Any]:
    """Return the page's data for a request. Raise NotReady if the code cannot be run."""
    homes = {name: step_of(registry, name) for name in FUNCTIONS}
    own, missing = modules(registry, submission)
    text = (EXPLORING.read_text("utf-8"), "exploring.py")
    tokens = np.array([small.words.index(word) for word in request.words], np.int64)
    params = small.cheat if request.cheat else small.params
    program = Program("exploring", {**own, "exploring": text})

    @contextlib.contextmanager
    def begin(what: str) -> Iterator[Worker]:
        with worker_with(host, program, what) as worker:
            worker.call("begin", [{name: step.id for name, step in homes.items()}], {})
            yield worker

    numbers = {step.id: step.number for step in registry.steps}
    lent = [numbers[name] for name in missing if numbers[name] <= NEEDED]
    data: dict[str, Any] = {"words": list(request.words), "lent": lent}
    parts: dict[str, Callable[[Worker], dict[str, Any]]] = {
        "cache": lambda worker: _ask_cache(worker, tokens, params, small, data),
        "written": lambda worker: _ask_writing(worker, tokens, params, small),
    }
    with begin("Your decoder") as worker:
        data |= _ask_layers(worker, tokens, params, small, request.masked)
        with contextlib.suppress(CallFailed, NotReady):  # asked again below, to say why
            for part, ask in parts.items():
                data[part] = ask(worker)
    # A part that cannot run yet gets a worker of its own, and takes nothing from the others.
    for part, ask in parts.items():
        if part not in data:
            try:
                with begin(f"The {part}") as worker:
                    data[part] = ask(worker)
            except NotReady as error:
                data[part] = {"problem": str(error)}
    del data["logits"]
    return data


def _ask_layers(
    worker: Worker, tokens: Any, params: Any, small: Small, masked: Sequence[bool]
) -> dict[str, Any]:
    t, size = len(tokens), len(small.words)
    other = (tokens + 1) % size
    arguments = [tokens, other, params, small.config.n_heads, list(masked)]
    answer = worker.call("look_into", arguments, {}).value
    if not isinstance(answer, Mapping):
        raise NotReady("The decoder's results are not arrays of numbers.")
    if answer.get("layers") != len(masked):
        raise NotReady(
            "The page looks into your layers while decoder_logits calls decoder_block, once for "
            f"each of the {len(masked)} blocks. Yours calls it {answer.get('layers')} times."
        )
    if answer.get("weights") is None:
        raise NotReady(
            "The page shows the weights that your attention makes, or your softmax. "
            "Your multi_head_attention calls neither of them for every head."
        )
    layers = (len(masked), small.config.n_heads, t, t)
    weights = _shaped(answer["weights"], layers, "attention")
    logits = _shaped(answer.get("logits"), (t, size), "decoder_logits")
    moved = _shaped(answer.get("moved"), (t, t), "decoder_logits")
    chances = _softmax(logits)
    return {
        "weights": _rounded(weights),
        "logits": logits,
        "next": [_likeliest(row, small.words) for row in chances],
        "moved": _rounded(moved),
        "leaks": [
            [i, j] for i in range(t) for j in range(i + 1, t) if not abs(moved[i, j]) <= STILL
        ],
        "loss": _loss(chances, tokens),
    }


def _ask_cache(
    worker: Worker, tokens: Any, params: Any, small: Small, found: Mapping[str, Any]
) -> dict[str, Any]:
    match worker.call("fill_cache", [tokens, params, small.config.n_heads], {}).value:
        case [list(held), np.ndarray() as logits] if logits.shape == found["logits"].shape:
            apart = np.max(np.abs(logits - found["logits"]), axis=-1)
            return {"held": [int(count) for count in held], "apart": _rounded(apart)}
    raise NotReady("decoder_step does not return logits of the right shape.")


def _ask_writing(worker: Worker, tokens: Any, params: Any, small: Small) -> dict[str, Any]:
    count = min(NEW_WORDS, small.config.t_max - len(tokens))
    answer = np.asarray(
        worker.call("write_on", [tokens, count, params, small.config.n_heads], {}).value
    )
    if answer.dtype.kind not in "iu" or answer.ndim != 1:
        raise NotReady("decoder_generate does not return a row of tokens.")
    new = answer[-count:]
    return {"words": [small.words[int(n)] if 0 <= n < len(small.words) else "?" for n in new]}


def _shaped(array: Any, shape: tuple[int, ...], name: str) -> Floats:
    if not isinstance(array, np.ndarray) or array.shape != shape or array.dtype.kind != "f":
        got = getattr(array, "shape", None)
        raise NotReady(f"{name} returns shape {got}, which does not fit {shape}.")
    return array


def _softmax(logits: Floats) -> Floats:
    with np.errstate(all="ignore"):
        powers = np.exp(logits - np.max(logits, axis=-1, keepdims=True))
        return np.asarray(powers / powers.sum(axis=-1, keepdims=True))


def _likeliest(chances: Floats, words: Sequence[str]) -> list[list[Any]]:
    best = np.argsort(-chances)[:LIKELIEST]
    return [[words[place], _plain(chances[place])] for place in best]


def _loss(chances: Floats, tokens: Any) -> float | None:
    """Return the mean loss of predicting each word from those before; None for one word."""
    if len(tokens) < 2:
        return None
    right = chances[np.arange(len(tokens) - 1), tokens[1:]]
    with np.errstate(all="ignore"):
        return _plain(float(-np.log(right).mean()))


def _plain(value: Any) -> float | None:
    """Return a number for JSON, which has neither NaN nor infinity."""
    return float(f"{value:.4g}") if math.isfinite(value) else None


def _rounded(array: Floats) -> Any:
    return [_rounded(part) for part in array] if array.ndim else _plain(float(array))
