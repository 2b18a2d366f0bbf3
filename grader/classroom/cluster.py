"""Grade on a Dask cluster of any kind, also on processes of this machine.

A Dask worker never runs a student's code. It owns a judge process, which owns a sandbox, so a
submission cannot take the Dask worker down. If a Dask worker still dies, its scheduler gives its
unfinished work to another one.
"""

import contextlib
import re
import socket
from collections.abc import Iterator
from concurrent.futures import Executor
from typing import Any

from grader.report.problem import Problem

SECONDS_TO_CONNECT = 10
DEATHS = 3  # how many Dask workers may die with a submission before it is dropped


@contextlib.contextmanager
def connect(address: str) -> Iterator[tuple[Executor, int]]:
    """Yield graders, and how many submissions they take at a time.

    address: of the cluster's scheduler, such as `tcp://10.0.0.5:8786`.
    """
    try:
        from distributed import Client
    except ImportError:
        raise Problem(
            "--scheduler needs Dask: pip install distributed, here and on the cluster's workers"
        ) from None
    found = re.fullmatch(r"(?:(?:tcp|tls)://)?(\[[0-9A-Fa-f:.]+\]|[^:/\[\]]+):(\d{1,5})", address)
    if found is None:
        raise Problem(f"{address} is not a scheduler's address, such as tcp://10.0.0.5:8786")
    try:  # Dask's own client takes long to find that nothing listens there
        socket.create_connection((found[1].strip("[]"), int(found[2])), SECONDS_TO_CONNECT).close()
        client: Any = Client(address, timeout=SECONDS_TO_CONNECT, set_as_default=False)  # type: ignore[no-untyped-call]
    except (OSError, OverflowError, ValueError, TypeError) as error:
        raise Problem(f"no Dask scheduler answers at {address}: {error}") from None
    with client:
        slots = sum(client.nthreads().values())
        if not slots:
            raise Problem(f"the Dask scheduler at {address} has no workers: start some")
        yield client.get_executor(retries=DEATHS, pure=False), slots
