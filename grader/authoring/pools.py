"""Start pools of fresh processes that compute with this kit, and with no other."""

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import get_context

from grader.engine.kit_digest import kit_digest
from grader.steps.paths import PACKAGE, pass_on_kit
from grader.steps.registry import KitError


@contextmanager
def start_pool(jobs: int | None = None) -> Iterator[ProcessPoolExecutor]:
    """Yield a pool of processes, by default one for each processor; cancel at the end what waits.

    A spawned process imports the kit anew, from the import path. Raise KitError if a process ends,
    because it imported another kit or ran out of memory.
    """
    context, this = get_context("spawn"), (str(PACKAGE), kit_digest())
    with pass_on_kit(), ProcessPoolExecutor(jobs, context, refuse_other_kit, this) as pool:
        try:
            yield pool
        except BrokenProcessPool:
            raise KitError(
                f"a process ended before it answered; it may have imported another kit than "
                f"{PACKAGE}: run the command in {PACKAGE.parent}"
            ) from None
        finally:
            pool.shutdown(cancel_futures=True)


def refuse_other_kit(package: str, digest: str) -> None:
    """Raise KitError if this process has imported another kit, or one that was edited since."""
    if (str(PACKAGE), kit_digest()) != (package, digest):
        raise KitError(f"this process imported the kit {PACKAGE}, not {package} as it was")
