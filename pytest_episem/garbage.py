"""Python's search for garbage, kept from what stays: going through thousands of lasting objects takes its time."""

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


def keep_more() -> None:
    """Do so once more, where it was done and not undone."""
    if gc.get_freeze_count():
        keep_all()


def search_all() -> None:
    """Search through everything again: where others test, or another session begins and the one before is garbage.

    The search itself is made only when what was kept has grown by half, so that many short sessions do not pay for it.
    """
    global _lasting
    kept = gc.get_freeze_count()
    gc.unfreeze()
    if kept > 1.5 * _lasting:
        gc.collect()
        gc.freeze()
        _lasting = gc.get_freeze_count()
        gc.unfreeze()


_lasting = 0
"""How much was left by the last search."""
