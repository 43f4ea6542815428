"""Whether what users bring is a controller, and what it chooses an action: one clear line where it is not."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, get_args

from pytest_episem.errors import EpisemError
from pytest_episem.text import dump_json
from pytest_episem.workflows.actions import Action
from pytest_episem.workflows.serial import from_json


def check_controller(made: object, maker: str = "") -> None:
    """See that what was made for a case is a controller.

    Raises:
        EpisemError: it has no method ``choose`` or no name; one line that begins with ``maker``.
    """
    if not callable(getattr(made, "choose", None)):
        raise EpisemError(
            f"{maker or 'a controller'} must return a controller with a method choose(belief), not {made!r:.80}"
        )
    name = getattr(made, "name", None)
    if not isinstance(name, str) or not name:
        kind = type(made).__name__
        raise EpisemError(f'{maker or kind}: the class {kind} has no name; give it one: name = "{kind.lower()}"')


def checked(action: object, controller: Any) -> Action:
    """Return what a controller chose, if it is an action, as a record will give it back.

    Raises:
        EpisemError: it is none, or a value in it is none that such an action can have; one line.
    """
    kinds = get_args(Action)
    if not isinstance(action, kinds):
        named = ", ".join(kind.__name__ for kind in kinds)
        hint = " (the class, not an instance)" if action in kinds else ""
        raise EpisemError(
            f"{controller.name}.choose returned {action!r:.80}{hint}, which is no action; there are {named}"
        )
    try:
        chosen: Action = from_json(type(action), dump_json(asdict(action)))
    except (EpisemError, TypeError, ValueError) as fault:
        raise EpisemError(f"{controller.name}.choose returned {action!r:.120}: {fault}") from None
    return chosen
