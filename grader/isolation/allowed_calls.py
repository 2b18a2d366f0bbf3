"""Build a seccomp filter with the system calls that a worker keeps.

The filter is an allow-list of what Python and NumPy need to compute, and to use the sockets that
they already have. It allows no call that takes a file's name. Imported modules are in memory
already, and the system would remember for everybody which names were looked up. It allows no new
process, thread or socket, no signal, no program, no shared memory, and no change to the system. A
call that is not on the list fails as not permitted. A call newer than the list fails as unknown, so
that the C library uses the older one.
"""

import errno
import platform
import struct
from dataclasses import dataclass

CLONE3 = 435
NEWEST = 439  # later calls get the answer of an older kernel
X32 = 0x4000_0000  # on x86-64, the same calls by other numbers

# Each call's numbers on x86-64 and on ARM64, which lacks some of them.
_CALLS = """
    read:0:63 write:1:64 readv:19:65 writev:20:66 pread64:17:67 pwrite64:18:68 preadv:295:69
    pwritev:296:70 close:3:57 close_range:436:436 lseek:8:62 getcwd:79:17 dup:32:23 dup2:33:-
    dup3:292:24 fcntl:72:25 ioctl:16:29 pipe:22:- pipe2:293:59 mmap:9:222 munmap:11:215
    mprotect:10:226 brk:12:214 madvise:28:233 msync:26:227 rt_sigaction:13:134
    rt_sigprocmask:14:135 rt_sigreturn:15:139 rt_sigpending:127:136 rt_sigsuspend:130:133
    rt_sigtimedwait:128:137 sigaltstack:131:132 alarm:37:- pause:34:- setitimer:38:103
    getitimer:36:102 clock_gettime:228:113 clock_getres:229:114 clock_nanosleep:230:115
    nanosleep:35:101 gettimeofday:96:169 time:201:- times:100:153 getpid:39:172 gettid:186:178
    getppid:110:173 getuid:102:174 geteuid:107:175 getgid:104:176 getegid:108:177
    getresuid:118:148 getresgid:120:150 getgroups:115:158 getpgrp:111:- getpgid:121:155
    getsid:124:156 getrlimit:97:163 setrlimit:160:164 prlimit64:302:261 getrusage:98:165
    uname:63:160 getcpu:309:168 sched_yield:24:124 sched_getaffinity:204:123 prctl:157:167
    arch_prctl:158:- set_robust_list:273:99 set_tid_address:218:96 rseq:334:293 futex:202:98
    getrandom:318:278 restart_syscall:219:128 exit:60:93 exit_group:231:94 recvfrom:45:207
    sendto:44:206 poll:7:- ppoll:271:73 select:23:- pselect6:270:72
"""


@dataclass(frozen=True)
class Machine:
    """A processor family: the kernel's number for it, and its calls."""

    audit: int
    calls: dict[str, int]


def _calls(column: int) -> dict[str, int]:
    rows = (entry.split(":") for entry in _CALLS.split())
    return {row[0]: int(row[column]) for row in rows if row[column] != "-"}


MACHINES = {"x86_64": Machine(0xC000_003E, _calls(1)), "aarch64": Machine(0xC000_00B7, _calls(2))}

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


def program(machine: str = "") -> bytes:
    """Return the filter for that machine, by default this one.

    Raise KeyError for an unknown name.
    """
    chosen = MACHINES[machine or platform.machine()]
    parts = [
        *(_code(LOAD, AUDIT), _code(EQUAL, chosen.audit, 1, 0), _code(RETURN, KILL)),
        *(_code(LOAD, NUMBER), _code(AT_LEAST, X32, 0, 1), _code(RETURN, KILL)),
    ]
    for name, number in chosen.calls.items():
        if name not in KEPT_FOR:
            parts.append(_allow(number))
            continue
        argument, values = KEPT_FOR[name]
        body = _code(LOAD, ARGUMENTS + 8 * argument)  # its lower half
        body += b"".join(map(_allow, values)) + _code(RETURN, FAIL | errno.EPERM)
        parts.append(_code(EQUAL, number, 0, len(body) // _INSTRUCTION.size) + body)
    unknown = _code(EQUAL, CLONE3, 1, 0) + _code(AT_LEAST, NEWEST + 1, 0, 1)
    unknown += _code(RETURN, FAIL | errno.ENOSYS)
    return b"".join(parts) + unknown + _code(RETURN, FAIL | errno.EPERM)
