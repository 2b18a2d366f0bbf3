"""Take anybody's model as a function from one array to another, which has a time axis."""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.checks.laws.cases import Case
from grader.checks.tolerances import Tolerance
from grader.steps.inputs import Arguments, Draw

# How far equal results may be apart, relative to the largest number of the result.
RTOL = {"float64": 1e-9, "float32": 1e-5, "float16": 1e-2, "bfloat16": 5e-2}
OTHER_SHAPES = 10  # Sums over arrays of other shapes are rounded otherwise.
MAX_ROWS = 64  # sequences in one call
Array = NDArray[Any]


def name_of(model: object) -> str:
    """Return the name of a function, or of a model's class."""
    name = getattr(model, "__name__", type(model).__name__)
    return "the model" if name == "<lambda>" else str(name)


@contextmanager
def evaluated(model: object, *, gradients: bool = False) -> Iterator[None]:
    """Put a module of torch into eval mode for the block, by default without gradients."""
    torch = sys.modules.get("torch")
    if torch is None:
        yield
        return
    parts = list(model.modules()) if isinstance(model, torch.nn.Module) else []
    modes = [part.training for part in parts]
    for part in parts:
        part.training = False
    try:
        with torch.set_grad_enabled(gradients):
            yield
    finally:
        for part, mode in zip(parts, modes, strict=True):
            part.training = mode


def to_array(value: Any) -> tuple[Array, str]:
    """Return numbers of NumPy, torch, JAX or MLX as an array, and the name of their dtype.

    Raise TypeError if it is something else.
    """
    dtype = str(getattr(value, "dtype", "")).rpartition(".")[2]
    if hasattr(value, "detach"):
        value = value.detach().cpu()
        value = value.float() if dtype == "bfloat16" else value
    array = np.asarray(value)
    if dtype == "bfloat16":
        array = array.astype(np.float32)
    if array.dtype.kind not in "biuf":
        raise TypeError(f"{array.dtype} is not a type of numbers")
    return array, dtype or str(array.dtype)


def _maker(model: object, tokens: Any) -> Callable[[Array], Any]:
    """Return what turns an array into the kind of array that the model takes."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(tokens, torch.Tensor):
        return lambda array: torch.as_tensor(array, dtype=tokens.dtype, device=tokens.device)
    if torch is not None and isinstance(model, torch.nn.Module):
        own = next(model.parameters(), torch.zeros(()))

        def make(array: Array) -> Any:
            dtype = own.dtype if array.dtype.kind == "f" else torch.int64
            return torch.as_tensor(array, dtype=dtype, device=own.device)

        return make
    if isinstance(tokens, (np.ndarray, list, tuple)):
        return lambda array: array
    return lambda array: _of_library(tokens, array)


def _of_library(tokens: Any, array: Array) -> Any:
    """Return the array as one of the library that `tokens` comes from: JAX, MLX and others."""
    if hasattr(tokens, "__array_namespace__"):
        return tokens.__array_namespace__().asarray(array, dtype=tokens.dtype)
    return type(tokens)(array)


class Seeded(Case):
    """A case whose random numbers depend on its seed alone."""

    def draw(self, salt: object) -> Draw:
        return Draw(salt, self.chance)


@dataclass
class ArrayModel:
    """A model and the array that it is asked about, as the laws take them.

    key: the name of that array in messages, `tokens` for ids and `x` for vectors. axis: time in the
    result. answer: the result for the array. dtype: of the result. batches: whether several
    questions may be asked in one call. The rest: see `grader.testing.assertions`.
    """

    call: Callable[[Any], Any]
    make: Callable[[Array], Any]
    given: Array
    key: str
    axis: int
    rtol: float | None
    atol: float
    seed: int
    vocab_size: int | None
    dtype: str = "float64"
    batches: bool = False
    answer: Array = field(init=False)

    @property
    def name(self) -> str:
        """Return its name for messages."""
        return name_of(self.call)

    @property
    def along(self) -> dict[str, int]:
        """Return which axis of the array is time."""
        return {self.key: -1 if self.key == "tokens" else -2}

    @property
    def length(self) -> int:
        """Return how many positions there are."""
        return int(self.given.shape[self.along[self.key]])

    @property
    def is_batch(self) -> bool:
        """Return whether the array is a batch of sequences."""
        return self.given.ndim == (2 if self.key == "tokens" else 3)

    @property
    def time(self) -> int:
        """Return which axis of the result is time, counted from the first."""
        return self.axis % self.answer.ndim

    def __call__(self, **arguments: Array) -> Array:
        return self.ask(arguments[self.key])

    def ask(self, array: Array) -> Array:
        """Return the answer as an array. Raise AssertionError, in a sentence, if it is not."""
        question = self.make(array.copy())
        answer, self.dtype = _numbers(self.name, self.call(question))
        if not np.array_equal(to_array(question)[0], to_array(self.make(array))[0]):
            raise AssertionError(f"{self.name} changes its argument: let it work on a copy.")
        return answer

    def all(self, questions: Iterable[Arguments]) -> Iterator[Array]:
        """Return the answers to these questions, in turn; in batches if the model takes them."""
        arrays = [question[self.key] for question in questions]
        many = MAX_ROWS // max(1, len(arrays[0])) if self.batches else 1
        while arrays:
            some, arrays = _take_alike(arrays, max(1, many))
            if len(some) == 1:
                yield self.ask(some[0])
            else:
                yield from np.split(self.ask(np.concatenate(some)), len(some))

    def allowed(self, answer: Array | None = None, *, other_shapes: bool = False) -> float:
        """Return how far two results like this one may be apart, by default like its answer."""
        answer = self.answer if answer is None else answer
        rtol = self.rtol
        if rtol is None:
            rtol = RTOL.get(self.dtype, 0.0) * (OTHER_SHAPES if other_shapes else 1)
        finite = np.abs(answer[np.isfinite(answer)].astype(float))
        return self.atol + rtol * float(finite.max(initial=0.0))

    def case(self, *, other_shapes: bool = False) -> Case:
        """Return the array as a case of a law. Raise ValueError if ids cannot be replaced."""
        vocabulary = 0
        if self.key == "tokens":
            vocabulary = self.vocab_size or int(self.given.max()) + 1
            if vocabulary < 2 or self.given.min() < 0 or self.given.max() >= vocabulary:
                raise ValueError(
                    "These ids cannot be replaced by others: use ids from 0, more than one of "
                    "them, or pass `vocab_size=`."
                )
        return Seeded(
            {self.key: self.given},
            {"vocabulary": vocabulary},
            _no_reference,
            precision=Tolerance(0.0, self.allowed(other_shapes=other_shapes)),
            chance=("testing", self.seed),
        )


def _take_alike(arrays: Sequence[Array], most: int) -> tuple[list[Array], list[Array]]:
    """Return the first arrays, all of one shape and at most so many, and the rest."""
    number = 1
    while number < min(most, len(arrays)) and arrays[number].shape == arrays[0].shape:
        number += 1
    return list(arrays[:number]), list(arrays[number:])


def pick_output(value: Any) -> Any:
    """Return the part of what a model of transformers returns that is looked at: its logits."""
    for part in ("logits", "last_hidden_state"):
        value = getattr(value, part, value)
    return value


def _numbers(name: str, value: Any) -> tuple[Array, str]:
    """Return what a model returned as an array, and its dtype; of transformers' the logits."""
    __tracebackhide__ = True
    value = pick_output(value)
    if not isinstance(value, (tuple, list, dict, str, bytes, type(None))):
        try:
            return to_array(value)
        except (TypeError, ValueError, RuntimeError):
            pass
    kind = type(value).__name__
    number = f" of {len(value)}" if isinstance(value, (tuple, list, dict)) else ""
    raise AssertionError(
        f"{name} returned a {kind}{number}; expected one array of numbers with a time axis. "
        "Pass a function that returns it, such as `lambda tokens: model(tokens)[0]`."
    )


def read(
    model: Callable[[Any], Any],
    tokens: Any,
    axis: int,
    rtol: float | None,
    atol: float,
    seed: int = 0,
    vocab_size: int | None = None,
) -> ArrayModel:
    """Return the model, ready to be asked, with its answer to these tokens.

    Raise ValueError if the tokens are not an array with a time axis. Raise AssertionError if the
    model returns no array, NaN, or something else when it is asked again.
    """
    __tracebackhide__ = True
    try:
        given, _ = to_array(tokens)
    except (TypeError, ValueError, RuntimeError):
        raise ValueError("tokens should be an array of token ids or of vectors.") from None
    key = "tokens" if given.dtype.kind in "iu" else "x"
    if given.dtype.kind == "b" or given.ndim < (1 if key == "tokens" else 2):
        raise ValueError(
            "tokens should be whole numbers of shape (..., T), or vectors of shape (..., T, d)."
        )
    make = _maker(model, tokens)
    asked = ArrayModel(model, make, given, key, axis, rtol, atol, seed, vocab_size)
    if asked.length < 2 or not given.size:
        raise ValueError(f"tokens should have at least 2 positions; these have {asked.length}.")
    asked.answer = asked.ask(given)
    _check_repeatable(asked)
    _check_time(asked)
    return asked


def _check_repeatable(model: ArrayModel) -> None:
    """Raise AssertionError if a result is not finite, or another one when it is asked again."""
    __tracebackhide__ = True
    answer = model.answer
    bad = ~np.isfinite(answer.astype(float))
    if bad.any():
        what = "NaN" if np.isnan(answer.astype(float)).any() else "infinite"
        place = tuple(int(i) for i in np.argwhere(bad)[0])
        raise AssertionError(
            f"{np.count_nonzero(bad)} of {bad.size} numbers that {model.name} returns are "
            f"{what}, the first at {place}: no law about them can be tested."
        )
    again = model.ask(model.given)
    if again.shape != answer.shape:
        raise AssertionError(
            f"{model.name} returned the shape {answer.shape}, and {again.shape} for the same "
            "array asked again: does it keep something between calls, such as a cache?"
        )
    far = float(np.abs(again.astype(float) - answer.astype(float)).max(initial=0.0))
    if not far <= model.allowed():
        raise AssertionError(
            f"{model.name} returns something else when it is asked the same again (it differs by "
            f"{far:.3g}): is dropout left on, or does it keep something between calls?"
        )


def _check_time(model: ArrayModel) -> None:
    """Raise AssertionError if the result has no time axis of the right length."""
    __tracebackhide__ = True
    answer = model.answer
    if answer.ndim < -model.axis or answer.shape[model.axis] != model.length:
        raise AssertionError(
            f"{model.name} returned the shape {answer.shape} for {model.length} positions; its "
            f"axis {model.axis} should be time, {model.length} long. Another axis is named by "
            "`axis=`."
        )


def try_batches(model: ArrayModel) -> None:
    """Let several questions be asked in one call, if a row does not notice what is beside it."""
    answer = model.answer
    if not model.is_batch:
        return
    beside = np.flip(model.given, model.along[model.key])
    try:
        both = model.ask(np.concatenate([model.given, beside]))
    except Exception:  # a model may be made for one size of batch
        return
    if both.shape == (2 * len(answer), *answer.shape[1:]):
        far = np.abs(both[: len(answer)].astype(float) - answer.astype(float)).max(initial=0.0)
        model.batches = bool(far <= model.allowed())


def _no_reference(name: str, arguments: Arguments) -> Any:
    raise NotImplementedError("there is no right result to compare with")
