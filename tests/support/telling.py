"""Tell all that a command can see of how it was started, and end as it is told to."""

import json
import os
import signal
import sys
import tempfile
import threading
import warnings

if __name__ == "__main__":
    seen = {
        "arguments": (sys.argv, sys.orig_argv),
        "folder": (os.getcwd(), tempfile.gettempdir()),  # noqa: PTH109
        "variables": dict(os.environ),
        "path": sys.path,
        "names": sorted(globals()),
        "module": (__name__, __file__, __spec__.name, __package__),
        "terminals": [os.isatty(descriptor) for descriptor in range(3)],
        "descriptors": sorted(os.listdir("/dev/fd")),  # noqa: PTH208
        "input": sys.stdin.read(),
        "threads": threading.active_count(),
        "handler": str(signal.getsignal(signal.SIGINT)),
        "warnings": (sys.warnoptions, str(warnings.filters)),
        "session": (os.getpgrp(), os.getsid(0)),
        "mask": os.umask(0o22),
    }
    print(json.dumps(seen, indent=1, sort_keys=True))
    print("to stderr", file=sys.stderr)
    end = sys.argv[1]
    if end == "kill":
        sys.stdout.flush()
        os.kill(os.getpid(), signal.SIGKILL)
    if end == "raise":
        raise ValueError(end)
    sys.exit(int(end) if end.isdigit() else end)
