"""Files of one JSON object a line: appended, flushed, and mended where a killed run left half a line."""

from __future__ import annotations

import os
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

from pytest_episem.files import check_regular
from pytest_episem.text import load_json


class LineWriter:
    """Appends records to a file of a run directory (made if missing), one flushed line each; a context manager.

    A torn last line (its run was killed while writing) is cut off first, so that every line of the file stays a
    whole record; a last record that only lost its line end is kept. ``foreign`` says whether somebody else has written
    into the file since.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: BinaryIO | None = None
        self._size = 0
        self.foreign = False

    def __enter__(self) -> Self:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        check_regular(self.path)
        self._file = self.path.open("a+b")
        _mend_tail(self._file)
        self._size = self._file.seek(0, os.SEEK_END)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; further closing does nothing."""
        if self._file is not None:
            self.check()
            self._file.close()
            self._file = None

    def write_json(self, record: str) -> None:
        """Append a record already in its JSON form, and flush it."""
        if self._file is None:
            raise ValueError("the record writer is not open")
        self.check()
        line = record.encode("ascii") + b"\n"
        self._file.write(line)
        self._file.flush()
        self._size += len(line)

    def check(self) -> bool:
        """Return whether somebody else has written into the file: its size tells, or that its name leads elsewhere."""
        if self._file is not None and not self.foreign:
            here = os.fstat(self._file.fileno())
            try:
                self.foreign = here.st_size != self._size or not os.path.samestat(here, self.path.stat())
            except OSError:
                self.foreign = True
        return self.foreign


def whole(line: bytes) -> bool:
    """Return whether a line is a whole record: it has its line end, or is JSON without it."""
    if line.endswith(b"\n"):
        return True
    try:
        load_json(line)
    except ValueError:
        return False
    return True


def _mend_tail(file: BinaryIO) -> None:
    start, tail = _last_line(file)
    if not tail:
        return
    if whole(tail):
        file.write(b"\n")
        file.flush()
    else:
        file.truncate(start)


def _last_line(file: BinaryIO, block: int = 65536) -> tuple[int, bytes]:
    """Return where the unfinished last line begins and its bytes; empty if the file ends with a line end."""
    position, tail = file.seek(0, os.SEEK_END), b""
    while position > 0:
        step = min(block, position)
        position = file.seek(position - step)
        tail = file.read(step) + tail
        cut = tail.rfind(b"\n")
        if cut >= 0:
            return position + cut + 1, tail[cut + 1 :]
    return 0, tail
