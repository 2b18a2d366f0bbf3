"""The worker from outside, through real processes: what crosses, what stays, what stays alive.

Every test runs on both kinds of host, unless it is all the same to what goes on inside a worker.
The functions under judgement are given as text.
"""

import contextlib
import math
import os
import platform
import shutil
import textwrap
import time
from dataclasses import replace

import numpy as np
import pytest

from grader.isolation import Host, Process, SandboxError, hosts
from grader.isolation.client import Died, Program, Raised, TimedOut, Worker
from grader.isolation.hosts import CAN_FORK, MALLOC, PROGRAM, ForkingHost
from grader.isolation.wire import Counted, Foreign, Handle, Laid
from grader.steps.registry import Limits
from tests.support import processes
from tests.support.alike import alike

STEP = "step05_output"
LIMITS = Limits(call_seconds=20.0, step_seconds=60.0, memory_mib=512)
HASTE = 0.2
CANARY = "NOPEEK_TEST_CANARY"
HOSTS = [ForkingHost, Host] if CAN_FORK else [Host]
usual_host = pytest.mark.parametrize("kind", HOSTS[:1], indirect=True, scope="module")
linux = pytest.mark.skipif(not processes.LINUX, reason="needs /proc, and orphans to be adopted")
HONEST = """
import numpy as np

def matmul(a, b):
    print("multiplying")
    return a @ b

def cache(a):
    return a.copy()

def grow(a, kept):
    kept += a
    return kept
"""


@pytest.fixture(scope="module", params=HOSTS, ids=lambda kind: kind.__name__)
def kind(request):
    return request.param


@pytest.fixture(scope="module")
def host(kind):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(CANARY, CANARY)
        with kind(Process(), LIMITS) as host:
            yield host


@pytest.fixture(scope="module")
def quiet_host(kind):
    """For workers that answer many tests, so that `host` has no process while no test runs."""
    with kind(Process(), LIMITS) as host:
        yield host


@pytest.fixture
def load(host):
    """Starts workers on a source, its imports beside it; after them, all is as it was before."""
    started = []

    def load(source, **others):
        started.append(fresh(host))
        started[-1].load(program(source, **others))
        return started[-1]

    yield load
    for worker in started:
        worker.close()
    nothing_is_left(host)
    if isinstance(host, ForkingHost):  # the other host has nothing that could be spoilt
        honest_worker_works(host)
        nothing_is_left(host)


@pytest.fixture(scope="module")
def enduring(quiet_host):
    """One worker that runs any source as if it were its own."""
    worker = Worker(quiet_host, math.inf)
    worker.load(
        program("""
            def f(source, args):
                space = {"__name__": __name__}
                exec(compile(source, __file__, "exec"), space)
                return space["f"](*args)
            """)
    )
    yield worker
    worker.close()


@pytest.fixture
def call(enduring):
    """Calls the function `f` of a source in a worker that goes on to the next test."""

    def call(source, *args, **options):
        return enduring.call("f", [textwrap.dedent(source), args], {}, **options)

    yield call
    assert enduring.alive
    assert enduring.call("f", ["def f(x): return x", [5]], {}).value == 5


@pytest.fixture
def hasty(host):
    """A context in which calls have little time."""

    @contextlib.contextmanager
    def hasty():
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(host, "limits", replace(host.limits, call_seconds=HASTE))
            yield

    return hasty


def fresh(host):
    """Return a worker that has the time of a step."""
    return Worker(host, time.monotonic() + LIMITS.step_seconds)


def program(source, **others):
    sources = {STEP: source, **others}
    return Program(
        STEP,
        {name: (textwrap.dedent(text), f"exercises/{name}.py") for name, text in sources.items()},
    )


def function(body, prelude="import os, sys, time\nimport numpy as np"):
    """A source whose function `f` has that body."""
    return f"{prelude}\n\ndef f(*args, **kwargs):\n" + textwrap.indent(
        textwrap.dedent(body), "    "
    )


def standing(host):
    """Return how many processes a host has while no worker runs."""
    return 1 if isinstance(host, ForkingHost) else 0


def nothing_is_left(host):
    if processes.LINUX:
        calm = {0, standing(host)}
        assert processes.soon(lambda: len(processes.belonging(host.folder)) in calm)
        assert processes.zombies(processes.descendants(os.getpid())) == []


def honest_worker_works(host):
    a = np.arange(6.0).reshape(2, 3)
    with contextlib.closing(fresh(host)) as worker:
        assert worker.load(program(HONEST)) == ("matmul", "cache", "grow")
        answer = worker.call("matmul", [a, Counted(a.T)], {}, keep=True, arguments=True)
        assert alike(answer.value, a @ a.T)
        assert (answer.printed, answer.products) == ("multiplying\n", 12)
        assert alike(answer.arguments, [[a, a.T], {}])
        assert alike(worker.fetch(answer.kept), a @ a.T)
        kept = worker.call("cache", [a], {}, opaque=(True,)).value
        assert alike(worker.call("grow", [a, kept], {}).value, a + a)
        with pytest.raises(Raised):
            worker.call("matmul", [a, a], {})


# Values and memory.


def test_argument_comes_back_as_the_function_left_it(load):
    worker = load(function("args[0][0] = 7; args[1]['x'] = 1"))
    answer = worker.call("f", [np.zeros(2), {}], {}, arguments=True)
    assert alike(answer.arguments, [[np.array([7.0, 0.0]), {"x": 1}], {}])
    assert answer.value is None


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other libraries are not told")
def test_freed_arrays_are_used_again(call):
    """The kernel would clear all their pages anew, which takes longer than to fill them."""
    faults = call("""
        import numpy as np
        from resource import RUSAGE_SELF, getrusage

        def f():
            for number in range(12):
                if number == 2:
                    before = getrusage(RUSAGE_SELF).ru_minflt
                tables = [np.ones((512, 512)) for _ in range(8)]
                del tables
            return getrusage(RUSAGE_SELF).ru_minflt - before
        """).value
    assert faults < 512


# Handles.


def test_opaque_result_stays_in_the_worker(load):
    worker = load("""
        class Cache: n = 40
        def use(cache, more):
            cache.n += more
            return cache.n, cache
        def is_cache(cache): return type(cache) is Cache
        """)
    cache = worker.call("Cache", [], {}, opaque=(True,)).value
    assert isinstance(cache, Handle)
    n, same = worker.call("use", [cache, 2], {}, opaque=(False, True)).value
    assert n == 42
    assert isinstance(same, Handle)
    asked = [worker.call("is_cache", [one], {}).value for one in (same, {"inside": [same]})]
    assert asked == [True, False]


def test_wrong_number_of_results_is_told_without_a_handle(call):
    source = function("return object(), object(), object()")
    assert call(source, opaque=(False, True)).value == Foreign("tuple of 3")


def test_what_is_kept_of_two_calls_is_the_first_result(load):
    worker = load("def f(x):\n    return x[:1]\ndef g(x):\n    return x[:1].copy()")
    one, two = np.array([1.0, 5.0]), np.array([2.0, 5.0])
    for name, later in (("f", 2.0), ("g", 1.0)):
        answer = worker.call(name, [one], {}, keep=True, then=[[two], {}])
        assert (answer.value, worker.fetch(answer.kept)) == ([2.0], [later])


def test_dicts_and_lists_of_a_second_call_are_those_of_the_first(load):
    """Code that remembers which dict it saw must not be saved by getting another one."""
    worker = load(
        "seen = {}\n"
        "def f(params):\n"
        "    w = params['blocks'][0]['w']\n"
        "    all = params, params['blocks'], w\n"
        "    return [seen.setdefault(id(one), float(w[0])) for one in all]"
    )
    one, two = ({"blocks": [{"w": np.array([number])}]} for number in (1.0, 2.0))
    assert worker.call("f", [one], {}, then=[[two], {}]).value == [1.0, 1.0, 1.0]


def test_argument_of_the_first_call_only_is_not_one_of_the_second(load):
    worker = load("def f(a, b=0):\n    return a + b")
    assert worker.call("f", [1.0], {"b": 5.0}, then=[[2.0], {}]).value == 2.0


def test_unknown_handle_ends_the_worker(load):
    worker = load(HONEST)
    with pytest.raises(Died):
        worker.call("cache", [Handle(99)], {})
    assert not worker.alive
    with pytest.raises(Died):
        worker.fetch(Handle(0))


def test_held_value_outlives_what_is_kept_and_may_be_read_only(load):
    worker = load("""
        def total(params): return sum(params["arrays"]) + params["one"]
        def kept(): return object()
        def write(x): x += 1
        """)
    array = np.arange(3.0)
    arrays = [worker.hold(Laid(array, writable=False)) for _ in range(2)]
    params = worker.hold({"arrays": arrays, "one": 1.0})
    for _ in range(70):
        worker.call("kept", [], {}, opaque=(True,))
    assert alike(worker.call("total", [params], {}).value, 2 * array + 1)
    with pytest.raises(Raised, match="read-only"):
        worker.call("write", [arrays[0]], {})
    assert alike(worker.fetch(arrays[0]), array)


def test_forgotten_object_is_gone_after_the_call(load):
    worker = load("def f(x): return x")
    kept = worker.call("f", [[1.0]], {}, opaque=(True,)).value
    assert worker.call("f", [kept], {}, forget=[kept]).value == [1.0]
    with pytest.raises(Died):
        worker.fetch(kept)


def test_rows_of_a_kept_result_are_fetched(load):
    worker = load("def f(x): return x")
    table = np.arange(24.0).reshape(2, 4, 3)
    kept, number = (worker.call("f", [x], {}, opaque=(True,)).value for x in (table, 5))
    assert alike(worker.fetch(kept, rows=(1, 3)), table[:, 1:3])
    assert alike(worker.fetch(kept, rows=(3, 9)), table[:, 3:])
    with pytest.raises(Raised, match="too many indices"):
        worker.fetch(number, rows=(0, 1))
    assert worker.fetch(number) == 5


def test_innermost_line_may_be_in_another_step(load):
    worker = load(
        "from exercises.other import g\ndef f(x): return g(x)",
        other="def g(x):\n    return [][x]\n",
    )
    with pytest.raises(Raised) as caught:
        worker.call("f", [3], {})
    assert caught.value.innermost == ("exercises/other.py", 2)


# Exceptions of every kind: what the body raises -> the name, the builtin kinds, the text.

RAISED = {
    "raise ValueError('no')": ("ValueError", "ValueError", "no"),
    "try: 1 / 0\nfinally: sys.exit()": ("SystemExit", "SystemExit", ""),
    "class Mine(BaseException): pass\nraise Mine('own')": ("Mine", "BaseException", "own"),
    "class Mine(Exception):\n    __class__ = ValueError\nraise Mine": ("Mine", "Exception", ""),
    "def g(): return g()\ng()": ("RecursionError", "RecursionError", "maximum recursion"),
    "raise SyntaxError": ("SyntaxError", "SyntaxError", "None"),
    "compile('f(', 'x.py', 'exec')": ("SyntaxError", "SyntaxError", "x.py"),
    "class Mine(Exception):\n    def __str__(self): return 3\nraise Mine": (
        *("Mine", "Exception", ""),
    ),
    "raise ValueError('\\ud800')": ("ValueError", "ValueError", "?"),
    "return np.ones(2) @ np.ones(3)": ("ValueError", "ValueError", "mismatch"),
}


@pytest.mark.parametrize(("body", "told"), RAISED.items(), ids=range(len(RAISED)))
def test_exception_is_told_with_its_line(call, body, told):
    with pytest.raises(Raised) as caught:
        call(function(body))
    raised, (name, builtin, text) = caught.value, told
    assert raised.type == name
    assert builtin in raised.kinds
    assert "Exception" in raised.kinds or "BaseException" in raised.kinds
    assert text in raised.text
    assert all(4 < line < 10 for line in raised.lines[-1:])
    assert raised.lines or name == "SyntaxError"


def test_exception_is_told_in_bounds(call):
    body = "class Mine(Exception): pass\nMine.__name__ = 'n' * 10**6\nraise Mine('t' * 10**7)"
    with pytest.raises(Raised) as caught:
        call(function(body))
    assert (len(caught.value.type), len(caught.value.text)) == (80, 2000)


def test_worker_goes_on_after_an_exception_and_what_was_printed_comes_with_it(load):
    worker = load("def f(x):\n    print('before')\n    if x: raise SystemExit\n    return 1")
    with pytest.raises(Raised, match="SystemExit") as caught:
        worker.call("f", [1], {})
    assert caught.value.printed == "before\n"
    assert worker.call("f", [0], {}).value == 1


# Ends without an answer, or with one: nothing that a function does harms the next worker.

DYING = {
    "exits at once": "os._exit(0)",
    "segmentation fault": "import ctypes; ctypes.string_at(0)",
    "alarm": "import signal; signal.setitimer(signal.ITIMER_REAL, 0.01); time.sleep(60)",
    "shuts its socket": "channel().shutdown(2)",
    "breaks the session": "session().kept = session().functions = None; del session().channel",
    "breaks the capture": "type(sys.stdout.buffer).getvalue = None",
}
SLOW = {
    "loops": "while True: pass",
    "sleeps in C": "import ctypes; ctypes.CDLL(None).sleep(60)",
    "prints for ever": "while True: print('x' * 100)",
    "name without end": (
        "class Endless:\n    def __str__(self):\n        while True: pass\nreturn {Endless(): 1}"
    ),
    "reads the questions itself": "channel().recv(1)",
    "answers in a trickle": (
        "send(struct.pack('>Q16s', 1000, session().nonce))\n"
        "while True:\n    send(b'N')\n    time.sleep(0.01)"
    ),
}
FORGING = """
import json, os, struct, sys, time

def session():
    frame = sys._getframe()
    while "serve" not in dir(frame.f_locals.get("self")):
        frame = frame.f_back
    return frame.f_locals["self"]

def channel():
    return session().channel

def send(data):
    channel().sendall(data)

def parts(text, numbers=b""):
    return struct.pack(">IQ", len(text), len(numbers)) + text + numbers

def raw(value, nonce=None):
    return struct.pack(">Q16s", len(value), nonce or session().nonce) + value

def frame(tree, nonce=None):
    return raw(parts(json.dumps(tree).encode()), nonce)

def mapping(**items):
    return {"dict": items}

def answer(value=7, **more):
    return mapping(ok=mapping(value=value, products=0, **more), printed="")
"""


@pytest.mark.parametrize("body", DYING.values(), ids=DYING.keys())
def test_function_that_ends_the_process_gives_no_answer(load, body):
    worker = load(function(body, FORGING))
    with pytest.raises(Died):
        worker.call("f", [], {})
    worker.close()


@pytest.mark.parametrize("body", SLOW.values(), ids=SLOW.keys())
def test_function_that_does_not_return_is_stopped(load, hasty, body):
    worker = load(function(body, FORGING))
    with hasty(), pytest.raises(TimedOut) as caught:
        worker.call("f", [], {})
    assert (caught.value.seconds, caught.value.whole_step) == (HASTE, False)
    assert not worker.alive


@usual_host
def test_function_whose_memory_is_measured_has_more_time(load, hasty):
    worker = load(function(f"time.sleep({2 * HASTE}); return 3"))
    with hasty():
        assert worker.call("f", [], {}, traced=True).value == 3
        with pytest.raises(TimedOut):
            worker.call("f", [], {})


def test_step_that_takes_too_long_is_stopped(host):
    worker = fresh(host)
    worker.load(program(function("time.sleep(60)")))
    worker.deadline = time.monotonic() + 0.1
    with pytest.raises(TimedOut) as caught:
        worker.call("f", [], {})
    assert caught.value.whole_step


def test_step_whose_time_is_up_asks_nothing(host):
    worker = Worker(host, time.monotonic() - 1)
    with pytest.raises(TimedOut):
        worker.load(program(HONEST))
    assert not worker.alive


# Frames that the function sends itself, with or without the number of the question.

ANSWERED_BADLY = {
    "half an answer": "send(frame(answer())[:40]); os._exit(0)",
    "not printed": "send(frame(mapping(ok=answer()['dict']['ok'])))",
    "a result that is no mapping": "send(frame(mapping(ok=None, printed='')))",
    "without work": "send(frame(mapping(ok=mapping(value=None), printed='')))",
    "without what was to be kept": "send(frame(answer()))",
    "with another thing kept": "send(frame(answer(kept=None, arguments=[])))",
    "an empty report": "send(frame(mapping(raised=mapping(), printed='')))",
    "above the cap": "send(struct.pack('>Q16s', 64 * 2**20 + 1, session().nonce))",
    "a handle where data belongs": "send(frame(answer({'handle': 2**62}))); os._exit(0)",
    "into every descriptor": (
        "for number in range(3, 64):\n"
        "    try: os.write(number, frame(answer(), bytes(16)))\n"
        "    except OSError: pass"
    ),
}


@usual_host
@pytest.mark.parametrize("body", ANSWERED_BADLY.values(), ids=ANSWERED_BADLY.keys())
def test_forged_answer_ends_the_worker(load, body):
    worker = load(function(body, FORGING))
    with pytest.raises(Died):
        worker.call("f", [], {}, keep=True, arguments=True)
    assert not worker.alive


# Calls that are sent together.

SQUARES = """
import os, time
seen = []

def square(x):
    if x < 0:
        raise ValueError("negative")
    seen.append(x)
    time.sleep(0.6 if x == 77 else 0)
    return x * x

def asked():
    return len(seen)
"""


def calls_of(*numbers):
    return [([number], {}) for number in numbers]


@usual_host
def test_calls_that_are_sent_together_are_answered_in_turn(load):
    worker = load(SQUARES)
    assert [one.value for one in worker.call_all("square", calls_of(3, 4, 5))] == [9, 16, 25]
    assert worker.call("square", [6], {}).value == 36
    assert list(worker.call_all("square", [])) == []


@usual_host
def test_calls_that_do_not_fit_into_one_message(load):
    worker = load(HONEST)
    arrays = [np.full((2, 3), number) for number in range(70)]
    answers = worker.call_all("matmul", (([one, one.T], {}) for one in arrays))
    assert [one.value[0, 0] for one in answers] == [3 * n * n for n in range(70)]


@usual_host
def test_exception_comes_in_its_turn_and_the_rest_is_dropped(load):
    worker = load(SQUARES)
    answers = worker.call_all("square", calls_of(3, -1, 5))
    assert next(answers).value == 9
    with pytest.raises(Raised):
        next(answers)
    assert worker.call("asked", [], {}).value == 2  # all were asked, and the last answer is gone
    assert worker.alive


@usual_host
def test_another_question_drops_the_answers_that_are_left(load):
    worker = load(SQUARES)
    answers = worker.call_all("square", calls_of(3, 4, 5))
    assert next(answers).value == 9
    assert worker.call("square", [6], {}).value == 36
    with pytest.raises(RuntimeError):
        next(answers)


@usual_host
def test_each_call_has_a_time_limit_of_its_own(load, host, monkeypatch):
    worker = load(SQUARES)
    monkeypatch.setattr(host, "limits", replace(host.limits, call_seconds=1.0))
    assert len(list(worker.call_all("square", calls_of(77, 77, 77)))) == 3  # in 1.8 seconds


@usual_host
def test_call_that_takes_too_long_among_others_ends_the_worker(load, hasty):
    worker = load(SQUARES)
    answers = worker.call_all("square", calls_of(3, 77, 5))
    assert next(answers).value == 9
    with hasty(), pytest.raises(TimedOut):
        next(answers)
    assert not worker.alive


@usual_host
def test_worker_that_is_slow_with_what_nobody_wants_is_ended(load, monkeypatch):
    worker = load(SQUARES)
    monkeypatch.setattr("grader.isolation.client.PATIENCE", 0.1)
    assert next(worker.call_all("square", calls_of(3, 77))).value == 9
    worker.drop_answers()
    assert not worker.alive


@usual_host
def test_forged_answers_count_for_the_calls_of_their_message_only(load):
    """They are values like any other, and as little believed."""
    worker = load(function("send(frame(answer()) * 4)", FORGING))
    answers = worker.call_all("f", [([], {})] * 3)
    assert [one.value for one in answers] == [7] * 3
    with pytest.raises(Died):
        worker.call("f", [], {})
    assert not worker.alive


# Memory.

GREEDY = {"8 GiB array": "return np.ones(2**30)", "list that grows": "x = [0]\nwhile True: x += x"}


@pytest.mark.parametrize("body", GREEDY.values(), ids=GREEDY.keys())
def test_memory_is_limited(call, body):
    with pytest.raises(Raised) as caught:
        call(function(body))
    assert "MemoryError" in caught.value.kinds


# Replies that are too large, too deep or bottomless.

BOTTOMLESS = {
    "100 MiB array": ("return np.zeros(100 * 2**20, np.uint8)", Foreign("array of 100 MiB")),
    "17 dimensions": ("return np.ones((1,) * 17)", Foreign("array of 17 dimensions")),
    "long list": ("return [0] * 10**6", Foreign("list of 1000000")),
    "long dict": ("return dict.fromkeys(range(10**5))", Foreign("dict of 100000")),
    "long text": ("return 'x' * 10**7", "x" * 2000),
    "long key": ("return {'k' * 10**7: 1}", {"k" * 2000: 1}),
    "huge integer": ("return 10**100_000", Foreign("huge integer")),
    "long name": ("return type('n' * 10**6, (), {})()", Foreign("n" * 80)),
}


@pytest.mark.parametrize(("body", "value"), BOTTOMLESS.values(), ids=BOTTOMLESS.keys())
def test_result_beyond_bounds_is_named_or_cut(call, body, value):
    assert call(function(body)).value == value


NESTED = {
    "hundred lists": "x = []\nfor _ in range(100): x = [x]\nreturn x",
    "dict in a tuple in itself": "x = {}\nx['x'] = (x,)\nreturn x",
}


@pytest.mark.parametrize("body", NESTED.values(), ids=NESTED.keys())
def test_deep_result_ends_in_a_name(call, body):
    value, depth = call(function(body)).value, 0
    while not isinstance(value, Foreign):
        value, depth = value["x"] if isinstance(value, dict) else value[0], depth + 1
    assert value.description in ("list", "dict", "tuple")
    assert depth == 12


WIDE = {
    "many small lists": "return [[0] * 100] * 1000",
    "two large arrays": "return [np.zeros(5 * 2**20), np.zeros(5 * 2**20)]",
}


@usual_host
@pytest.mark.parametrize("body", WIDE.values(), ids=WIDE.keys())
def test_reply_too_large_is_no_answer(load, body):
    with pytest.raises((Died, Raised)) as caught:
        load(function(body)).call("f", [], {})
    assert isinstance(caught.value, Died) or "MemoryError" in caught.value.kinds


# Objects that lie about what they are cross as what they are, or not at all.

LIES = """
import numpy as np

def lie(*args, **kwargs):
    raise SystemExit("asked")

class Array(np.ndarray):
    shape = property(lambda self: (9, 9))
    dtype = property(lambda self: np.dtype("f4"))
    nbytes = ndim = size = property(lie)
    __array__ = __array_wrap__ = __eq__ = __getitem__ = tobytes = copy = astype = view = lie

class Claims:
    def __init__(self, kind): self.kind = kind
    __class__ = property(lambda self: self.kind)

class HasArray:
    __array__ = __array_interface__ = property(lie)

class Int(int):
    __int__ = __index__ = __str__ = __repr__ = __abs__ = __lt__ = __eq__ = lie

class Float(float):
    __float__ = __str__ = __repr__ = __eq__ = lie

class Str(str):
    __str__ = __getitem__ = encode = __len__ = __eq__ = __hash__ = lie

class List(list):
    __iter__ = __len__ = __getitem__ = lie

class Tuple(tuple):
    __iter__ = __len__ = __getitem__ = lie

class Dict(dict):
    items = keys = __iter__ = __len__ = __getitem__ = lie

"""
LYING = {
    "array": ("np.arange(3.0).view(Array)", np.arange(3.0)),
    "int": ("Int(7)", 7),
    "float": ("Float(2.5)", 2.5),
    "str": ("Str('text')", "text"),
    "list": ("List([1, 2])", [1, 2]),
    "tuple": ("Tuple([1, 2])", (1, 2)),
    "dict": ("Dict(a=1)", {"a": 1}),
    "has __array__": ("HasArray()", Foreign("HasArray")),
    "objects": ("np.array([None, 1], object)", Foreign("array of object")),
    "numbers as objects": ("np.frompyfunc(np.exp, 1, 1)(np.zeros((1, 2)))", np.ones((1, 2))),
    "complex": ("np.ones(2, complex)", Foreign("array of complex128")),
    "long double": ("np.ones(2, np.longdouble) * 1.5", np.array([1.5, 1.5])),
    "masked array": ("np.ma.masked_array([1.0], [True])", Foreign("masked array")),
    "matrix": ("np.asmatrix([[1, 2]])", Foreign("matrix")),
    "set": ("{1}", Foreign("set")),
    "function": ("lie", Foreign("function")),
    "enumeration": ("__import__('enum').IntEnum('E', 'a b').b", 2),
    "infinite and not a number": ("[np.inf, -np.inf, -0.0]", [math.inf, -math.inf, -0.0]),
}


@pytest.mark.parametrize(("expression", "value"), LYING.values(), ids=LYING.keys())
@pytest.mark.filterwarnings("ignore:.*matrix subclass")
def test_result_crosses_as_what_it_is_also_inside_others(call, expression, value):
    got = call(function(f"one = {expression}\nreturn one, [one, {{'x': one}}]", LIES)).value
    assert alike(got, (value, [value, {"x": value}]))


def test_result_that_a_thread_goes_on_changing_is_whole(load):
    worker = load("""
        import threading

        items, names = [], {}

        def change():
            while True:
                items.append(1)
                names[str(len(items))] = 1
                if len(items) > 50:
                    items.clear()
                    names.clear()

        threading.Thread(target=change, daemon=True).start()

        def f():
            return items, names
        """)
    for _ in range(10):
        items, names = worker.call("f", [], {}).value
        assert len(items) <= 51
        assert set(names.values()) <= {1}


# Output and input.

PRINTED = {
    "text": ("print('a', 1); print('b')", "a 1\nb\n"),
    "one long line": ("print('x' * 10**8)", "x" * 4000),
    "control characters": ("print('\\x1b[2J\\0')", "\x1b[2J\0\n"),
    "past Python": ("os.write(1, b'x'); os.write(2, b'x')", ""),
    "after closing": ("sys.stdout.close(); print('x')", "x\n"),
    "a warning": (
        "import warnings; warnings.warn('careful')",
        "exercises/step05_output.py:5: UserWarning: careful\n",
    ),
    "a library's warning": (
        "warnings = __import__('warnings'); warnings.simplefilter('always')\nnp.mean([])",
        "in a library: RuntimeWarning: Mean of empty slice",
    ),
    "bytes": ("print('a'); sys.stdout.buffer.write(b'b\\n'); print('c')", "a\nb\nc\n"),
    "bytes of an array": ("import array; sys.stdout.buffer.write(array.array('I', [0]))", "\0" * 4),
    "through another wrapper": (
        "import io; sys.stdout = io.TextIOWrapper(sys.stdout.buffer, 'utf-8')\n"
        "print('½', flush=True)\n"
        "del sys.stdout\n"
        "print('x', file=sys.stderr)",
        "½\nx\n",
    ),
    "a fault handler": ("import faulthandler; faulthandler.enable(); print('x')", "x\n"),
    "its kind": (
        "out = sys.stdout; out.fileno()\nprint(out.encoding, out.errors, out.name, out.isatty())",
        "utf-8 replace <stdout> False\n",
    ),
}


@pytest.mark.parametrize(("body", "printed"), PRINTED.values(), ids=PRINTED.keys())
def test_output_is_taken_cut_and_no_answer(call, body, printed):
    answer = call(function(body + "\nreturn 5"))
    assert answer.value == 5
    assert printed in answer.printed if printed else answer.printed == ""
    assert len(answer.printed) <= 4000


def test_stream_may_be_set_up_when_the_step_is_imported(load):
    """The first lines of many a program for Windows, and a stream that outlives its request."""
    worker = load(
        """
        import io, sys
        sys.stdout.reconfigure(encoding="utf-8")
        early = io.TextIOWrapper(sys.stdout.buffer, encoding="utf-8")
        sys.stdout = early

        def f():
            print("early", file=early, flush=True)
            print("½")
            return 5
        """
    )
    for _ in range(2):
        answer = worker.call("f", [], {})
        assert (answer.value, answer.printed) == (5, "½\n")


def test_output_is_taken_with_all_streams_closed(load):
    answer = load(function("os.closerange(0, 3); print('x')\nreturn 5")).call("f", [], {})
    assert (answer.value, answer.printed) == (5, "x\n")


def test_input_is_empty(call):
    assert call(function("return sys.stdin.read()")).value == ""
    for line, kind in {"input('your name? ')": "EOFError", "open('/dev/tty')": "OSError"}.items():
        with pytest.raises(Raised) as caught:
            call(function(line))
        assert kind in caught.value.kinds


# What is to be found there.


def test_environment_is_clean(load):
    everything = "open('/proc/self/environ', errors='replace').read()" if processes.LINUX else "''"
    random = "sys.flags.hash_randomization"
    worker = load(function(f"return sys.argv, {random}, list(os.environ), {everything}"))
    words, random, names, everything = worker.call("f", [], {}).value
    assert (words, random) == (["exercises"], 0)
    allowed = {"HOME", "TMPDIR", "LANG", "PYTHONHASHSEED", "SYSTEMROOT", "LC_CTYPE", *MALLOC}
    others = [name for name in names if not name.endswith(("_NUM_THREADS", "_LIBRARY_PATH"))]
    assert set(others) <= allowed
    assert CANARY in os.environ
    assert CANARY not in everything


def test_working_directory_is_empty_and_its_own(load, host):
    body = """
        before = os.listdir(".")
        open("left behind", "w").close()
        return before, os.getcwd(), os.environ["HOME"], os.environ["TMPDIR"]
        """
    first, second = (load(function(body)).call("f", [], {}).value for _ in range(2))
    assert first[0] == second[0] == []
    assert first[1] != second[1]
    for _, *folders in (first, second):
        assert len(set(folders)) == 1
        assert os.path.realpath(folders[0]).startswith(os.path.realpath(host.folder))


@linux
def test_no_descriptor_is_inherited(load):
    body = """
        links = ["/proc/self/fd/" + name for name in sorted(os.listdir("/proc/self/fd"), key=int)]
        return [os.readlink(link) for link in links if os.path.lexists(link)]  # not the listing's
        """
    *streams, channel = load(function(body)).call("f", [], {}).value
    assert streams == ["/dev/null"] * 3
    assert channel.startswith("socket:")


def test_nothing_but_numpy_comes_from_the_packages(call):
    packages = ("torch", "pytest", "hypothesis", "click", "pip", "setuptools", "pluggy")
    own = ("grader", "solutions", "tests", "worker", "protocol", "reference", "conftest")
    body = f"""
        found = []
        for name in {packages + own}:
            try: __import__(name)
            except ModuleNotFoundError as error: assert name in str(error)
            else: found.append(name)
        return found, sys.path
        """
    found, path = call(function(body)).value
    assert found == []
    assert not [entry for entry in path if "site-packages" in entry or "dist-packages" in entry]
    assert str(PROGRAM.parent) not in path


def test_function_after_a_star_import_is_named(host):
    worker = fresh(host)
    names = worker.load(
        program("from numpy import *\nfrom math import *\ndef mine(): pass\n_no = 1")
    )
    worker.close()
    assert "mine" in names
    assert "_no" not in names


# Modules.


def test_module_knows_its_names(load):
    """So the block for a main program is not run."""
    source = function("return __name__, __file__, __package__, __spec__.name, f.__module__, x")
    source += "\nx = 1\nif __name__ == '__main__':\n    x = 2\n"
    got = load(source).call("f", [], {}).value
    full = f"exercises.{STEP}"
    assert got == (full, f"exercises/{STEP}.py", "exercises", full, full, 1)


@usual_host
def test_numbers_may_underflow_whatever_is_set(load):
    """Weights of 0 are right, also those of the kit's softmax in a student's step."""
    theirs = "import numpy as np\ndef softmax(x):\n    return np.exp(x)\n"
    mine = """
        import numpy as np
        from exercises.step04_softmax import softmax
        np.seterr(all="raise")
        def f(x):
            return softmax(x), np.geterr()["over"]
        """
    worker = load(textwrap.dedent(mine), step04_softmax=theirs)
    assert worker.call("f", [np.array([-1e6])], {}).value == (0.0, "raise")


@usual_host
@pytest.mark.skipif(np.finfo(np.longdouble).minexp > -16000, reason="needs a wider type")
@pytest.mark.parametrize(
    "setting", ["np.seterr(all='raise')", "np.seterr(all='warn'); warnings.simplefilter('error')"]
)
def test_numbers_too_small_for_float64_become_zero_whatever_is_set(load, setting):
    """The function has returned already: nothing may raise in its name."""
    tiny = "np.array([1, 0], np.longdouble) * np.longdouble('1e-3000')"
    worker = load(f"import warnings\nimport numpy as np\n{setting}\ndef f():\n    return {tiny}\n")
    assert worker.call("f", [], {}).value.tolist() == [0.0, 0.0]


def test_large_submission_that_prints_is_loaded(load):
    comment = "# " + "x" * 10**6 + "\nprint('x' * 10**6)\n"
    worker = load(comment + "def f():\n    return 1\n", step02_scores=comment)
    assert worker.call("f", [], {}).value == 1


NOT_LOADED = {
    "beyond the package": ("from .. import grader", "beyond top-level package"),
    "a circle": ("from exercises.step03_mask import y", "partially initialized"),
    "an exit below": ("def g(): exit(5)\ng()", "5"),
    "no Python before": ("import exercises.step04_softmax", "exercises/step04_softmax.py, line 2"),
    "a thousand brackets": ("(" * 1000 + ")" * 1000, "too many nested parentheses"),
    "itself replaced": (
        f"import sys\nsys.modules['exercises.{STEP}'] = 3",
        "must have __dict__ attribute",
    ),
    "names that are none": ("globals()[3] = print", "not subscriptable"),
    "too much memory": ("x = [0] * 10**12", ""),
}


@usual_host
@pytest.mark.parametrize(("source", "words"), NOT_LOADED.values(), ids=NOT_LOADED.keys())
def test_module_that_cannot_be_loaded_says_why(load, source, words):
    circle = "from exercises.step05_output import never\ny = 1\n"
    others = {"step03_mask": circle, "step04_softmax": "x = 1\ndef f(:\n"}
    with pytest.raises(Raised) as caught:
        load(source, **others)
    assert words in caught.value.text


OWN = {
    "by its bare and its full name": (
        "import helpers, exercises.helpers\none = helpers.one * (helpers is exercises.helpers)",
        {"helpers": "one = 1"},
    ),
    "in a package": ("from lib.ops import one", {"lib": "", "lib.ops": "one = 1"}),
    "a name of Python's": ("from exercises.types import one", {"types": "one = 1"}),
    "a library that is not here": ("import torch\none = torch.one", {"torch": "one = 1"}),
    "in a circle": ("from a import one", {"a": "import b\none = 1", "b": "import a"}),
    "all names of a step": ("from exercises.step02_scores import *", {"step02_scores": "one = 1"}),
    "twice, after a reload": (
        "import importlib, exercises.helpers as m\none = importlib.reload(m).one",
        {"helpers": "one = 1"},
    ),
    "none, but asked for": (
        "from importlib.util import find_spec\n"
        "one = int(find_spec('torch') is find_spec('exercises.step09_x') is None)",
        {},
    ),
}


@usual_host
@pytest.mark.parametrize(("source", "modules"), OWN.values(), ids=OWN)
def test_own_module_is_imported(load, source, modules):
    mine = f"{source}\nimport types, random\nassert types.FunctionType and random.random\n"
    assert load(f"{mine}def f():\n    return one\n", **modules).call("f", [], {}).value == 1


def test_own_module_takes_the_place_of_none_that_python_imports(load):
    """The standard library imports others of its own, some of them late."""
    shadows = dict.fromkeys(["types", "copy", "token", "heapq", "fractions", "statistics"], "1 / 0")
    source = "def f():\n    import statistics\n    return statistics.mean([1, 3])\n"
    assert load(source, **shadows).call("f", [], {}).value == 2


def test_module_that_answers_as_if_it_were_loaded_is_none(host):
    worker = fresh(host)
    with pytest.raises(Died):
        worker.load(program(FORGING + "send(frame(mapping(ok=True, printed='')))\nos._exit(0)\n"))
    assert not worker.alive


# One worker and the next.

PATCHES = {
    "numpy": "np.matmul = np.ndarray.__module__ = np.exp = print; np.seterr(all='raise')",
    "builtins": "import builtins; builtins.len = builtins.isinstance = lambda *a: 1",
    "modules": "sys.modules['math'] = sys.modules['struct'] = None; sys.meta_path.clear()",
    "the worker": "import __main__; __main__.Session.answer = lambda *a: b''",
    "the interpreter": "sys.setrecursionlimit(60); sys.settrace(lambda *a: 1 / 0); os.chdir('/')",
}


@usual_host
@pytest.mark.parametrize("body", PATCHES.values(), ids=PATCHES.keys())
def test_patch_is_not_seen_by_the_next_worker(load, body):
    """`load` asks an honest worker when this one has ended."""
    with contextlib.suppress(Died, Raised):
        load(function(body)).call("f", [], {})


# Processes that a worker starts.

DAEMON = """
import os, sys, time

def orphan():
    read, write = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.write(write, str(os.getpid()).encode())
            os.closerange(0, 64)
            time.sleep(60)
            os._exit(0)
        os._exit(0)
    return int(os.read(read, 20))

def child():
    pid = os.fork()
    if not pid:
        time.sleep(60)
        os._exit(0)
    return pid
"""


@linux
@usual_host
def test_processes_that_outlive_the_call_end_with_the_worker(load):
    worker = load(function("return [child(), orphan(), orphan(), child()]", DAEMON))
    pids = worker.call("f", [], {}).value
    assert all(map(processes.running, pids))
    worker.close()
    assert all(map(processes.gone, pids))


@linux
@usual_host
def test_process_started_before_a_crash_ends_with_the_worker(load):
    worker = load(function("if not args: return orphan()\nos._exit(0)", DAEMON))
    pid = worker.call("f", [], {}).value
    with pytest.raises(Died):
        worker.call("f", [1], {})
    assert processes.gone(pid)


@linux
def test_processes_of_another_worker_live_on(load):
    one, two = (load(function("return child()", DAEMON)) for _ in range(2))
    mine, theirs = (worker.call("f", [], {}).value for worker in (one, two))
    one.close()
    assert processes.gone(mine)
    assert processes.running(theirs)
    two.close()
    assert processes.gone(theirs)


@linux
@usual_host
def test_bomb_is_cleaned_up(load, host):
    """Of 40 processes, each of which leaves the session of the one before."""
    bomb = """
        me = os.getpid()
        for _ in range(40):
            if os.fork():
                break
            os.setsid()
            time.sleep(0.005)
        if os.getpid() != me:
            os._exit(0)
        return 1
        """
    worker = load(function(bomb))
    assert worker.call("f", [], {}).value == 1
    worker.close()
    assert len(processes.belonging(host.folder)) == standing(host)


AGAINST_PARENT = {
    "killed by an orphan": (
        "parent = os.getppid()\n"
        "if not os.fork():\n"
        "    time.sleep(0.05)\n"
        "    os.kill(parent, 9)\n"
        "    os._exit(0)"
    ),
    "stopped": "import signal\nos.kill(os.getppid(), signal.SIGSTOP)",
}


@linux
@usual_host
@pytest.mark.parametrize("body", AGAINST_PARENT.values(), ids=AGAINST_PARENT.keys())
def test_worker_that_turns_on_its_parent_does_not_outlive_it(load, body, monkeypatch):
    monkeypatch.setattr(hosts, "END_SECONDS", 1.0)
    worker = load(function(f"{body}\nreturn os.getpid()"))
    pid = worker.number
    with contextlib.suppress(Died):
        pid = worker.call("f", [], {}).value
    worker.close()
    assert processes.gone(pid)


# Hosts.


@pytest.fixture
def own_host(kind):
    host = kind(Process(), LIMITS)
    yield host
    host.close()


def run(host, body, prelude="import os, sys, time"):
    worker = fresh(host)
    worker.load(program(function(body, prelude)))
    return worker, worker.call("f", [], {}).value


LITTER = {
    "a deep tree": "for _ in range(1200):\n    os.mkdir('d')\n    os.chdir('d')",
    "locked folders": "os.makedirs('a/b'); os.chmod('a/b', 0); os.chmod('a', 0); os.chmod('.', 0)",
    "in the folder above": "open('../above', 'w').close(); os.mkdir('../beside')",
}


@linux
@pytest.mark.parametrize("closed", [True, False], ids=["closed", "left open"])
def test_closed_host_leaves_nothing(own_host, closed):
    workers = [run(own_host, body)[0] for body in LITTER.values()]
    for worker in workers:
        if closed:
            worker.close()
    assert own_host.folder.exists()
    own_host.close()
    assert not own_host.folder.exists()
    assert processes.belonging(own_host.folder) == set()
    for worker in workers:
        worker.close()
    assert processes.belonging(own_host.folder) == set()


def test_closing_follows_no_link(own_host, tmp_path):
    (tmp_path / "mine").write_text("mine")
    worker, _ = run(own_host, f"os.symlink({str(tmp_path)!r}, 'link')")
    worker.close()
    own_host.close()
    assert (tmp_path / "mine").read_text() == "mine"


def test_host_that_was_never_used_can_be_closed_twice(own_host):
    own_host.close()
    own_host.close()
    assert not own_host.folder.exists()
    assert not processes.LINUX or processes.belonging(own_host.folder) == set()


class Broken(Process):
    """A sandbox whose program does not start."""

    def __init__(self, command):
        self.words = command

    def command(self, program):
        return self.words


@pytest.mark.skipif(not shutil.which("sleep"), reason="no such program")
@pytest.mark.parametrize("command", [["false"], ["sleep", "60"]], ids=["ends", "says nothing"])
def test_program_that_does_not_start_is_an_error_of_the_kit(kind, command, monkeypatch):
    monkeypatch.setattr(hosts, "START_SECONDS", 0.1)
    monkeypatch.setattr(hosts, "END_SECONDS", 0.1)
    with (
        kind(Broken(command), LIMITS) as host,
        pytest.raises(SandboxError, match="worker program did not start: is NumPy installed"),
    ):
        host.start()
    assert not host.folder.exists()
    assert not processes.LINUX or processes.belonging(host.folder) == set()


@linux
def test_judge_that_is_killed_takes_its_workers_along():
    source = function("return orphan()", DAEMON)
    assert processes.end_with_their_parent(f"""
        import os, time
        from grader.isolation import Process
        from grader.isolation.hosts import ForkingHost
        from grader.isolation.client import Program, Worker
        from grader.steps.registry import Limits

        host = ForkingHost(Process(), Limits(20.0, 60.0, 512))
        worker = Worker(host, time.monotonic() + 60)
        worker.load(Program("s", {{"s": ({source!r}, "s.py")}}))
        print(host.folder, worker.call("f", [], {{}}).value, flush=True)
        os.kill(os.getpid(), 9)
        """)
