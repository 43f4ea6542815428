"""The outcome bank on disk: ``<bank>/outcomes/<domain>/<workflow>.yaml`` (outcome protocol, section 4)."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from pytest_episem.bank.load import BankError, Problem, bank_hash, shipped_bank_dir
from pytest_episem.bank.yaml_file import BankSyntaxError, read_yaml
from pytest_episem.errors import UnknownName
from pytest_episem.outcomes.bank.build import PlaceError, build_template, build_world
from pytest_episem.outcomes.bank.template_file import Ending, TemplateFile
from pytest_episem.outcomes.model import Template
from pytest_episem.outcomes.world import World

SUITE = "outcomes"


@dataclass(frozen=True)
class Workflow:
    """A template with its assignments: the hidden truths by name. ``expect`` is what its file claims."""

    template: Template
    assignments: Mapping[str, World]
    support: int
    expect: Mapping[str, Mapping[str, Ending]]
    file: str


@dataclass(frozen=True)
class OutcomeBank:
    """Workflows by template id, in the order of files; ``hash`` identifies what was read."""

    hash: str
    workflows: Mapping[str, Workflow]

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


@functools.cache
def shipped_outcomes() -> OutcomeBank:
    """Return the shipped outcome bank, read once a process."""
    return load_outcomes(shipped_bank_dir())


def load_outcomes(directory: Path) -> OutcomeBank:
    """Read every template below ``directory/outcomes`` (or ``directory`` itself).

    Raises:
        BankError: with every problem found; nothing is loaded in part.
    """
    workflows, problems, digest = read_outcomes(directory)
    if problems:
        raise BankError(problems)
    return OutcomeBank(digest, workflows)


def read_outcomes(directory: Path) -> tuple[dict[str, Workflow], list[Problem], str]:
    """Return the workflows that load, the problems of those that do not, and the hash of all files."""
    root = directory / SUITE if (directory / SUITE).is_dir() else directory
    files = sorted(root.glob("*/*.yaml")) if root.is_dir() else []
    if not files:
        problem = Problem("schema", str(directory), "", "", "no template file (<domain>/<workflow>.yaml) found")
        return {}, [problem], ""
    workflows: dict[str, Workflow] = {}
    problems: list[Problem] = []
    for file in files:
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
    entry = _read_file(file)
    if entry.id != file.stem:
        raise BankError([Problem("schema", str(file), "", "id", f"must be {file.stem!r}, as the file is named")])
    try:
        template = build_template(entry, file.parent.name)
        worlds = {name: build_world(entry, template, name) for name in entry.assignments}
    except PlaceError as fault:
        code = "truth" if fault.assignment else "reference"
        raise BankError([Problem(code, str(file), fault.assignment, fault.place, str(fault))]) from None
    return Workflow(template, worlds, entry.expect.support, entry.expect.endings(), str(file))


def _read_file(file: Path) -> TemplateFile:
    try:
        content = read_yaml(file)
    except BankSyntaxError as error:
        raise BankError([Problem("schema", str(error).removesuffix(":"), "", "", "is not a valid bank file")]) from None
    try:
        return TemplateFile.model_validate(content)
    except ValidationError as error:
        raise BankError([_problem(file, dict(fault)) for fault in error.errors()]) from None


def _problem(file: Path, fault: Mapping[str, object]) -> Problem:
    place = [str(part) for part in fault["loc"]]  # type: ignore[attr-defined]
    message = str(fault["msg"]).removeprefix("Value error, ")
    if fault["type"] == "extra_forbidden":
        message = "is not a known key"
        if len(place) == 1:
            message = str(UnknownName("key", place[0], TemplateFile.model_fields))
    assignment = place[1] if len(place) > 1 and place[0] == "assignments" else ""
    return Problem("schema", str(file), assignment, ".".join(place), message)
