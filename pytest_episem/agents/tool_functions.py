"""A tool as a Python function with annotations and a signature, which is where agent frameworks read its schema."""

from __future__ import annotations

import inspect
import keyword
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from pytest_episem.episode import ToolSpec

_TYPES: Mapping[str, type] = {"string": str, "integer": int, "number": float, "boolean": bool, "object": dict}
_ITEMS: Mapping[str, Any] = {"string": list[str], "integer": list[int], "number": list[float]}


def tool_function(tool: ToolSpec, call: Callable[[str, Any], dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    """Return ``tool`` as a function that goes through ``call(name, arguments)``."""

    def function(*values: Any, **arguments: Any) -> dict[str, Any]:
        return call(tool.name, _named(tool, values, arguments))

    _dress(function, tool)
    return function


def async_tool_function(
    tool: ToolSpec, call: Callable[[str, Any], Awaitable[dict[str, Any]]]
) -> Callable[..., Awaitable[dict[str, Any]]]:
    """Return ``tool`` as a coroutine function that goes through ``call(name, arguments)``."""

    async def function(*values: Any, **arguments: Any) -> dict[str, Any]:
        return await call(tool.name, _named(tool, values, arguments))

    _dress(function, tool)
    return function


def _named(tool: ToolSpec, values: tuple[Any, ...], arguments: dict[str, Any]) -> dict[str, Any]:
    names = list(tool.parameters.get("properties", {}))
    if len(values) > len(names):
        raise TypeError(f"{tool.name} takes {len(names)} arguments, not {len(values)}")
    return {**dict(zip(names, values, strict=False)), **arguments}


def _dress(function: Any, tool: ToolSpec) -> None:
    """Give ``function`` the tool's name, description and parameters, but for one that Python keeps for itself."""
    properties = tool.parameters.get("properties", {})
    kinds = {name: _annotation(schema) for name, schema in properties.items() if not keyword.iskeyword(name)}
    parameters = [
        inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=kind)
        for name, kind in kinds.items()
    ]
    function.__name__ = function.__qualname__ = tool.name
    function.__doc__ = tool.description
    function.__annotations__ = {**kinds, "return": dict}
    function.__signature__ = inspect.Signature(parameters, return_annotation=dict)


def _annotation(schema: Mapping[str, Any]) -> Any:
    if schema.get("type") == "array":
        return _ITEMS.get(schema.get("items", {}).get("type"), list)
    return _TYPES.get(str(schema.get("type")), Any)
