"""Find the files that a worker must read: the interpreter, its standard library, NumPy.

They are found by trying: an interpreter loads NumPy and every extension module. It then reports
which shared libraries were loaded, by the names that the loader looked for.
"""

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

FOREIGN = ("site-packages", "dist-packages")  # other people's packages, inside the standard library
PIECE = 2**20
ASK = """
import ctypes, json, os, sys
sys.path.append(sys.argv[1])
import numpy, numpy.fft, numpy.linalg, numpy.random
for folder in sys.path[:-1]:
    if folder.endswith("lib-dynload"):
        for name in sorted(os.listdir(folder)):
            if not name.startswith(("_test", "_tkinter", "_xx", "nis")):
                try:
                    ctypes.CDLL(os.path.join(folder, name))
                except OSError:
                    pass

class Loaded(ctypes.Structure):
    _fields_ = [("address", ctypes.c_void_p), ("name", ctypes.c_char_p)]

libraries = []
Found = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Loaded), ctypes.c_size_t, ctypes.c_void_p)
found = Found(lambda library, _size, _data: libraries.append(library.contents.name) or 0)
ctypes.CDLL(None).dl_iterate_phdr(found, None)
modules = [path for path in sys.path if path.endswith("lib-dynload")]
mapped = []
if os.path.exists("/proc/self/maps"):
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as lines:
        paths = {line.rstrip("\\n").partition("/")[2] for line in lines}
    mapped = sorted("/" + path for path in paths if path and os.path.isfile("/" + path))
print(json.dumps([[os.fsdecode(name) for name in libraries if name], modules, mapped]))
"""


@dataclass(frozen=True)
class World:
    """Paths of the host that a worker needs.

    library: the standard library. modules: its extension modules, if they are not inside it. numpy:
    NumPy's own files and folders. shared: the libraries that all these load, each by the name under
    which the loader looks for it. loader: the kernel starts programs with it. mapped: files that
    lie in its memory as they do on the disk, among them the C library's own.
    """

    python: Path
    library: Path
    modules: tuple[Path, ...]
    numpy: tuple[Path, ...]
    shared: tuple[Path, ...]
    loader: Path
    mapped: tuple[Path, ...]

    def foreign(self) -> list[Path]:
        """Return folders in the standard library that do not belong to it."""
        return [self.library / name for name in FOREIGN if (self.library / name).is_dir()]

    def readable(self) -> list[Path]:
        """Return all readable paths, with the standard library entry by entry."""
        inside = [path for path in self.library.iterdir() if path.name not in FOREIGN]
        cache_of_loader = [path for path in [Path("/etc/ld.so.cache")] if path.exists()]
        others = [self.python, *self.modules, *self.numpy, *self.shared, self.loader]
        return [*inside, *others, *cache_of_loader, Path(os.devnull)]

    def in_memory(self) -> Iterator[Path]:
        """Yield all files that may lie in a worker's memory as they do on the disk."""
        for path in (self.python, *self.readable(), *self.mapped):
            yield from [path] if path.is_file() else path.rglob("*.so*")

    def read_through(self) -> None:
        """Read all these files, so that no worker is the first to need a part of one.

        The first reading of a part takes longer. So a worker could tell which parts earlier workers
        have used.
        """
        buffer = bytearray(PIECE)
        for file in self.in_memory():
            with contextlib.suppress(OSError), file.open("rb", buffering=0) as source:
                while source.readinto(buffer):
                    pass


def _of_numpy(folder: Path) -> tuple[Path, ...]:
    """Return NumPy's files, the libraries in its wheel, and its description."""
    beside = [folder, folder.with_name("numpy.libs"), *folder.parent.glob("numpy-*.dist-info")]
    return tuple(path for path in beside if path.is_dir())


@cache
def find_world() -> World:
    """Return the paths that this interpreter needs. Raise an error if it is unusual."""
    python, library = Path(sys.executable), Path(os.__file__).parent
    numpy = _of_numpy(Path(np.__file__).parent)
    env = {"LANG": "C.UTF-8", "OPENBLAS_NUM_THREADS": "1"}
    if (search := "LD_LIBRARY_PATH") in os.environ:
        env[search] = os.environ[search]
    said = subprocess.run(
        [python, "-s", "-S", "-B", "-c", ASK, numpy[0].parent],
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=True,
    )
    found = json.loads(said.stdout)
    names, modules, mapped = (tuple(Path(name) for name in names) for names in found)
    loader = next(path for path in names if path.name.startswith(("ld-", "ld.so", "ld64")))
    own = (*numpy, library, *modules)
    shared = [path for path in names if path != loader and path.is_absolute()]
    return World(
        python.resolve(),
        library,
        tuple(path for path in modules if not path.is_relative_to(library)),
        numpy,
        tuple(path for path in shared if not any(path.is_relative_to(home) for home in own)),
        loader,
        mapped,
    )
