"""Draw random arrays for checks from a seed; the stream is the same on every machine.

Among them are parameters of decoder blocks and whole decoders, in the form of steps 11 and 12.
"""

import hashlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.steps.tree import map_leaves

Sizes = Mapping[str, Any]
Arguments = dict[str, Any]
Build = Callable[..., Arguments]


# A new RandomState takes 70 times as long as seeding an old one.
_UNUSED: list[np.random.RandomState] = []


class Draw:
    """Draw random arrays that depend on the key alone.

    RandomState's stream is frozen for good, and that of default_rng is not. With decimals, numbers
    are rounded, so a person can read them and every machine gets the same bits. words: how many
    times 32 bits of the key count. One word can be guessed from the numbers, by trying them all.
    """

    def __init__(self, *key: object, decimals: int | None = None, words: int = 1) -> None:
        try:
            self.random = _UNUSED.pop()
        except IndexError:  # no look beforehand: another thread may take the last one
            self.random = np.random.RandomState(0)
        found = hashlib.blake2b(repr(key).encode(), digest_size=4 * words).digest()
        numbers = [int.from_bytes(found[at : at + 4], "big") for at in range(0, len(found), 4)]
        self.random.seed(numbers if words > 1 else numbers[0])
        self.decimals = decimals

    def __del__(self) -> None:
        _UNUSED.append(self.random)

    def normal(self, *shape: int) -> NDArray[np.float64]:
        """Return standard normal numbers."""
        found = np.asarray(self.random.standard_normal(shape))
        return found if self.decimals is None else np.round(found, self.decimals)

    def uniform(self, *shape: int) -> NDArray[np.float64]:
        """Return uniform numbers in [0, 1)."""
        return np.floor(np.asarray(self.random.random_sample(shape)) * 2**20) / 2**20

    def tokens(self, vocabulary: int, *shape: int) -> NDArray[np.int64]:
        """Return token ids below `vocabulary`."""
        return np.asarray(self.random.randint(0, vocabulary, shape)).astype(np.int64)

    def whole(self, low: int, high: int) -> int:
        """Return one whole number, low <= n < high."""
        return int(self.random.randint(low, high))


def block_params(draw: Draw, d_model: int, d_ff: int) -> Arguments:
    """Return one block in which no bias is 0 and no gain is 1."""

    def weight(rows: int, columns: int) -> NDArray[np.float64]:
        return np.asarray(draw.normal(rows, columns) / np.sqrt(rows))

    square = {f"w_{name}": weight(d_model, d_model) for name in "qkvo"}
    biases = {f"b_{name}": draw.normal(d_model) / 4 for name in "qkvo"}
    wide = {"w_in": weight(d_model, d_ff), "b_in": draw.normal(d_ff) / 4}
    narrow = {"w_out": weight(d_ff, d_model), "b_out": draw.normal(d_model) / 4}
    return {
        "ln_1": norm_params(draw, d_model),
        "attention": square | biases,
        "ln_2": norm_params(draw, d_model),
        "feed_forward": wide | narrow,
    }


def norm_params(draw: Draw, d_model: int) -> Arguments:
    """Return gain and bias of one norm."""
    return {"gain": 1 + draw.normal(d_model) / 4, "bias": draw.normal(d_model) / 4}


def decoder_params(draw: Draw, vocabulary: int, longest: int, blocks: list[Arguments]) -> Arguments:
    """Return a decoder of these blocks, for sequences of up to `longest` tokens."""
    d_model = len(blocks[0]["ln_1"]["gain"])
    return {
        "embedding": draw.normal(vocabulary, d_model) / 2,
        "position": draw.normal(longest, d_model) / 2,
        "blocks": blocks,
        "ln_f": norm_params(draw, d_model),
    }


def enlarge_sizes(sizes: Sizes, *key: object) -> dict[str, Any]:
    """Return the sizes, enlarged at random but in the same order; 1 stays 1."""
    draw = Draw("sizes", *key)
    grown = [0, 1]
    while len(grown) < 64:
        grown.append(grown[-1] + 1 + (draw.whole(0, 3) == 0))

    def grow(size: Any) -> Any:
        if isinstance(size, tuple):
            return tuple(grow(item) for item in size)
        whole = isinstance(size, int) and not isinstance(size, bool)
        return grown[size] if whole and 1 < size < len(grown) else size

    return {name: grow(size) for name, size in sizes.items()}


def freeze(array: NDArray[Any]) -> NDArray[Any]:
    """Return the array itself, made read-only."""
    array.flags.writeable = False
    return array


def map_arrays(value: Any, change: Callable[[NDArray[Any]], Any]) -> Any:
    """Return the same nest of dicts, lists and tuples, with every array changed."""
    return map_leaves(value, lambda leaf: change(leaf) if isinstance(leaf, np.ndarray) else leaf)


def as_single(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array of floats in float32, and any other array unchanged."""
    return array.astype(np.float32) if array.dtype.kind == "f" else array


def digest(value: Any) -> str:
    """Return a short name for exactly these arguments."""
    state = hashlib.blake2b(digest_size=8)

    def add(item: Any) -> None:
        if isinstance(item, np.ndarray):
            state.update(f"{item.dtype.str}{item.shape}".encode())
            state.update(np.ascontiguousarray(item).tobytes())
        elif isinstance(item, dict):
            for key in sorted(item):
                state.update(key.encode())
                add(item[key])
        elif isinstance(item, (list, tuple)):
            for member in item:
                add(member)
        else:
            state.update(repr(item).encode())

    add(value)
    return state.hexdigest()
