"""Start the worker program, and keep it in a sandbox."""

from grader.isolation.hosts import Host, Isolation, Process, SandboxError, start_host

__all__ = ["Host", "Isolation", "Process", "SandboxError", "start_host"]
