"""Banks on disk: finding the shipped one, reading a directory, one clear message for every fault."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from pytest_episem.banks.folder import (
    SHIPPED,
    bank_files,
    bank_hash,
    bank_version,
    is_shipped,
    joined_hash,
    shipped_bank_dir,
)
from pytest_episem.banks.problem import BankError, Problem
from pytest_episem.banks.read import read_shaped
from pytest_episem.errors import UnknownName
from pytest_episem.evidence.bank.build import FieldError, build_task, nowhere
from pytest_episem.evidence.bank.family_file import FamilyFile
from pytest_episem.evidence.bank.family_shape import FAMILY
from pytest_episem.evidence.bank.task import Task

SUITE = "evidence"


@dataclass(frozen=True)
class Bank:
    """Tasks by id, in the order of files and instances; ``version`` and ``hash`` identify what was read."""

    suite: ClassVar[str] = SUITE
    name: str
    version: str
    hash: str
    tasks: Mapping[str, Task]
    families: Mapping[str, FamilyFile]

    def task(self, task_id: str) -> Task:
        """Return one task.

        Raises:
            UnknownName: the bank has no such task.
        """
        if task_id not in self.tasks:
            raise UnknownName("task", task_id, self.tasks)
        return self.tasks[task_id]


@functools.cache
def shipped_bank() -> Bank:
    """Return the shipped evidence bank, read once a process."""
    return load_bank(shipped_bank_dir(), name=SHIPPED)


def load_bank(directory: Path, name: str | None = None) -> Bank:
    """Read every family file below ``directory/evidence`` (or ``directory`` itself); its name is the folder's.

    Raises:
        BankError: with every problem found; nothing is loaded in part.
    """
    root = directory / SUITE if (directory / SUITE).is_dir() else directory
    files, problems = bank_files(root, directory)
    if not files and not problems:
        raise BankError([Problem("schema", str(directory), "", "", no_families(directory))])
    families: dict[str, FamilyFile] = {}
    tasks: dict[str, Task] = {}
    for file in files:
        place = file.relative_to(root).as_posix().removesuffix(".yaml")
        try:
            family = read_family(file)
        except BankError as error:
            problems += error.problems
            continue
        if family.family != place:
            message = f"is {family.family!r}, must be {place!r} as in the path"
            problems.append(Problem("schema", str(file), "", "family", message))
            continue
        families[family.family] = family
        built, faults = _family_tasks(family, file)
        problems += faults
        tasks |= {task.id: task for task in built}
    if problems:
        raise BankError(problems)
    return Bank(name or directory.name, bank_version(directory), bank_hash(root, files), tasks, families)


def _family_tasks(family: FamilyFile, file: Path) -> tuple[list[Task], list[Problem]]:
    tasks: list[Task] = []
    problems: list[Problem] = []
    for instance in family.instances:
        try:
            tasks.append(build_task(family, instance, file))
        except FieldError as error:
            problems.append(Problem("schema", str(file), instance, error.field, str(error)))
    if not problems:
        problems = [Problem("schema", str(file), "", error.field, str(error)) for error in nowhere(family, tasks)]
    return tasks, problems


def no_families(directory: Path, wanted: str = "<domain>/<family>.yaml") -> str:
    """Return what is wrong with a bank's directory in which there is no family file."""
    if directory.is_file():
        return f"is a file; name the bank's directory, which holds {wanted}"
    if not directory.is_dir():
        return "no such directory"
    domain = "; this is the folder of a domain, name the bank's above it" if list(directory.glob("*.yaml")) else ""
    return f"no family file ({wanted}) found{domain}"


def open_bank(name: str = SHIPPED, here: Path | None = None) -> Bank:
    """Return one bank: the shipped one, or that of a directory as seen from ``here`` (the current folder).

    Raises:
        BankError: a bank that cannot be used.
    """
    return shipped_bank() if is_shipped(name, here) else load_bank((here or Path()) / name)


def open_banks(names: Iterable[str], here: Path | None = None) -> Bank:
    """Return the banks named, joined; the shipped one where none is.

    Raises:
        BankError: a bank that cannot be used, or a task in two of them.
    """
    return join_banks(open_bank(name, here) for name in list(names) or [SHIPPED])


def join_banks(banks: Iterable[Bank]) -> Bank:
    """Return one bank with the tasks of several.

    Raises:
        BankError: two banks hold the same task.
    """
    banks = list(banks)
    if len(banks) == 1:
        return banks[0]
    tasks: dict[str, Task] = {}
    families: dict[str, FamilyFile] = {}
    for bank in banks:
        for task_id in bank.tasks:
            if task_id in tasks:
                raise BankError([Problem("schema", str(bank.task(task_id).file), task_id, "", "is in two banks")])
        tasks |= bank.tasks
        families |= bank.families
    digest = joined_hash(bank.hash for bank in banks)
    return Bank("+".join(b.name for b in banks), "+".join(b.version for b in banks), digest, tasks, families)


def read_family(file: Path) -> FamilyFile:
    """Read and check one family file against the schema.

    Raises:
        BankError: one problem for each wrong field.
    """
    return read_shaped(file, FAMILY)
