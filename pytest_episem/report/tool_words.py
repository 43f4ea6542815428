"""Tools and calls as a person reads them: signatures instead of JSON schemas, ``name=value`` instead of objects."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from pytest_episem.episode import ToolSpec
from pytest_episem.report.layout import LABEL, NOTE, Cell, page, prose, rows, text

_TYPES = {"string": "text", "integer": "whole number", "boolean": "true or false", "number": "number"}
_KNOWN = {"type", "description", "enum", "minimum", "items", "minItems", "uniqueItems"}


def signature(tool: ToolSpec) -> str:
    """Return the tool with its parameters' names: ``submit_payment(request_id)``."""
    return f"{tool.name}({', '.join(tool.parameters.get('properties', {}))})"


def call_words(tool: str, arguments: Mapping[str, Any]) -> str:
    """Return a call: ``submit_payment(request_id="PR-58217")``."""
    return f"{tool}({', '.join(f'{name}={value_words(value)}' for name, value in arguments.items())})"


def value_words(value: Any) -> str:
    """Return any JSON value as readable JSON on one line."""
    return json.dumps(value, ensure_ascii=False)


def tool_block(tool: ToolSpec, kind: str = "") -> RenderableType:
    """Return a tool's signature, description and what each parameter takes."""
    title = Text.assemble(text(signature(tool), "bold"), text(f"  {kind}", NOTE if kind == "commit" else LABEL))
    parameters: Mapping[str, Any] = tool.parameters.get("properties", {})
    rules: list[tuple[Cell, Cell]] = [(name, parameter_words(schema)) for name, schema in parameters.items()]
    return page(prose(title), prose(tool.description, 4), *([rows(rules, by=4)] if rules else []))


def parameter_words(schema: Mapping[str, Any]) -> str:
    """Return what a parameter takes and what it is for."""
    about = schema.get("description")
    return f"{schema_words(schema)}; {about}" if about else schema_words(schema)


def schema_words(schema: Mapping[str, Any]) -> str:
    """Return what a parameter's JSON schema asks for; what has no words of its own stays JSON."""
    kind = schema.get("type", "any value")
    words = [_TYPES.get(kind, kind)]
    if kind == "array":
        inner = schema.get("items", {}).get("type", "value")
        words = [f"list of {_TYPES.get(inner, inner)}"]
    if "enum" in schema:
        words.append(f"one of {', '.join(value_words(value) for value in schema['enum'])}")
    if "minimum" in schema:
        words.append(f"at least {value_words(schema['minimum'])}")
    if "minItems" in schema:
        words.append(f"at least {value_words(schema['minItems'])}")
    if schema.get("uniqueItems"):
        words.append("all different")
    words += [f"{key}: {value_words(value)}" for key, value in schema.items() if key not in _KNOWN]
    return ", ".join(words)
