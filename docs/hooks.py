"""What mkdocs does to a page beyond its own: two differences between how it and a code host read Markdown."""

from __future__ import annotations

import re
from typing import Any

_FENCE = re.compile(r"^(\s*```\w+)[^\n`]+$", re.MULTILINE)
_OUTSIDE = re.compile(r"\[([^\]]+)\]\(\.\./([^)]+)\)")


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Cut what follows the language of a code block, which is for the tests; name files that are not of the site.

    The tests check that such a file exists (``tests/docs``).
    """
    markdown = _FENCE.sub(r"\1", markdown)
    if "/" in page.file.src_uri:
        return markdown
    return _OUTSIDE.sub(r"\1 (`\2` in the repository)", markdown)
