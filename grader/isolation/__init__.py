"""Start the worker program, and keep it in a sandbox."""

from grader.isolation.bubblewrap import Bubblewrap
from grader.isolation.hosts import (
    CAN_FORK,
    ForkingHost,
    Host,
    start_host,
)
from grader.isolation.process import (
    PROGRAM,
    Isolation,
    Process,
    ProcessPlus,
    SandboxError,
)

__all__ = [
    "CAN_FORK",
    "PROGRAM",
    "Bubblewrap",
    "ForkingHost",
    "Host",
    "Isolation",
    "Process",
    "ProcessPlus",
    "SandboxError",
    "start_host",
]
