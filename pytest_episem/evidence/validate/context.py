"""What every check works on: the families and tasks that load, and what their tools answer."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import Any, TypeAlias

from pytest_episem.banks.folder import VERSION_FILE, bank_hash
from pytest_episem.banks.problem import BankError, Problem
from pytest_episem.errors import suggestion
from pytest_episem.evidence.bank.build import FieldError, build_task
from pytest_episem.evidence.bank.cel_extension import cel
from pytest_episem.evidence.bank.family_file import AtomEntry, FamilyFile
from pytest_episem.evidence.bank.load import SUITE, no_families, read_family
from pytest_episem.evidence.bank.place import Path, State
from pytest_episem.evidence.bank.task import Atom, Task

Check: TypeAlias = Callable[["Context"], Iterator[Problem]]


@dataclass(frozen=True, eq=False)
class Family:
    """A family file that loads, with the tasks of its instances that could be built."""

    name: str
    file: str
    entry: FamilyFile
    tasks: tuple[Task, ...]
    content_hash: str
    loaded: Mapping[str, str]
    """For each instance its states as they were read, so that a check can tell whether anything changed them."""

    @property
    def domain(self) -> str:
        return self.name.split("/")[0]

    def problem(self, code: str, field: str, message: str, instance: str = "") -> Problem:
        return Problem(code, self.file, instance, field, message)


@dataclass(frozen=True, eq=False)
class Context:
    """One bank under validation.

    ``families`` are those to check, ``neighbours`` all that load (they differ only when a part was asked for).
    """

    directory: FilePath
    root: FilePath
    shipped: bool
    version: str
    hash: str
    families: tuple[Family, ...]
    neighbours: tuple[Family, ...]
    faults: tuple[Problem, ...]
    whole: bool = True
    memo: dict[Any, Any] = field(default_factory=dict)

    def tasks(self) -> Iterator[tuple[Family, Task]]:
        """Yield every task to check, with its family."""
        for family in self.families:
            for task in family.tasks:
                yield family, task

    def once(self, key: Any, make: Callable[[], Any]) -> Any:
        """Return what ``make`` gives, computed once for ``key``."""
        if key not in self.memo:
            self.memo[key] = make()
        return self.memo[key]


def each_task(code: str) -> Callable[[Callable[[Context, Family, Task], Iterator[Problem]]], Check]:
    """Turn a check of one task into a check of the bank; a task that cannot be checked is itself a problem."""

    def decorate(check: Callable[[Context, Family, Task], Iterator[Problem]]) -> Check:
        def run(context: Context) -> Iterator[Problem]:
            for family, task in context.tasks():
                try:
                    yield from list(check(context, family, task))
                except Exception as error:  # an untrusted bank must never end in a traceback
                    yield family.problem(code, "", f"cannot be checked: {one_line(error)}", task.instance)

        run.__name__, run.__doc__ = check.__name__, check.__doc__
        return run

    return decorate


def each_family(code: str) -> Callable[[Callable[[Context, Family], Iterator[Problem]]], Check]:
    """Turn a check of one family into a check of the bank."""

    def decorate(check: Callable[[Context, Family], Iterator[Problem]]) -> Check:
        def run(context: Context) -> Iterator[Problem]:
            for family in context.families:
                try:
                    yield from list(check(context, family))
                except Exception as error:  # as above
                    yield family.problem(code, "", f"cannot be checked: {one_line(error)}")

        run.__name__, run.__doc__ = check.__name__, check.__doc__
        return run

    return decorate


def read_bank(directory: FilePath, *, shipped: bool = False, only: str = "") -> Context:
    """Read whatever loads of the bank in ``directory``; what does not is kept as ``faults``.

    Args:
        directory: holds ``evidence/<domain>/<family>.yaml`` or the domains themselves.
        shipped: whether the bank is held to its signed reviews and its counts.
        only: a domain or ``domain/family`` to check; the rest is read for comparison.
    """
    root = directory / SUITE if (directory / SUITE).is_dir() else directory
    files = sorted(root.glob("*/*.yaml")) if root.is_dir() else []
    faults: list[Problem] = []
    families: list[Family] = []
    names = [file.relative_to(root).as_posix().removesuffix(".yaml") for file in files]
    for file, name in zip(files, names, strict=True):
        family, found = _read(file, root, file.relative_to(directory).as_posix())
        faults += found if _chosen(name, only) else []
        families += [family] if family else []
    if not files or (only and not any(_chosen(name, only) for name in names)):
        wanted = f"{only}.yaml" if "/" in only else f"{only or '<domain>'}/<family>.yaml"
        near = suggestion(only, {*names, *(name.split("/")[0] for name in names)}) if only else ""
        faults.append(Problem("schema", str(directory), "", "", f"{no_families(directory, wanted)}{near}"))
    return Context(
        directory=directory,
        root=root,
        shipped=shipped,
        version=_version(directory),
        hash=bank_hash(root, files),
        families=tuple(family for family in families if _chosen(family.name, only)),
        neighbours=tuple(families),
        faults=tuple(faults),
        whole=not only,
    )


def _chosen(name: str, only: str) -> bool:
    return not only or name == only or name.startswith(f"{only}/")


def _version(directory: FilePath) -> str:
    file = directory / VERSION_FILE
    return file.read_text(encoding="utf-8-sig", errors="replace").strip() if file.is_file() else "unversioned"


def _read(file: FilePath, root: FilePath, shown: str) -> tuple[Family | None, list[Problem]]:
    name = file.relative_to(root).as_posix().removesuffix(".yaml")
    content = file.read_bytes()
    try:
        content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        return None, [Problem("comparison", shown, "", f"line {line}", "is not UTF-8 text; save the file as UTF-8")]
    try:
        entry = read_family(file)
    except BankError as error:
        return None, [_relative(problem, str(file), shown) for problem in error.problems]
    if entry.family != name:
        return None, [Problem("schema", shown, "", "family", f"is {entry.family!r}, must be {name!r} as in the path")]
    tasks, faults = _build(entry, file, shown)
    digest = hashlib.sha256(content.replace(b"\r\n", b"\n")).hexdigest()
    loaded = {task.instance: canonical(task.states) for task in tasks}
    return Family(name, shown, entry, tuple(tasks), digest, loaded), faults


def _build(entry: FamilyFile, file: FilePath, shown: str) -> tuple[list[Task], list[Problem]]:
    tasks: list[Task] = []
    faults: list[Problem] = []
    for instance in entry.instances:
        try:
            tasks.append(build_task(entry, instance, file))
        except FieldError as error:
            faults.append(Problem("schema", shown, instance, error.field, str(error)))
        except Exception as error:  # an untrusted bank must never end in a traceback
            faults.append(Problem("schema", shown, instance, "", f"cannot be read: {one_line(error)}"))
    return tasks, faults


def _relative(problem: Problem, file: str, shown: str) -> Problem:
    """The loader's problem with the file as the report names it, and its line as the field."""
    found = re.fullmatch(re.escape(file) + r"(?::(\d+):\d+)?(?:: (.*))?", problem.file, re.DOTALL)
    if found is None:
        return problem
    line, fault = found.groups()
    message = f"{fault}; {problem.message}" if fault else problem.message
    return Problem(problem.code, shown, problem.instance, f"line {line}" if line else problem.field, message)


def one_line(error: BaseException) -> str:
    """Return an exception's text on one line."""
    return " ".join(str(error).split()) or type(error).__name__


def canonical(value: Any) -> str:
    """Return a value as JSON text, keys in their own order: equal texts are equal bytes for the agent."""
    return json.dumps(value, ensure_ascii=False)


def leaves(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield every value below ``value`` that is not a mapping, with its path."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from leaves(inner, (*path, key))
    else:
        yield path, value


def overlaps(one: Path, other: Path) -> bool:
    """Whether one of two places lies in the other, or they are the same."""
    shorter = min(len(one), len(other))
    return one[:shorter] == other[:shorter]


def template_of(family: Family, atom: Atom) -> tuple[str, AtomEntry]:
    """Return the name and entry under ``atoms`` that made ``atom``."""
    return atom.template, family.entry.atoms[atom.template]


def atom_field(family: Family, atom: Atom) -> str:
    """Return the field of the family file that an atom comes from; an atom per element adds its own id."""
    name, _ = template_of(family, atom)
    return f"atoms.{name}" if name == atom.id else f"atoms.{name} ({atom.id})"


def differing(one: State, other: State) -> list[Path]:
    """Return the places whose values differ between two states."""
    first, second = dict(leaves(one)), dict(leaves(other))
    places = [*first, *(place for place in second if place not in first)]
    return [p for p in places if p not in first or p not in second or canonical(first[p]) != canonical(second[p])]


def listed(items: Iterable[Any], most: int = 4) -> str:
    """Return the first few items as text."""
    names = [str(item) for item in items]
    return ", ".join(names[:most]) + (" …" if len(names) > most else "")


def called_functions(source: str) -> list[str]:
    """Return the named functions that an expression calls; ``[]`` for one that does not compile."""
    try:
        names = cel.compile(" ".join(source.split())).functions() if source else []
    except Exception:  # reported where the rule is compiled
        return []
    return [name for name in names if re.fullmatch(r"[A-Za-z]\w*", name)]
