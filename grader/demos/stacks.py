"""Show who depends on whom in a stack of decoder blocks, layer by layer."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from grader.checks.laws.influence import Moves, Nudge, everything, past
from grader.report.influences import movement, of_kind
from grader.report.records import Influence
from grader.steps.inputs import Arguments

WHY = (
    "A mask keeps a position from looking to the right. It cannot take away what the position to "
    "the left has already seen."
)


@dataclass(frozen=True)
class Stack:
    """The movement in every layer's output when one token was replaced.

    unmasked: the layer without a mask, if there was one. code: the owner of the
    blocks.
    """

    code: str
    tokens: tuple[str, ...]
    unmasked: int | None
    layers: tuple[Influence, ...]

    def heading(self, number: int) -> str:
        """Return the heading of a layer."""
        return f"layer {number}, {'NO MASK' if number == self.unmasked else 'masked'}"


def map_layers(
    block: Callable[..., Any],
    layers: Sequence[Arguments],
    n_heads: int,
    unmasked: int | None,
    change: Nudge,
) -> tuple[Influence, ...]:
    """Return a map of every layer's output; each layer reads the one below.

    block: computes (x, params, n_heads, mask) -> (T, d_model). change: replaces rows of its x.
    """
    length = change.length

    def run(x: Any, count: int) -> Any:
        for number, params in enumerate(layers[:count]):
            mask = everything(length, length) if number == unmasked else past(length)
            x = block(x, params, n_heads, mask)
        return x

    moves = Moves(change, past(length))
    return tuple(moves.draw(partial(run, count=number + 1)) for number in range(len(layers)))


def describe_stack(stack: Stack) -> list[str]:
    """Describe the maps in words, and only what was measured."""
    leaky = (i for i, layer in enumerate(stack.layers) if of_kind(layer, "leak"))
    leak, count = next(leaky, None), len(stack.layers)
    if leak is None and any(of_kind(layer, "missing", "unknown") for layer in stack.layers):
        return ["A token of the past that should be felt is not: see the maps."]
    if leak is None and stack.unmasked is None:
        return [
            f"All {count} layers are masked: every position depends on the tokens up to its own "
            "and on no later one, however many layers lie above each other."
        ]
    if leak is None:
        return [
            f"Layer {stack.unmasked} was given a mask that hides nothing, and yet no position "
            "moved with a later token. Does the block bring a mask of its own?"
        ]
    if leak != stack.unmasked:
        first = movement(stack.layers[leak], *of_kind(stack.layers[leak], "leak")[0])
        return [
            f"Layer {leak} was given the causal mask, and yet something of the future came "
            f"through: {first}. The block does not keep to its mask."
        ]
    return _say_how_far(stack, leak)


def _say_how_far(stack: Stack, leak: int) -> list[str]:
    """Return sentences on how far the missing mask of a layer shows."""
    last = len(stack.layers) - 1
    below = "Below it nobody sees the future. " if leak > 0 else ""
    above = stack.layers[leak:]
    full = all(all(map(all, layer.moved)) for layer in above)
    whom = "every position depends on every token" if full else "positions depend on later tokens"
    if leak == last:
        return [f"Layer {leak} alone has no mask. {below}In its output {whom}."]
    rest = f"layer {last} is" if last == leak + 1 else f"layers {leak + 1} to {last} are"
    said = f"Layer {leak} alone has no mask. {below}From it on {whom}, although {rest} masked."
    return [said, WHY]
