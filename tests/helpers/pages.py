"""Reading our own Markdown: its pages, code blocks and links.

What stands behind a block's language decides what the tests do with it:

- ``bash`` runs, the blocks of a page one after the other in one folder; ``exit=1`` says which exit code is right, and
  ``norun="why"`` that it is not run.
- ``file=PATH`` and ``append=PATH`` write the block into that folder.
- ``text output`` must stand in what the last commands printed; a line with ``…`` alone stands for any others.
- Everything else is only read: code must parse, and commands may use options that exist alone.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "ARCHITECTURE.md", "CHANGELOG.md")),
    ROOT / "task_bank" / "README.md",
    *sorted(DOCS.rglob("*.md")),
]
_FENCE = re.compile(r"^(?P<fence>```+)(?P<info>[^\n]*)\n(?P<body>.*?)^(?P=fence)[ \t]*$", re.MULTILINE | re.DOTALL)
_INDENT = re.compile(r"^[ \t]+(?=```)", re.MULTILINE)
_LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.+?)\s*$", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A fenced code block: where it begins, its language, what stands behind it, and its text."""

    line: int
    language: str
    marks: dict[str, str]
    text: str

    @property
    def commands(self) -> Iterator[str]:
        """The lines that call ``pytest`` or ``episem``, from whatever folder."""
        for line in self.text.replace("\\\n", " ").splitlines():
            for part in re.split(r"&&|;|\| ", line.split(" #")[0]):
                found = re.match(r"\s*(?:\S*/)?((?:pytest|episem(?! gate:))(?: .*)?)$", part.rstrip())
                if found:
                    yield found[1]


def page_name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def blocks(page: Path) -> list[Block]:
    """Return the code blocks of a page in order."""
    text = page.read_text(encoding="utf-8")
    return [_block(text, found) for found in _FENCE.finditer(_INDENT.sub("", text))]


def _block(text: str, found: re.Match[str]) -> Block:
    language, *others = shlex.split(found["info"]) or [""]
    marks = {name: value for name, _, value in (mark.partition("=") for mark in others)}
    return Block(text.count("\n", 0, found.start()) + 1, language, marks, found["body"])


def plain(page: Path) -> str:
    """Return a page without its code."""
    return re.sub(r"`[^`\n]*`", "``", _FENCE.sub("", _INDENT.sub("", page.read_text(encoding="utf-8"))))


def links(page: Path) -> list[str]:
    """Return the targets of a page's links."""
    return _LINK.findall(re.sub(r"`[^`\n]*`(?!\])", "", _FENCE.sub("", page.read_text(encoding="utf-8"))))


def anchors(page: Path) -> set[str]:
    """Return the names of a page's headings as links spell them."""
    text = _FENCE.sub("", page.read_text(encoding="utf-8"))
    return {slug(heading) for heading in _HEADING.findall(text)}


def slug(heading: str) -> str:
    """Return a heading's anchor, as mkdocs and code hosts agree on it for what our headings are made of."""
    return re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", heading.replace("`", "").lower()).strip())
