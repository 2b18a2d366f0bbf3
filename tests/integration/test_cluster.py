"""Grading on a Dask cluster: of real processes, of which one is killed half-way."""

import os
import re
import signal
import subprocess
import time

import pytest

from grader.classroom.cluster import connect
from grader.report.problem import Problem
from tests.end_to_end.test_classroom import CLASS, made, results, run, scores, start
from tests.support.clusters import local_cluster, results_kept


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with local_cluster(tmp_path_factory.mktemp("cluster")) as started:
        yield started


@pytest.mark.long
def test_submission_cannot_take_a_worker_down(cluster, tmp_path):
    address, workers = cluster
    kills = "import os\nos.kill(os.getppid(), 9)\nos.kill(os.getpid(), 9)\n"
    folder = made(tmp_path / "class", {f"kills {i}": f"{kills}# {i}\n" for i in range(4)})
    said = run(folder, tmp_path / "out", "--scheduler", address)
    assert [worker.poll() for worker in workers] == [None, None]
    assert "not encrypted" not in said  # no secret is sent


@pytest.mark.long
def test_key_of_the_round_reaches_the_judges_and_an_open_line_is_told(cluster, tmp_path):
    folder = made(tmp_path / "class", {"right": CLASS["right 0"]})
    more = ["--suite", "hidden", "--scheduler", cluster[0]]
    said = run(folder, tmp_path / "out", *more)
    assert "note: the cluster's connections are not encrypted" in said
    assert scores(tmp_path / "out") == {"right": 1.0}


@pytest.mark.long
def test_class_on_a_cluster_gets_the_same_grades_though_a_worker_dies(cluster, tmp_path):
    """The last test: from now on the cluster has one worker."""
    address, workers = cluster
    folder = made(tmp_path / "class", CLASS)
    run(folder, tmp_path / "here", status=1)
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    process = start(folder, tmp_path / "there", "--scheduler", address, **pipes)
    while process.poll() is None and results_kept(tmp_path / "there") < 3:
        time.sleep(0.005)
    assert process.poll() is None, "it was over before a worker could be killed"
    os.kill(workers[0].pid, signal.SIGKILL)
    said = process.communicate(timeout=300)[0]
    assert process.returncode == 1, said
    assert "12 graded, 1 not gradable." in said
    assert results(tmp_path / "there") == results(tmp_path / "here")


@pytest.mark.parametrize(
    ("address", "sentence"),
    [
        ("tcp://127.0.0.1:1", "no Dask scheduler answers at tcp://127.0.0.1:1: "),
        ("127.0.0.1:99999", "no Dask scheduler answers at 127.0.0.1:99999: "),
        ("nonsense://x", "nonsense://x is not a scheduler's address, such as tcp://10.0.0.5:8786"),
        ("[::1", "[::1 is not a scheduler's address"),
    ],
)
def test_scheduler_that_is_not_there_is_told(address, sentence):
    with pytest.raises(Problem, match=re.escape(sentence)), connect(address):
        raise AssertionError("it should not have connected")
