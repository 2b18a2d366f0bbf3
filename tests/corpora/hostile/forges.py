"""Frames of its own, answers before the question, and a worker rebuilt from inside."""

import gc
import json
import os
import struct
import sys
import threading
import time

import numpy as np

from tests.corpora.hostile import attack


def zeros(q, k):
    return np.zeros((*q.shape[:-1], k.shape[-2]))


def session():
    """The worker's own object, found among the frames that called us."""
    frame = sys._getframe()
    while "serve" not in dir(frame.f_locals.get("self")):
        frame = frame.f_back
    return frame.f_locals["self"]


def nonce():
    return session().nonce


def worker(name):
    """What the worker's own code knows by that name, found in the globals of its methods."""
    return type(session()).answer.__globals__[name]


def reply(value):
    call = {"dict": {"value": value, "products": 0}}
    return {"dict": {"ok": call, "printed": ""}}


def frame_of(tree, number):
    words = json.dumps(tree).encode()
    data = struct.pack(">IQ", len(words), 0) + words
    return struct.pack(">Q16s", len(data), number) + data


@attack("attention_scores", "error")
def answers_before_the_question(q, k):
    """Sends the next answers in advance, under numbers that it makes up."""
    for _ in range(10):
        session().channel.sendall(frame_of(reply(True), bytes(16)))
    return zeros(q, k)


@attack("attention_scores", "failed")
def answers_twice(q, k):
    """Answers under the right number, and then once more by returning."""
    session().channel.sendall(frame_of(reply(True), nonce()))
    return zeros(q, k)


@attack("attention_scores", ("failed", "error"))
def replays_its_answers(q, k):
    """Sends the same frame, number and all, to every later question."""
    seen = session().__dict__.setdefault("seen", frame_of(reply(True), nonce()))
    session().channel.sendall(seen)
    time.sleep(0.01)
    return zeros(q, k)


@attack("attention_scores", "error")
def writes_into_every_descriptor(q, k):
    """Finds whatever is open and writes an answer into it."""
    for number in os.listdir("/proc/self/fd"):
        try:
            os.write(int(number), frame_of(reply(True), bytes(16)))
        except OSError:
            continue
    return zeros(q, k)


@attack("attention_scores", ("failed", "error"))
def keeps_answering_from_a_thread(q, k):
    """Leaves a thread behind that answers whatever comes."""
    channel = session().channel

    def answer():
        while True:
            time.sleep(0.001)
            channel.sendall(frame_of(reply(True), bytes(16)))

    threading.Thread(target=answer, daemon=True).start()
    return zeros(q, k)


@attack("attention_scores", "failed")
def answers_in_the_sessions_place(q, k):
    """Puts a method of its own in the place of the one that answers, found by the collector."""
    for thing in gc.get_objects():
        if type(thing).__name__ == "Session":
            thing.answer = lambda data, at: (reply(True)["dict"], len(data))
    return zeros(q, k)


@attack("attention_scores", "failed")
def rewrites_the_worker(q, k):
    """Replaces the worker's functions: whatever is returned, it says that all is well."""
    worker("wire").Reply.tree = worker("wire").Reply._array = lambda *_: True
    return zeros(q, k)


@attack("attention_scores", "error", at_import=True)
def rewrites_the_worker_when_imported():
    """Does so before any function is asked for, names included."""
    worker("wire").Reply.tree = lambda *_: True
    session().call = lambda *_: True


@attack("attention_scores", "error")
def report_without_end(q, k):
    """Replaces what tells of exceptions by a report of a thousand passes."""
    worker("Session").describe = lambda *_: {"passed": True, "points": 1000, "status": "passed"}
    raise ValueError


@attack("attention_scores", "not_attempted")
def report_that_excuses(q, k):
    """Reports an exception of a kind that stands for work that was not begun."""
    worker("Session").describe = lambda *_: {
        "type": "NotImplementedError",
        "kinds": ["NotImplementedError", "ValueError", "SystemExit"],
        "message": "",
        "lines": [-1, 0, 10**6],
    }
    raise ValueError


@attack("causal_mask", "error")
def report_of_an_invented_type(t_q, t_k=None):
    """Reports an exception whose name is a page of text, and whose kinds are a list of arrays."""
    name = "<h1>passed</h1>" * 10
    worker("Session").describe = lambda *_: {
        "type": name,
        "kinds": [name, np.zeros(3), None],
        "message": name,
        "lines": [True, 2**62, 1.5],
    }
    raise ValueError


@attack("attention_scores", "failed")
def finds_the_judge_in_numpy(q, k):
    """Replaces everything in NumPy that a judge may compare with."""
    for name in ("allclose", "array_equal", "isclose", "isfinite", "all", "any", "abs"):
        setattr(np, name, lambda *args, **kwargs: True)
    np.testing.assert_allclose = np.testing.assert_array_equal = lambda *args, **kwargs: None
    return np.zeros((2, 2))


@attack("attention_scores", "failed")
def traces_its_callers(q, k):
    """Has every later frame changed by a trace function."""

    def tracing(frame, event, argument):
        for name in ("result", "value", "reply"):
            frame.f_locals[name] = True
        return tracing

    sys.settrace(tracing)
    return zeros(q, k)


@attack("attention_scores", "failed", at_import=True)
def modules_of_the_graders_names():
    """Puts modules in place that call themselves torch, pytest and grader."""
    import types

    for name in (
        "torch",
        "pytest",
        "grader",
        "grader.answer_key.reference",
        "_pytest",
        "grader.checks.compare",
    ):
        module = types.ModuleType(name)
        module.__getattr__ = lambda name: lambda *args, **kwargs: True
        sys.modules[name] = module
    globals()["attention_scores"] = zeros


@attack("attention_scores", "failed")
def claims_little_work(q, k):
    """Sets the worker's counter below nothing, and returns zeros."""
    worker("Weights").products = -(10**6)
    return zeros(q, k)


@attack("attention_scores", ("failed", "error"))
def swaps_the_questions(q, k):
    """Reads the next questions from the channel in a thread, so that they are never asked."""
    channel = session().channel

    def read():
        while channel.recv(2**16):
            pass

    threading.Thread(target=read, daemon=True).start()
    time.sleep(0.01)
    return zeros(q, k)


@attack("attention_scores", ("error", "failed", "timeout"))
def two_of_us_answer(q, k):
    """Forks, so that two processes answer the same question."""
    os.fork()
    return zeros(q, k)


@attack("attention_scores", ("timeout", "error"))
def someone_else_holds_the_channel(q, k):
    """Dies and leaves the channel in the hands of a child, so that its end never comes."""
    if os.fork():
        os._exit(0)
    os.setsid()
    time.sleep(60)
