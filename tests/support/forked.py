"""Import once what a kind of command imports, and fork a child for each command; see `forks`.

This is the new process's side, so it imports nothing else of the tests. The process computes
nothing and starts no thread before it forks. A child gets what its command is to have, leaves the
loop, and then runs and ends as `python -m` does.
"""

import gc
import importlib
import json
import os
import selectors
import signal
import socket
import sys
import tempfile
import warnings

LONGEST = 2**17  # bytes of a request
PROGRAM = (
    "__import__('runpy')._run_module_as_main("
    "__import__('tests.support.forked', fromlist=['serve']).serve())"
)


def serve():
    """Import the modules, and fork for each request; in the child, return what it is to run."""
    descriptor, *modules = sys.argv[1:]
    before = set(os.environ)
    for name in modules:
        importlib.import_module(name)
    by_modules = {name: value for name, value in os.environ.items() if name not in before}
    gc.collect()
    gc.freeze()  # no child has to look through what all of them share
    interrupt = signal.signal(signal.SIGINT, signal.SIG_IGN)  # it ends with the tests
    control = socket.socket(fileno=int(descriptor))
    with control, selectors.DefaultSelector() as waiting:
        waiting.register(control, selectors.EVENT_READ)
        while True:
            for key, _ in waiting.select():
                if key.data:
                    waiting.unregister(key.fd)
                    _tell_end(key.fd, *key.data)
                    continue
                request, passed, *_ = socket.recv_fds(control, LONGEST, 4)
                if not request:
                    os._exit(0)
                *standard, result = passed
                child = os.fork()
                if not child:
                    others = [key for key in waiting.get_map().values() if key.data]
                    for one in (result, *(fd for key in others for fd in (key.fd, key.data[1]))):
                        os.close(one)
                    signal.signal(signal.SIGINT, interrupt)
                    return _become(standard, by_modules, **json.loads(request))
                for one in standard:
                    os.close(one)
                waiting.register(os.pidfd_open(child), selectors.EVENT_READ, (child, result))


def _tell_end(watched, child, result):
    """Send the status of a child that has ended."""
    os.close(watched)
    _, status = os.waitpid(child, 0)
    os.write(result, b"%d" % os.waitstatus_to_exitcode(status))
    os.close(result)


def _become(standard, by_modules, module, arguments, cwd, env, options):
    """Make this process the command's; return what it is to run."""
    for number, descriptor in enumerate(standard):
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update({**by_modules, **env})
    tempfile.tempdir = None
    sys.path[0] = cwd
    sys.argv[:] = ["-m", *arguments]
    sys.orig_argv[:] = [sys.executable, *options, "-m", module, *arguments]
    if options:
        sys.warnoptions[:] = ["error"]
        warnings.simplefilter("error")
    return module
