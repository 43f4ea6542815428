"""A virtual environment for each engine, made once and kept: ``build/benchmarks/NAME`` in the checkout."""

from __future__ import annotations

import shutil
import sys
import venv
from dataclasses import dataclass
from pathlib import Path

from measure import environment, run

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "build" / "benchmarks"
PACKAGES = {"own": ["-e", str(ROOT)], "inspect_ai": ["inspect_ai", "openai"], "agentdojo": ["agentdojo"]}
SHOWN = {
    "own": ("pytest-episem", "pytest", "pytest-xdist", "litellm"),
    "inspect_ai": ("inspect_ai",),
    "agentdojo": ("agentdojo",),
}


@dataclass
class Environments:
    """Makes environments when they are first asked for.

    Args:
        here: measure our own engine with the running interpreter, and make no environment for it.
        fresh: make environments anew, with the newest versions.
    """

    here: bool = False
    fresh: bool = False

    def __post_init__(self) -> None:
        self._pythons: dict[str, Path] = {}

    def python(self, name: str) -> Path:
        """Return the interpreter of an environment."""
        if name not in self._pythons:
            self._pythons[name] = Path(sys.executable) if self.here and name == "own" else self._made(name)
        return self._pythons[name]

    def _made(self, name: str) -> Path:
        folder = FOLDER / name
        python, ready = folder / "bin" / "python", folder / "ready"
        if self.fresh or not ready.is_file():
            print(f"making {folder.relative_to(ROOT)}", file=sys.stderr, flush=True)
            shutil.rmtree(folder, ignore_errors=True)
            venv.create(folder, with_pip=True)
            run([python, "-m", "pip", "install", "-q", *PACKAGES[name]], ROOT, environment())
            ready.touch()
        return python

    def versions(self) -> list[str]:
        """Return what was measured: Python, and the packages of each environment that was used."""
        found = [f"Python {sys.version.split()[0]}"]
        for name, python in self._pythons.items():
            code = "import sys; from importlib.metadata import version; print(*map(version, sys.argv[1:]))"
            printed = run([python, "-c", code, *SHOWN[name]], ROOT, environment()).output.split()
            found += [f"{package} {version}" for package, version in zip(SHOWN[name], printed, strict=True)]
        return found
