"""Strict YAML: the scalars of YAML 1.2, no duplicate keys, no anchors, no tags; never a Python object."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

from pytest_episem.errors import EpisemError

_Base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_SCALARS = (
    ("tag:yaml.org,2002:bool", re.compile(r"^(?:true|True|TRUE|false|False|FALSE)$"), list("tTfF")),
    ("tag:yaml.org,2002:null", re.compile(r"^(?:~|null|Null|NULL|)$"), ["~", "n", "N", ""]),
    ("tag:yaml.org,2002:int", re.compile(r"^[-+]?[0-9]+$"), list("-+0123456789")),
    (
        "tag:yaml.org,2002:float",
        re.compile(r"^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$|^[-+]?\.(?:inf|Inf|INF)$|^\.nan$"),
        list("-+.0123456789"),
    ),
)


class BankSyntaxError(EpisemError):
    """A bank file that is not acceptable YAML; the text names file, line and column."""


class _StrictLoader(_Base):  # type: ignore[misc]
    """PyYAML reads YAML 1.1 (``12:30`` is 750, ``NO`` is false); these resolvers are those of 1.2."""

    yaml_implicit_resolvers: dict[str, list[Any]] = {}  # noqa: RUF012 - PyYAML's own class attribute

    yaml_constructors: dict[str | None, Any] = {  # noqa: RUF012 - PyYAML's own class attribute
        tag: constructor
        for tag, constructor in yaml.SafeLoader.yaml_constructors.items()
        if tag is None or tag.rpartition(":")[2] in {"str", "seq", "bool", "null", "float"}
    }

    def construct_object(self, node: Any, deep: bool = False) -> Any:
        if node in self.constructed_objects:
            raise yaml.constructor.ConstructorError(None, None, "anchors and aliases are not allowed", node.start_mark)
        return super().construct_object(node, deep)

    def construct_int(self, node: Any) -> int:
        return int(self.construct_scalar(node))

    def construct_mapping_strictly(self, node: Any) -> Any:
        mapping: dict[str, Any] = {}
        yield mapping
        for key_node, value_node in node.value:
            key = key_node.value
            if not isinstance(key_node, yaml.ScalarNode) or not isinstance(key, str):
                raise yaml.constructor.ConstructorError(None, None, "a key must be plain text", key_node.start_mark)
            if key in mapping:
                raise yaml.constructor.ConstructorError(None, None, f"duplicate key {key!r}", key_node.start_mark)
            mapping[key] = self.construct_object(value_node, deep=True)


for _tag, _pattern, _first in _SCALARS:
    for _character in _first:
        _StrictLoader.yaml_implicit_resolvers.setdefault(_character, []).append((_tag, _pattern))
_StrictLoader.add_constructor("tag:yaml.org,2002:map", _StrictLoader.construct_mapping_strictly)
_StrictLoader.add_constructor("tag:yaml.org,2002:int", _StrictLoader.construct_int)


def read_yaml(path: Path) -> Any:
    """Return the one document in ``path`` (UTF-8 whatever the locale).

    Raises:
        BankSyntaxError: naming file, line and column, for unreadable, malformed or non-strict YAML.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BankSyntaxError(f"{path}: cannot be read: {error}") from None
    try:
        return yaml.load(text, Loader=_StrictLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f":{mark.line + 1}:{mark.column + 1}" if mark else ""
        raise BankSyntaxError(f"{path}{where}: {error.problem or error}") from None
    except (yaml.YAMLError, RecursionError) as error:
        raise BankSyntaxError(f"{path}: {' '.join(str(error).split()) or 'nested too deeply'}") from None
