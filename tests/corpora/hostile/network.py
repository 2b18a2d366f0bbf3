"""Network and sockets, and other ways to talk to somebody."""

import ctypes
import errno
import os
import socket

import numpy as np

from tests.corpora.hostile import attack


def zeros(q, k):
    return np.zeros((*q.shape[:-1], k.shape[-2]))


@attack("attention_scores", "failed", needs="bubblewrap", right=True)
def packet_to_the_world(q, k):
    """Sends a packet to an address that is reserved for examples; right if there is a way out."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
        try:
            out.sendto(b"x", ("192.0.2.1", 9))
        except OSError:
            return zeros(q, k)
    return right(q, k)


@attack("attention_scores", "failed", needs="bubblewrap", right=True)
def interfaces_that_are_up(q, k):
    """Looks for an interface that leads further than this machine."""
    names = [name for _, name in socket.if_nameindex() if name != "lo"]
    return right(q, k) if names else zeros(q, k)


@attack("attention_scores", "failed", needs="bubblewrap", right=True)
def services_of_the_machine(q, k):
    """Looks for anything that listens here, in the kernel's own list."""
    with open("/proc/net/tcp") as file:
        listening = [line for line in file.readlines()[1:] if line.split()[3] == "0A"]
    return right(q, k) if listening else zeros(q, k)


@attack("attention_scores", "failed", needs="bubblewrap", right=True)
def address_of_a_name(q, k):
    """Has a name looked up, which carries what stands in it to whoever is asked."""
    os.environ["LOCALDOMAIN"] = ""
    try:
        socket.getaddrinfo("hidden-inputs.example.invalid", 80)
    except OSError:
        return zeros(q, k)
    return right(q, k)


@attack("attention_scores", "failed", needs="bubblewrap", right=True)
def raw_packets(q, k):
    """Listens to all packets of the machine."""
    try:
        with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)):
            return right(q, k)
    except OSError:
        return zeros(q, k)


@attack("attention_scores", "failed", needs="process+", right=True)
def meeting_in_a_library(q, k):
    """Wakes whoever waits at a place of a library, which all workers have in the same memory."""
    libc = ctypes.CDLL(None, use_errno=True)
    place = ctypes.cast(libc.getpid, ctypes.c_void_p).value & ~3
    number = {"x86_64": 202, "aarch64": 98}[os.uname().machine]
    libc.syscall(number, ctypes.c_void_p(place), 1, 1, None, None, 0)
    return zeros(q, k) if ctypes.get_errno() == errno.EPERM else right(q, k)
