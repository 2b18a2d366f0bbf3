"""Starting and ending the processes in which submissions run."""

import contextlib

import pytest

from grader import isolation
from grader.cli.hosts import open_host
from grader.steps import registry


def test_ctrl_c_while_the_workers_end_keeps_the_work(monkeypatch):
    ended = []

    @contextlib.contextmanager
    def start(*_):
        try:
            yield
        finally:
            ended.append(True)
        raise KeyboardInterrupt

    monkeypatch.setattr(isolation, "start_host", start)
    judged = False
    with open_host(registry.load()):
        judged = True
    assert judged
    assert len(ended) == 1


def test_ctrl_c_during_the_work_stops_it(monkeypatch):
    monkeypatch.setattr(isolation, "start_host", lambda *_: contextlib.nullcontext())
    with pytest.raises(KeyboardInterrupt), open_host(registry.load()):
        raise KeyboardInterrupt
