"""Keep the standard library and NumPy in memory, for workers that may not touch any path.

Looking for a file leaves a trace: the system remembers which names exist and which do not, and
answers faster the next time. The next student's worker could measure that. So the parent loads all
extension modules and reads all other modules, and workers import from memory.
"""

import contextlib
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import marshal
import sys
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, ModuleType

import numpy as np

# Folders in the standard library that no step needs, and in NumPy.
LEFT_OUT = ("site-packages", "dist-packages", "test", "tests", "idlelib", "turtledemo", "ensurepip")
# Extension modules for Python's own tests, and those that want a terminal or a window.
UNLOADED = ("_test", "_xx", "xx", "_ctypes_test", "_tkinter", "nis", "readline")
NUMPY = ("numpy.fft", "numpy.linalg", "numpy.random")


class ModuleFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds modules among those that were read."""

    def __init__(self) -> None:
        self.held: dict[str, tuple[bytes, bool, str]] = {}  # code, whether compiled, and the file

    def read(self, folder: Path, package: str = "") -> None:
        """Read all modules in a folder, which is that package or on the search path.

        Debian's `sitecustomize.py` is a link to a file that a sandbox may not have.
        """
        for path in _list(folder):
            name = f"{package}.{path.stem}".strip(".")
            if path.suffix == ".py":
                whole = package if path.stem == "__init__" else name
                with contextlib.suppress(OSError):
                    self.held[whole] = (*_read_code(path), str(path))
            elif (path / "__init__.py").is_file() and path.name not in LEFT_OUT:
                self.read(path, name)

    def find_spec(
        self, fullname: str, path: object = None, target: object = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Find a module among those that were read."""
        if fullname not in self.held:
            return None
        file = self.held[fullname][2]
        inside: list[str] | None = [] if file.endswith("__init__.py") else None
        return importlib.util.spec_from_file_location(
            fullname, file, loader=self, submodule_search_locations=inside
        )

    def exec_module(self, module: ModuleType) -> None:
        """Run the module's code."""
        exec(self.get_code(module.__name__), vars(module))

    def get_code(self, name: str) -> CodeType:
        """Return the module's code."""
        data, compiled, file = self.held[name]
        code: CodeType = marshal.loads(data) if compiled else compile(data, file, "exec")
        return code


def _list(folder: Path) -> Iterator[Path]:
    with contextlib.suppress(OSError):
        yield from sorted(folder.iterdir())


def _read_code(path: Path) -> tuple[bytes, bool]:
    """Return a module's compiled code if Python has kept it, or else its source."""
    with contextlib.suppress(OSError, NotImplementedError):
        data = Path(importlib.util.cache_from_source(str(path))).read_bytes()
        now = path.stat()
        times = [int(now.st_mtime) & 0xFFFFFFFF, now.st_size & 0xFFFFFFFF]
        words = [int.from_bytes(data[at : at + 4], "little") for at in (4, 8, 12)]
        if data[:4] == importlib.util.MAGIC_NUMBER and words == [0, *times]:
            return data[16:], True
    return path.read_bytes(), False


def hold() -> None:
    """Make all later imports work without files."""
    library = ModuleFinder()
    for folder in map(Path, sys.path):
        if folder.name == "lib-dynload":
            _load(folder)
    library.read(Path(contextlib.__file__).parent)
    library.read(Path(np.__file__).parent, "numpy")
    for name in NUMPY:
        importlib.import_module(name)
    sys.meta_path.remove(importlib.machinery.PathFinder)
    sys.meta_path.append(library)


def _load(folder: Path) -> None:
    """Load the extension modules in a folder."""
    for path in _list(folder):
        if not path.name.startswith(UNLOADED):
            with contextlib.suppress(ImportError):
                importlib.import_module(path.name.partition(".")[0])
