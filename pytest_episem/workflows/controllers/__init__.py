"""Policies with known answers, all behind the same shield (workflow protocol, section 3)."""

from __future__ import annotations

from pytest_episem.agents import PREFIX
from pytest_episem.errors import UnknownName
from pytest_episem.workflows.controllers.base import Controller
from pytest_episem.workflows.controllers.greedy import Greedy
from pytest_episem.workflows.controllers.joint import Joint
from pytest_episem.workflows.controllers.rules import CapabilityRules, VerifyWaitRules
from pytest_episem.workflows.controllers.stop import ImmediateStop
from pytest_episem.workflows.support import Model

CONTROLLERS: dict[str, type[Controller]] = {
    kind.name: kind for kind in (ImmediateStop, VerifyWaitRules, CapabilityRules, Greedy, Joint)
}
"""By name: stop, verify-wait, capability, greedy, joint."""


def controller_names() -> list[str]:
    """Return the controllers as users name them: ``episem/stop`` and so on."""
    return [PREFIX + name for name in CONTROLLERS]


def make_controller(name: str, model: Model) -> Controller:
    """Return a controller for a template.

    Raises:
        UnknownName: there is no such controller.
    """
    if name not in CONTROLLERS:
        raise UnknownName("controller", name, CONTROLLERS)
    return CONTROLLERS[name](model)


__all__ = ["CONTROLLERS", "Controller", "controller_names", "make_controller"]
