"""Build a seccomp filter with the system calls that a worker keeps.

The filter is an allow-list of what Python and NumPy need to compute, and to use the sockets that
they already have. It allows no call that takes a file's name. Imported modules are in memory
already, and the system would remember for everybody which names were looked up. It allows no new
process, thread or socket, no signal, no program, no shared memory, and no change to the system. A
call that is not on the list fails as not permitted. A call newer than the list fails as unknown, so
that the C library uses the older one.
"""

from __future__ import annotations

import errno
import platform
import struct
from dataclasses import dataclass

CLONE3 = 435
NEWEST = 439  # later calls get the answer of an older kernel
X32 = 0x4000_0000  # on x86-64, the same calls by other numbers

_X86_64 = """
    read:0 write:1 readv:19 writev:20 pread64:17 pwrite64:18 preadv:295 pwritev:296 close:3
    close_range:436 lseek:8 getcwd:79 dup:32 dup2:33 dup3:292 fcntl:72 ioctl:16 pipe:22
    pipe2:293 mmap:9 munmap:11 mprotect:10 brk:12 madvise:28 msync:26 rt_sigaction:13
    rt_sigprocmask:14 rt_sigreturn:15 rt_sigpending:127 rt_sigsuspend:130 rt_sigtimedwait:128
    sigaltstack:131 alarm:37 pause:34 setitimer:38 getitimer:36 clock_gettime:228
    clock_getres:229 clock_nanosleep:230 nanosleep:35 gettimeofday:96 time:201 times:100
    getpid:39 gettid:186 getppid:110 getuid:102 geteuid:107 getgid:104 getegid:108 getresuid:118
    getresgid:120 getgroups:115 getpgrp:111 getpgid:121 getsid:124 getrlimit:97 setrlimit:160
    prlimit64:302 getrusage:98 uname:63 getcpu:309 sched_yield:24
    sched_getaffinity:204 prctl:157 arch_prctl:158 set_robust_list:273 set_tid_address:218
    rseq:334 futex:202 getrandom:318 restart_syscall:219 exit:60 exit_group:231 recvfrom:45
    sendto:44 poll:7 ppoll:271 select:23 pselect6:270
"""

_AARCH64 = """
    read:63 write:64 readv:65 writev:66 pread64:67 pwrite64:68 preadv:69 pwritev:70 close:57
    close_range:436 lseek:62 getcwd:17 dup:23 dup3:24 fcntl:25 ioctl:29 pipe2:59
    mmap:222 munmap:215 mprotect:226 brk:214 madvise:233 msync:227
    rt_sigaction:134 rt_sigprocmask:135
    rt_sigreturn:139 rt_sigpending:136 rt_sigsuspend:133 rt_sigtimedwait:137 sigaltstack:132
    setitimer:103 getitimer:102 clock_gettime:113 clock_getres:114 clock_nanosleep:115
    nanosleep:101 gettimeofday:169 times:153 getpid:172 gettid:178 getppid:173 getuid:174
    geteuid:175 getgid:176 getegid:177 getresuid:148 getresgid:150 getgroups:158 getpgid:155
    getsid:156 getrlimit:163 setrlimit:164 prlimit64:261 getrusage:165 uname:160
    getcpu:168 sched_yield:124 sched_getaffinity:123 prctl:167 set_robust_list:99
    set_tid_address:96 rseq:293 futex:98 getrandom:278 restart_syscall:128 exit:93 exit_group:94
    recvfrom:207 sendto:206 ppoll:73 pselect6:72
"""


@dataclass(frozen=True)
class Machine:
    """A processor family: the kernel's number for it, and its calls."""

    audit: int
    calls: dict[str, int]


def _calls(table: str) -> dict[str, int]:
    pairs = (entry.split(":") for entry in table.split())
    return {name: int(number) for name, number in pairs}


MACHINES = {
    "x86_64": Machine(0xC000_003E, _calls(_X86_64)),
    "aarch64": Machine(0xC000_00B7, _calls(_AARCH64)),
}

CLOCKS = (0, 1, 2, 3, 4, 5, 6, 7, 11)
# Calls allowed only for some values of one argument: its position, and the values.
# Other values reach beyond the process. F_SETOWN and FIOSETOWN make the kernel signal any process.
# prlimit64, sched_getaffinity, getpgid and getsid take any process by its number. So do clocks:
# a negative number is the clock of a process.
KEPT_FOR = {
    "fcntl": (1, (0, 1, 2, 3, 4, 1030)),  # F_DUPFD, F_GETFD … F_SETFL, F_DUPFD_CLOEXEC
    "ioctl": (1, (0x5401, 0x541B, 0x5421, 0x5450, 0x5451)),  # is a terminal, bytes, flags
    "prctl": (0, (15, 16)),  # a thread's name
    # MADV_DONTNEED, _FREE: of its own memory. Others, as fadvise64 does, drop a file's pages for
    # everybody or join them, and how long a read takes then tells the next worker.
    "madvise": (2, (4, 8)),
    # Nothing that can be executed: machine code of one's own can flush lines of the cache that two
    # workers share, and so talk to a worker that runs at the same time. Nor is there mremap, which
    # could put pages of libraries together into code that is in none of them.
    "mmap": (2, (0, 1, 2, 3)),
    "mprotect": (2, (0, 1, 2, 3)),
    "arch_prctl": (0, (0x1002, 0x1003)),  # ARCH_SET_FS, ARCH_GET_FS; others move the kernel's code
    # Only private locks: to wait for one, with or without a deadline, or to wake a waiting thread.
    # Shared locks could be in a file that two workers have in memory, such as a library.
    "futex": (1, (128, 129, 137, 393)),
    # Without flags, as Python calls them. MSG_OOB, which nobody needs here, has let attackers break
    # out of sandboxes like this one into the kernel.
    "sendto": (3, (0,)),
    "recvfrom": (3, (0,)),
    "prlimit64": (0, (0,)),  # its own
    "sched_getaffinity": (0, (0,)),
    "getpgid": (0, (0,)),
    "getsid": (0, (0,)),
    "clock_gettime": (0, CLOCKS),
    "clock_getres": (0, CLOCKS),
    "clock_nanosleep": (0, CLOCKS),
}

# Classic BPF, see linux/filter.h and linux/seccomp.h.
LOAD, EQUAL, AT_LEAST, RETURN = 0x20, 0x15, 0x35, 0x06
ALLOW, KILL, FAIL = 0x7FFF_0000, 0x8000_0000, 0x0005_0000
NUMBER, AUDIT, ARGUMENTS = 0, 4, 16
_INSTRUCTION = struct.Struct("=HBBI")


def _code(operation: int, value: int, then: int = 0, otherwise: int = 0) -> bytes:
    """Return one instruction; then and otherwise are how many instructions to skip."""
    return _INSTRUCTION.pack(operation, then, otherwise, value)


def _allow(number: int) -> bytes:
    return _code(EQUAL, number, 0, 1) + _code(RETURN, ALLOW)


def _allow_some(number: int, argument: int, values: tuple[int, ...]) -> bytes:
    """Return a filter that allows the call for those argument values (lower half only)."""
    inside = [_code(LOAD, ARGUMENTS + 8 * argument), *(_allow(value) for value in values)]
    inside += [_code(RETURN, FAIL | errno.EPERM)]
    body = b"".join(inside)
    return _code(EQUAL, number, 0, len(body) // _INSTRUCTION.size) + body


def program(machine: str = "") -> bytes:
    """Return the filter for that machine, by default this one.

    Raise KeyError for an unknown name.
    """
    chosen = MACHINES[machine or platform.machine()]
    parts = [_code(LOAD, AUDIT), _code(EQUAL, chosen.audit, 1, 0), _code(RETURN, KILL)]
    parts += [_code(LOAD, NUMBER), _code(AT_LEAST, X32, 0, 1), _code(RETURN, KILL)]
    for name, number in chosen.calls.items():
        if name in KEPT_FOR:
            parts.append(_allow_some(number, *KEPT_FOR[name]))
        else:
            parts.append(_allow(number))
    parts += [_code(EQUAL, CLONE3, 1, 0), _code(AT_LEAST, NEWEST + 1, 0, 1)]
    parts += [_code(RETURN, FAIL | errno.ENOSYS), _code(RETURN, FAIL | errno.EPERM)]
    return b"".join(parts)
