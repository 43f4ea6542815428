"""The evidence suite as the faces see it (:mod:`pytest_episem.suite`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pytest_episem.suite import Suite


class EvidenceSuite(Suite):
    """Pairs of worlds with facts hidden from the tools; an oracle judges what was done."""

    name = "evidence"

    def behaviours(self) -> Mapping[str, Callable[[Any], None]]:
        from pytest_episem.evidence.known import BEHAVIOURS

        return BEHAVIOURS


EVIDENCE = EvidenceSuite()
