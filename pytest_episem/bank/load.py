"""Banks on disk: finding the shipped one, reading a directory, one clear message for every fault."""

from __future__ import annotations

import functools
import hashlib
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from pytest_episem.bank.build import FieldError, build_task, nowhere
from pytest_episem.bank.family_file import FamilyFile
from pytest_episem.bank.schema_fault import FAMILY, M, Shape, ShapeFault, shape_faults
from pytest_episem.bank.task import Task
from pytest_episem.bank.yaml_file import BankSyntaxError, read_yaml
from pytest_episem.errors import EpisemError, UnknownName

SUITE = "evidence"
SHIPPED = "shipped"
"""Stands for the bank that comes with the plugin, where others are named by their directory."""
VERSION_FILE = "VERSION"


def one_line(text: str) -> str:
    """Return ``text`` with line ends, control characters and the like escaped: a bank is not trusted."""
    return text if text.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


@dataclass(frozen=True, slots=True)
class Problem:
    """One fault in a bank: which check, where, and what was expected. ``instance`` and ``field`` may be empty."""

    code: str
    file: str
    instance: str
    field: str
    message: str

    def __str__(self) -> str:
        where = ": ".join(part for part in (self.file, self.instance, self.field) if part)
        return one_line(f"{where}: {self.message} [{self.code}]")


class BankError(EpisemError):
    """A bank that cannot be used; the text is its first problem, ``problems`` holds all."""

    def __init__(self, problems: list[Problem]) -> None:
        more = f" (and {len(problems) - 1} more; 'episem validate' lists them)" if len(problems) > 1 else ""
        super().__init__(f"{problems[0]}{more}")
        self.problems = problems


@dataclass(frozen=True)
class Bank:
    """Tasks by id, in the order of files and instances; ``version`` and ``hash`` identify what was read."""

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


def shipped_bank_dir() -> Path:
    """Return the directory of the shipped bank: inside an installed wheel, else beside the package."""
    package = Path(__file__).resolve().parent.parent
    installed = package / "_task_bank"
    return installed if installed.is_dir() else package.parent / "task_bank"


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
    files = sorted(path for path in root.glob("*/*.yaml")) if root.is_dir() else []
    if not files and not list(root.glob("*/*.yml")):
        raise BankError([Problem("schema", str(directory), "", "", no_families(directory))])
    problems = [Problem("schema", str(file), "", "", "must be named .yaml") for file in sorted(root.glob("*/*.yml"))]
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


def is_shipped(name: str, here: Path | None = None) -> bool:
    """Return whether a bank's name, as seen from ``here`` (the current folder), means the one that is shipped."""
    return name == SHIPPED or ((here or Path()) / name).resolve() == shipped_bank_dir()


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


def read_shaped(file: Path, shape: Shape[M]) -> M:
    """Read and check one file of a bank against a format.

    Raises:
        BankError: one problem for each wrong field.
    """
    try:
        content = read_yaml(file)
    except BankSyntaxError as error:
        raise BankError([Problem("schema", error.place, "", "", error.fault)]) from None
    if not isinstance(content, dict):
        raise BankError([Problem("schema", str(file), "", "", f"must hold a mapping with {shape.holds}")])
    try:
        return shape.model.model_validate(content)
    except ValidationError as error:
        faults = shape_faults(shape, content, error)
        raise BankError([_problem(file, fault, shape.part) for fault in faults]) from None


def _problem(file: Path, fault: ShapeFault, part: str) -> Problem:
    inside = len(fault.place) > 1 and fault.place[0] == part
    instance, place = (fault.place[1], fault.place[2:]) if inside else ("", fault.place)
    return Problem("schema", str(file), instance, ".".join(place), fault.message)


def bank_options(names: Iterable[str]) -> str:
    """Return the options of ``episem`` that name the same banks, each with a space before it."""
    return "".join(f" --bank {shlex.quote(name)}" for name in names)


def bank_version(directory: Path) -> str:
    """Return what the bank's file ``VERSION`` says, on one line, or ``unversioned``."""
    file = directory / VERSION_FILE
    text = file.read_text(encoding="utf-8", errors="replace") if file.is_file() else ""
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
