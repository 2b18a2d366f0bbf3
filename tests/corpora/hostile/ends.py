"""Exits, crashes, signals, and exceptions of every base class."""

import ctypes
import os
import signal
import sys
import threading

import numpy as np

from tests.corpora.hostile import attack


@attack("attention_scores", "error")
def exits_at_once(q, k):
    """Ends the process with status 0, as if all were well."""
    os._exit(0)


@attack("attention_scores", "error")
def leaves_politely(q, k):
    """Raises SystemExit(0), which a grader in one process takes for success."""
    sys.exit(0)


@attack("attention_scores", "error", at_import=True)
def exits_when_imported():
    """Ends the process before there is any function to check."""
    os._exit(0)


@attack("softmax", "error")
def exception_below_exception(scores, axis=-1):
    """Raises what `except Exception` does not catch."""

    class Passed(BaseException):
        pass

    raise Passed("3 passed in 0.01s")


@attack("softmax", "error")
def generator_exit(scores, axis=-1):
    """Raises GeneratorExit, which frames that clean up swallow."""
    raise GeneratorExit


@attack("softmax", "error")
def keyboard_interrupt(scores, axis=-1):
    """Pretends that the instructor pressed Ctrl-C."""
    raise KeyboardInterrupt


@attack("attention_scores", "timeout")
def text_without_end(q, k):
    """Raises an exception whose text never comes to an end."""

    class Endless(Exception):
        def __str__(self):
            while True:
                pass

    raise Endless


@attack("attention_scores", "error")
def text_that_exits(q, k):
    """Raises an exception that ends the process when it is looked at."""

    class Bomb(Exception):
        def __str__(self):
            os._exit(0)

        __repr__ = __str__

    raise Bomb


@attack("attention_scores", "error")
def class_that_exits(q, k):
    """Raises an exception whose class raises when it is asked for its name or its bases."""

    class Meta(type):
        def __getattribute__(cls, name):
            raise SystemExit(0)

    class Bomb(Exception, metaclass=Meta):
        pass

    raise Bomb


@attack("attention_scores", "error")
def traceback_that_lies(q, k):
    """Raises an exception whose traceback is a property that raises another."""

    class Bomb(Exception):
        __traceback__ = property(lambda self: 1 / 0)

    raise Bomb


@attack("attention_scores", "not_attempted")
def not_written_yet(q, k):
    """Claims not to be written, by an exception of its own, and hopes to be left out of the sum."""

    class Excused(NotImplementedError):
        pass

    raise Excused


@attack("attention_scores", "error")
def segmentation_fault(q, k):
    """Reads from address 0."""
    ctypes.string_at(0)


@attack("attention_scores", ("error", "memory"))
def stack_overflow(q, k):
    """Recurses in C until the stack is full."""
    sys.setrecursionlimit(10**9)
    nest = ()
    for _ in range(3 * 10**5):
        nest = (nest,)
    hash(nest)


@attack("attention_scores", "error")
def kills_itself(q, k):
    """Sends itself the signal that cannot be caught."""
    os.kill(os.getpid(), signal.SIGKILL)


@attack("attention_scores", "error")
def kills_its_group(q, k):
    """Kills everything in its process group, hoping that the judge is in it."""
    os.killpg(0, signal.SIGKILL)


@attack("attention_scores", "error")
def kills_its_parent(q, k):
    """Kills the process that forked it, and with it, it hopes, all later workers."""
    if os.getppid() > 1:
        os.kill(os.getppid(), signal.SIGKILL)
    os._exit(0)


@attack("attention_scores", "error", needs="bubblewrap")
def stops_its_parent(q, k):
    """Stops the process that forked it, so that ending a worker takes for ever."""
    if os.getppid() > 1:
        os.kill(os.getppid(), signal.SIGSTOP)
    os._exit(0)


@attack("attention_scores", "error")
def becomes_another_program(q, k):
    """Replaces the worker by a program that ends with status 0."""
    os.execv("/proc/self/exe", ["python", "-c", "pass"])


@attack("attention_scores", "error")
def closes_everything(q, k):
    """Closes every descriptor, the channel among them."""
    os.closerange(0, 1024)


@attack("attention_scores", ("error", "timeout"))
def removes_the_builtins(q, k):
    """Takes away what the worker itself needs to answer."""
    import builtins

    for name in ("type", "isinstance", "len", "issubclass", "str", "getattr"):
        delattr(builtins, name)
    return np.zeros(1)


@attack("attention_scores", ("failed", "error"))
def alarm_between_calls(q, k):
    """Has a signal raise SystemExit in the worker's own code, after the answer."""

    def leave(*_):
        raise SystemExit(0)

    signal.signal(signal.SIGALRM, leave)
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    return np.zeros((q.shape[-2], k.shape[-2]))


@attack("attention_scores", ("failed", "error"))
def exits_in_a_thread(q, k):
    """Answers wrongly, and exits from a thread before the next question."""
    threading.Timer(0.001, os._exit, (0,)).start()
    return np.zeros((q.shape[-2], k.shape[-2]))


@attack("attention_scores", "passed", earns="own")
def exits_at_the_end(q, k):
    """Is right, and leaves a function behind that should run when all is over."""
    import atexit

    atexit.register(os._exit, 0)
    return right(q, k)
