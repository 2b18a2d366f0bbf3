"""Assert what makes a model causal: no output depends on a later input, however one asks.

A model is any callable from an array of token ids, (..., T), or of vectors, (..., T, d), to an
array with a time axis. Each function takes:

- `axis`: the time axis of the result, by default the last but one.
- `rtol` and `atol`: how far results may be apart that should be equal; `rtol` is relative to the
  largest number of the result, and follows its dtype by default.
- `seed`: which numbers replace the inputs. The same seed gives the same numbers.
- `vocab_size`: ids are replaced by others below it, by default by ids up to the largest given.

They raise AssertionError if the model breaks the promise or returns what cannot be judged, and
ValueError if the arguments make no sense.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.checks.compare import Broken
from grader.checks.laws.cases import Case
from grader.checks.laws.influence import Nudge, movement, past
from grader.checks.laws.leaks import (
    future_does_not_matter,
    prefix_gives_the_same,
    rows_are_independent,
)
from grader.report.influences import of_kind
from grader.report.records import Influence
from grader.steps.inputs import Draw
from grader.testing.leak_map import LeakMap, usual_cause
from grader.testing.models import NO_NUMBERS, ArrayModel, evaluated, name_of, pick_output, to_array

SIZE = 10.0  # of the numbers that replace vectors: large ones get past a mask of -10
MAX_DRAWN = 40
ONLY_LENGTH = (
    "Replacing later inputs moves nothing, so it is their number that matters: positions counted "
    "from the end, padding to a fixed length, or a mask made for another length."
)
OF_BATCHES = (
    "Usually: statistics over the batch, a reshape that mixes it with another axis, or a softmax "
    "over the wrong axis."
)
OF_PIECES = (
    "Usually: positions that begin at 0 again in each piece, keys or values that are not "
    "appended, or a mask aligned with the piece instead of with everything before it."
)
OF_FIRST = "The first piece has nothing in its cache, so step and model differ in more than that."
Array = NDArray[Any]
Callee = Callable[[Any], Any]


def _measure(model: ArrayModel) -> tuple[Influence, bool]:
    """Return the map of the model, and whether the first leak only multiplies an output."""
    answer, allowed, case = model.answer, model.allowed(), model.case()
    nudge = Nudge(case.arguments, case.others((model.key,), "future", SIZE), model.along)
    answers = list(model.all([nudge.at(source) for source in range(model.length)]))
    columns = [movement(answer, one, model.axis) for one in answers]
    moved = np.stack(columns, axis=1)
    moved[moved <= allowed] = 0.0
    rows = tuple(tuple(None if np.isnan(far) else float(far) for far in row) for row in moved)
    word = "token" if model.key == "tokens" else "vector"
    found = Influence(rows, False, tuple(map(tuple, past(model.length).tolist())), "output", word)
    leaks = of_kind(found, "leak")
    scaled = bool(leaks) and all(
        _is_multiple(np.take(answer, i, model.axis), np.take(answers[j], i, model.axis), allowed)
        for i, j in leaks
    )
    return found, scaled


def _is_multiple(before: Array, after: Array, allowed: float) -> bool:
    """Return whether each vector was multiplied by a number. A single number always is."""
    one, other = (
        np.reshape(array, (-1, array.shape[-1])).astype(float) for array in (before, after)
    )
    if one.shape[-1] < 2:
        return False
    with np.errstate(all="ignore"):
        factor = (one * other).sum(-1, keepdims=True) / (one * one).sum(-1, keepdims=True)
        return bool((np.abs(factor * one - other) <= 2 * allowed).all())


def _demand(
    model: ArrayModel, law: Callable[..., None], case: Case, otherwise: str = "", **options: Any
) -> None:
    """Raise AssertionError if a law is broken, with the model's map and what usually causes it.

    otherwise: what to say if the map shows no leak.
    """
    __tracebackhide__ = True
    try:
        law(model, [case], **options)
    except Broken as broken:
        said = f"{model.name}: {broken.shown}"
        if model.length <= MAX_DRAWN:
            found, scaled = _measure(model)
            if of_kind(found, "leak"):
                otherwise = f"{LeakMap(found)}\n\n{usual_cause(found, scaled=scaled)}"
            said = f"{said}\n\n{otherwise}" if otherwise else said
        raise AssertionError(said) from None


def assert_causal(
    model: Callee,
    tokens: Any,
    *,
    axis: int = -2,
    rtol: float | None = None,
    atol: float = 0.0,
    seed: int = 0,
    vocab_size: int | None = None,
) -> None:
    """Assert that no output moves when all inputs after it are replaced, for every position.

    A model on batches is asked many questions in one call. All arguments: see the module.

    >>> import numpy as np
    >>> assert_causal(lambda x: np.cumsum(x, axis=-2), np.ones((5, 3)))
    """
    __tracebackhide__ = True
    with evaluated(model):
        asked = ArrayModel(model, tokens, axis, rtol, atol, seed, vocab_size)
        asked.try_batches()
        along, sizes = asked.along, (SIZE,)
        _demand(asked, future_does_not_matter, asked.case(), along=along, axis=axis, sizes=sizes)


def assert_prefix_invariant(
    model: Callee,
    tokens: Any,
    *,
    axis: int = -2,
    rtol: float | None = None,
    atol: float = 0.0,
    seed: int = 0,
    vocab_size: int | None = None,
) -> None:
    """Assert that one pass over everything gives what a pass over each prefix alone gives.

    This also finds what depends on how much comes later, whatever it is. All arguments: see the
    module.

    >>> import numpy as np
    >>> assert_prefix_invariant(lambda x: np.cumsum(x, axis=-2), np.ones((5, 3)))
    """
    __tracebackhide__ = True
    with evaluated(model):
        asked = ArrayModel(model, tokens, axis, rtol, atol, seed, vocab_size)
        case, along = asked.case(other_shapes=True), asked.along
        _demand(asked, prefix_gives_the_same, case, ONLY_LENGTH, along=along, axis=axis)


def assert_rows_independent(
    model: Callee,
    tokens: Any,
    *,
    axis: int = -2,
    rtol: float | None = None,
    atol: float = 0.0,
    seed: int = 0,
    vocab_size: int | None = None,
) -> None:
    """Assert that the result for one sequence of a batch does not depend on the others.

    tokens: ids of shape (B, T), or vectors of shape (B, T, d), with at least two sequences. All
    other arguments: see the module.

    >>> import numpy as np
    >>> assert_rows_independent(lambda x: np.cumsum(x, axis=-2), np.ones((2, 5, 3)))
    """
    __tracebackhide__ = True
    with evaluated(model):
        asked = ArrayModel(model, tokens, axis, rtol, atol, seed, vocab_size)
        if not asked.is_batch or len(asked.given) < 2:
            raise ValueError("tokens should be a batch of at least two sequences.")
        try:
            rows_are_independent(asked, [asked.case()], batched=[asked.key], sizes=(SIZE,))
        except Broken as broken:
            raise AssertionError(f"{asked.name}: {broken.shown}\n\n{OF_BATCHES}") from None


def assert_padding_ignored(
    model: Callee,
    tokens: Any,
    pad_id: int,
    *,
    axis: int = -2,
    rtol: float | None = None,
    atol: float = 0.0,
) -> None:
    """Assert that each sequence of a batch gives what it gives alone, without its padding.

    tokens: ids of shape (B, T); padding stands at the beginning or the end of a sequence, in at
    least one of them. The model is asked for each sequence alone, as a batch of one. All other
    arguments: see the module.
    """
    __tracebackhide__ = True
    with evaluated(model):
        asked = ArrayModel(model, tokens, axis, rtol, atol)
        time = axis % asked.answer.ndim
        if asked.key != "tokens" or not asked.is_batch or time == 0:
            raise ValueError("tokens should be ids of shape (B, T), with padding.")
        ends = [_find_text(row, pad_id) for row in asked.given]
        if all(end - start == asked.length for start, end in ends):
            raise ValueError(f"No sequence has padding: pad_id={pad_id} is at no end of any.")
        for number, (start, end) in enumerate(ends):
            alone = asked.ask(asked.given[number : number + 1, start:end])
            inside = np.take(asked.answer[[number]], np.arange(start, end), time)
            _compare_padded(asked, number, start, end, inside, alone)


def _find_text(row: Array, pad_id: int) -> tuple[int, int]:
    """Return where a sequence begins and ends. Raise ValueError if there is padding inside."""
    real = np.flatnonzero(row != pad_id)
    if not len(real):
        raise ValueError("A sequence holds nothing but padding.")
    start, end = int(real[0]), int(real[-1]) + 1
    if len(real) != end - start:
        raise ValueError(f"A sequence has padding in its middle: {row.tolist()}.")
    return start, end


def _compare(
    model: ArrayModel, who: str, what: str, got: Array, expected: Array
) -> tuple[int, float] | None:
    """Return the first position that differs, and by how much any does, or None.

    Raise AssertionError for another shape or NaN. who: what returned it; what: for which part.
    """
    __tracebackhide__ = True
    if got.shape != expected.shape:
        raise AssertionError(
            f"{who} returned the shape {got.shape} for {what}; expected {expected.shape}."
        )
    far = np.abs(got.astype(float) - expected.astype(float))
    if np.isnan(far).any():
        raise AssertionError(f"{who} returns NaN for {what}.")
    rows = np.moveaxis(far, model.axis, 0).reshape(far.shape[model.axis], -1).max(axis=1)
    moved = np.flatnonzero(rows > model.allowed(other_shapes=True))
    return (int(moved[0]), float(rows.max())) if len(moved) else None


def _compare_padded(
    model: ArrayModel, number: int, start: int, end: int, inside: Array, alone: Array
) -> None:
    """Raise AssertionError if a sequence gives something else alone than beside its padding."""
    __tracebackhide__ = True
    what = f"sequence {number} alone, without padding"
    apart = _compare(model, model.name, what, alone, inside)
    if apart is None:
        return
    padding = [f"{start} before it"] * bool(start) + [f"{model.length - end} after it"] * (
        end < model.length
    )
    usual = (
        "Usually: no padding mask reaches one of the layers, or positions are counted from the "
        "padding (with padding on the left, give position ids that begin at 0 at the first token)."
        if start
        else "Usually: no padding mask reaches one of the layers, or a mean is taken over padding."
    )
    raise AssertionError(
        f"{model.name}: sequence {number} gives something else beside its padding "
        f"({' and '.join(padding) or 'none of its own, but others have'}) than alone: its token "
        f"{apart[0]} differs by {apart[1]:.3g}.\n\n{usual}"
    )


def assert_cache_agrees(
    model: Callee,
    step: Callable[[Any, Any], tuple[Any, Any]],
    tokens: Any,
    *,
    cache: Callable[[], Any] = lambda: None,
    axis: int = -2,
    rtol: float | None = None,
    atol: float = 0.0,
) -> None:
    """Assert that a model fed piece by piece, with a cache, gives what one pass gives.

    step(part, cache) returns the outputs for the new part and the next cache. cache: makes the
    first one; by default it is None. The pieces are single positions, and then two halves. All
    other arguments: see the module.

    >>> import numpy as np
    >>> def step(x, total):
    ...     y = np.cumsum(x, axis=-2) + (0 if total is None else total)
    ...     return y, y[..., -1:, :]
    >>> assert_cache_agrees(lambda x: np.cumsum(x, axis=-2), step, np.ones((5, 3)))
    """
    __tracebackhide__ = True
    with evaluated(model), evaluated(step):
        asked = ArrayModel(model, tokens, axis, rtol, atol)
        half = asked.length // 2
        for sizes in ([1] * asked.length, [half, asked.length - half]):
            _feed(asked, step, cache(), sizes)


def _feed(
    model: ArrayModel, step: Callable[[Any, Any], tuple[Any, Any]], cache: Any, sizes: list[int]
) -> None:
    """Raise AssertionError unless these pieces give the rows of the whole pass."""
    __tracebackhide__ = True
    who, start = name_of(step), 0
    for size in sizes:
        places = np.arange(start, start + size)
        part = np.take(model.given, places, model.along[model.key])
        pair = step(model.make(part), cache)
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise AssertionError(
                f"{who} returned a {type(pair).__name__}; expected (outputs, cache)."
            )
        value, cache = pair
        try:
            got, _ = to_array(value)
        except NO_NUMBERS:
            raise AssertionError(f"{who} did not return an array of outputs.") from None
        piece = f"a piece of {size} after {start} cached positions"
        apart = _compare(model, who, piece, got, np.take(model.answer, places, model.axis))
        if apart is not None:
            usual = OF_PIECES if start else OF_FIRST
            raise AssertionError(
                f"{who}: position {start + apart[0]}, in {piece}, differs by {apart[1]:.3g} from "
                f"what {model.name} returns for the whole.\n\n{usual}"
            )
        start += size


def assert_no_gradient_from_future(
    model: Callee,
    tokens: Any,
    *,
    axis: int = -2,
    rtol: float | None = None,
    atol: float = 0.0,
    seed: int = 0,
) -> None:
    """Assert with torch's autograd that no output's gradient reaches a later input.

    model: a function or module of torch. Of ids, the gradient is taken at what the first
    `nn.Embedding` returns that is asked for exactly these ids. rtol is relative to the largest
    number of the gradient. All other arguments: see the module.
    """
    __tracebackhide__ = True
    import torch

    with evaluated(model, gradients=True):
        asked = ArrayModel(model, tokens, axis, rtol, atol)
        source, output = _follow(model, torch.as_tensor(asked.make(asked.given.copy())), asked.key)
        if source is None:
            raise ValueError(
                f"{asked.name} has no nn.Embedding that is asked for these ids: pass vectors, "
                "and a function of them."
            )
        if not isinstance(output, torch.Tensor) or output.grad_fn is None:
            raise AssertionError(f"{asked.name} returns no tensor that a gradient comes from.")
        draw = Draw("gradient", seed).normal(*output.shape)
        weighted = output * torch.as_tensor(draw, dtype=output.dtype, device=output.device)
        for row in range(asked.length):
            told = weighted.select(axis, row).sum()
            (gradient,) = torch.autograd.grad(told, source, retain_graph=True, allow_unused=True)
            if gradient is not None:
                _check_gradient(asked, row, np.asarray(gradient.detach().cpu().double()))


def _follow(model: Callee, question: Any, key: str) -> tuple[Any, Any]:
    """Return the leaf at which gradients are taken, or None if there is none, and the output."""
    import torch

    if key == "x":
        question = question.detach().requires_grad_()
        return question, pick_output(model(question))
    found: list[Any] = []

    def note(part: Any, given: Any, output: Any) -> Any:
        is_asked = isinstance(part, torch.nn.Embedding) and given[0].shape == question.shape
        if found or not is_asked or (given[0] != question).any():
            return None
        found.append(output.detach().requires_grad_())
        return found[0]

    with torch.nn.modules.module.register_module_forward_hook(note):
        output = pick_output(model(question))
    return (found[0] if found else None), output


def _check_gradient(model: ArrayModel, row: int, gradient: Array) -> None:
    """Raise AssertionError if the gradient of an output reaches an input that comes later."""
    __tracebackhide__ = True
    if not np.isfinite(gradient).all():
        raise AssertionError(
            f"The gradient of {model.name}'s output {row} is NaN or infinite at some inputs: it "
            "cannot be followed to where it comes from."
        )
    size = np.abs(np.moveaxis(gradient, -2, 0).reshape(model.length, -1)).max(axis=1)
    late = row + 1 + np.flatnonzero(size[row + 1 :] > model.allowed(gradient))
    if len(late):
        raise AssertionError(
            f"{model.name}: a gradient of {size[late[0]]:.3g} flows from output {row} back to "
            f"input {late[0]}, which comes later. The largest anywhere is {size.max():.3g}.\n\n"
            "Usually: one of the layers has no mask, or its mask is shifted. `leak_map` shows "
            "which outputs depend on which inputs."
        )


def leak_map(
    model: Callee,
    tokens: Any,
    *,
    axis: int = -2,
    rtol: float | None = None,
    atol: float = 0.0,
    seed: int = 0,
    vocab_size: int | None = None,
) -> LeakMap:
    """Return which output moves, and how far, when one input is replaced at a time.

    All arguments: see the module.

    >>> import numpy as np
    >>> leak_map(lambda x: x + x.mean(-2, keepdims=True), np.ones((2, 3))).leaks
    [(0, 1)]
    """
    with evaluated(model):
        asked = ArrayModel(model, tokens, axis, rtol, atol, seed, vocab_size)
        asked.try_batches()
        return LeakMap(_measure(asked)[0])
