"""Grading on a Dask cluster: of real processes, of which one is killed half-way."""

import os
import re
import signal
import subprocess
import sys
import time

import pytest
from distributed import Client

from grader.classroom.cluster import ClusterError, connect
from tests.conftest import ROOT
from tests.end_to_end.test_classroom import CLASS, GRADE, ONE_STEP, made, results, results_kept, run

WORKER = "from distributed.cli.dask_worker import main; main()"
SCHEDULER = "from distributed.cli.dask_scheduler import main; main()"


@pytest.fixture
def cluster(tmp_path):
    """The address of a scheduler, and its two worker processes, without nannies to revive them."""
    file = tmp_path / "scheduler.json"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": ROOT}
    options = ["--scheduler-file", str(file), "--no-dashboard"]
    local = ["--host", "127.0.0.1"]
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", SCHEDULER, *options, *local, "--port", "0"], **quiet
        )
    ]
    for _ in range(2):
        more = [*local, "--nthreads", "1", "--no-nanny", "--local-directory", str(tmp_path)]
        processes.append(subprocess.Popen([sys.executable, "-c", WORKER, *options, *more], **quiet))
    try:
        while not file.exists() or not file.read_text():
            assert processes[0].poll() is None, "the scheduler does not start"
            time.sleep(0.05)
        with Client(scheduler_file=str(file), set_as_default=False) as client:
            client.wait_for_workers(2, timeout=60)
            address = client.scheduler.address
        yield address, processes[1:]
    finally:
        for process in reversed(processes):
            process.kill()
            process.wait()


def test_class_on_a_cluster_gets_the_same_grades_though_a_worker_dies(cluster, tmp_path):
    address, workers = cluster
    folder = made(tmp_path / "class", CLASS)
    run(folder, tmp_path / "here", status=1)
    command = [*GRADE, str(folder), "--out", str(tmp_path / "there"), *ONE_STEP]
    process = subprocess.Popen(
        [*command, "--scheduler", address],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    while process.poll() is None and results_kept(tmp_path / "there") < 3:
        time.sleep(0.005)
    assert process.poll() is None, "it was over before a worker could be killed"
    os.kill(workers[0].pid, signal.SIGKILL)
    said = process.communicate(timeout=300)[0]
    assert process.returncode == 1, said
    assert "12 graded, 1 not gradable." in said
    assert results(tmp_path / "there") == results(tmp_path / "here")


def test_submission_cannot_take_a_worker_down(cluster, tmp_path):
    address, workers = cluster
    kills = "import os\nos.kill(os.getppid(), 9)\nos.kill(os.getpid(), 9)\n"
    folder = made(tmp_path / "class", {f"kills {i}": f"{kills}# {i}\n" for i in range(4)})
    run(folder, tmp_path / "out", "--scheduler", address)
    assert [worker.poll() for worker in workers] == [None, None]


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
    with pytest.raises(ClusterError, match=re.escape(sentence)), connect(address):
        raise AssertionError("it should not have connected")
