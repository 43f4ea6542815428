"""A bank's folder, whatever the suite: where the shipped one is, what a name means, version and hash."""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Iterable
from pathlib import Path

from pytest_episem.banks.problem import one_line

SHIPPED = "shipped"
"""Stands for the bank that comes with the plugin, where others are named by their directory."""
VERSION_FILE = "VERSION"


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
    """Return what the bank's file ``VERSION`` says, on one line, or ``unversioned``."""
    file = directory / VERSION_FILE
    text = file.read_text(encoding="utf-8-sig", errors="replace") if file.is_file() else ""
    return one_line(" ".join(text.split())) or "unversioned"


def joined_hash(hashes: Iterable[str]) -> str:
    """Return the hash of several banks joined, of theirs in their order."""
    return hashlib.sha256("\n".join(hashes).encode()).hexdigest()


def bank_hash(root: Path, files: Iterable[Path]) -> str:
    """Return the SHA-256 over names and contents of the family files, line ends normalised."""
    digest = hashlib.sha256()
    for file in files:
        content = file.read_bytes().replace(b"\r\n", b"\n")
        digest.update(f"{file.relative_to(root).as_posix()}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()
