"""Reading what is not meant to be read, and getting it out.

An attack with `right=True` uses the right function once it has got at what it must not see, so
that its points give it away.
"""

import ctypes
import gc
import glob
import marshal
import os
import socket
import sys

import numpy as np

from tests.corpora.hostile import attack

NEEDLE = "_".join(["NOPEEK", "TEST", "SECRET"]).encode()  # not as one word in our own memory


def zeros(q, k):
    return np.zeros((*q.shape[:-1], k.shape[-2]))


def sources():
    """What the worker's finder of step files holds."""
    for finder in sys.meta_path:
        yield from getattr(finder, "modules", {}).items()


def told(step):
    """All that a step's compiled code tells of its first function: names and instructions."""
    code = next(one for one in step.co_consts if hasattr(one, "co_code"))
    return " ".join((*code.co_varnames, *code.co_names, code.co_code.hex()))


def solution():
    """What the worker holds of an earlier step."""
    return told(marshal.loads(dict(sources())["step02_scores"][0]))


def contents(path, size=2**20):
    try:
        with open(path, "rb") as file:
            return file.read(size)
    except OSError:
        return b""


def others():
    """The numbers of all other processes that can be seen."""
    mine = {os.getpid(), os.getppid()}
    return [int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) not in mine]


# What the worker itself may hold.


@attack("attention_scores", "failed", right=True)
def environment_of_the_judge(q, k):
    """Looks for the judge's secrets in the worker's own environment, as it is and as it began."""
    everything = str(dict(os.environ)).encode() + contents("/proc/self/environ")
    return right(q, k) if NEEDLE in everything else zeros(q, k)


@attack("attention_scores", "failed", right=True)
def descriptors_that_were_inherited(q, k):
    """Counts what is open beside the three streams and the channel."""
    open_now = []
    for number in os.listdir("/proc/self/fd"):
        try:
            open_now.append(os.readlink(f"/proc/self/fd/{number}"))
        except OSError:
            continue  # the one that listed the others
    found = [name for name in open_now if name != "/dev/null" and "/fd" not in name]
    return right(q, k) if len(found) > 1 else zeros(q, k)


@attack("attention_scores", "failed", right=True)
def solution_among_the_steps(q, k):
    """Looks for its own step's solution among the sources that the worker was sent."""
    for name, (source, _) in sources():
        foreign = name != "step02_scores" and b"attention_" + b"scores" in bytes(source)
        if foreign or "step02" in name != "step02_scores":
            return right(q, k)
    return zeros(q, k)


@attack("attention", "failed")
def solution_of_a_later_step(q, k, v, mask=None):
    """Takes the answer from any later step that can be imported."""
    for name in ("step06_loss", "step07_kv_cache", "step08_generation"):
        try:
            return __import__(f"exercises.{name}", fromlist=["x"]).attention(q, k, v, mask)
        except (ImportError, AttributeError):
            continue
    return zeros(q, k)


@attack("attention_scores", "failed")
def solution_of_its_own_step(q, k):
    """Asks for its own module afresh, and for every other way to the solutions."""
    for name in ("exercises.step02_scores", "solutions.step02_scores", "step02_scores"):
        mine = sys.modules.pop(name, None)
        try:
            other = __import__(name, fromlist=["x"]).attention_scores
        except (ImportError, AttributeError):
            continue
        finally:
            if mine:
                sys.modules[name] = mine
        if other.__code__.co_code != solution_of_its_own_step.__code__.co_code:
            return other(q, k)
    return zeros(q, k)


@attack("attention_scores", "failed")
def solution_in_its_own_memory(q, k):
    """Looks through its own memory for a word that stands in the solution only."""
    drow = b"desopsnart_k"  # backwards, so that it is not our own that we find
    for line in contents("/proc/self/maps").decode().splitlines():
        place, rights, *_ = line.split()
        start, stop = (int(number, 16) for number in place.split("-"))
        if rights.startswith("rw") and stop - start < 2**24:
            try:
                with open("/proc/self/mem", "rb", 0) as memory:
                    memory.seek(start)
                    found = drow in memory.read(stop - start)[::-1]
            except OSError:
                continue  # the kernel's own
            if found:
                return q @ np.swapaxes(k, -1, -2) / q.shape[-1] ** 0.5
    return zeros(q, k)


@attack("attention_scores", "failed", right=True)
def earlier_checks_in_memory(q, k):
    """Looks among all objects for anything of the judge's: checks, seeds, references."""
    names = {type(thing).__module__.partition(".")[0] for thing in gc.get_objects()}
    judges = {"grader", "torch", "pytest", "_pytest", "tests"}
    return right(q, k) if names & judges or judges & set(sys.modules) else zeros(q, k)


@attack("attention_scores", "failed", right=True)
def torch_from_the_folder(q, k):
    """Imports what has the answer, if it is there to be imported."""
    for name in ("torch", "scipy", "grader", "solutions", "tests", "pytest"):
        try:
            __import__(name)
        except ImportError:
            continue
        return right(q, k)
    return zeros(q, k)


# Out of the worker, into what a student gets to see.


@attack("attention_output", "error", at_import=True)
def tells_the_solution_of_an_earlier_step():
    """Raises what the solution of an earlier step tells, when it is imported."""
    raise ImportError(solution())


@attack("attention_output", "error", at_import=True)
def tells_the_solution_as_bad_syntax():
    """Raises the same as a syntax error, whose text may be shown."""
    raise SyntaxError(solution(), (__file__, 1, 1, solution()))


@attack("attention_output", "error", at_import=True)
def tells_the_solution_as_a_file_name():
    """Raises the same as the name of a file that is no Python."""
    compile("f(", solution(), "exec")


@attack("attention_output", "failed")
def tells_the_solution_as_a_type(weights, v):
    """Returns an object whose type is named like that, 80 letters of it."""
    return type(solution()[:80], (), {})()


@attack("attention_scores", "failed")
def tells_the_inputs_as_a_type(q, k):
    """Returns an object whose type is named like the hidden inputs."""
    return type(" ".join(map("{:.9g}".format, q.flat)), (), {})()


@attack("attention_scores", "error")
def tells_the_inputs_as_an_exception(q, k):
    """Raises, prints and warns the hidden inputs."""
    print(q.tolist())
    raise type(repr(q.flat[0]), (ValueError,), {"__module__": "builtins"})(q.tolist())


@attack("causal_mask", "error")
def tells_secrets_where_an_error_is_due(t_q, t_k=None):
    """Raises an exception that calls itself Python's own, named like what was seen before."""
    name = "0.123456789" + " t_q was %d" % t_q
    raise type(name, (Exception,), {"__module__": "builtins"})


@attack("attention_scores", "failed")
def tells_the_inputs_as_a_dtype(q, k):
    """Returns an array whose fields are named like the hidden inputs."""
    return np.zeros(2, [(repr(float(number)), "f8") for number in set(q.flat)][:3])


@attack("attention_scores", ("failed", "error"))
def tells_the_inputs_in_a_frame(q, k):
    """Has the worker describe every result in words of its own."""
    words = " ".join(map("{:.9g}".format, q.flat))
    frame = sys._getframe()
    while "serve" not in dir(frame.f_locals.get("self")):
        frame = frame.f_back
    wire = type(frame.f_locals["self"]).answer.__globals__["wire"]
    wire.Reply._array = lambda self, value: {"foreign": words}
    return zeros(q, k)


# Out of the worker's world: only a sandbox keeps these in.


@attack("attention_scores", "failed", needs="bubblewrap")
def solutions_on_the_disk(q, k):
    """Looks for the solutions beside the worker program, in parent folders and on the path."""
    words = contents("/proc/self/cmdline").decode().split("\0") + sys.path + [sys.prefix, "."]
    for word in words:
        folder = os.path.abspath(word)
        while folder != "/":
            for path in glob.glob(f"{folder}/solutions/step02*") + glob.glob(f"{folder}/*/step02*"):
                space = {}
                exec(contents(path), space)
                if "raise NotImpl" + "ementedError" not in contents(path).decode():
                    return space["attention_scores"](q, k)
            folder = os.path.dirname(folder)
    return zeros(q, k)


@attack("attention_scores", "failed", needs="bubblewrap")
def packages_beside_numpy(q, k):
    """Puts the folder that NumPy came from on the path, and imports torch from it."""
    sys.path.append(os.path.dirname(os.path.dirname(np.__file__)))
    found = [p for p in sys.path if os.path.isdir(f"{p}/torch") or os.path.isdir(f"{p}/pytest")]
    return q @ np.swapaxes(k, -1, -2) / q.shape[-1] ** 0.5 if found else zeros(q, k)


@attack("attention_scores", "failed", needs="bubblewrap", right=True)
def environments_of_others(q, k):
    """Looks for the judge's secrets in the environments of all processes."""
    found = any(NEEDLE in contents(f"/proc/{number}/environ") for number in others())
    return right(q, k) if found else zeros(q, k)


@attack("attention_scores", "failed", needs="bubblewrap", right=True)
def memory_of_others(q, k):
    """Opens the memory of any other process, the one that forked it included."""
    for number in [*others(), os.getppid()]:
        try:
            with open(f"/proc/{number}/mem", "rb", 0):
                return right(q, k)
        except OSError:
            continue
    return zeros(q, k)


@attack("attention_scores", "failed", needs="bubblewrap", right=True)
def descriptors_of_its_parent(q, k):
    """Takes a copy of its parent's descriptors: one of them gets the next workers' channels."""
    libc = ctypes.CDLL(None, use_errno=True)
    process = libc.syscall(434, os.getppid(), 0)  # pidfd_open
    for number in range(3, 10):
        if process >= 0 and libc.syscall(438, process, number, 0) >= 0:  # pidfd_getfd
            return right(q, k)
    return zeros(q, k)


@attack("attention_scores", "failed", needs="bubblewrap", right=True)
def attaches_to_its_parent(q, k):
    """Becomes the tracer of the process that forked it."""
    libc = ctypes.CDLL(None, use_errno=True)
    seized = libc.ptrace(0x4206, os.getppid(), None, None) == 0  # PTRACE_SEIZE
    return right(q, k) if seized else zeros(q, k)


@attack("attention_scores", "failed", needs="bubblewrap", right=True)
def command_lines_of_others(q, k):
    """Looks for other programs' command lines, and paths of the judge's in them."""
    lines = b" ".join(contents(f"/proc/{number}/cmdline") for number in others())
    return right(q, k) if b"pytest" in lines or b"grader" in lines else zeros(q, k)


@attack("attention_scores", "failed", needs="bubblewrap", right=True)
def other_submissions(q, k):
    """Looks for the folders of other workers, and for homes and passwords."""
    own = os.getcwd()
    places = glob.glob("/tmp/nopeek-*") + ["/etc/shadow", "/root/.ssh", "/home"]
    found = [p for p in places if not own.startswith(p) and os.path.exists(p)]
    found = [p for p in found if os.access(p, os.R_OK) and (os.path.isfile(p) or os.listdir(p))]
    return right(q, k) if found else zeros(q, k)


@attack("attention_scores", "failed", needs="bubblewrap", right=True)
def sockets_of_the_machine(q, k):
    """Looks for the sockets of others, abstract ones included."""
    lines = contents("/proc/net/unix").decode().splitlines()[1:]
    named = [line.split()[-1] for line in lines if line.split()[-1].startswith(("@", "/"))]
    for name in named:
        try:
            with socket.socket(socket.AF_UNIX) as client:
                client.connect(name.replace("@", "\0", 1))
                return right(q, k)
        except OSError:
            continue
    return zeros(q, k)
