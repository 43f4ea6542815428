"""Why an interface rejects a call: one wording for every world. Says nothing of any state."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

LONGEST_FAULT = 300
"""Characters of a message that says why a call was rejected: it may quote what the agent sent."""
LONGEST_ARGUMENTS, MOST_ARGUMENT_ITEMS = 100_000, 1_000
"""Characters of a call's arguments as JSON, and items of a list in it: what is read of them is bounded."""


def unknown_tool(name: str) -> str:
    """Return the message for a tool that is not there."""
    return f"There is no tool named {short(repr(name))}."


def schema_fault(name: str, schema: Mapping[str, Any], arguments: Any) -> str | None:
    """Return why arguments, a JSON value, are too long or what a tool's schema rejects, or ``None``."""
    from jsonschema import Draft202012Validator

    if not isinstance(arguments, dict):
        return f"The arguments of {name} must be a JSON object."
    if len(json.dumps(arguments)) > LONGEST_ARGUMENTS or any(
        isinstance(value, list) and len(value) > MOST_ARGUMENT_ITEMS for value in arguments.values()
    ):
        most = f"at most {LONGEST_ARGUMENTS:,} characters, and {MOST_ARGUMENT_ITEMS:,} items in a list"
        return f"The arguments of {name} are too long; {most}."
    error = next(Draft202012Validator(schema).iter_errors(arguments), None)
    if error is None:
        return None
    where = f"{'.'.join(str(part) for part in error.path)}: " if error.path else ""
    return f"Invalid arguments for {name}: {where}{short(error.message)}."


def short(text: str) -> str:
    """Return a text cut to the length that a message may quote."""
    return text if len(text) <= LONGEST_FAULT else f"{text[:LONGEST_FAULT]}…"
