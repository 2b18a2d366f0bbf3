"""Build the walls around a worker, and the world in which it runs.

`ProcessPlus` gives up, for good, whatever a Linux process can give up by itself before it loads
untrusted code: system calls, and files beyond those that Python and NumPy need.

`Bubblewrap` makes a world of its own, with the same walls inside. There is only a Python, NumPy and
an empty folder: no other process, no network, no /proc and no place to write. Of the host there is
only what Python needs to run. Data that no worker can write cannot be read by the next one either,
not even as the number of a file. Names of the host do not exist inside, because all files are
mounted at neutral places.

The files that a worker must read are found by trying: an interpreter loads NumPy and every
extension module. It then reports which shared libraries were loaded, by the names that the loader
looked for.
"""

import contextlib
import ctypes
import json
import os
import secrets
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from grader.isolation import allowed_calls
from grader.isolation.hosts import PROGRAM, Isolation, environment_in

BWRAP = "bwrap"
PREFIX, SHARED, PACKAGES, WORKER = "/python", "/libraries", "/packages", "/worker"
FOLDER = "/tmp"
# Unused user numbers; each sandbox gets its own.
FIRST_USER, USERS = 1_600_000_000, 400_000_000
FOREIGN = ("site-packages", "dist-packages")  # other people's packages, inside the standard library
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

    def readable(self) -> list[Path]:
        """Return all readable paths, with the standard library entry by entry."""
        cache_of_loader = Path("/etc/ld.so.cache")
        return [
            *(path for path in self.library.iterdir() if path.name not in FOREIGN),
            *(self.python, *self.modules, *self.numpy, *self.shared, self.loader),
            *([cache_of_loader] if cache_of_loader.exists() else []),
            Path(os.devnull),
        ]

    def in_memory(self) -> Iterator[Path]:
        """Yield all files that may lie in a worker's memory as they do on the disk."""
        for path in (self.python, *self.readable(), *self.mapped):
            yield from [path] if path.is_file() else path.rglob("*.so*")

    def read_through(self) -> None:
        """Read all these files, so that no worker is the first to need a part of one.

        The first reading of a part takes longer. So a worker could tell which parts earlier workers
        have used.
        """
        buffer = bytearray(2**20)
        for file in self.in_memory():
            with contextlib.suppress(OSError), file.open("rb", buffering=0) as source:
                while source.readinto(buffer):
                    pass


@cache
def find_world() -> World:
    """Return the paths that this interpreter needs. Raise an error if it is unusual."""
    python, library, home = Path(sys.executable), Path(os.__file__).parent, Path(np.__file__).parent
    beside = [home, home.with_name("numpy.libs"), *home.parent.glob("numpy-*.dist-info")]
    numpy = tuple(path for path in beside if path.is_dir())
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
        tuple(path for path in shared if not any(map(path.is_relative_to, own))),
        loader,
        mapped,
    )


def landlock_version() -> int:
    """Return the version of Landlock's interface in this machine's kernel, or 0 without one."""
    if not sys.platform.startswith("linux"):
        return 0
    ask = 444, None, ctypes.c_size_t(0), 1  # landlock_create_ruleset, and its version only
    return max(0, int(ctypes.CDLL(None).syscall(*ask)))


def spell_walls(readable: Iterable[str], user: int | None = None) -> str:
    """Return walls against system calls, and against other files, as JSON for the worker."""
    walls = {"landlock": landlock_version(), "calls": allowed_calls.program().hex()}
    return json.dumps({**walls, "readable": [*readable], "user": user})


class ProcessPlus(Isolation):
    """A process that gives up what it can, for machines on which bubblewrap cannot run.

    It has no world of its own. It cannot open the host's files, signal its processes or reach a
    network, but it can tell which paths exist. It cannot write files anywhere, because nothing
    would limit how many.
    """

    name = "process+"

    def __init__(self, world: World) -> None:
        self.world = world

    def walls(self) -> str:
        return spell_walls(map(str, self.world.readable()))


def _may_be_anybody() -> bool:
    """Return whether this is root, and not only in a user namespace without other users."""
    if os.geteuid() != 0:
        return False
    rows = Path("/proc/self/uid_map").read_text(encoding="ascii").splitlines()
    ranges = [tuple(map(int, row.split())) for row in rows]
    return any(first <= FIRST_USER and first + n >= FIRST_USER + USERS for first, _, n in ranges)


class Bubblewrap(Isolation):
    """A sandbox that contains nothing of the host.

    Root becomes a user that does not exist, in the host's own user namespace. In a new namespace it
    would stay root for the kernel's files and settings. Other users get a new one.
    """

    name = "bubblewrap"
    python, program, packages = f"{PREFIX}/bin/python3", f"{WORKER}/{PROGRAM.name}", PACKAGES

    def __init__(self, world: World) -> None:
        self.world = world
        self.root = _may_be_anybody()

    def walls(self) -> str:
        readable = [PREFIX, SHARED, PACKAGES, "/dev", str(self.world.loader.parent)]
        user = FIRST_USER + secrets.randbelow(USERS) if self.root else None
        return spell_walls(readable, user)

    def environment(self, folder: Path) -> dict[str, str]:
        return {}  # the command line sets that of the program inside

    def command(self, program: list[str]) -> list[str]:
        bwrap = shutil.which(BWRAP) or BWRAP
        return [bwrap, *self._namespaces(), *self._mounts(), "--", *program]

    def _namespaces(self) -> Iterator[str]:
        unshared = (f"--unshare-{kind}" for kind in ("ipc", "pid", "net", "uts", "cgroup-try"))
        yield from ("--die-with-parent", "--new-session", "--cap-drop", "ALL", *unshared)
        yield from ("--hostname", "sandbox", "--clearenv")
        if self.root:  # given up by the program itself when it has changed its user
            yield from ("--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID")
        else:
            nobody = "65534"
            yield from ("--unshare-user", "--disable-userns", "--uid", nobody, "--gid", nobody)
        libraries = {"PYTHONHOME": PREFIX, "LD_LIBRARY_PATH": SHARED}
        for name, value in {**environment_in(FOLDER), **libraries}.items():
            yield from ("--setenv", name, value)

    def _mounts(self) -> Iterator[str]:
        world = self.world
        lib = f"{PREFIX}/{world.library.parent.name}"
        inside = f"{lib}/{world.library.name}"
        # bubblewrap would make these for the owner alone where the host's folder is closed.
        for folder in (PREFIX, f"{PREFIX}/bin", lib, PACKAGES, SHARED, WORKER, "/dev"):
            yield from ("--perms", "0755", "--dir", folder)
        for above in reversed(world.loader.parents[:-1]):
            yield from ("--perms", "0755", "--dir", str(above))
        for source, target in [
            (world.python, f"{PREFIX}/bin/python3"),
            (world.library, inside),
            *((path, f"{inside}/{path.name}") for path in world.modules),
            *((path, f"{PACKAGES}/{path.name}") for path in world.numpy),
            *((path, f"{SHARED}/{path.name}") for path in world.shared),
            (world.loader, str(world.loader)),
            *((path, f"{WORKER}/{path.name}") for path in PROGRAM.parent.glob("*.py")),
        ]:
            yield from ("--ro-bind", os.path.realpath(source), target)
        for name in (name for name in FOREIGN if (world.library / name).is_dir()):
            empty = f"{inside}/{name}"
            yield from ("--size", "4096", "--tmpfs", empty, "--remount-ro", empty)
        for device in ("/dev/null", "/dev/zero", "/dev/urandom"):
            yield from ("--dev-bind", device, device)
        yield from ("--perms", "0755", "--size", "4096", "--tmpfs", FOLDER, "--remount-ro", FOLDER)
        yield from ("--remount-ro", "/", "--chdir", FOLDER)
