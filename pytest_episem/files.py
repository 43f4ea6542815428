"""Opening files that others chose: a pipe, a device or a socket in a file's place is an error, not a wait for ever."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import BinaryIO


class NoRegularFile(OSError):
    """What stands at a path is no regular file, or a larger one than is allowed; ``strerror`` says which."""

    def __init__(self, fault: str, path: Path) -> None:
        super().__init__(0, fault, str(path))


def open_regular(path: Path) -> BinaryIO:
    """Open a file for reading bytes; links are followed.

    Raises:
        OSError: it cannot be opened; ``NoRegularFile`` where it is a pipe, a device, a socket or a folder.
    """
    _check(os.stat(path), path)
    waits_not = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
    number = os.open(path, os.O_RDONLY | waits_not)
    try:
        _check(os.fstat(number), path)  # something else may have come in its place
    except OSError:
        os.close(number)
        raise
    return os.fdopen(number, "rb")


def read_regular(path: Path, most: int | None = None) -> bytes:
    """Return a file's content.

    Args:
        path: the file.
        most: bytes that it may have.

    Raises:
        OSError: as ``open_regular``; ``NoRegularFile`` where it is larger than ``most``.
    """
    with open_regular(path) as file:
        content = file.read(-1 if most is None else most + 1)
    if most is not None and len(content) > most:
        raise NoRegularFile(f"is larger than {most:,} bytes, which is the most allowed", path)
    return content


def check_regular(path: Path) -> None:
    """Raise ``NoRegularFile`` where something other than a regular file stands at ``path``; nothing may stand there."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return
    _check(found, path)


def _check(found: os.stat_result, path: Path) -> None:
    if stat.S_ISREG(found.st_mode):
        return
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(21, "Is a directory", str(path))
    raise NoRegularFile("is no regular file but a pipe, a device or a socket", path)
