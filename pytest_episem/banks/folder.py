"""A bank's folder, whatever the suite: where the shipped one is, what a name means, version and hash."""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Iterable
from pathlib import Path

from pytest_episem.banks.problem import Problem, one_line
from pytest_episem.files import read_regular

SHIPPED = "shipped"
"""Stands for the bank that comes with the plugin, where others are named by their directory."""
VERSION_FILE = "VERSION"
UNVERSIONED = "unversioned"
LARGEST_FILE, MOST_FILES = 500_000, 1_000
"""Bytes of a file of a bank, and files of a bank: with the largest of each, half a gigabyte is read."""


def shipped_bank_dir() -> Path:
    """Return the directory of the shipped bank: inside an installed wheel, else beside the package."""
    package = Path(__file__).resolve().parents[1]
    installed = package / "_task_bank"
    return installed if installed.is_dir() else package.parent / "task_bank"


def is_shipped(name: str, here: Path | None = None) -> bool:
    """Return whether a bank's name, as seen from ``here`` (the current folder), means the one that is shipped."""
    return name == SHIPPED or ((here or Path()) / name).resolve() == shipped_bank_dir()


def bank_options(names: Iterable[str]) -> str:
    """Return the options of ``episem`` that name the same banks, each with a space before it."""
    return "".join(f" --bank {shlex.quote(name)}" for name in names)


def bank_version(directory: Path) -> str:
    """Return what the bank's file ``VERSION`` says, on one line, or ``unversioned`` where it cannot be read."""
    try:
        text = read_regular(directory / VERSION_FILE, LARGEST_FILE).decode("utf-8-sig", errors="replace")
    except OSError:
        return UNVERSIONED
    return one_line(" ".join(text.split())) or UNVERSIONED


def bank_files(root: Path, directory: Path) -> tuple[list[Path], list[Problem]]:
    """Return the files ``<domain>/<name>.yaml`` below ``root`` that may be read, sorted, and what is wrong with others.

    Only regular files are read, and only those that lie in the bank: a link out of ``directory`` would show what is
    in any file of the machine. The shipped bank is ours; some installers make each of its files a link.
    """
    found = sorted(root.glob("*/*.yaml")) if root.is_dir() else []
    problems = [Problem("schema", str(file), "", "", "must be named .yaml") for file in sorted(root.glob("*/*.yml"))]
    if len(found) > MOST_FILES:
        return [], [Problem("schema", str(directory), "", "", f"holds {len(found):,} files; at most {MOST_FILES:,}")]
    home = directory.resolve()
    trusted = home == shipped_bank_dir().resolve()
    files = []
    for file in found:
        fault = file_fault(file) or ("" if trusted or file.resolve().is_relative_to(home) else "links out of the bank")
        if fault:
            problems.append(Problem("schema", str(file), "", "", fault))
        else:
            files.append(file)
    return files, problems


def file_fault(file: Path) -> str:
    """Return why a file of a bank cannot be read, ``""`` where it can."""
    try:
        read_regular(file, LARGEST_FILE)
    except OSError as error:
        return f"cannot be read: {error.strerror or error}"
    return ""


def joined_hash(hashes: Iterable[str]) -> str:
    """Return the hash of several banks joined, of theirs in their order."""
    return hashlib.sha256("\n".join(hashes).encode()).hexdigest()


def bank_hash(root: Path, files: Iterable[Path]) -> str:
    """Return the SHA-256 over names and contents of the family files, line ends normalised."""
    digest = hashlib.sha256()
    for file in files:
        content = read_regular(file, LARGEST_FILE).replace(b"\r\n", b"\n")
        digest.update(f"{file.relative_to(root).as_posix()}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()
