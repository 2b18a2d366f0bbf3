"""Assert with torch's autograd that no output's gradient reaches a later input."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
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
                hooks.enter_context(_Embedded(model, question, inputs))
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


class _Embedded:
    """While it is open, note what the embedding of exactly these ids returns, as a leaf."""

    def __init__(self, model: Any, ids: Any, found: list[Any]) -> None:
        self.model, self.ids, self.found = model, ids, found
        self.hooks: list[Any] = []

    def __enter__(self) -> None:
        import torch

        if isinstance(self.model, torch.nn.Module):
            for part in self.model.modules():
                if isinstance(part, torch.nn.Embedding):
                    self.hooks.append(part.register_forward_hook(self._note))

    def __exit__(self, *error: object) -> None:
        for hook in self.hooks:
            hook.remove()

    def _note(self, part: Any, given: Any, output: Any) -> Any:
        same = given[0].shape == self.ids.shape and bool((given[0] == self.ids).all())
        if self.found or not same:
            return None
        leaf = output.detach().requires_grad_()
        self.found.append(leaf)
        return leaf
