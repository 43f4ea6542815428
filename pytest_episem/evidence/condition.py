"""A condition: one task in one world under one mask and setting. One condition, one rollout, one trial."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from pytest_episem.evidence.bank.task import WORLDS, WorldLabel

__all__ = ["SETTINGS", "WORLDS", "Condition", "MaskRole", "Setting", "WorldLabel"]

Setting = Literal["full", "se", "re", "full_audit"]
MaskRole = Literal["none", "critical", "irrelevant"]

SETTINGS: tuple[Setting, ...] = ("full", "se", "re", "full_audit")


@dataclass(frozen=True, slots=True)
class Condition:
    """Task x world x setting x mask x repeat (protocol, section 1). Hashable: it is the key of its trial.

    ``mask`` is the sorted tuple of the hidden atoms' ids, empty under ``full`` and ``full_audit``.
    """

    suite: ClassVar[str] = "evidence"
    task: str
    world: WorldLabel
    setting: Setting
    mask: tuple[str, ...] = ()
    repeat: int = 0

    @property
    def name(self) -> str:
        """The part of the id after the task: ``unsafe-se[authorization-limit]``."""
        mask = f"[{','.join(self.mask)}]" if self.mask else ""
        repeat = f"/repeat-{self.repeat}" if self.repeat else ""
        return f"{self.world}-{self.setting}{mask}{repeat}"

    @property
    def id(self) -> str:
        """The readable id: ``finance/payment-authorization/pr-58217/unsafe-se[authorization-limit]``."""
        return f"{self.task}/{self.name}"
