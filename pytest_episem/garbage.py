"""Python's search for garbage, kept from what stays: among thousands of lasting objects it is a quarter of the time."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def no_search() -> Iterator[None]:
    """Put off the search while much is made that will be kept."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def keep_all() -> None:
    """Take everything there is now for lasting: no search goes through it, nor does the end of the process."""
    gc.freeze()


def search_all() -> None:
    """Search through everything again, as another session in the same process needs: the one before is garbage."""
    if gc.get_freeze_count():
        gc.unfreeze()
        gc.collect()
