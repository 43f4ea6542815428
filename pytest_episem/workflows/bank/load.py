"""The workflow bank on disk: ``<bank>/workflows/<domain>/<workflow>.yaml`` (workflow protocol, section 4)."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
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
from pytest_episem.evidence.bank.load import SUITE as EVIDENCE
from pytest_episem.workflows.bank.build import PlaceError, build_template, build_world
from pytest_episem.workflows.bank.template_file import TEMPLATE, Ending
from pytest_episem.workflows.model import Template
from pytest_episem.workflows.support import Model
from pytest_episem.workflows.world import World

SUITE = "workflows"


@dataclass(frozen=True)
class Workflow:
    """A template with its assignments: the hidden truths by name. ``expect`` is what its file claims,
    ``pilot`` names the assignments that are for trying things out: all others are held out."""

    template: Template
    assignments: Mapping[str, World]
    support: int
    expect: Mapping[str, Mapping[str, Ending]]
    file: str
    pilot: frozenset[str] = frozenset()

    @property
    def id(self) -> str:
        """The template's id, ``domain/workflow``."""
        return self.template.id

    @property
    def domain(self) -> str:
        """The first part of the id."""
        return self.id.partition("/")[0]

    @property
    def family(self) -> str:
        """The second part of the id."""
        return self.id.partition("/")[2]

    @functools.cached_property
    def model(self) -> Model:
        """What is compatible with all that is known; made once, since all cases share it."""
        return Model(self.template)


@dataclass(frozen=True)
class WorkflowBank:
    """Workflows by template id, in the order of files; ``version`` and ``hash`` identify what was read."""

    suite: ClassVar[str] = SUITE
    hash: str
    workflows: Mapping[str, Workflow]
    name: str = SHIPPED
    version: str = "unversioned"

    @property
    def tasks(self) -> Mapping[str, Workflow]:
        """The same, under the name that every bank has for it."""
        return self.workflows

    def task(self, task_id: str) -> Workflow:
        """Return one workflow, as :meth:`workflow`."""
        return self.workflow(task_id)

    @property
    def assignments(self) -> list[str]:
        """Every assignment's id, ``<domain>/<workflow>/<assignment>``."""
        return [f"{name}/{truth}" for name, workflow in self.workflows.items() for truth in workflow.assignments]

    def workflow(self, template: str) -> Workflow:
        """Return one workflow.

        Raises:
            UnknownName: the bank has no such template.
        """
        if template not in self.workflows:
            raise UnknownName("template", template, self.workflows)
        return self.workflows[template]


def holds_workflows(directory: Path) -> bool:
    """Return whether a bank's directory holds templates: below ``workflows``, or as a folder of that name itself."""
    return (directory / SUITE).is_dir() or directory.resolve().name == SUITE


def holds_evidence(directory: Path) -> bool:
    """Return whether a bank's directory holds evidence families; one that holds neither suite is taken for one."""
    return (directory / EVIDENCE).is_dir() or not holds_workflows(directory)


def template_names(directory: Path) -> list[str]:
    """Return the names that a bank's template files have by their place, ``<domain>/<workflow>``, without reading any;
    none for a bank of the other suite."""
    root = directory / SUITE if (directory / SUITE).is_dir() else directory
    files = sorted(root.glob("*/*.yaml")) if holds_workflows(directory) else []
    return [file.relative_to(root).as_posix().removesuffix(".yaml") for file in files]


@functools.cache
def shipped_workflows() -> WorkflowBank:
    """Return the shipped workflow bank, read once a process."""
    return load_workflows(shipped_bank_dir(), name=SHIPPED)


def open_workflows(names: Iterable[str] = (), here: Path | None = None) -> WorkflowBank:
    """Return the banks named, joined; the shipped one where none is. Directories are seen from ``here``, by default
    the current folder.

    Raises:
        BankError: a bank that cannot be used, or a template in two of them.
    """
    return join_workflows([_open(name, here or Path()) for name in list(names) or [SHIPPED]])


def _open(name: str, here: Path) -> WorkflowBank:
    return shipped_workflows() if is_shipped(name, here) else load_workflows(here / name)


def join_workflows(banks: Sequence[WorkflowBank]) -> WorkflowBank:
    """Return one bank with the templates of several.

    Raises:
        BankError: two banks hold the same template.
    """
    if len(banks) == 1:
        return banks[0]
    workflows: dict[str, Workflow] = {}
    for bank in banks:
        for name, workflow in bank.workflows.items():
            if name in workflows:
                raise BankError([Problem("schema", workflow.file, "", "id", f"{name} is in two banks")])
            workflows[name] = workflow
    digest = joined_hash(bank.hash for bank in banks)
    return WorkflowBank(digest, workflows, "+".join(b.name for b in banks), "+".join(b.version for b in banks))


def load_workflows(directory: Path, name: str | None = None) -> WorkflowBank:
    """Read every template below ``directory/workflows`` (or ``directory`` itself); its name is the folder's.

    Raises:
        BankError: with every problem found; nothing is loaded in part.
    """
    workflows, problems, digest = read_workflows(directory)
    if problems:
        raise BankError(problems)
    return WorkflowBank(digest, workflows, name or directory.name, bank_version(directory))


def read_workflows(directory: Path, only: str = "") -> tuple[dict[str, Workflow], list[Problem], str]:
    """Return the workflows that load, the problems of those that do not, and the hash of all files. ``only`` is a
    domain, or ``domain/workflow``, to read; empty for all."""
    root = directory / SUITE if (directory / SUITE).is_dir() else directory
    files, problems = bank_files(root, directory)
    if not files and not problems:
        problem = Problem("schema", str(directory), "", "", "no template file (<domain>/<workflow>.yaml) found")
        return {}, [problem], ""
    workflows: dict[str, Workflow] = {}
    for file in files:
        if only not in ("", file.parent.name, f"{file.parent.name}/{file.stem}"):
            continue
        try:
            workflow = read_workflow(file)
        except BankError as error:
            problems += error.problems
        else:
            workflows[workflow.template.id] = workflow
    return workflows, problems, bank_hash(root, files)


def read_workflow(file: Path) -> Workflow:
    """Read one template file.

    Raises:
        BankError: one problem for each wrong field, or the first value that does not fit the others.
    """
    entry = read_shaped(file, TEMPLATE)
    if entry.id != file.stem:
        raise BankError([Problem("schema", str(file), "", "id", f"must be {file.stem!r}, as the file is named")])
    try:
        template = build_template(entry, file.parent.name)
        worlds = {name: build_world(entry, template, name) for name in entry.assignments}
    except PlaceError as fault:
        code = "truth" if fault.assignment else "reference"
        place = fault.place.removeprefix(f"assignments.{fault.assignment}").removeprefix(".")
        raise BankError([Problem(code, str(file), fault.assignment, place, str(fault))]) from None
    return Workflow(template, worlds, entry.expect.support, entry.expect.endings(), str(file), frozenset(entry.pilot))
