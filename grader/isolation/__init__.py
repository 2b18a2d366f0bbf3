"""Start the worker program, and keep it in a sandbox."""

from grader.isolation.hosts import Host, start_host
from grader.isolation.process import Isolation, Process, SandboxError

__all__ = ["Host", "Isolation", "Process", "SandboxError", "start_host"]
