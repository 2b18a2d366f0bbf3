"""Tables of sizes: each row is one case."""

import inspect
from collections.abc import Callable
from typing import Any


def table(build: Callable[..., Any], *rows: tuple, **same: Any) -> list[dict[str, Any]]:
    """Return the sizes of one case for each row, under the names of the builder's parameters.

    A mapping in a row gives sizes by name, and `same` those that all rows share. The other values
    are for the remaining parameters, in order.

    >>> def vectors(draw, batch, length, d_model=3): ...
    >>> table(vectors, ((), 2), ((5,), 4), d_model=7)
    [{'batch': (), 'length': 2, 'd_model': 7}, {'batch': (5,), 'length': 4, 'd_model': 7}]
    """
    names = list(inspect.signature(build).parameters)[1:]
    return [_named(names, row, same) for row in rows]


def _named(names: list[str], row: tuple, same: dict[str, Any]) -> dict[str, Any]:
    sizes = dict(same)
    for given in (part for part in row if isinstance(part, dict)):
        sizes |= given
    values = [part for part in row if not isinstance(part, dict)]
    return dict(zip([name for name in names if name not in sizes], values)) | sizes
