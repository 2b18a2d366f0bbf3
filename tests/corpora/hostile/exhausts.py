"""Time, memory, processes, threads, disk, open files."""

import os
import re
import signal
import threading
import time

import numpy as np

from tests.corpora.hostile import attack


def zeros(q, k):
    return np.zeros((*q.shape[:-1], k.shape[-2]))


@attack("attention_scores", "timeout")
def loops(q, k):
    """Never returns."""
    while True:
        pass


@attack("attention_scores", ("error", "timeout"), at_import=True)
def loops_when_imported():
    """Never gets so far as to define anything."""
    while True:
        pass


@attack("attention_scores", "timeout")
def one_instruction_without_end(q, k):
    """Computes a power that holds the interpreter and sees no signal."""
    return 3 ** (10**9)


@attack("attention_scores", "timeout")
def pattern_without_end(q, k):
    """Matches a pattern that takes 2**60 tries."""
    return re.match("(a+)+$", "a" * 60 + "b")


@attack("attention_scores", "timeout")
def product_without_end(q, k):
    """Has the linear algebra library work for minutes, deaf to everything."""
    big = np.ones((6000, 6000))
    while True:
        big = big @ big / 6000


@attack("attention_scores", "timeout")
def sleeps_and_ignores(q, k):
    """Ignores every signal that can be ignored, and sleeps."""
    for number in range(1, 32):
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(number, signal.SIG_IGN)
    time.sleep(600)


@attack("attention_scores", "timeout")
def stops_itself(q, k):
    """Stops, and waits to be continued."""
    os.kill(os.getpid(), signal.SIGSTOP)


@attack("attention_scores", "timeout")
def swallows_whatever_comes(q, k):
    """Catches every exception, and goes on."""
    while True:
        try:
            time.sleep(600)
        except BaseException:
            continue


@attack("attention_scores", "memory")
def memory_at_once(q, k):
    """Asks for 128 GiB."""
    return np.ones(2**34)


@attack("attention_scores", ("memory", "timeout"))
def memory_bit_by_bit(q, k):
    """Keeps on asking for a little."""
    kept = []
    while True:
        kept.append(np.ones(2**22))


@attack("attention_scores", ("error", "memory", "timeout"))
def memory_past_python(q, k):
    """Maps memory until there is none, and writes into all of it."""
    import mmap

    kept = []
    while len(kept) < 64:
        kept.append(mmap.mmap(-1, 2**27))
        kept[-1][:] = bytes(2**27)
    return zeros(q, k)


@attack("attention_scores", ("error", "memory"))
def threads_without_end(q, k):
    """Starts threads until that fails; a thousand are enough to be right."""
    for _ in range(1000):
        threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
    return q @ np.swapaxes(k, -1, -2) / q.shape[-1] ** 0.5


@attack("attention_scores", "error")
def files_without_end(q, k):
    """Opens files until that fails; a thousand are enough to be right."""
    kept = [open(os.devnull) for _ in range(1000)]
    return q @ np.swapaxes(k, -1, -2) / q.shape[-1] ** 0.5 if kept else None


@attack("attention_scores", "error")
def a_file_of_gigabytes(q, k):
    """Writes one large file into its folder."""
    with open("large", "wb") as file:
        for _ in range(64):
            file.write(bytes(2**20))
    return q @ np.swapaxes(k, -1, -2) / q.shape[-1] ** 0.5


@attack("attention_scores", ("error", "timeout", "memory"), needs="process+")
def processes_without_end(q, k):
    """Forks until that fails; two thousand are enough to be right. They end by themselves."""
    for _ in range(2000):
        if not os.fork():
            time.sleep(3)
            os._exit(0)
    return q @ np.swapaxes(k, -1, -2) / q.shape[-1] ** 0.5


@attack("attention_scores", ("error", "failed", "timeout"), needs="bubblewrap")
def a_full_disk(q, k):
    """Writes many files wherever it may; 400 MiB are enough to be right."""
    written = 0
    for place in (".", "/tmp", "/dev/shm", os.environ["HOME"]):
        for number in range(30):
            try:
                with open(f"{place}/nopeek-attack-{number}", "wb") as file:
                    written += file.write(bytes(15 * 2**20))
            except OSError:
                break
    enough = written > 400 * 2**20
    return q @ np.swapaxes(k, -1, -2) / q.shape[-1] ** 0.5 if enough else zeros(q, k)


@attack("attention_scores", ("error", "failed", "timeout", "memory"), needs="bubblewrap")
def memory_of_many(q, k):
    """Has four children take as much memory as one may; 3 GiB at once are enough to be right."""
    inside, outside = os.pipe()
    for _ in range(4):
        if not os.fork():
            kept = np.ones(100 * 2**20)
            os.write(outside, b"x")
            time.sleep(2)
            os._exit(int(kept[0]))
    os.close(outside)
    got = b""
    while piece := os.read(inside, 4):
        got += piece
    return q @ np.swapaxes(k, -1, -2) / q.shape[-1] ** 0.5 if len(got) == 4 else zeros(q, k)


@attack("attention_scores", "error", needs="bubblewrap")
def kills_everybody(q, k):
    """Sends the last signal to all that it may send one to."""
    os.kill(-1, signal.SIGKILL)
    os._exit(0)


@attack("attention_scores", "error", needs="bubblewrap")
def kills_one_by_one(q, k):
    """Does the same by number, from the judge's likely one downwards."""
    for number in range(2**15, 1, -1):
        try:
            os.kill(number, signal.SIGKILL)
        except OSError:
            continue
    os._exit(0)
