"""Files that are there whole or not at all, and folders that are found unfit before anything is paid for."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path

from pytest_episem.errors import EpisemError
from pytest_episem.files import check_regular
from pytest_episem.scrub import without_known_secrets

_PROBE = ".episem-probe"
_ROOM = 64 * 1024
"""Bytes of the trial file that tells whether a folder can be written: about what the first records take."""


def write_whole(path: Path, text: str) -> Path:
    """Write ``text`` without secrets in one step, so that no reader meets half a file, nor one that stays behind.

    Raises:
        OSError: it cannot be written; what was there before stays.
    """
    draft = path.with_name(f"{path.name}.part")
    try:
        draft.write_text(without_known_secrets(text), encoding="utf-8", errors="backslashreplace", newline="\n")
        os.replace(draft, path)
    except BaseException:
        with contextlib.suppress(OSError):
            draft.unlink()
        raise
    return path


def check_writable(directory: Path, names: Iterable[str]) -> None:
    """Try whether files called ``names`` can be written, or written on, in ``directory``; leaves nothing behind.

    Raises:
        EpisemError: they cannot; says why.
    """
    missing = [place for place in (directory, *directory.parents) if not place.exists()]
    where: Path = next((place for place in (directory, *directory.parents) if place.exists()), directory)
    if not where.is_dir():
        raise EpisemError(f"records cannot be written to {directory}: {where} is not a directory")
    probe = directory / _PROBE
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for path in (directory / name for name in names):
            where = path
            if path.exists():
                check_regular(path)  # opening a pipe would wait for ever
                path.open("ab").close()
        where = directory
        probe.write_bytes(bytes(_ROOM))
    except OSError as fault:
        raise EpisemError(f"records cannot be written to {directory}: {_why(where, fault)}") from None
    finally:
        with contextlib.suppress(OSError):
            probe.unlink()
        with contextlib.suppress(OSError):
            for place in missing:
                place.rmdir()


def _why(where: Path, fault: OSError) -> str:
    return f"{where.name}: {fault.strerror or fault}" if where.exists() else str(fault.strerror or fault)
