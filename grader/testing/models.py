"""Take anybody's model as a function from one array to another, which has a time axis."""

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
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
NO_NUMBERS = (TypeError, ValueError, RuntimeError)
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

    Raise one of NO_NUMBERS if it is something else.
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


def _maker(model: Any, tokens: Any) -> Callable[[Array], Any]:
    """Return what turns an array into the kind of array that the model takes."""
    torch = sys.modules.get("torch")
    is_tensor = torch is not None and isinstance(tokens, torch.Tensor)
    if torch is not None and (is_tensor or isinstance(model, torch.nn.Module)):
        like = tokens if is_tensor else next(model.parameters(), torch.zeros(()))

        def make(array: Array) -> Any:
            is_like = like.is_floating_point() is (array.dtype.kind == "f")
            dtype = like.dtype if is_like else torch.int64
            return torch.as_tensor(array, dtype=dtype, device=like.device)

        return make
    if isinstance(tokens, (np.ndarray, list, tuple)):
        return lambda array: array
    if hasattr(tokens, "__array_namespace__"):  # JAX, MLX and others
        return lambda array: tokens.__array_namespace__().asarray(array, dtype=tokens.dtype)
    return type(tokens)


class Seeded(Case):
    """A case whose random numbers depend on its seed alone."""

    def draw(self, salt: object) -> Draw:
        return Draw(salt, self.chance)


def pick_output(value: Any) -> Any:
    """Return the part of what a model of transformers returns that is looked at: its logits."""
    for part in ("logits", "last_hidden_state"):
        value = getattr(value, part, value)
    return value


class ArrayModel:
    """A model with the array that it is asked about and its answer, as the laws take them.

    key: the name of that array in messages, `tokens` for ids and `x` for vectors. along: which axis
    of it is time. batches: whether several questions may be asked in one call. The arguments: see
    `grader.testing.assertions`.

    Raise ValueError if the tokens are not an array with a time axis. Raise AssertionError if the
    model returns no array, NaN, or something else when it is asked again.
    """

    def __init__(
        self,
        model: Callable[[Any], Any],
        tokens: Any,
        axis: int,
        rtol: float | None,
        atol: float,
        seed: int = 0,
        vocab_size: int | None = None,
    ) -> None:
        __tracebackhide__ = True
        try:
            self.given, _ = to_array(tokens)
        except NO_NUMBERS:
            raise ValueError("tokens should be an array of token ids or of vectors.") from None
        kind, axes = self.given.dtype.kind, self.given.ndim
        self.key, time = ("tokens", -1) if kind in "iu" else ("x", -2)
        if kind == "b" or axes < -time:
            raise ValueError(
                "tokens should be whole numbers of shape (..., T), or vectors of shape (..., T, d)."
            )
        self.along = {self.key: time}
        self.length: int = self.given.shape[time]
        if self.length < 2 or not self.given.size:
            raise ValueError(f"tokens should have at least 2 positions; these have {self.length}.")
        self.call = model
        self.name = name_of(model)
        self.make = _maker(model, tokens)
        self.axis = axis
        self.rtol = rtol
        self.atol = atol
        self.seed = seed
        self.vocab_size = vocab_size
        self.is_batch = axes == 1 - time
        self.batches = False
        self.answer = self.ask(self.given)
        self._check_answer()

    def _check_answer(self) -> None:
        """Raise AssertionError if the answer is not finite, not the same again, or without time."""
        __tracebackhide__ = True
        answer = self.answer
        bad = ~np.isfinite(answer.astype(float))
        if bad.any():
            what = "NaN" if np.isnan(answer.astype(float)).any() else "infinite"
            place = tuple(int(i) for i in np.argwhere(bad)[0])
            raise AssertionError(
                f"{np.count_nonzero(bad)} of {bad.size} numbers that {self.name} returns are "
                f"{what}, the first at {place}: no law about them can be tested."
            )
        again = self.ask(self.given)
        if again.shape != answer.shape:
            raise AssertionError(
                f"{self.name} returned the shape {answer.shape}, and {again.shape} for the same "
                "array asked again: does it keep something between calls, such as a cache?"
            )
        far = float(np.abs(again.astype(float) - answer.astype(float)).max(initial=0.0))
        if not far <= self.allowed():
            raise AssertionError(
                f"{self.name} returns something else when it is asked the same again (it differs "
                f"by {far:.3g}): is dropout left on, or does it keep something between calls?"
            )
        if answer.ndim < -self.axis or answer.shape[self.axis] != self.length:
            raise AssertionError(
                f"{self.name} returned the shape {answer.shape} for {self.length} positions; its "
                f"axis {self.axis} should be time, {self.length} long. Another axis is named by "
                "`axis=`."
            )

    def __call__(self, **arguments: Array) -> Array:
        return self.ask(arguments[self.key])

    def ask(self, array: Array) -> Array:
        """Return the answer as an array. Raise AssertionError, in a sentence, if it is not."""
        __tracebackhide__ = True
        question = self.make(array.copy())
        value = pick_output(self.call(question))
        try:
            if isinstance(value, (tuple, list)):
                raise TypeError("several results are not one array")
            answer, self.dtype = to_array(value)
        except NO_NUMBERS:
            number = f" of {len(value)}" if isinstance(value, (tuple, list, dict)) else ""
            raise AssertionError(
                f"{self.name} returned a {type(value).__name__}{number}; expected one array of "
                "numbers with a time axis. Pass a function that returns it, such as "
                "`lambda tokens: model(tokens)[0]`."
            ) from None
        if not np.array_equal(to_array(question)[0], to_array(self.make(array))[0]):
            raise AssertionError(f"{self.name} changes its argument: let it work on a copy.")
        return answer

    def try_batches(self) -> None:
        """Allow several questions in one call if a row does not notice what is beside it."""
        answer = self.answer
        if not self.is_batch:
            return
        beside = np.flip(self.given, self.along[self.key])
        try:
            both = self.ask(np.concatenate([self.given, beside]))
        except Exception:  # a model may be made for one size of batch
            return
        if both.shape == (2 * len(answer), *answer.shape[1:]):
            far = np.abs(both[: len(answer)].astype(float) - answer.astype(float)).max(initial=0.0)
            self.batches = bool(far <= self.allowed())

    def all(self, questions: Iterable[Arguments]) -> Iterator[Array]:
        """Return the answers to these questions, in turn.

        Questions in batches have all the same shape.
        """
        arrays = [question[self.key] for question in questions]
        if not self.batches:
            yield from map(self.ask, arrays)
            return
        many = max(1, MAX_ROWS // len(self.given))
        for start in range(0, len(arrays), many):
            some = arrays[start : start + many]
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


def _no_reference(name: str, arguments: Arguments) -> Any:
    raise NotImplementedError("there is no right result to compare with")
