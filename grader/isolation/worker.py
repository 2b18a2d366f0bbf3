"""The worker: runs a student's code and hands back values. It knows no check and judges nothing.

A program of its own, on the standard library and NumPy alone, started by the judge as
`python -s -S -B worker.py MODE FD PACKAGES CALL_MEMORY_MIB STEP_SECONDS [WALLS]`. As `parent` it
loads NumPy once and forks a child for every socket that it is sent; as `serve` it is one worker by
itself, for platforms where forking is not safe. PACKAGES is the folder that NumPy is found in;
WALLS, in JSON, is what a worker must give up before it loads any of the student's code.
"""

import sys

del sys.path[0]  # this file's folder, the judge's

import contextlib
import functools
import gc
import importlib.abc
import importlib.machinery
import io
import json
import math
import os
import select
import shutil
import signal
import socket
import struct
import tempfile

sys.path.append(sys.argv[3])  # NumPy and nothing else is taken from the folder of packages
import numpy as np

sys.path.pop()

HEADER = struct.Struct(">Q16s")
COMMAND = struct.Struct(">cQ")
U32 = struct.Struct(">I")
U64 = struct.Struct(">Q")
F64 = struct.Struct(">d")
MAX_REPLY = 48 * 2**20
MAX_DEPTH = 12
MAX_ITEMS = 10_000
MAX_DIMENSIONS = 16
MAX_NAMES = 5000
MAX_PRINTED = 4000
MAX_TEXT = 2000
MAX_KEPT = 64
HELD = 2**32  # what is held for good is numbered from here
PACKAGE = "exercises"
CONSTANTS = {ord("N"): None, ord("T"): True, ord("F"): False}
DTYPES = {}
SPECIAL = ((np.matrix, "matrix"), (np.ma.MaskedArray, "masked array"))
CONTAINERS = ((b"L", list), (b"U", tuple), (b"M", dict))
PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_SET_SECCOMP = 22
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38
LANDLOCK_CREATE, LANDLOCK_ADD, LANDLOCK_RESTRICT = 444, 445, 446
NUMPY_MIB = 256  # what Python and NumPy take of the address space, where /proc does not tell
GLANCE_SECONDS = 0.05


# Values: the same format as the judge's, kept here because nothing of the judge is importable.


def _layout(flat, layout, writable):
    """A C-ordered array laid out in memory as the judge asked."""
    array = flat
    if layout == 1:
        array = np.array(flat, order="F")
    elif layout == 2 and flat.ndim:
        buffer = np.zeros((*flat.shape[:-1], 2 * flat.shape[-1]), flat.dtype)
        array = buffer[..., ::2]
        array[...] = flat
    elif layout == 3 and flat.ndim:
        array = flat[..., ::-1].copy()[..., ::-1]
    elif layout == 4:
        array = flat.view(Counting)
    if not writable:
        array.flags.writeable = False
    return array


def _dtype(code):
    """The type of that name, which is worked out once."""
    if code not in DTYPES:
        DTYPES[code] = np.dtype(code.decode())
    return DTYPES[code]


def _read_array(data, at):
    end = at + 1 + data[at]
    dtype = _dtype(bytes(data[at + 1 : end]))
    at, ndim = end + 1, data[end]
    shape = struct.unpack_from(f">{ndim}Q", data, at)
    at += 8 * ndim
    layout, writable = data[at], data[at + 1]
    at += 2
    raw = bytearray(data[at : at + math.prod(shape) * dtype.itemsize])
    return _layout(np.frombuffer(raw, dtype).reshape(shape), layout, writable), at + len(raw)


def _read_text(data, at):
    (size,) = U32.unpack_from(data, at)
    return bytes(data[at + 4 : at + 4 + size]).decode("utf-8", "surrogatepass"), at + 4 + size


def _read(data, at, kept):
    """The value that begins there, and where the next one does; most are arrays and texts."""
    tag, at = data[at], at + 1
    if tag == ord("A"):
        return _read_array(data, at)
    if tag == ord("S"):
        return _read_text(data, at)
    if tag in CONSTANTS:
        return CONSTANTS[tag], at
    if tag == ord("D"):
        return F64.unpack_from(data, at)[0], at + 8
    if tag == ord("H"):
        return kept[U64.unpack_from(data, at)[0]], at + 8
    if tag == ord("I"):
        text, at = _read_text(data, at)
        return int(text), at
    return _read_items(tag, data, at, kept)


def _read_items(tag, data, at, kept):
    (size,) = U32.unpack_from(data, at)
    at += 4
    if tag == ord("M"):
        mapping = {}
        for _ in range(size):
            key, at = _read_text(data, at)
            mapping[key], at = _read(data, at, kept)
        return mapping, at
    items = []
    for _ in range(size):
        item, at = _read(data, at, kept)
        items.append(item)
    return (items if tag == ord("L") else tuple(items)), at


def _text(tag, text):
    data = text.encode("utf-8", "replace")
    return tag + U32.pack(len(data)) + data


def _foreign(description):
    return _text(b"X", description[:80])


def _write_array(value):
    for kind, name in SPECIAL:  # as plain numbers they would be taken for something else
        if isinstance(value, kind):
            return _foreign(name)
    array = np.asarray(value)
    if array.dtype.kind not in "biuf":
        return _foreign(f"array of {array.dtype}")
    if array.nbytes > MAX_REPLY:
        return _foreign(f"array of {array.nbytes // 2**20} MiB")
    if array.ndim > MAX_DIMENSIONS:
        return _foreign(f"array of {array.ndim} dimensions")
    # From here on a copy, because a thread of the student's may still be writing into it.
    array = array.astype(np.float64) if array.dtype.itemsize > 8 else array.copy()
    dtype = array.dtype.newbyteorder("<")
    shape = b"".join(U64.pack(size) for size in array.shape)
    head = bytes([len(dtype.str)]) + dtype.str.encode() + bytes([array.ndim]) + shape + b"\0\1"
    return b"A" + head + np.ascontiguousarray(array, dtype).tobytes()


def _write(value, depth=0):
    """The value's bytes; only exact data crosses, never an object's own idea of what it is."""
    if value is None or value is True or value is False:
        return {None: b"N", True: b"T", False: b"F"}[value]
    kind = type(value)
    if issubclass(kind, (np.ndarray, np.generic)):
        return _write_array(value)
    if issubclass(kind, int):
        number = int.__int__(value)
        small = -(2**63) <= number < 2**63
        return _text(b"I", str(number)) if small else _foreign("huge integer")
    if issubclass(kind, float):
        return b"D" + F64.pack(float.__float__(value))
    if issubclass(kind, str):
        return _text(b"S", str.__str__(value)[:MAX_TEXT])
    if depth < MAX_DEPTH and issubclass(kind, (list, tuple, dict)):
        return _write_items(value, depth + 1)
    return _foreign(kind.__name__)


def _write_items(value, depth):
    """The bytes of what is in a container now, whatever a subclass or a thread makes of it."""
    tag, base = next(pair for pair in CONTAINERS if isinstance(value, pair[1]))
    if base is dict:
        items = list(dict.items(value))
    else:
        items = base.__getitem__(value, slice(None))
    if len(items) > MAX_ITEMS:
        return _foreign(f"{base.__name__} of {len(items)}")
    if base is dict:
        parts = [_text(b"", str(key)[:MAX_TEXT]) + _write(item, depth) for key, item in items]
    else:
        parts = [_write(item, depth) for item in items]
    return tag + U32.pack(len(parts)) + b"".join(parts)


# What the student's code finds when it imports something.


class Sources(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds `exercises.stepNN_name` among the sources that the judge sent; refuses the rest.

    Where the judge sent its own version of an earlier step, that has the step's functions. All else
    that is imported from there, a helper that the student shares between steps, is the student's.
    """

    def __init__(self):
        self.modules, self.own, self.names = {}, {}, {}
        self.loaded = {}

    def find_spec(self, name, path=None, target=None):
        package, _, module = name.partition(".")
        if package != PACKAGE or (module and module not in self.modules):
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=not module)

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        _, _, name = module.__name__.partition(".")
        if name in self.own:
            _, module.__file__ = self.modules[name]
            right = self.run(module.__name__, self.modules[name])
            vars(module).update({f: right[f] for f in self.names[name] if f in right})
            vars(module)["__getattr__"] = functools.partial(self.helper, name, right)
        elif name:
            _, module.__file__ = self.modules[name]
            self.run(module.__name__, self.modules[name], vars(module))

    def run(self, name, text, space=None):
        """The names that a source defines."""
        source, file = text
        space = {"__name__": name, "__file__": file} if space is None else space
        exec(compile(source, file, "exec", dont_inherit=True), space)
        return space

    def helper(self, name, right, wanted):
        """What an earlier step has besides its functions; AttributeError if it has it not."""
        if wanted == "__all__":
            mine = {*self.students(name, right), *self.names[name]}
            return [key for key in mine if key[:1] != "_"]
        if wanted[:2] != "__":
            for space in (self.students(name, right), right):
                if wanted in space:
                    return space[wanted]
        raise AttributeError(f"module {PACKAGE}.{name!r} has no attribute {wanted!r}")

    def students(self, name, right):
        """The names of the student's own version; of the judge's, if that cannot be loaded."""
        if name not in self.loaded:
            self.loaded[name] = right
            with contextlib.suppress(BaseException):
                self.loaded[name] = self.run(f"{PACKAGE}.{name}", self.own[name])
        return self.loaded[name]


class Refusal(importlib.abc.MetaPathFinder):
    """Asked last: says in a sentence what can be imported here."""

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == PACKAGE:
            message = f"there is no step file {name.partition('.')[2]}.py to import from"
        elif name[:4] == "step" and name[4:5].isdigit():
            message = f"{name} stands in a package: `{PACKAGE}.{name}` is its name here"
        elif path is None and name not in sys.builtin_module_names:
            message = f"a step may import NumPy and the standard library, not {name!r}"
        else:
            return
        raise ModuleNotFoundError(message, name=name)


class Capture(io.TextIOBase):
    """Takes what the student prints, and forgets what is too much of it."""

    def __init__(self):
        self.pieces, self.size = [], 0

    def writable(self):
        return True

    def write(self, text):
        if self.size < MAX_PRINTED:
            self.pieces.append(text[: MAX_PRINTED - self.size])
            self.size += len(self.pieces[-1])
        return len(text)

    def text(self):
        return "".join(self.pieces)


# Work, counted instead of timed.


class Counting(np.ndarray):
    """An array that counts the multiplications made with it as a weight.

    Views of a counting array count as well; what is computed with one is an ordinary array
    again. So `x @ w` costs (elements of x) * (columns of w) whichever way it is written, a
    projection of T tokens costs T times that of one, and a loop over prefixes T²/2 times.
    """

    products = 0

    def _count(self, operands, result):
        plain = [np.size(operand) for operand in operands if not isinstance(operand, Counting)]
        if plain and np.size(result) and self.ndim >= 2:
            Counting.products += max(plain) * self.shape[-1]

    def dot(self, other, out=None):
        return np.dot(self, other, out)  # ndarray's own would neither count nor give a plain array

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **kwargs):
        plain = [np.asarray(item) if isinstance(item, Counting) else item for item in inputs]
        if out is not None:
            kwargs["out"] = tuple(
                np.asarray(item) if isinstance(item, Counting) else item for item in out
            )
        result = getattr(ufunc, method)(*plain, **kwargs)
        if ufunc is np.matmul or (ufunc is np.multiply and all(map(np.ndim, inputs))):
            self._count(inputs, result)
        elif isinstance(result, np.ndarray) and all(
            isinstance(item, Counting) or not np.ndim(item) for item in inputs
        ):
            return result.view(Counting)  # a weight scaled is still a weight
        return result

    def __array_function__(self, function, types, args, kwargs):
        flat = []
        args = _bare(args, flat)
        kwargs = _bare(kwargs, flat)
        result = function(*args, **kwargs)
        if function in (np.dot, np.einsum, np.tensordot, np.inner, np.vdot):
            self._count(flat, result)
            return result
        shaped = isinstance(result, np.ndarray) and all(isinstance(a, Counting) for a in flat)
        return result.view(Counting) if shaped else result


def _bare(value, flat):
    if isinstance(value, np.ndarray):
        flat.append(value)
        return np.asarray(value)
    if isinstance(value, (list, tuple)):
        return type(value)(_bare(item, flat) for item in value)
    if isinstance(value, dict):
        return {key: _bare(item, flat) for key, item in value.items()}
    return value


# Calls.


class Session:
    """One worker's life: a module loaded, then calls into it until the socket closes."""

    def __init__(self, channel):
        self.channel = channel
        self.sources = Sources()
        self.module = None
        self.unread = bytearray()
        self.kept, self.given, self.held = {}, 0, 0

    def serve(self):
        while (request := self.receive()) is not None:
            nonce, data = request
            reply = self.answer(data)
            self.channel.sendall(HEADER.pack(len(reply), nonce) + reply)

    def receive(self):
        header = self.exactly(HEADER.size)
        if header is None:
            return None
        size, nonce = HEADER.unpack(header)
        return nonce, memoryview(self.exactly(size))

    def exactly(self, size):
        while len(self.unread) < size:
            piece = self.channel.recv(max(2**16, min(size - len(self.unread), 2**20)))
            if not piece:
                return None
            self.unread += piece
        data, self.unread = self.unread[:size], self.unread[size:]
        return data

    def answer(self, data):
        request, _ = _read(data, 0, self.kept)
        capture = Capture()
        with contextlib.redirect_stdout(capture), contextlib.redirect_stderr(capture):
            try:
                reply = getattr(self, "do_" + request["do"])(request)
            except BaseException as error:  # SystemExit and the like are the student's too
                reply = b"M" + U32.pack(2) + _text(b"", "raised") + _write(self.describe(error))
            else:
                reply = b"M" + U32.pack(2) + _text(b"", "ok") + reply
        return reply + _text(b"", "printed") + _text(b"S", capture.text())

    def describe(self, error):
        try:
            message = str(error.msg if isinstance(error, SyntaxError) else error)[:MAX_TEXT]
        except BaseException:
            message = ""
        kinds = [kind.__name__ for kind in type(error).__mro__ if kind.__module__ == "builtins"]
        places, trace = [], error.__traceback__
        while trace is not None:
            places.append((trace.tb_frame.f_code.co_filename, trace.tb_lineno))
            trace = trace.tb_next
        if isinstance(error, SyntaxError):
            places = [(str(error.filename), error.lineno or 0)]
        mine = [line for file, line in places if self.module and file == self.module[1]]
        texts = (*self.sources.modules.values(), *self.sources.own.values())
        sent = {file for _, file in texts}
        inside = [[file, int(line)] for file, line in places if file in sent]
        if isinstance(error, SyntaxError) and not mine:
            message = f"{error.filename}, line {error.lineno}: {message}"
        return {
            "type": type(error).__name__[:80],
            "kinds": kinds,
            "message": message,
            "lines": [int(line) for line in mine[-4:]],
            "innermost": inside[-1] if inside else None,
        }

    def do_load(self, request):
        self.sources.modules = {name: (source, file) for name, source, file in request["modules"]}
        for name, source, file, names in request["own"]:
            self.sources.own[name], self.sources.names[name] = (source, file), names
        sys.meta_path.insert(0, self.sources)
        sys.meta_path.append(Refusal())
        name = request["module"]
        self.module = (name, self.sources.modules[name][1])
        loaded = importlib.import_module(f"{PACKAGE}.{name}")
        self.functions = {
            key: value for key, value in vars(loaded).items() if callable(value) and key[:1] != "_"
        }
        return _write(list(self.functions)[:MAX_NAMES])

    def do_call(self, request):
        Counting.products = 0
        args, kwargs = request["args"], request["kwargs"]
        function = self.functions[request["function"]]
        strict = {"over": "raise", "divide": "raise", "invalid": "raise"}
        with np.errstate(**strict if request.get("strict") else {}):
            first = result = function(*args, **kwargs)
        if request.get("then"):  # the caller goes on with the same arrays, refilled
            args, kwargs = _refilled([args, kwargs], request["then"])
            result = function(*args, **kwargs)
        parts = [_text(b"", "value") + self.parcel(result, request["opaque"])]
        parts.append(_text(b"", "products") + _write(int(Counting.products)))
        if request.get("keep"):
            parts.append(_text(b"", "kept") + self.keep(first))
        if request.get("arguments"):
            parts.append(_text(b"", "arguments") + _write([list(args), kwargs]))
        for number in request.get("forget", ()):
            self.kept.pop(number, None)
        return b"M" + U32.pack(len(parts)) + b"".join(parts)

    def do_fetch(self, request):
        if "rows" not in request:
            return _write(request["object"])
        start, stop = request["rows"]
        return _write(np.asarray(request["object"])[..., start:stop, :])

    def do_hold(self, request):
        number = HELD + self.held
        self.held += 1
        self.kept[number] = request["object"]
        return b"H" + U64.pack(number)

    def keep(self, value):
        number = self.given
        self.given += 1
        self.kept[number] = value
        self.kept.pop(number - MAX_KEPT, None)  # so that objects come and go as in any program
        return b"H" + U64.pack(number)

    def parcel(self, result, opaque):
        """The result, with what the judge must not look into replaced by handles."""
        if not any(opaque):
            return _write(result)
        if len(opaque) == 1:
            return self.keep(result)
        if not isinstance(result, (tuple, list)) or len(result) != len(opaque):
            return _write(result) if isinstance(result, np.ndarray) else _foreign(_kind(result))
        parts = [self.keep(r) if hide else _write(r) for r, hide in zip(result, opaque)]
        return b"U" + U32.pack(len(parts)) + b"".join(parts)


def _refilled(old, new):
    """The new values in the old arrays, and these in the old dicts and lists."""
    if isinstance(old, np.ndarray):
        old[...] = new
        return old
    if isinstance(old, tuple):
        return tuple(_refilled(a, b) for a, b in zip(old, new))
    if isinstance(old, list):
        old[:] = [_refilled(a, b) for a, b in zip(old, new)]
        return old
    if isinstance(old, dict):
        values = {key: _refilled(old.get(key), value) for key, value in new.items()}
        old.clear()  # an argument that only the first call had is not the second one's
        old.update(values)
        return old
    return new


def _kind(value):
    name = type(value).__name__
    return f"{name} of {len(value)}" if isinstance(value, (tuple, list)) else name


# Processes.


def _limit(memory_mib, seconds, processes=None):
    """Caps what this process may take, above what it already holds."""
    try:
        import resource
    except ImportError:  # no such limits on this platform
        return
    wanted = {"CPU": int(seconds) + 5, "CORE": 0, "FSIZE": 16 * 2**20, "NOFILE": 64}
    wanted["AS"] = (NUMPY_MIB + memory_mib) * 2**20
    with contextlib.suppress(OSError, ValueError):
        with open("/proc/self/statm") as statm:
            pages = int(statm.read().split()[0])
        wanted["AS"] = pages * resource.getpagesize() + memory_mib * 2**20
    if processes is not None:
        wanted["NPROC"] = processes
    for name, value in wanted.items():
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(getattr(resource, "RLIMIT_" + name), (value, value))


def _silence():
    """Standard input is empty, and what is written past Python's own streams is gone."""
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    os.close(null)


class Walls:
    """What a worker can no longer do, whatever code it runs; none of it can be undone.

    landlock: the version of its interface, 0 for none. readable: the paths that can be read.
    files: how many files a worker may make in its folder; without it none, and nowhere.
    calls: the seccomp filter. user: whom root turns into. alone: nobody else is in this world.
    """

    def __init__(self, calls, landlock=0, readable=(), files=0, user=None, alone=False):
        import ctypes

        self.library = ctypes.CDLL(None, use_errno=True)
        self.words, self.error = ctypes.c_long, ctypes.get_errno
        self.filter = ctypes.create_string_buffer(bytes.fromhex(calls), len(calls) // 2)
        self.head = struct.pack("@HP", len(calls) // 16, ctypes.addressof(self.filter))
        self.landlock, self.readable, self.files = landlock, readable, files
        self.user, self.alone = user, alone

    def _do(self, name, *args):
        """A function of the C library; OSError if it fails, for a wall with a gap is none."""
        words = [self.words(arg) if isinstance(arg, int) else arg for arg in args]
        result = getattr(self.library, name)(*words)
        if result < 0:
            raise OSError(self.error(), f"{name} failed")
        return result

    def enter(self):
        """For the parent: it becomes nobody in particular, and closed to all others."""
        if self.user is not None:
            os.setgroups([])
            os.setresgid(self.user, self.user, self.user)
            os.setresuid(self.user, self.user, self.user)
        self._do("capset", struct.pack("=Ii", 0x2008_0522, 0), bytes(24))
        self._do("prctl", PR_SET_DUMPABLE, 0, 0, 0, 0)  # /proc/PID/mem and ptrace
        self._do("prctl", PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        self.ruleset = self._ruleset([]) if self.landlock and not self.files else None

    def close(self, folder):
        """For a worker: from here on it keeps what it has been left."""
        if self.landlock:
            ruleset = self._ruleset([folder]) if self.files else self.ruleset
            self._do("syscall", LANDLOCK_RESTRICT, ruleset, 0)
            os.close(ruleset)
        self._do("prctl", PR_SET_SECCOMP, 2, self.head, 0, 0)

    def _ruleset(self, writable):
        rights = (1 << {1: 13, 2: 14, 3: 15, 4: 15}.get(self.landlock, 16)) - 1
        handled = struct.pack("=QQQ", rights, 3, 3)  # files; TCP; sockets and signals
        handled = handled[: 8 if self.landlock < 4 else 16 if self.landlock < 6 else 24]
        ruleset = self._do("syscall", LANDLOCK_CREATE, handled, len(handled), 0)
        grants = [(path, 0b1100) for path in self.readable]  # read files, list folders
        for path, access in [*grants, (os.devnull, 0b0110), *((path, rights) for path in writable)]:
            target = os.open(path, os.O_PATH | os.O_CLOEXEC)
            if not os.path.isdir(path):
                access &= 0b1100_0000_0000_0111  # what there is to do with a file
            rule = struct.pack("=Qi", access & rights, target)
            self._do("syscall", LANDLOCK_ADD, ruleset, 1, rule, 0)
            os.close(target)
        return ruleset


def _serve(channel, memory_mib, seconds, walls):
    sys.argv[:] = sys.orig_argv[:] = [PACKAGE]
    _silence()
    _limit(memory_mib, seconds, 0 if walls else None)
    if walls:
        walls.close(".")
    Session(channel).serve()


def _serve_alone(descriptor, memory_mib, seconds, walls):
    """One worker, which says first that it is there."""
    _enter(tempfile.mkdtemp(dir="."))
    channel = socket.socket(fileno=descriptor)
    channel.sendall(COMMAND.pack(b"r", os.getpid()))
    _serve(channel, memory_mib, seconds, walls)


def _enter(folder):
    """A worker's own working directory, which is empty when it comes."""
    os.chdir(folder)
    os.environ["HOME"] = os.environ["TMPDIR"] = os.getcwd()


def _children(pid):
    """The direct children of a process, from /proc."""
    found = []
    with contextlib.suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children") as file:
                found += map(int, file.read().split())
    return found


def _family(pids):
    found = list(pids)
    for pid in found:
        found += _children(pid)
    return found


def _end(pid, live):
    """Kills a worker with all that descends from it, orphans included, and waits for the end."""
    folder = live.pop(pid, None)
    doomed = [pid]
    while doomed:
        for one in _family(doomed):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(one, signal.SIGKILL)
        for one in doomed:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(one, 0)
        doomed = [one for one in _children(os.getpid()) if one not in live]
    if folder:
        with contextlib.suppress(RecursionError):  # what is left the judge removes at the end
            shutil.rmtree(folder, ignore_errors=True)


def _parent(control, memory_mib, seconds, walls):
    """Forks a worker for every socket it is sent, and ends workers when it is told to."""
    live = {}
    gc.collect()
    gc.freeze()
    while True:
        _watch(control, live, walls)
        message, descriptors, _, _ = socket.recv_fds(control, COMMAND.size, 1)
        if len(message) < COMMAND.size:
            break
        command, number = COMMAND.unpack(message)
        if command == b"k":
            _end(number, live)
            if walls and set(os.listdir(".")) - {os.path.basename(path) for path in live.values()}:
                break  # what it left behind could not be removed: this world ends with it
        else:
            folder = tempfile.mkdtemp(dir=".")
            number = os.fork()
            if not number:
                _child(control, descriptors[0], folder, memory_mib, seconds, walls)
            live[number] = folder
            os.close(descriptors[0])
        control.sendall(COMMAND.pack(command, number))
    for pid in list(live):
        _end(pid, live)


def _watch(control, live, walls):
    """Waits for a command, and ends workers that make too many files: no limit counts those."""
    while walls and walls.files and live:
        if select.select([control], [], [], GLANCE_SECONDS)[0]:
            return
        room = os.statvfs(".")
        if room.f_files - room.f_ffree > walls.files:
            for pid in live:
                os.kill(pid, signal.SIGKILL)


def _child(control, descriptor, folder, memory_mib, seconds, walls):
    """Never returns: whatever happens here must not run on as a second parent."""
    try:
        control.close()
        os.setsid()
        _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        _enter(folder)
        _serve(socket.socket(fileno=descriptor), memory_mib, seconds, walls)
    finally:
        os._exit(0)


def _prctl(option, value):
    with contextlib.suppress(Exception):  # Linux only
        import ctypes

        ctypes.CDLL(None).prctl(option, int(value), 0, 0, 0)


def _adopt_orphans():
    """Makes this process the new parent of any process that a worker leaves behind."""
    _prctl(PR_SET_CHILD_SUBREAPER, 1)


def _guard(descriptor):
    """Returns in a child; stays behind until that ends, or SIGTERM comes, to kill what is left.

    So a worker that kills its parent, be it by mistake, does not outlive it.
    """
    _adopt_orphans()
    child = os.fork()
    if not child:
        os.setsid()
        _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        return
    os.close(descriptor)
    signal.signal(signal.SIGTERM, lambda *_: os.kill(child, signal.SIGKILL))
    os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    _end(child, {})
    os._exit(0)


def _serve_parent(descriptor, memory_mib, seconds, walls):
    _adopt_orphans()
    control = socket.socket(fileno=descriptor)
    control.sendall(COMMAND.pack(b"r", os.getpid()))
    _parent(control, memory_mib, seconds, walls)


def main(mode, descriptor, _packages, memory_mib, seconds, walls=""):
    """Serves, as a parent of workers or as one."""
    if mode == "share":  # on Windows the socket comes through standard input
        size = U32.unpack(sys.stdin.buffer.read(4))[0]
        descriptor = socket.fromshare(sys.stdin.buffer.read(size)).detach()
    walls = Walls(**json.loads(walls)) if walls else None
    if walls:
        walls.enter()
    if sys.platform.startswith("linux") and not (walls and walls.alone):
        _guard(int(descriptor))  # only there can orphans be adopted
    serve = _serve_parent if mode == "parent" else _serve_alone
    serve(int(descriptor), int(memory_mib), float(seconds), walls)


if __name__ == "__main__":
    main(*sys.argv[1:])
