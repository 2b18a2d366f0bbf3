"""Keep IPython's `%save` and `%load` from taking the calls `save()` and `load()`.

IPython would take them for these commands of its own, and write a file named `().py`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

MEANT = {"save": "save_work", "load": "load_work"}


def guard_magics(shell: Any) -> None:
    """Let `save()` and `load()` name the right function. `%save` and `%load` work as before."""
    for name, meant in MEANT.items():
        magic = shell.find_line_magic(name)
        if magic is not None and not hasattr(magic, "__wrapped__"):
            shell.register_magic_function(_guard(name, meant, magic), "line", name)


def _guard(name: str, meant: str, magic: Callable[[str], Any]) -> Callable[[str], Any]:
    @functools.wraps(magic)
    def guarded(line: str = "") -> Any:
        if line.lstrip().startswith("("):
            from IPython.core.error import UsageError

            raise UsageError(f"{name}() did nothing: run the first cell, then call {meant}().")
        return magic(line)

    return guarded
