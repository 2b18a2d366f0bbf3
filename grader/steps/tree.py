"""Walk trees of arguments and results: dicts, lists and tuples, with anything else as leaves.

This is the only walk: laws, known mistakes and stored answers compare results with `pairs`. Like
the replay of known mistakes, which is sent to a worker together with this file, it needs only the
standard library. A path is a tuple of keys and places.
"""

from collections.abc import Callable, Collection, Iterator
from typing import Any

MAX_PATH = 1000  # characters; a path that a student's keys make may be a million
Path = tuple[Any, ...]


def _keys(tree: Any) -> Collection[Any] | None:
    """Return the keys or places of what a tree holds, or None if it is a leaf."""
    if isinstance(tree, (list, tuple)):
        return range(len(tree))
    return tree.keys() if isinstance(tree, dict) else None


def map_leaves(tree: Any, change: Callable[[Any], Any]) -> Any:
    """Return the same tree with every leaf changed.

    >>> map_leaves({"w": 1, "blocks": [2, (3,)]}, lambda leaf: -leaf)
    {'w': -1, 'blocks': [-2, (-3,)]}
    """
    if isinstance(tree, dict):
        return {key: map_leaves(item, change) for key, item in tree.items()}
    if isinstance(tree, (list, tuple)):
        return type(tree)(map_leaves(item, change) for item in tree)
    return change(tree)


def walk(tree: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield the leaves of a tree, in order, each with its path.

    >>> list(walk({"w": 1, "blocks": [2, (3,)]}))
    [(('w',), 1), (('blocks', 0), 2), (('blocks', 1, 0), 3)]
    """
    keys = _keys(tree)
    if keys is None:
        yield path, tree
    else:
        for key in keys:
            yield from walk(tree[key], (*path, key))


def leaves(tree: Any) -> Iterator[Any]:
    """Yield the leaves of a tree, in order.

    >>> list(leaves({"w": 1, "blocks": [2, (3,)]}))
    [1, 2, 3]
    """
    if not is_branch(tree):
        yield tree
        return
    for item in tree.values() if isinstance(tree, dict) else tree:
        yield from leaves(item)


def pairs(one: Any, other: Any, path: Path = ()) -> Iterator[tuple[Path, Any, Any]]:
    """Yield the leaves of a tree beside what another one has in their place, with their paths.

    Where the two differ in keys or lengths, both parts are yielded whole, so one of them is a
    branch. A list and a tuple do not differ.

    >>> list(pairs({"a": 1, "b": [2, 3]}, {"a": 4, "b": (5,)}))
    [(('a',), 1, 4), (('b',), [2, 3], (5,))]
    """
    keys = _keys(one)
    if keys is None or keys != _keys(other):
        yield path, one, other
    else:
        for key in keys:
            yield from pairs(one[key], other[key], (*path, key))


def is_branch(tree: Any) -> bool:
    """Return whether it is a container, empty or not."""
    return isinstance(tree, (dict, list, tuple))


def name_path(path: Path, name: str = "") -> str:
    """Return a path as one writes it, after the tree's name.

    Raise ValueError if it is too long: many such paths would fill the memory.

    >>> name_path(("blocks", 0, "gain"), "params")
    'params.blocks[0].gain'
    """
    if sum(len(str(key)) for key in path) > MAX_PATH:
        raise ValueError("a tree whose keys are too long")
    for key in path:
        place = f"[{key}]" if isinstance(key, int) else f".{key}"
        name = f"{name}{place}" if name else place.removeprefix(".")
    return name


def named_leaves(tree: Any, name: str = "") -> dict[str, Any]:
    """Return the leaves of a tree, each under its path.

    Raise ValueError if a path is too long.

    >>> named_leaves({"blocks": [{"gain": 1}]}, "params")
    {'params.blocks[0].gain': 1}
    """
    return {name_path(path, name): leaf for path, leaf in walk(tree)}
