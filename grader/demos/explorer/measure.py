"""Ask the learner's functions about the learner's words, and return the answers as plain data."""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from grader.demos.submission_worker import NotReady, explain_failure, worker_with
from grader.demos.weights import CHEAT, SMALL, load
from grader.demos.writer import load_writer, read_words
from grader.intake.submission import Submission
from grader.isolation import Host
from grader.isolation.client import CallFailed, Died, Program, Worker
from grader.isolation.survey import survey
from grader.isolation.worker.cells import is_notebook
from grader.steps.registry import Registry, Step

EXPLORING = Path(__file__).with_name("exploring.py")
# The functions that make the flow, and of each model those that each part stands on.
FLOW = (
    *("project_qkv", "attention_scores", "causal_mask", "apply_mask", "softmax"),
    *("attention_output", "attention", "masked_self_attention", "next_token_logits"),
    *("split_heads", "multi_head_attention", "layer_norm", "decoder_block", "decoder_logits"),
)
LAYER_PARTS = {
    "cache": ("new_cache", "attend_with_cache"),
    "backward": ("cross_entropy_backward", "linear_backward", "masked_self_attention_backward"),
}
DECODER_PARTS = {
    "cache": ("new_decoder_cache", "decoder_step"),
    "backward": (*LAYER_PARTS["backward"][:2], "layer_norm_backward", "decoder_block_backward"),
}
DECODER = {"multi_head_attention", "decoder_block", "decoder_logits"}  # without them, one layer
PARTS = (*LAYER_PARTS.values(), *DECODER_PARTS.values())
WATCHED = {*FLOW, *itertools.chain(*PARTS), "attention_backward"}
MOST_WORDS, LIKELIEST = 24, 8
MOST_FEATURES = 256
SQUARES = ("scores", "masked", "softmax", "weights")  # words by words
STILL = 1e-9  # a result that moves by less has not moved
Floats = NDArray[np.float64]
Item = TypeVar("Item")


@dataclass(frozen=True)
class ShownModel:
    """A model that the learner's functions run: its words, and two trainings of its params.

    prompt: what one sees first. The small models do not recall who has what: it asks for no facts.
    """

    name: str
    title: str
    words: tuple[str, ...]
    params: Any
    cheat: Any
    layers: int
    heads: int
    prompt: str
    parts: Mapping[str, tuple[str, ...]]


@cache
def load_models() -> dict[str, ShownModel]:
    """Return the kit's two models by their names."""
    (params, small), (cheat, _), writer = load(SMALL), load(SMALL, CHEAT), load_writer()
    layer = ShownModel(
        name="layer",
        title="one layer, one head (Part I)",
        words=writer.words,
        params=writer.with_mask,
        cheat=writer.without_mask,
        layers=1,
        heads=1,
        prompt="the owl has lost the coin . it is night at the house . the",
        parts=LAYER_PARTS,
    )
    decoder = ShownModel(
        name="decoder",
        title="the decoder (Part II)",
        words=small.words,
        params=params,
        cheat=cheat,
        layers=small.n_layers,
        heads=small.n_heads,
        prompt="the owl looks for the lamp . the fox has seen the",
        parts=DECODER_PARTS,
    )
    return {"layer": layer, "decoder": decoder}


def find_written(submission: Submission, homes: Mapping[str, Step]) -> set[str]:
    """Return which functions the submission has written. homes: the step of each."""
    return {
        name
        for name, step in homes.items()
        if (source := submission.sources.get(step.id)) is not None
        and survey(source).is_written(name, is_notebook(source))
    }


def explore(
    host: Host, registry: Registry, submission: Submission, asked: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the page's data for a question. Raise NotReady if the code cannot be run.

    asked: the model, the prompt, which layers are masked, and whether to take the weights of a
    model trained without a mask. unread: the problem is one of the words, not of the code.
    """
    for why in submission.refused.values():
        raise NotReady(why)
    homes = {name: step for name, step in registry.homes.items() if name in WATCHED}
    written = find_written(submission, homes)
    runnable = ["layer", "decoder"] if written >= DECODER else ["layer"]
    name, prompt, masked = asked.get("model"), asked.get("prompt"), asked.get("masked")
    model = load_models()[name if name in runnable else runnable[-1]]
    if not isinstance(masked, list) or len(masked) != model.layers:
        masked = [True] * model.layers
    text = model.prompt if prompt is None else str(prompt)
    try:
        words = read_words(text, model.words, MOST_WORDS)
    except NotReady as problem:
        return {"problem": problem.message, "unread": True, "model": model.name}
    exploring = (EXPLORING.read_text("utf-8"), "exploring.py")
    program = Program("exploring", {**submission.texts(), "exploring": exploring})
    data: dict[str, Any] = {
        "words": list(words),
        "model": model.name,
        "models": runnable,
        "steps": {name: step.number for name, step in homes.items()},
        "written": sorted(written),
    }
    with worker_with(host, program, "Your code") as worker:
        worker.call("begin", [{name: step.id for name, step in homes.items()}], {})
        params = model.cheat if asked.get("cheat") else model.params
        questions = _Questions(worker, model, params, words, [*map(bool, masked)])
        data |= questions.boxes()
        result = data.pop("result")
        for part, names in model.parts.items():
            lacking = [name for name in names if name not in written]
            try:
                if lacking:
                    step = homes.get(lacking[0])
                    where = f"step {step.number}" if step else "a step that this kit does not have"
                    raise NotReady(f"Write {lacking[0]} ({where}), and it appears here.")
                is_cache = part == "cache"
                data[part] = questions.cache(result) if is_cache else questions.backward()
            except NotReady as error:
                data[part] = {"problem": str(error)}
            except Died:
                data[part] = {"problem": "The process that runs your code ended before this."}
            except CallFailed as failure:
                data[part] = {"problem": str(explain_failure(failure, f"The {part}", program))}
    return data


class _Questions:
    """What a request asks a worker, and how its answers are read: typed, bounded, rounded."""

    def __init__(
        self,
        worker: Worker,
        model: ShownModel,
        params: Any,
        words: Sequence[str],
        masked: Sequence[bool],
    ) -> None:
        self.worker, self.model, self.params, self.masked = worker, model, params, masked
        self.tokens = np.array([model.words.index(word) for word in words], np.int64)

    def _ask(self, name: str, *more: Any) -> Mapping[str, Any]:
        """Return the named results of a call. Raise NotReady for anything else."""
        given = [self.model.name, self.tokens, self.params, self.model.heads, *more]
        answer = self.worker.call(name, given, {}).value
        if not isinstance(answer, Mapping):
            raise NotReady("The results of your functions are not arrays of numbers.")
        return answer

    def boxes(self) -> dict[str, Any]:
        """Return the arrays of all boxes, the next words, and what leaks."""
        model, t = self.model, len(self.tokens)
        answer = self._ask("look_into", self.masked, (self.tokens + 1) % len(model.words))
        if answer.get("layers") != model.layers:
            raise NotReady(
                "The page looks into your layers while decoder_logits calls decoder_block, once "
                f"for each of the {model.layers} blocks. Yours calls it {answer.get('layers')} "
                "times."
            )
        boxes = answer.get("boxes")
        boxes = boxes if isinstance(boxes, Mapping) else {}
        shapes: dict[str, tuple[int | None, ...]] = {"x": (model.layers, t, None)}
        shapes |= dict.fromkeys(("q", "k", "v", "output"), (model.layers, model.heads, t, None))
        shapes |= dict.fromkeys(SQUARES, (model.layers, model.heads, t, t))
        drawn = {name: _drawn(boxes, name, shape) for name, shape in shapes.items()}
        result = self._result(answer.get("result"), answer.get("moved"))
        return {"called": _list(answer.get("called"), str), **drawn, **result}

    def _result(self, result: Any, moved: Any) -> dict[str, Any]:
        t, size = len(self.tokens), len(self.model.words)
        data: dict[str, Any] = {"result": None, "next": None, "loss": None, "moved": None}
        if isinstance(moved, np.ndarray):
            moved = _array(moved, (t, t), "what moves")
            leaks = np.argwhere(np.triu(np.abs(moved) > STILL, 1)).tolist()
            data |= {"moved": _rounded(moved), "leaks": leaks}
        if isinstance(result, np.ndarray) and result.shape == (t, size):
            logits = _array(result, (t, size), "the logits")
            with np.errstate(all="ignore"):
                powers = np.exp(logits - np.max(logits, axis=-1, keepdims=True))
                chances = powers / powers.sum(axis=-1, keepdims=True)
                losses = -np.log(chances[np.arange(t - 1), self.tokens[1:]])
            data |= {"result": result, "loss": _plain(float(losses.mean())) if t > 1 else None}
            best = np.argsort(-chances, axis=-1)[:, :LIKELIEST]
            data["next"] = [
                [[self.model.words[word], _plain(row[word])] for word in places]
                for row, places in zip(chances, best)
            ]
        return data

    def cache(self, result: Floats | None) -> dict[str, Any]:
        """Return how the cache fills, word by word. result: the logits without a cache."""
        model, t = self.model, len(self.tokens)
        answer = self._ask("fill_cache", model.layers)
        logits = answer.get("logits")
        if not isinstance(logits, np.ndarray) or logits.shape != (t, len(model.words)):
            raise NotReady("What your cache returns has another shape than one token's row.")
        apart = None if result is None else _rounded(np.max(np.abs(logits - result), axis=-1))
        counts = {name: _list(answer.get(name), int) for name in ("held", "rows")}
        shape = (model.layers, model.heads, None, None)
        return {"apart": apart, **counts, **{name: _drawn(answer, name, shape) for name in "kv"}}

    def backward(self) -> dict[str, Any]:
        """Return how large the gradients are that a loss at each position sends back."""
        model, t, answer = self.model, len(self.tokens), self._ask("go_back", self.masked)
        sizes = {name: _drawn(answer, name, (t, model.layers, model.heads, t)) for name in "qkv"}
        return {"x": _drawn(answer, "x", (t, model.layers, t)), **sizes}


def _drawn(answer: Mapping[str, Any], name: str, shape: tuple[int | None, ...]) -> Any:
    """Return the numbers of an array that may be missing."""
    array = answer.get(name)
    return None if array is None else _rounded(_array(array, shape, name))


def _list(found: Any, kind: type[Item]) -> list[Item]:
    """Return what a list has of that type."""
    return [one for one in found if isinstance(one, kind)] if isinstance(found, list) else []


def _array(array: Any, shape: tuple[int | None, ...], name: str) -> Floats:
    """Return an array of numbers of this shape. None stands for any length up to MOST_FEATURES."""
    got = array.shape if isinstance(array, np.ndarray) and array.dtype.kind == "f" else ()
    fits = (n <= MOST_FEATURES if wanted is None else n == wanted for wanted, n in zip(shape, got))
    if len(got) != len(shape) or not all(fits):
        raise NotReady(f"The page cannot draw {name}: its shape is {got}.")
    return np.asarray(array)


def _plain(value: float) -> float | str:
    """Return a number for JSON, which has neither NaN nor infinity: their names stand for them."""
    if math.isfinite(value):
        return float(f"{value:.7g}")
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _rounded(array: Floats) -> Any:
    return [_rounded(part) for part in array] if array.ndim else _plain(float(array))
