"""Another machine on this one: a network namespace at the end of a virtual cable, with an installation, a home folder
and an empty environment of its own, where the controller's folders and the checkout cannot be seen."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NAME, CABLE = f"episem-{os.getpid()}", (f"ep{os.getpid()}a", f"ep{os.getpid()}b")
HERE, THERE = "10.213.77.1", "10.213.77.2"


def install(folder: Path, plugin: bool = True) -> Path:
    """Make an environment with the packages of this one and, from the checkout, the plugin; return its Python.

    The packages are links, but the plugin is installed anew: nothing in this environment leads to the checkout.
    """
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    packages = folder / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
    for source in {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}:
        for entry in Path(source).iterdir():
            place = packages / entry.name
            if "episem" not in entry.name and entry.name != "__pycache__" and not place.exists():
                place.symlink_to(entry)
    if plugin:
        pip = [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-deps"]
        subprocess.run([*pip, "--upgrade", "--target", packages, ROOT], check=True)
    return folder / "bin" / "python"


class OtherMachine:
    """Where the workers run. ``home`` is its folder, ``desk`` the one its workers start in.

    Without the rights for a namespace it is only other folders and another installation; ``apart`` says which.
    """

    def __init__(self, folder: Path, controller: Path) -> None:
        self.home, self.desk = folder / "home", folder / "home" / "pyexecnetcache"
        self.desk.mkdir(parents=True)
        self.python = install(folder / "python")
        self.bare_python = install(folder / "bare", plugin=False)
        self._hidden = [controller, ROOT / "pytest_episem", ROOT / "task_bank"]
        self._enter = folder / "enter"
        self.apart = self._cable()
        self.address = THERE if self.apart else "127.0.0.1"
        self._write_enter()
        self._write_ssh(folder / "bin")
        self.path = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
        """A search path on which ``ssh`` leads there, since not every machine has a server for the real one."""

    def _cable(self) -> bool:
        here, there = CABLE
        commands = [
            f"ip netns add {NAME}",
            f"ip link add {here} type veth peer name {there} netns {NAME}",
            f"ip addr add {HERE}/30 dev {here}",
            f"ip link set {here} up",
            f"ip -n {NAME} addr add {THERE}/30 dev {there}",
            f"ip -n {NAME} link set {there} up",
            f"ip -n {NAME} link set lo up",
            f"ip netns exec {NAME} unshare -m true",
        ]
        with contextlib.suppress(OSError):
            return all(subprocess.run(c.split(), stderr=subprocess.DEVNULL).returncode == 0 for c in commands)
        return False

    def _write_enter(self) -> None:
        inside = f'cd "{self.home}"; exec env -i HOME="{self.home}" PATH="$PATH" "$@"'
        if self.apart:
            hide = "".join(f'mount -t tmpfs none "{place}"; ' for place in self._hidden)
            script = f"exec ip netns exec {NAME} unshare -m sh -c '{hide}{inside}' enter \"$@\""
        else:
            script = inside
        self._write_script(self._enter, script)

    def _write_ssh(self, folder: Path) -> None:
        folder.mkdir()
        self._write_script(folder / "ssh", f'for last; do :; done\nexec "{self._enter}" sh -c "$last"')

    @staticmethod
    def _write_script(path: Path, text: str) -> None:
        path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
        path.chmod(0o755)

    def ssh(self, workers: int = 2, python: Path | None = None) -> list[str]:
        """Return xdist's options for so many workers over ssh."""
        return ["-d", f"--tx={workers}*ssh=other//python={python or self.python}"]

    @contextlib.contextmanager
    def sockets(self, workers: int = 2) -> Iterator[list[str]]:
        """Run a server of execnet for each worker; gives xdist's options for them."""
        addresses = [f"{self.address}:{18811 + number}" for number in range(workers)]
        command = [self._enter, self.python, "-u", "-m", "execnet.script.socketserver"]
        servers = [
            subprocess.Popen([*command, address], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            for address in addresses
        ]
        try:
            for server in servers:
                assert server.stdout is not None
                server.stdout.readline()  # it listens
            yield ["-d", *(f"--tx=socket={address}" for address in addresses)]
        finally:
            for server in servers:
                server.kill()
                server.communicate()

    def files(self) -> set[str]:
        """Return what is in its home, but for the copy of pytest that xdist brings along, and compiled code."""
        paths = (path.relative_to(self.home) for path in self.home.rglob("*") if path.is_file())
        brought = {"pytest", "_pytest"}
        return {str(p) for p in paths if "__pycache__" not in p.parts and brought.isdisjoint(p.parts[:2])}

    def close(self) -> None:
        """Take the namespace away, and the cable with it."""
        with contextlib.suppress(OSError):
            subprocess.run(["ip", "netns", "del", NAME], stderr=subprocess.DEVNULL)


@contextlib.contextmanager
def two_machines() -> Iterator[tuple[Path, OtherMachine]]:
    """Give the controller's folder and the other machine."""
    with tempfile.TemporaryDirectory(prefix="episem-") as folder:
        here = Path(folder).resolve() / "here"
        here.mkdir()
        other = OtherMachine(Path(folder).resolve() / "there", here)
        try:
            yield here, other
        finally:
            other.close()


def pytest_here(folder: Path, path: str, args: Sequence[str], seconds: float = 300) -> tuple[int, str]:
    """Run pytest in ``folder`` on this machine; return its exit code and what it printed."""
    # These packages' workers call back to 127.0.0.1, or shuffle.
    unfit = ["-p", "no:rerunfailures", "-p", "no:randomly", "-p", "no:cacheprovider"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "GITHUB_"))}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *unfit, "-q", "--tb=no", *args],
        cwd=folder,
        env=environment | {"PATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=seconds,
    )
    return done.returncode, done.stdout
