"""Sandbox untrusted code in a world of its own, made by bubblewrap.

Inside there is only a Python, NumPy and an empty folder. There is no other process, no network, no
/proc and no place to write. Of the host there is only what Python needs to run. Data that no worker
can write cannot be read by the next one either, not even as the number of a file. Each worker
inside also has the walls of `process+`. Names of the host do not exist inside, because all files
are mounted at neutral places.
"""

import os
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path

from grader.isolation.process import PROGRAM, Isolation, environment_in, spell_walls
from grader.isolation.world import World

PREFIX, SHARED, PACKAGES, WORKER = "/python", "/libraries", "/packages", "/worker"
FOLDER = "/tmp"
NOBODY = 65_534
# Unused user numbers; each sandbox gets its own.
FIRST_USER, USERS = 1_600_000_000, 400_000_000


def find_installed() -> str | None:
    """Return the path of bubblewrap, if it is installed."""
    return shutil.which("bwrap")


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
        return [find_installed() or "bwrap", *self._namespaces(), *self._mounts(), "--", *program]

    def _namespaces(self) -> Iterator[str]:
        yield from ("--die-with-parent", "--new-session", "--cap-drop", "ALL")
        for kind in ("ipc", "pid", "net", "uts", "cgroup-try"):
            yield f"--unshare-{kind}"
        yield from ("--hostname", "sandbox", "--clearenv")
        if self.root:  # given up by the program itself when it has changed its user
            yield from ("--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID")
        else:
            user = str(NOBODY)
            yield from ("--unshare-user", "--disable-userns", "--uid", user, "--gid", user)
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
        for name in (path.name for path in world.foreign()):
            empty = f"{inside}/{name}"
            yield from ("--size", "4096", "--tmpfs", empty, "--remount-ro", empty)
        for device in ("/dev/null", "/dev/zero", "/dev/urandom"):
            yield from ("--dev-bind", device, device)
        yield from ("--perms", "0755", "--size", "4096", "--tmpfs", FOLDER, "--remount-ro", FOLDER)
        yield from ("--remount-ro", "/", "--chdir", FOLDER)
