"""Files and processes left for later: for the next check, the next step, the next student."""

import ctypes
import errno
import glob
import mmap
import os
import signal
import socket
import sys
import time

import numpy as np

from tests.corpora.hostile import attack

MARK = "nopeek-attack"
TROJANS = ("conftest.py", "sitecustomize.py", "usercustomize.py", "numpy.py", "x.pth", "pytest.ini")
CODE = "import os\nos._exit(0)\n"


def zeros(q, k):
    return np.zeros((*q.shape[:-1], k.shape[-2]))


def written(path, text=CODE):
    try:
        with open(path, "w") as file:
            file.write(text)
    except OSError:
        return False
    return True


def daemon(work):
    """Runs work in a process that nothing leads back to."""
    if os.fork():
        return
    os.setsid()
    if os.fork():
        os._exit(0)
    ctypes.CDLL(None).prctl(1, 0, 0, 0, 0)  # do not die with the parent
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    work()
    os._exit(0)


def right_only_if(found):
    """Has the first function end the worker; in the next one, the second is right if `found`."""
    globals()["linear"] = lambda *args, **kwargs: os._exit(0)
    if found:
        globals()["project_qkv"] = lambda x, w_q, w_k, w_v: (x @ w_q, x @ w_k, x @ w_v)


@attack("attention_scores", "passed", earns="own")
def trojans_in_its_folder(q, k):
    """Is right, and leaves files that Python or pytest would run, wherever it may write."""
    for folder in {os.getcwd(), os.environ["HOME"], os.environ["TMPDIR"]}:
        os.makedirs(f"{folder}/__pycache__", exist_ok=True)
        for name in (*TROJANS, f"{MARK}.txt"):
            written(f"{folder}/{name}")
    return right(q, k)


@attack("attention_scores", "passed", earns="own")
def a_tree_too_deep_to_remove(q, k):
    """Is right, and leaves hundreds of folders in one another, all locked."""
    here, name = os.getcwd(), "d" * 100
    if not os.path.exists(name):
        for _ in range(300):
            os.mkdir(name)
            os.chdir(name)
        os.chmod(".", 0)
        os.chdir(here)
        os.chmod(name, 0)
    return right(q, k)


@attack("attention_scores", "passed", earns="own")
def names_that_are_none(q, k):
    """Is right, and leaves names with newlines, without encoding, and like options."""
    folder = os.fsencode(os.getcwd()) + b"/"
    for name in (b"\n\x1b[2J", b"\xff\xfe", b"-rf", b"*", b" ", b"x" * 255):
        os.close(os.open(folder + name, os.O_CREAT))
    return right(q, k)


@attack("attention_scores", "passed", earns="own")
def links_pipes_and_sockets(q, k):
    """Is right, and leaves what is no file: a clean-up that follows or opens it comes to grief."""
    name = str(time.monotonic_ns())
    os.symlink("/", f"root{name}")
    os.symlink("..", f"up{name}")
    os.symlink(f"loop{name}", f"loop{name}")
    os.mkfifo(f"pipe{name}")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(f"socket{name}")
    return right(q, k)


@attack("attention_scores", "passed", earns="own")
def a_folder_that_is_gone(q, k):
    """Is right, and removes, renames or locks the folder it works in."""
    here = os.environ["HOME"]
    if here == os.getcwd() and not os.path.exists(f"{here}-moved"):
        os.rename(here, f"{here}-moved")
        os.mkdir(here, 0)
    return right(q, k)


@attack("attention_scores", "passed", earns="own")
def daemon_that_waits(q, k):
    """Is right, and leaves a process behind that is nobody's child."""
    daemon(lambda: time.sleep(600))
    return right(q, k)


@attack("attention_scores", "passed", earns="own")
def daemon_that_is_stopped(q, k):
    """Is right, and leaves a process that is stopped, with children of its own."""

    def work():
        for _ in range(3):
            if not os.fork():
                time.sleep(600)
        os.kill(os.getpid(), signal.SIGSTOP)

    daemon(work)
    return right(q, k)


@attack("attention_scores", "timeout")
def daemon_that_answers_later(q, k):
    """Leaves a process that holds the channel and goes on, and never answers itself."""
    daemon(lambda: time.sleep(600))
    time.sleep(600)


@attack("attention_scores", ("error", "timeout"))
def daemon_under_another_name(q, k):
    """Leaves another program running, without any environment, and exits."""
    program = [sys.executable, "-I", "-S", "-c", f"import time; time.sleep(600) # {MARK}"]
    daemon(lambda: os.execve(sys.executable, program, {}))
    os._exit(0)


@attack("linear", "error", at_import=True)
def trojans_for_the_next_worker():
    """Leaves a file in its own folder and dies, for the worker that comes after it."""
    right_only_if(os.path.exists("stash") or os.path.exists("numpy.py"))
    for name in (*TROJANS, "stash"):
        written(name)


@attack("linear", "error", at_import=True, needs="bubblewrap")
def files_where_all_can_write():
    """Does so in every place that is shared."""
    places = ["..", "/tmp", "/var/tmp", "/dev/shm", "/run", "/var/lock", "/dev/mqueue", "/"]
    paths = [f"{place}/{MARK}" for place in places]
    right_only_if(any(map(os.path.exists, paths)))
    for path in paths:
        written(path)


@attack("linear", "error", at_import=True, needs="bubblewrap")
def files_in_the_kit():
    """Does so in the interpreter, in NumPy and beside the worker program."""
    with open("/proc/self/cmdline") as file:
        words = [word for word in file.read().split("\0") if word.endswith(".py")]
    roots = [os.path.dirname(word) for word in [np.__file__, os.__file__, *words]]
    paths = [f"{root}/{MARK}.pth" for root in [*roots, sys.prefix]]
    right_only_if(any(map(os.path.exists, paths)) or any([written(path, "") for path in paths]))


@attack("linear", "error", at_import=True, needs="bubblewrap")
def memory_that_lasts():
    """Does so in System V memory, under a key that the next worker knows."""
    libc = ctypes.CDLL(None)
    right_only_if(libc.shmget(0x6E6F7065, 4096, 0o666) >= 0)
    libc.shmget(0x6E6F7065, 4096, 0o1666)


@attack("linear", "error", at_import=True, needs="bubblewrap")
def words_in_the_key_ring():
    """Does so in the kernel's key ring of the user."""
    libc, ring = ctypes.CDLL(None), ctypes.c_int(-4)
    right_only_if(libc.syscall(250, 10, ring, b"user", MARK.encode(), 0) > 0)
    libc.syscall(248, b"user", MARK.encode(), b"x", 1, ring)


@attack("linear", "error", at_import=True, needs="bubblewrap")
def queue_of_messages():
    """Does so in a POSIX message queue."""
    libc = ctypes.CDLL(None)
    right_only_if(libc.mq_open(f"/{MARK}".encode(), os.O_RDONLY) >= 0)
    libc.mq_open(f"/{MARK}".encode(), os.O_RDWR | os.O_CREAT, 0o666, None)


@attack("linear", "error", at_import=True, needs="bubblewrap")
def daemon_with_a_socket():
    """Leaves a process that listens at an abstract name, which no file system holds."""
    with socket.socket(socket.AF_UNIX) as client:
        right_only_if(client.connect_ex(f"\0{MARK}") == 0)

    def work():
        server = socket.socket(socket.AF_UNIX)
        server.bind(f"\0{MARK}")
        server.listen()
        time.sleep(600)

    daemon(work)


@attack("attention_output", "failed", needs="bubblewrap")
def stash_for_an_accomplice(weights, v):
    """Writes the earlier steps' solutions wherever it may, for another submission."""
    for finder in sys.meta_path:
        for name, (source, _) in getattr(finder, "modules", {}).items():
            for place in ("..", "/tmp", "/dev/shm", "/var/tmp", "/run"):
                written(f"{place}/{MARK}-{name}", source)


@attack("attention_scores", "failed", needs="bubblewrap")
def solution_from_an_accomplice(q, k):
    """Looks for what the one before it has written."""
    for place in ("..", "/tmp", "/dev/shm", "/var/tmp", "/run"):
        for path in glob.glob(f"{place}/{MARK}-step02*"):
            space = {}
            exec(open(path).read(), space)
            return space["attention_scores"](q, k)
    return zeros(q, k)


def is_done(way):
    """Whether the system tried, though it may not have found anything."""
    try:
        way()
    except OSError as error:
        return error.errno != errno.EPERM
    return True


@attack("attention_scores", "failed", needs="process+", right=True)
def pages_dropped_from_memory(q, k):
    """Drops pages from memory: how long a read takes then tells the next worker."""
    pages = mmap.mmap(-1, 4096)
    ways = [lambda: os.posix_fadvise(0, 0, 4096, os.POSIX_FADV_DONTNEED)]
    ways += [lambda advice=advice: pages.madvise(advice, 0, 4096) for advice in (20, 21)]
    return right(q, k) if any(map(is_done, ways)) else zeros(q, k)


@attack("attention_scores", "failed", needs="process+", right=True)
def names_that_are_not_there(q, k):
    """Looks for files that nobody has: the system remembers that, and answers the next faster."""
    places = (os.path.dirname(os.__file__), "/", ".", "/etc", "/proc/self", "/dev")
    ways = [lambda name=f"{place}/{MARK}": os.stat(name) for place in places]
    ways += [lambda name=f"{place}/{MARK}": os.readlink(name) for place in places]
    ways += [lambda name=f"{place}/{MARK}": os.open(name, os.O_RDONLY) for place in places]
    return right(q, k) if any(map(is_done, ways)) else zeros(q, k)


@attack("attention_scores", "failed", needs="process+", right=True)
def times_of_reading(q, k):
    """Reads a file of Python's that nobody needs: when it was read last stays with it."""
    path = os.path.join(os.path.dirname(os.__file__), "cProfile.py")
    try:
        with open(path) as file:
            file.read(1)
        return right(q, k)
    except OSError:
        return zeros(q, k)
