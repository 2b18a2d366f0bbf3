"""Where workers run: starting the worker program, and what keeps it in."""

from grader.sandbox.bubblewrap import Bubblewrap
from grader.sandbox.hosts import (
    CAN_FORK,
    ForkingHost,
    Host,
    SpawningHost,
    channel_pair,
    host,
)
from grader.sandbox.isolation import (
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
    "SpawningHost",
    "channel_pair",
    "host",
]
