"""Tools, calls and their parameters as a person reads them."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_episem.episode import ToolSpec
from pytest_episem.report.tool_words import call_words, parameter_words, schema_words, signature


def test_a_tool_and_a_call_read_like_python():
    schema = {"type": "object", "properties": {"id": {"type": "string"}, "lines": {"type": "array"}}}
    assert signature(ToolSpec("submit", "Submit.", schema)) == "submit(id, lines)"
    assert call_words("submit", {"id": "PR-1", "lines": [1, 3]}) == 'submit(id="PR-1", lines=[1, 3])'
    assert call_words("list_desks", {}) == "list_desks()"


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"type": "string"}, "text"),
        ({"type": "integer", "minimum": 1}, "whole number, at least 1"),
        ({"type": "boolean"}, "true or false"),
        ({"type": "number"}, "number"),
        ({}, "any value"),
        ({"type": "object"}, "object"),
        ({"type": "string", "enum": ["low", "high"]}, 'text, one of "low", "high"'),
        ({"type": "array"}, "list of value"),
        (
            {"type": "array", "items": {"type": "integer"}, "minItems": 1, "uniqueItems": True},
            "list of whole number, at least 1, all different",
        ),
        ({"type": "string", "maxLength": 5}, "text, maxLength: 5"),
    ],
)
def test_what_a_parameter_takes(schema: dict[str, Any], words: str):
    assert schema_words(schema) == words
    assert parameter_words(schema) == words
    assert parameter_words({**schema, "description": "The payment."}) == f"{words}; The payment."
