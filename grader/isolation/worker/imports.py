"""Control which modules a student's code can import, and keep Python's own in memory."""

import contextlib
import functools
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import marshal
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from . import notebook
from .cells import is_notebook

PACKAGE = "exercises"
# Folders in the standard library that no step needs, and in NumPy.
LEFT_OUT = ("site-packages", "dist-packages", "test", "tests", "idlelib", "turtledemo", "ensurepip")
# Extension modules for Python's own tests, and those that want a terminal or a window.
UNLOADED = ("_test", "_xx", "xx", "_ctypes_test", "_tkinter", "nis", "readline")
Space = dict[str, Any]
# A source, as text or as an array of the bytes of its code, its file, and the functions of a step.
Text = Sequence[Any]


class Sources(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds `exercises.NAME` among the sources that the judge sent, and refuses all others.

    A folder of modules is a package. If the judge sent its own version of an earlier step, the
    step's functions come from that version. Any other name imported from that step, such as a
    shared helper, is the student's.
    """

    def __init__(self) -> None:
        self.modules: dict[str, Text] = {}
        self.own: dict[str, Text] = {}
        self.loaded: dict[str, Space] = {}
        self.guide = notebook.Guide()
        self.skipped: list[list[Any]] = []
        self.missing: dict[str, str] = {}

    def find_spec(
        self, fullname: str, path: object = None, target: object = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Find a step among the sources."""
        package, _, module = fullname.partition(".")
        inside = any(name.startswith(f"{module}.") for name in self.modules) or not module
        if package != PACKAGE or not (inside or module in self.modules):
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=inside)

    def exec_module(self, module: ModuleType) -> None:
        """Run a step's source, or the judge's version with the student's helpers around it."""
        _, _, name = module.__name__.partition(".")
        if name in self.own:
            _, module.__file__ = self.modules[name]
            right = self.run(self.modules[name], ModuleType(module.__name__))
            vars(module).update({f: right[f] for f in self.own[name][2] if f in right})
            vars(module)["__getattr__"] = functools.partial(self.find_helper, name, right)
        elif name in self.modules:
            self.run(self.modules[name], module)

    def run(self, text: Text, module: ModuleType) -> Space:
        """Run a source in a module, and return the names that it defines."""
        source, file, *_ = text
        space = vars(module)
        space["__file__"] = file
        if not isinstance(source, str):
            exec(marshal.loads(source), space)  # the judge has compiled it
        elif is_notebook(source):
            self.run_notebook(source, file, module)
        else:
            exec(compile(source, file, "exec", dont_inherit=True), space)
        return space

    def run_notebook(self, source: str, file: str, module: ModuleType) -> None:
        """Run a notebook. It is the module of each step that it is the source of.

        The judge's versions of earlier steps take their names in it.
        """
        for name, (text, *_) in {**self.modules, **self.own}.items():
            if isinstance(text, str) and text == source:
                if name in self.own:
                    self.loaded[name] = vars(module)
                else:
                    sys.modules[f"{PACKAGE}.{name}"] = module
        given: Space = {}
        for name in self.own:
            if any(function in source for function in self.own[name][2]):
                right = vars(importlib.import_module(f"{PACKAGE}.{name}"))
                given.update({f: right[f] for f in self.own[name][2] if f in right})
        sys.modules["__main__"] = module  # as in a kernel: classes look for their names there
        vars(module)["__name__"] = "__main__"
        ran = notebook.run(source, file, module, self.guide, given)
        self.guide.report("")
        self.skipped += [[file, *one] for one in ran.skipped[: notebook.MAX_SKIPPED]]
        self.missing.update(ran.explain_missing())

    def find_helper(self, name: str, right: Space, wanted: str) -> Any:
        """Return a helper of an earlier step. Raise AttributeError if there is none."""
        if wanted == "__all__":
            mine = {*self.load_own(name, right), *self.own[name][2]}
            return [key for key in mine if key[:1] != "_"]
        if wanted[:2] != "__":
            known = {**right, **self.load_own(name, right)}
            if wanted in known:
                return known[wanted]
        raise AttributeError(f"module {PACKAGE}.{name!r} has no attribute {wanted!r}")

    def load_own(self, name: str, right: Space) -> Space:
        """Return the student's version's names, or the judge's if that version cannot be loaded."""
        if name not in self.loaded:
            self.loaded[name] = right
            with contextlib.suppress(BaseException):
                self.loaded[name] = self.run(self.own[name], ModuleType(f"{PACKAGE}.{name}"))
        return self.loaded[name]


class BareNames(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the student's own modules by their bare names, and refuses all other modules.

    Python asks it last, so no module takes the place of one of Python's or NumPy's.
    """

    def __init__(self, sources: Sources) -> None:
        self.sources = sources

    def find_spec(
        self, fullname: str, path: object = None, target: object = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Find a module, or raise ModuleNotFoundError with a clear message, if there is one.

        `importlib.util.find_spec` asks whether a module is there, and wants None if it is not.
        """
        first = fullname.partition(".")[0]
        asked = sys._getframe(2).f_code.co_name.startswith("_find_and_load")
        if first == PACKAGE:
            name = fullname.partition(".")[2].replace(".", "/")
            message = f"there is no step file {name}.py to import from"
        elif first[:4] == "step" and first[4:5].isdigit():
            message = f"{first} is in a package: import `{PACKAGE}.{first}` instead"
        elif first in {*sys.stdlib_module_names, "numpy"}:
            return None
        elif (spec := self.sources.find_spec(f"{PACKAGE}.{fullname}")) is not None:
            is_package = spec.submodule_search_locations is not None
            return importlib.machinery.ModuleSpec(fullname, self, is_package=is_package)
        else:
            message = (
                "a step may import NumPy, the standard library and files beside it, not "
                f"{fullname!r}"
            )
        if asked:
            raise ModuleNotFoundError(message, name=fullname)
        return None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        """Return the very module that `exercises.NAME` is."""
        module = importlib.import_module(f"{PACKAGE}.{spec.name}")
        self.spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Leave the module as it is: its code has run."""
        module.__spec__ = self.spec


class ModuleFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the standard library's and NumPy's modules in memory, where no path may be touched.

    Looking for a file leaves a trace: the system remembers which names exist and which do not, and
    answers faster the next time. The next student's worker could measure that.
    """

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
        data, compiled, file = self.held[module.__name__]
        exec(marshal.loads(data) if compiled else compile(data, file, "exec"), vars(module))


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


def hold_library() -> None:
    """Load all extension modules, read all others, and make later imports work without files."""
    library = ModuleFinder()
    for folder in map(Path, sys.path):
        for path in _list(folder) if folder.name == "lib-dynload" else ():
            if not path.name.startswith(UNLOADED):
                with contextlib.suppress(ImportError):
                    importlib.import_module(path.name.partition(".")[0])
    library.read(Path(contextlib.__file__).parent)
    library.read(Path(np.__file__).parent, "numpy")
    for name in ("numpy.fft", "numpy.linalg", "numpy.random"):
        importlib.import_module(name)
    sys.meta_path.remove(importlib.machinery.PathFinder)
    sys.meta_path.append(library)
