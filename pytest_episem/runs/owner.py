"""One owner at a time: a lock on a run directory, which the system gives up when its process dies."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from filelock import FileLock, Timeout

from pytest_episem.errors import EpisemError
from pytest_episem.text import printable

LOCK_FILE = ".lock"


def own(directory: Path) -> FileLock:
    """Make ``directory`` if it is missing, and lock it for writing until the lock is released or the process ends.

    Where a file system knows no locks the directory is not protected, and nothing says so.

    Raises:
        EpisemError: somebody else is writing there, or nothing can be written there.
    """
    lock = FileLock(directory / LOCK_FILE, thread_local=False)
    try:
        directory.mkdir(parents=True, exist_ok=True)
        lock.acquire(timeout=0)
    except Timeout:
        raise EpisemError(
            f"{printable(directory)}: another session is writing into it; let it end, or name another directory"
        ) from None
    except NotImplementedError:
        pass
    except OSError as fault:
        raise EpisemError(f"{printable(directory)}: cannot be written: {fault.strerror}") from None
    return lock


@contextlib.contextmanager
def owned(directory: Path) -> Iterator[None]:
    """Own ``directory`` for a while; faults as in :func:`own`."""
    lock = own(directory)
    try:
        yield
    finally:
        lock.release()
