"""The sandboxes, attacked from inside: each promise by an actual attempt, as in the probe.

bubblewrap must be installed and allowed to make namespaces where these tests run; where it is not,
the first of them says what to do.
"""

import contextlib
import ctypes
import json
import math
import os
import platform
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import textwrap
import time
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest

from grader.engine import grading
from grader.intake.submission import read_folder
from grader.isolation import Process, SandboxError, allowed_calls, probe, sandboxes, start_host
from grader.isolation.client import Program, TimedOut, Worker
from grader.isolation.probe import PATHS_UNKNOWN, PROMISES, isolation_for_grading, probe_promises
from grader.isolation.sandboxes import Bubblewrap, ProcessPlus, find_world
from grader.steps import registry
from grader.steps.paths import ROOT
from tests.conftest import SEED
from tests.support import processes
from tests.support.stubs import write_stubs

pytestmark = pytest.mark.skipif(not processes.LINUX, reason="sandboxes are for Linux")
LIMITS = replace(registry.load().limits, call_seconds=20.0, memory_mib=512)
SANDBOXES = ["bubblewrap", "process+"]
RUN = """
def f(source, *args):
    space = {}
    exec(source, space)
    return space["f"](*args)
"""


def make(name):
    world = find_world()
    return Bubblewrap(world) if name == "bubblewrap" else ProcessPlus(world)


@pytest.fixture(scope="module", params=SANDBOXES)
def name(request):
    return request.param


@pytest.fixture(scope="module")
def host(name):
    with start_host(make(name), LIMITS) as host:
        yield host


@contextlib.contextmanager
def working(host, source=RUN):
    """A fresh worker: working(host) as ask, ask(body, *args) for the body of a function."""
    worker = Worker(host, math.inf)
    with contextlib.closing(worker):
        worker.load(Program("s", {"s": (source, "s.py")}))

        def ask(body, *args):
            source = "import os\ndef f(*args):\n" + textwrap.indent(textwrap.dedent(body), "    ")
            return worker.call("f", [source, *args], {}).value

        ask.worker = worker
        yield ask


@pytest.fixture
def run(host):
    """Runs the body of a function in a fresh worker: run(body, *args)."""
    with contextlib.ExitStack() as stack:
        yield lambda body, *args: stack.enter_context(working(host))(body, *args)


@pytest.fixture(scope="module")
def held(name):
    return probe_promises(make(name), LIMITS)


def test_bubblewrap_works_where_the_tests_run():
    assert shutil.which("bwrap"), "these tests need bubblewrap: sudo apt install bubblewrap"
    assert isolation_for_grading("auto", LIMITS).name == "bubblewrap"


@pytest.mark.parametrize("promise", PROMISES)
def test_promise_holds(held, name, promise):
    assert held[promise]


@pytest.mark.parametrize("home", ["/", "/tmp"])
def test_home_that_holds_the_workers_folder_too_is_not_a_leak(monkeypatch, name, home):
    monkeypatch.setenv("HOME", home)
    monkeypatch.setattr(tempfile, "tempdir", "/tmp")
    assert probe_promises(make(name), LIMITS, ["environment is clean"])["environment is clean"]


@pytest.mark.parametrize("promise", [name for name in PROMISES if "limited" not in name])
def test_promise_does_not_hold_without_a_sandbox(promise):
    held = probe_promises(Process(), LIMITS, [promise])
    assert held == {promise: promise == "NumPy works"}


def test_probe_leaves_nothing_where_nothing_holds(monkeypatch):
    token = f"token-{os.getpid()}"
    monkeypatch.setattr(probe.secrets, "token_hex", lambda size: token)
    promises = ["nothing can be written on the host", "nothing is left for the next worker"]
    assert probe_promises(Process(), LIMITS, promises) == dict.fromkeys(promises, False)
    for folder in ("/", "/tmp", "/dev/shm", "/var/tmp", ROOT, Path.home()):
        if os.access(folder, os.R_OK):
            assert not [path for path in Path(folder).iterdir() if token in path.name]
    assert "NOPEEK_PROBE" not in os.environ


# What a worker finds.


def test_honest_code_runs(run):
    body = """
        import signal, sys, time
        os.cpu_count(), os.urandom(8), os.get_terminal_size, sys.stdout.isatty()
        time.sleep(0.001)
        signal.alarm(0)
        signal.signal(signal.SIGALRM, signal.SIG_IGN)
        return time.process_time()
        """
    assert run(body) > 0


def test_numpy_is_the_only_package(run):
    body = """
        from importlib.util import find_spec
        names = ["torch", "pytest", "click", "jinja2", "pip", "setuptools", "grader"]
        return [name for name in names if find_spec(name.split(".")[0])]
        """
    assert run(body) == []


def test_user_is_nobody_in_bubblewrap():
    isolation = make("bubblewrap")
    with start_host(isolation, LIMITS) as host, working(host) as ask:
        user, group, groups = ask("return os.getuid(), os.getgid(), os.getgroups()")
    assert user == group != 0
    assert groups in ([], [user])
    assert user != os.getuid() or not isolation.root


def test_world_of_bubblewrap_is_small():
    """Without the walls around a worker: what the program itself, and its parent, can see."""
    isolation = make("bubblewrap")
    code = "import os; print(sorted(os.listdir('/')), sorted(os.listdir('/dev')), dict(os.environ))"
    done = subprocess.run(
        isolation.command([isolation.python, "-s", "-S", "-B", "-c", code]),
        env={},
        capture_output=True,
        text=True,
        check=True,
    )
    loader = find_world().loader.parts[1]
    top = sorted({"dev", "libraries", "packages", "python", "tmp", "worker", loader})
    assert done.stdout.startswith(f"{top} ['null', 'urandom', 'zero'] ")
    for word in (str(Path.home()), str(ROOT), os.environ.get("USER") or "no user"):
        assert word not in done.stdout


# Attacks that the probe does not try. Should one succeed, it does no harm beyond its worker.

REFUSED = {
    "own memory through /proc": "open('/proc/self/mem', 'r+b')",
    "kernel settings": "open('/proc/sys/kernel/core_pattern', 'w')",
    "owner of a descriptor": "import fcntl; fcntl.fcntl(0, fcntl.F_SETOWN, os.getppid())",
    "lock on a shared file": "import fcntl; fcntl.flock(os.open('/dev/null', 0), fcntl.LOCK_EX)",
    "terminal": "os.open('/dev/tty', 0)",
    "a byte out of order": (
        "import gc, socket; next(one for one in gc.get_objects() "
        "if isinstance(one, socket.socket)).send(b'x', socket.MSG_OOB)"
    ),
    "standard library": "os.close(os.open(os.__file__, os.O_WRONLY))",
    "limits raised": "import resource; resource.setrlimit(resource.RLIMIT_AS, (-1, -1))",
    "cores allowed": "import resource; resource.setrlimit(resource.RLIMIT_CORE, (9, 9))",
}


def test_attacks_are_refused(run):
    body = """
        done = []
        for name, line in args[0].items():
            try:
                exec(line, {"os": os})
                done.append(name)
            except (OSError, ValueError):
                pass
        return done
        """
    assert run(body, REFUSED) == []


# Raw calls by number, x86-64 and ARM64: what must not be reachable by any name.
CALLS = {
    "open": (2, None), "openat": (257, 56), "openat2": (437, 437), "stat": (4, None),
    "lstat": (6, None), "newfstatat": (262, 79), "statx": (332, 291), "access": (21, None),
    "faccessat": (269, 48), "faccessat2": (439, 439), "readlink": (89, None),
    "readlinkat": (267, 78), "getdents64": (217, 61), "statfs": (137, 43), "chdir": (80, 49),
    "fadvise64": (221, 223), "inotify_add_watch": (254, 27),
    "fork": (57, None), "vfork": (58, None), "clone": (56, 220), "clone3": (435, 435),
    "execve": (59, 221), "execveat": (322, 281), "ptrace": (101, 117), "socket": (41, 198),
    "socketpair": (53, 199), "sendmsg": (46, 211), "recvmsg": (47, 212), "shmget": (29, 194),
    "semget": (64, 190), "msgget": (68, 186), "mq_open": (240, 180), "memfd_create": (319, 279),
    "keyctl": (250, 219), "add_key": (248, 217), "request_key": (249, 218), "bpf": (321, 280),
    "unshare": (272, 97), "setns": (308, 268), "mount": (165, 40), "perf_event_open": (298, 241),
    "userfaultfd": (323, 282), "io_uring_setup": (425, 425), "pidfd_open": (434, 434),
    "process_vm_writev": (311, 271), "kexec_load": (246, 104), "kill": (62, 129),
    "tkill": (200, 130), "tgkill": (234, 131), "rt_sigqueueinfo": (129, 138),
    "seccomp": (317, 277), "inotify_init1": (294, 26), "timer_create": (222, 107),
    "open_by_handle_at": (304, 265), "mincore": (27, 232), "personality": (135, 92),
    "mremap": (25, 216), "pkey_mprotect": (329, 288), "modify_ldt": (154, None),
    "arch_prctl": (158, None), "fsopen": (430, 430), "landlock_create_ruleset": (444, 444),
}  # fmt: skip


def test_system_calls_are_refused(run):
    """As not permitted or unknown: not because the arguments are wrong."""
    body = """
        import ctypes
        library = ctypes.CDLL(None, use_errno=True)
        return [(library.syscall(n, 0, 0, 0, 0, 0), ctypes.get_errno()) for n in args[0]]
        """
    numbers = {name: both[platform.machine() == "aarch64"] for name, both in CALLS.items()}
    numbers = {name: number for name, number in numbers.items() if number is not None}
    for name, (result, error) in zip(numbers, run(body, [*numbers.values()])):
        assert (name, result, error) in ((name, -1, 1), (name, -1, 38))


def test_worker_is_told_nothing_of_how_it_was_started(run):
    words = run("import sys\nreturn sys.argv + sys.orig_argv")
    assert words == ["exercises", "exercises"]


def test_large_arrays_grow_without_moving_pages(run):
    body = """
        import numpy as np
        large = np.ones(2**23)
        large.resize(2**24, refcheck=False)
        numbers = list(range(5 * 10**6))
        numbers.extend(numbers)
        return float(large.sum()), len(numbers)
        """
    assert tuple(run(body)) == (2.0**23, 10**7)


def test_locks_with_a_time_limit_still_work(run):
    body = """
        import threading
        lock = threading.Lock()
        return lock.acquire(timeout=1), lock.acquire(timeout=0.01), threading.Event().wait(0.01)
        """
    assert tuple(run(body)) == (True, False, False)


def test_closed_sandbox_leaves_no_process(name):
    with start_host(make(name), LIMITS) as host, working(host) as ask:
        ask.worker.deadline = time.monotonic() + 1.0
        family = [host.process.pid, *processes.descendants(host.process.pid)]
        with pytest.raises(TimedOut):
            ask("while True: pass")
    assert len(family) >= 2
    assert all(processes.gone(pid) for pid in family)


def test_every_file_in_a_workers_memory_was_read_before():
    """In bubblewrap, they are the same but for the C library's own, which is not there."""
    known = {path.resolve() for path in find_world().in_memory()}
    with start_host(make("process+"), LIMITS) as host, working(host):
        workers = processes.descendants(host.process.pid)
        files = {file.resolve() for pid in workers for file in processes.mapped(pid)}
    assert len(files) > 20
    assert files - known == set()


def test_judge_that_is_killed_takes_its_sandbox_along(name):
    ended = processes.end_with_their_parent(f"""
        import os
        from grader.isolation import start_host
        from tests.integration.test_sandbox import LIMITS, make
        from tests.support import processes

        host = start_host(make({name!r}), LIMITS)
        host.start()
        print(host.folder, *processes.descendants(os.getpid()), flush=True)
        os.kill(os.getpid(), 9)
        """)
    assert ended >= 2


def test_bubblewrap_holds_without_landlock(monkeypatch):
    """Older kernels have none; the namespaces and the system calls must do."""
    monkeypatch.setattr(sandboxes, "landlock_version", lambda: 0)
    assert all(probe_promises(make("bubblewrap"), LIMITS).values())


def test_sandboxes_have_users_of_their_own():
    isolation = make("bubblewrap")
    users = {json.loads(isolation.walls())["user"] for _ in range(5)}
    assert len(users) == (5 if isolation.root else 1)


@pytest.mark.parametrize(("folder", "share"), [("solutions", 1.0), ("exercises", 0.0)])
def test_marks_are_the_same_in_a_sandbox(host, folder, share, tmp_path):
    """Of some steps: all of the worker's ways are in them, a cache and randomness too."""
    steps = registry.load()
    chosen = tuple(steps.find(number) for number in ("4", "7", "8"))
    submission = read_folder(ROOT / folder if share else write_stubs(tmp_path / folder), steps)
    report = grading.make_grader(steps, host, "visible", SEED, chosen).grade(submission, chosen)
    assert report.score == share * report.max_score


# The choice.


def test_auto_for_grading_is_refused_without_bubblewrap(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(SandboxError, match=r"not installed: `sudo apt install bubblewrap`"):
        isolation_for_grading("auto", LIMITS)


def test_process_for_grading_is_what_it_is():
    chosen = isolation_for_grading("process", LIMITS)
    assert (chosen.name, chosen.held) == ("process", {})


# What opens a window or a web page, or is nothing without a terminal, and Python's own tools.
UNWANTED = {"antigravity", "this", "idlelib", "turtle", "turtledemo", "tkinter", "_tkinter"}
UNWANTED |= {"readline", "nis", "ensurepip", "test"}


def test_worker_imports_what_python_and_numpy_have_without_touching_a_file(run):
    """All but what wants a terminal, a window or a package manager."""
    wanted = sorted(sys.stdlib_module_names - UNWANTED - set(sys.builtin_module_names))
    wanted = [name for name in wanted if find_spec(name) is not None]
    wanted += ["numpy.fft", "numpy.ma", "numpy.polynomial", "numpy.testing", "numpy.random"]
    wanted += ["concurrent.futures", "encodings.idna", "xml.etree.ElementTree", "unittest.mock"]
    body = """
        import importlib
        failed = []
        for name in args[0]:
            try:
                importlib.import_module(name)
            except ImportError as error:
                failed.append(f"{name}: {error}")
        import dataclasses
        return str(failed), dataclasses.__file__.rpartition("/")[2], dataclasses.__spec__.name
        """
    assert run(body, wanted) == ("[]", "dataclasses.py", "dataclasses")


def test_unknown_isolation_is_refused():
    with pytest.raises(SandboxError, match="there is no isolation 'jail': choose bubblewrap"):
        isolation_for_grading("jail", LIMITS)


def test_sandbox_that_does_not_start_says_why(monkeypatch, tmp_path):
    program = tmp_path / "bwrap"
    program.write_text("#!/bin/sh\necho 'setting up uid map: Permission denied' >&2\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    words = r"does not start here \(setting up uid map: Permission denied\).*--isolation process\+"
    with pytest.raises(SandboxError, match=words):
        isolation_for_grading("auto", LIMITS)


def test_sandbox_that_does_not_hold_is_refused(monkeypatch):
    """A bubblewrap whose walls are gone, and that binds the whole host."""
    monkeypatch.setattr(Bubblewrap, "walls", Process.walls)
    for name in ("python", "program", "packages", "command"):
        monkeypatch.setattr(Bubblewrap, name, getattr(Process, name))
    promises = [PATHS_UNKNOWN, "no network"]
    monkeypatch.setattr(probe, "PROMISES", {name: PROMISES[name] for name in promises})
    monkeypatch.setattr(probe, "probe_promises", lambda a, b: probe_promises(a, b, promises))
    with pytest.raises(SandboxError, match=f"nothing was graded; what failed: {promises[0]}; no"):
        isolation_for_grading("bubblewrap", LIMITS)


@pytest.mark.parametrize("version", [0, 1, 2])
def test_kernel_whose_landlock_does_not_hold_is_refused(monkeypatch, version):
    monkeypatch.setattr(probe, "landlock_version", lambda: version)
    with pytest.raises(SandboxError, match=r"process\+ needs version 3 of Landlock"):
        isolation_for_grading("process+", LIMITS)


def test_probe_finds_that_an_old_landlock_lets_files_be_emptied(monkeypatch):
    """The walls of a kernel before 6.2, of which nothing but the probe knows the version.

    With the calls that they should not have: without those nothing can be opened at all.
    """
    monkeypatch.setattr(sandboxes, "landlock_version", lambda: 2)
    calls = allowed_calls.MACHINES[platform.machine()].calls
    monkeypatch.setitem(calls, "openat", {"x86_64": 257, "aarch64": 56}[platform.machine()])
    promise = "what can be read cannot be emptied"
    held = probe_promises(make("process+"), LIMITS, [promise])
    assert held == {promise: False}


def test_other_machine_is_refused(monkeypatch):
    monkeypatch.setattr(probe, "MACHINES", {})
    with pytest.raises(SandboxError, match="need Linux on x86-64 or ARM64"):
        isolation_for_grading("auto", LIMITS)


# The filter.


def decide(machine, number, audit=None, arguments=(0,) * 6):
    """Return the filter's answer to a call: a small interpreter of its five instructions."""
    code = [*struct.iter_unpack("=HBBI", allowed_calls.program(machine))]
    audit = allowed_calls.MACHINES[machine].audit if audit is None else audit
    data = struct.pack("=iIQ6Q", number, audit, 0, *arguments)
    at, loaded = 0, 0
    while True:
        operation, then, otherwise, value = code[at]
        if operation == allowed_calls.RETURN:
            return value
        if operation == allowed_calls.LOAD:
            (loaded,) = struct.unpack_from("=I", data, value)
            at += 1
        else:
            holds = loaded == value if operation == allowed_calls.EQUAL else loaded >= value
            at += 1 + (then if holds else otherwise)


MACHINE = pytest.mark.parametrize("machine", allowed_calls.MACHINES)


@MACHINE
def test_filter_allows_what_is_listed_and_nothing_else(machine):
    kept = allowed_calls.MACHINES[machine].calls
    allowed = {n for n in range(1024) if decide(machine, n) == allowed_calls.ALLOW}
    with_zeros = {"fcntl", "prlimit64", "sched_getaffinity", "getpgid", "getsid"}
    with_zeros |= {"mmap", "mprotect", "clock_gettime", "clock_getres", "clock_nanosleep"}
    with_zeros |= {"sendto", "recvfrom"}
    assert allowed == {kept[n] for n in set(kept) - set(allowed_calls.KEPT_FOR) | with_zeros}
    for column, numbers in enumerate(zip(*CALLS.values())):
        if list(allowed_calls.MACHINES)[column] == machine:
            assert not allowed & set(numbers)


@MACHINE
def test_filter_looks_at_arguments(machine):
    for name, (position, values) in allowed_calls.KEPT_FOR.items():
        number = allowed_calls.MACHINES[machine].calls.get(name)
        if number is None:
            assert (name, machine) == ("arch_prctl", "aarch64")
            continue
        for value in (*values, 8, 77, 0x5412):
            arguments = [0] * 6
            arguments[position] = value
            allowed = decide(machine, number, arguments=arguments) == allowed_calls.ALLOW
            assert allowed == (value in values)


@MACHINE
def test_filter_kills_other_numberings_and_knows_no_newer_calls(machine):
    """The C library then takes the older call."""
    assert decide(machine, 0, audit=0x4000_0003) == allowed_calls.KILL
    assert decide(machine, allowed_calls.X32 + 39) == allowed_calls.KILL
    unshare = CALLS["unshare"][machine == "aarch64"]
    answers = [decide(machine, number) & 0xFFFF for number in (allowed_calls.CLONE3, 500, unshare)]
    assert answers == [38, 38, 1]


def test_numbers_of_this_machine_are_right():
    """Asked of the kernel's own headers where they are, and of the C library always."""
    header = Path(f"/usr/include/{platform.machine()}-linux-gnu/asm/unistd_64.h")
    calls = allowed_calls.MACHINES[platform.machine()].calls
    if header.exists():
        found = dict(re.findall(r"#define __NR_(\w+) (\d+)", header.read_text()))
        assert {name: int(found[name]) for name in calls} == calls
    assert ctypes.CDLL(None).syscall(calls["getpid"]) == os.getpid()
