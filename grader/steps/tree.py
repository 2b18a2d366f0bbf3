"""Walk trees of arguments and results: dicts, lists and tuples, with anything else as leaves."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

MAX_PATH = 1000  # characters; a path that a student's keys make may be a million


def map_leaves(tree: Any, change: Callable[[Any], Any]) -> Any:
    """Return the same tree with every leaf changed.

    >>> map_leaves({"w": 1, "blocks": [2, (3,)]}, lambda leaf: -leaf)
    {'w': -1, 'blocks': [-2, (-3,)]}
    """
    if isinstance(tree, Mapping):
        return {key: map_leaves(item, change) for key, item in tree.items()}
    if isinstance(tree, (list, tuple)):
        return type(tree)(map_leaves(item, change) for item in tree)
    return change(tree)


def leaves(tree: Any) -> Iterator[Any]:
    """Yield the leaves of a tree, in order.

    >>> list(leaves({"w": 1, "blocks": [2, (3,)]}))
    [1, 2, 3]
    """
    if isinstance(tree, Mapping):
        tree = list(tree.values())
    if isinstance(tree, (list, tuple)):
        for item in tree:
            yield from leaves(item)
    else:
        yield tree


def named_leaves(tree: Any, name: str = "") -> dict[str, Any]:
    """Return the leaves of a tree, each under its path.

    Raise ValueError if a path is too long: many such paths would fill the memory.

    >>> named_leaves({"blocks": [{"gain": 1}]}, "params")
    {'params.blocks[0].gain': 1}
    """
    if len(name) > MAX_PATH:
        raise ValueError("a tree whose keys are too long")
    if isinstance(tree, Mapping):
        parts = {f"{name}.{key}" if name else str(key): item for key, item in tree.items()}
    elif isinstance(tree, (list, tuple)):
        parts = {f"{name}[{number}]": item for number, item in enumerate(tree)}
    else:
        return {name: tree}
    return {
        way: leaf for key, item in parts.items() for way, leaf in named_leaves(item, key).items()
    }
