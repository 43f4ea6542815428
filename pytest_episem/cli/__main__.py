"""``python -m pytest_episem.cli`` is ``episem``."""

from __future__ import annotations

import sys

from pytest_episem.cli import main

if __name__ == "__main__":
    sys.exit(main())
