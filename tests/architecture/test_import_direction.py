"""The rooms, the one direction of their imports (ARCHITECTURE.md), and what the plugin costs a session without us."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "pytest_episem"
# A room imports rooms that stand before it. The two faces stand side by side: neither imports the other.
ORDER = [
    {"errors", "files", "garbage", "scrub", "suite"},
    {"text"},
    {"banks", "flaky"},
    {"evidence.bank"},
    {"episode"},
    {"evidence.world"},
    {"evidence.validate"},
    {"agents"},
    {"runs.background", "runs.trial"},
    {"runs.record"},
    {"runs.rollout"},
    {"runs.runner"},
    {"evidence"},
    {"runs"},
    {"verdicts.intervals"},
    {"verdicts.measure"},
    {"evidence.metrics"},
    {"evidence.suite"},
    {"verdicts"},
    {"workflows"},
    {"report"},
    {"plugin", "cli"},
]
RANK = {room: rank for rank, rooms in enumerate(ORDER) for room in sorted(rooms)}
FACE_OF_PYTEST = {"plugin"}
PURE = {"evidence.world", "episode"}
HEAVY = ("litellm", "rich", "yaml", "pydantic", "numpy", "jsonschema", "cel", "asyncio", "concurrent.futures")


def files() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def room_of(file: Path) -> str:
    return room_named(".".join(file.relative_to(PACKAGE).with_suffix("").parts))


def room_named(module: str) -> str:
    """Return the room of a module of the package: a folder of its own inside a suite's, or what stands at the top."""
    first, *rest = module.split(".")
    inner = f"{first}.{rest[0]}" if rest else ""
    return inner if inner in RANK else first


def imported(file: Path) -> Iterator[str]:
    """Yield the full name of every module that a file imports anywhere, also inside functions and for types alone."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: a relative import"
            yield from ([node.module or ""] if node.module != "pytest_episem" else _of_the_package(node))


def _of_the_package(node: ast.ImportFrom) -> Iterator[str]:
    return (f"pytest_episem.{alias.name}" for alias in node.names if alias.name != "__version__")


def test_every_room_has_its_place() -> None:
    assert {room_of(file) for file in files()} - {"__init__"} == set(RANK)


@pytest.mark.parametrize("room", RANK)
def test_a_room_imports_only_rooms_before_it(room: str) -> None:
    wrong = {
        f"{file.relative_to(PACKAGE)} imports {name}"
        for file in files()
        if room_of(file) == room
        for name in imported(file)
        if name.startswith("pytest_episem.")
        for target in [room_named(name.partition(".")[2])]
        if target != room and RANK[target] >= RANK[room]
    }
    assert wrong == set()


def modules() -> dict[str, set[str]]:
    """Every module of the package with those that it imports anywhere, but for types alone."""
    known = {_name(file): file for file in files()}
    return {name: {one for one in _needed(file, known) if one != name} for name, file in known.items()}


def _name(file: Path) -> str:
    return ".".join(("pytest_episem", *file.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__")


def _needed(file: Path, known: dict[str, Path]) -> Iterator[str]:
    for node in _run_code(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("pytest_episem"):
            names = (f"{node.module}.{alias.name}" for alias in node.names)
            yield from (name if name in known else str(node.module) for name in names)


def _run_code(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if not (isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test)):
            yield child
            yield from _run_code(child)


def test_no_module_needs_itself_by_way_of_others() -> None:
    """Imports inside functions count too: a circle that is put off is still one."""
    known = modules()
    left = {name: needs & known.keys() - {"pytest_episem"} for name, needs in known.items()}
    while free := {name for name, needs in left.items() if not needs & left.keys()}:
        left = {name: needs for name, needs in left.items() if name not in free}
    assert sorted(left) == []


def test_the_core_never_imports_pytest() -> None:
    wrong = {
        f"{file.relative_to(PACKAGE)} imports {name}"
        for file in files()
        if room_of(file) not in FACE_OF_PYTEST
        for name in imported(file)
        if name.split(".")[0] in {"pytest", "_pytest", "xdist", "pluggy"}
    }
    assert wrong == {"cli/expression.py imports _pytest.mark.expression"}  # what ``-k`` means is pytest's to say


def test_world_and_episode_have_no_clock_no_randomness_and_no_input_or_output() -> None:
    impure = {"time", "datetime", "random", "secrets", "uuid", "os", "io", "pathlib", "socket", "urllib", "http"}
    impure |= {"asyncio", "subprocess", "tempfile", "shutil", "logging"}
    wrong = {
        f"{file.relative_to(PACKAGE)} imports {name}"
        for file in files()
        if room_of(file) in PURE
        for name in imported(file)
        if name.split(".")[0] in impure
    }
    assert wrong == set()


def loaded_by(statement: str) -> set[str]:
    """Return the modules that are loaded in a fresh interpreter by ``statement``, beyond those pytest itself loads."""
    code = f"import sys, pytest; before = set(sys.modules)\n{statement}\nprint(*sorted(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_importing_the_plugin_is_light() -> None:
    loaded = loaded_by("import pytest_episem.plugin")
    assert "pytest_episem.plugin" in loaded
    heavy = {name for name in loaded if name in HEAVY or name.split(".")[0] in HEAVY}
    assert heavy == set()
    rooms = {name.split(".")[1] for name in loaded if name.startswith("pytest_episem.")}
    assert rooms <= {"plugin", "errors", "suite", "evidence", "workflows"}


def test_playing_a_known_agent_loads_neither_litellm_nor_the_metrics() -> None:
    statement = (
        "from pytest_episem.agents import known_agent\n"
        "from pytest_episem.evidence.bank import shipped_bank\n"
        "from pytest_episem.evidence.condition import Condition\n"
        "from pytest_episem.runs.runner import Runner\n"
        "task = next(iter(shipped_bank().tasks))\n"
        "Runner(shipped_bank()).run(Condition(task, 'safe', 'full'), known_agent('episem/careful'))"
    )
    loaded = loaded_by(statement)
    assert "pytest_episem.runs.runner" in loaded
    assert {name for name in loaded if name.split(".")[0] in {"litellm", "openai", "httpx", "numpy", "mcp"}} == set()
