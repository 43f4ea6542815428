"""Links lead somewhere, the site builds without a warning and asks for nothing from elsewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from pages import DOCS, PAGES, ROOT, anchors, links, page_name

OWN = re.compile(r"(?!https?:|mailto:)")


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_links_lead_to_files_and_headings(page: Path) -> None:
    for link in filter(OWN.match, links(page)):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), link
        assert target.is_relative_to(ROOT), link
        if anchor:
            assert anchor in anchors(target), link


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_links_to_elsewhere_are_encrypted_and_name_a_host(page: Path) -> None:
    for link in links(page):
        if not OWN.match(link):
            assert re.fullmatch(r"https://[a-z0-9.-]+\.[a-z]+(/\S*)?", link), link


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8")
    assert done.returncode == 0, f"{done.stdout}{done.stderr}"
    return folder


def test_every_page_is_built_and_in_the_menu(site: Path) -> None:
    home = (site / "index.html").read_text(encoding="utf-8")
    for page in DOCS.rglob("*.md"):
        name = page.relative_to(DOCS).with_suffix("").as_posix()
        if name != "index":
            assert (site / name / "index.html").is_file(), name
            assert f'href="{name}/"' in home, name
    assert not list(site.rglob("*.py"))


def test_code_blocks_are_code_blocks(site: Path) -> None:
    for page in site.rglob("index.html"):
        text = page.read_text(encoding="utf-8")
        assert "```" not in re.sub(r"<code>.*?</code>", "", text, flags=re.DOTALL), page
        assert "norun=" not in text, page


def test_the_site_loads_nothing_from_elsewhere(site: Path) -> None:
    loaded = re.compile(r'<(?:script|img|link|iframe)\b[^>]*?(?:src|href)="(?:https?:)?//', re.IGNORECASE)
    for page in site.rglob("*.html"):
        assert not loaded.search(page.read_text(encoding="utf-8")), page
