"""A Dask cluster of real processes on this machine, and a look at how far a class is."""

import contextlib
import sqlite3
import subprocess
import sys
import time

from grader.classroom.gradebook import NAME
from tests.conftest import ROOT

WORKER = "from distributed.cli.dask_worker import main; main()"
SCHEDULER = "from distributed.cli.dask_scheduler import main; main()"


def results_kept(out):
    """The number of results in a class's gradebook, which may still be growing."""
    if not (out / NAME).exists():
        return 0
    db = sqlite3.connect(out / NAME, timeout=30)
    try:
        return db.execute("select count(*) from result").fetchone()[0]
    except sqlite3.OperationalError:  # killed before the tables were made
        return 0
    finally:
        db.close()


@contextlib.contextmanager
def local_cluster(folder, count=2):
    """The address of a scheduler, and its worker processes, without nannies to revive them."""
    from distributed import Client  # slow to import, and only needed here

    file = folder / "scheduler.json"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": ROOT}
    options = ["--scheduler-file", str(file), "--no-dashboard"]
    local = ["--host", "127.0.0.1"]
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", SCHEDULER, *options, *local, "--port", "0"], **quiet
        )
    ]
    for _ in range(count):
        more = [*local, "--nthreads", "1", "--no-nanny", "--local-directory", str(folder)]
        processes.append(subprocess.Popen([sys.executable, "-c", WORKER, *options, *more], **quiet))
    try:
        while not file.exists() or not file.read_text():
            assert processes[0].poll() is None, "the scheduler does not start"
            time.sleep(0.05)
        with Client(scheduler_file=str(file), set_as_default=False) as client:
            client.wait_for_workers(count, timeout=60)
            address = client.scheduler.address
        yield address, processes[1:]
    finally:
        for process in reversed(processes):
            process.kill()
            process.wait()
