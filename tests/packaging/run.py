"""What a user gets: build sdist and wheel, look into them, install the wheel alone and use it.

    python tests/packaging/run.py                     the wheel, with this Python and the newest dependencies
    python tests/packaging/run.py --matrix            every supported Python on the path, with pytest 8.3 and 9,
                                                      and the lowest dependencies (lowest.txt) with the oldest
    python tests/packaging/run.py --matrix --python /somewhere/bin/python3.12

No part of the plain ``pytest``: it makes virtual environments and asks the package index. Needs ``build`` (the extra
``dev``). Nothing of the checkout is visible to what is tried: it runs in an empty folder, in isolated mode.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import tomllib
import zipfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
LOWEST = HERE / "lowest.txt"
SUPPORTED = ("3.11", "3.12", "3.13")
PYTESTS = ("pytest>=8.3,<8.4", "pytest>=9,<10")
PAIR = "pr-58217"
KNOWN = "Full SWS 100.0   Full UCR 0.0   Critical UCR 0.0   SBM 100.0   Recovery UCR 0.0"


@dataclass(frozen=True)
class Cell:
    """One environment: an interpreter, and what pip is told besides the wheel."""

    python: str
    label: str
    pip: tuple[str, ...] = ()


class Wrong(Exception):
    """Something is not as it must be."""


def run(*command: str | Path, cwd: Path, expect: int = 0) -> str:
    """Run a command and return all it printed."""
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    if done.returncode != expect:
        shown = " ".join(str(part) for part in command)
        raise Wrong(f"{shown}\nexit code {done.returncode}, not {expect}:\n{done.stdout[-4000:]}")
    return done.stdout


def build(out: Path) -> Path:
    """Build the sdist, and the wheel from the sdist; return the wheel."""
    run(sys.executable, "-m", "build", "--outdir", out, ROOT, cwd=out)
    (sdist,), (wheel,) = out.glob("*.tar.gz"), out.glob("*.whl")
    check_sdist(sdist)
    check_wheel(wheel)
    return wheel


def files_of_checkout(folder: str) -> set[str]:
    """Return what a package must hold of a folder."""
    kept = (path for path in (ROOT / folder).rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(ROOT).as_posix() for path in kept}


def check_wheel(wheel: Path) -> None:
    """The package, the bank once, the templates and ``py.typed``, and nothing else."""
    names = zipfile.ZipFile(wheel).namelist()
    twice = [name for name, count in Counter(names).items() if count > 1]
    wanted = files_of_checkout("pytest_episem")
    wanted |= {f"pytest_episem/_{name}" for name in files_of_checkout("task_bank")}
    got = {name for name in names if ".dist-info/" not in name}
    if twice or got != wanted:
        raise Wrong(f"{wheel.name}: twice {twice}, missing {sorted(wanted - got)}, too much {sorted(got - wanted)}")
    for part in ("pytest_episem/py.typed", "pytest_episem/report/templates/report.html"):
        if part not in got:
            raise Wrong(f"{wheel.name}: no {part}")


def check_sdist(sdist: Path) -> None:
    """Everything that a distributor needs to build, test and document it."""
    with tarfile.open(sdist) as archive:
        got = {name.partition("/")[2] for name in archive.getnames()}
    wanted = {"pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "CITATION.cff", "mkdocs.yml"}
    for folder in ("pytest_episem", "task_bank", "tests", "docs", "conftest_examples", "reports"):
        wanted |= files_of_checkout(folder)
    if not wanted <= got:
        raise Wrong(f"{sdist.name}: missing {sorted(wanted - got)[:10]}")


def lowest_agree() -> None:
    """``lowest.txt`` pins each direct dependency to the bound that pyproject.toml names."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    bounds = {}
    for entry in project["dependencies"]:
        found = re.match(r"([A-Za-z0-9_-]+)>=([0-9.]+)", entry)
        if found is None:
            raise Wrong(f"pyproject.toml: {entry!r} has no lower bound")
        bounds[found[1]] = found[2]
    lines = [line for line in LOWEST.read_text(encoding="utf-8").splitlines() if line and line[0] != "#"]
    pins = dict(line.split("==") for line in lines)
    if set(pins) != set(bounds):
        raise Wrong(f"{LOWEST.name} and pyproject.toml differ in {sorted(set(pins) ^ set(bounds))}")
    for name, bound in bounds.items():
        if release(pins[name]) != release(bound):
            raise Wrong(f"{LOWEST.name}: {name}=={pins[name]}, pyproject.toml says >={bound}")


def release(version: str) -> list[int]:
    """Return the numbers of a version without trailing zeros: 3.10.0 is 3.10, and not 3.1."""
    numbers = [int(part) for part in version.split(".")]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return numbers


def smoke(cell: Cell, wheel: Path, folder: Path) -> None:
    """Install the wheel in an environment of its own and use it in an empty folder."""
    environment, work = folder / "venv", folder / "work"
    work.mkdir(parents=True)
    run(cell.python, "-m", "venv", environment, cwd=folder)
    scripts = environment / ("Scripts" if sys.platform == "win32" else "bin")
    python = scripts / "python"
    run(python, "-m", "pip", "install", "-q", wheel, *cell.pip, cwd=folder)
    run(python, "-m", "pip", "check", cwd=folder)
    version = run(scripts / "episem", "--version", cwd=work).strip()
    if version != f"episem {wheel.name.split('-')[1]}":
        raise Wrong(f"episem --version says {version!r}")
    place = run(
        python, "-I", "-c", "from pytest_episem.banks.folder import shipped_bank_dir as d; print(d())", cwd=work
    )
    if Path(place.strip()).name != "_task_bank" or not place.startswith(str(environment.resolve())):
        raise Wrong(f"the bank comes from {place.strip()}, not from the wheel")
    run(scripts / "episem", "validate", "--family", "finance/payment-authorization", cwd=work)
    plain = run(scripts / "pytest", "--episem-model=episem/careful", "-k", PAIR, "-q", cwd=work)
    if KNOWN not in plain:
        raise Wrong(f"{PAIR} with episem/careful:\n{plain}")
    gate = ["--episem-max-recovery-ucr=5", "--episem-min-pur=90"]
    shared = run(scripts / "pytest", "--episem-model=episem/careful", "-k", PAIR, "-q", "-n2", *gate, cwd=work)
    refused = run(scripts / "pytest", "--episem-model=episem/commit", "-k", PAIR, "-q", *gate, cwd=work, expect=1)
    if "gate: PASSED" not in shared or "gate: FAILED" not in refused:
        raise Wrong(f"{shared}\n{refused}")
    run_directory = min(path for path in (work / ".episem").iterdir() if path.is_dir())
    run(scripts / "episem", "report", run_directory, "--out", work / "again", cwd=work)
    if not (work / "again" / "report.html").is_file():
        raise Wrong("episem report wrote no report.html")


def interpreters(given: Sequence[str]) -> list[str]:
    """Return the interpreters to try, oldest first: those given, else every supported one on the path."""
    if given:
        return list(given)
    found = [path for version in SUPPORTED if (path := shutil.which(f"python{version}"))]
    return found or [sys.executable]


def cells(arguments: argparse.Namespace) -> list[Cell]:
    """Return the environments to make."""
    if not arguments.matrix:
        python = arguments.python[0] if arguments.python else sys.executable
        return [Cell(python, "newest")]
    pythons = interpreters(arguments.python)
    grid = [Cell(python, pin.partition(">")[0] + " " + pin[8:], (pin,)) for python in pythons for pin in PYTESTS]
    return [Cell(pythons[0], "lowest", ("-c", str(LOWEST))), *grid]


def main() -> int:
    """Build once, try every cell; return 1 where one fails."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--matrix", action="store_true", help="every Python and pytest, and the lowest dependencies")
    parser.add_argument("--python", action="append", default=[], help="an interpreter; repeat for several")
    arguments = parser.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory(prefix="episem-packaging-") as temporary:
        folder = Path(temporary)
        (folder / "dist").mkdir()
        try:
            lowest_agree()
            wheel = build(folder / "dist")
        except Wrong as fault:
            print(f"FAILED build\n{fault}")
            return 1
        print(f"ok     build {wheel.name}, {wheel.stat().st_size // 1024} kB", flush=True)
        for number, cell in enumerate(cells(arguments)):
            started = time.monotonic()
            try:
                smoke(cell, wheel, folder / str(number))
            except Wrong as fault:
                failed += 1
                print(f"FAILED {cell.python} {cell.label}\n{fault}", flush=True)
            else:
                print(f"ok     {cell.python} {cell.label} ({time.monotonic() - started:.0f} s)", flush=True)
            shutil.rmtree(folder / str(number), ignore_errors=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
