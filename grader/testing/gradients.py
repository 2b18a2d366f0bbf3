"""Assert with torch's autograd that no output's gradient reaches a later input."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np

from grader.steps.inputs import Draw
from grader.testing.models import evaluated, name_of, pick_output, read


def assert_no_gradient_from_future(
    model: Callable[[Any], Any],
    tokens: Any,
    *,
    axis: int = -2,
    rtol: float | None = None,
    atol: float = 0.0,
    seed: int = 0,
) -> None:
    """Assert that the gradient of each output is zero at every later input.

    model: a function or module of torch. Of ids, the gradient is taken at what the first
    `nn.Embedding` returns that is asked for exactly these ids. rtol is relative to the largest
    number of the gradient. All other arguments: see `grader.testing.assertions`.
    """
    __tracebackhide__ = True
    import torch

    with evaluated(model, gradients=True):
        asked = read(model, tokens, axis, rtol, atol)
        question = asked.make(asked.given.copy())
        if not isinstance(question, torch.Tensor):
            question = torch.as_tensor(question)
        inputs: list[Any] = []
        with ExitStack() as hooks:
            if asked.key == "x":
                question = question.detach().requires_grad_()
                inputs.append(question)
            else:
                hooks.enter_context(_embedding(model, question, inputs))
            output = pick_output(model(question))
        if not inputs:
            raise ValueError(
                f"{name_of(model)} has no nn.Embedding that is asked for these ids: pass vectors, "
                "and a function of them."
            )
        if not isinstance(output, torch.Tensor) or output.grad_fn is None:
            raise AssertionError(f"{name_of(model)} returns no tensor that a gradient comes from.")
        weights = torch.as_tensor(
            Draw("gradient", seed).normal(*output.shape), dtype=output.dtype, device=output.device
        )
        for row in range(asked.length):
            told = (output * weights).select(axis, row).sum()
            (gradient,) = torch.autograd.grad(told, inputs[0], retain_graph=True, allow_unused=True)
            if gradient is None:
                continue
            found = np.asarray(gradient.detach().cpu().double())
            if not np.isfinite(found).all():
                raise AssertionError(
                    f"The gradient of {name_of(model)}'s output {row} is NaN or infinite at some "
                    "inputs: it cannot be followed to where it comes from."
                )
            size = np.abs(np.moveaxis(found, -2, 0).reshape(asked.length, -1)).max(axis=1)
            late = np.flatnonzero(size > asked.allowed(found))
            late = late[late > row]
            if len(late):
                raise AssertionError(
                    f"{name_of(model)}: a gradient of {size[late[0]]:.3g} flows from output {row} "
                    f"back to input {late[0]}, which comes later. The largest anywhere is "
                    f"{size.max():.3g}.\n\nUsually: one of the layers has no mask, or its mask is "
                    "shifted. `leak_map` shows which outputs depend on which inputs."
                )


@contextmanager
def _embedding(model: Any, ids: Any, found: list[Any]) -> Iterator[None]:
    """Note what the embedding of exactly these ids returns in the block, as a leaf."""
    import torch

    def note(part: Any, given: Any, output: Any) -> Any:
        same = given[0].shape == ids.shape and bool((given[0] == ids).all())
        if found or not same:
            return None
        found.append(output.detach().requires_grad_())
        return found[0]

    parts = model.modules() if isinstance(model, torch.nn.Module) else ()
    known = [part for part in parts if isinstance(part, torch.nn.Embedding)]
    hooks = [part.register_forward_hook(note) for part in known]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()
