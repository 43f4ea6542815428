"""Strict YAML: the scalars of YAML 1.2, no duplicate keys, no anchors, no tags; never a Python object.

PyYAML reads YAML 1.1 (``12:30`` is 750, ``NO`` is false), so only its parser is used, and its events are turned into
values here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import yaml

from pytest_episem.banks.folder import LARGEST_FILE
from pytest_episem.errors import EpisemError
from pytest_episem.files import read_regular

MAX_DEPTH = 20
_PARSER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_SCALARS: tuple[tuple[re.Pattern[str], Callable[[str], Any]], ...] = (
    (re.compile(r"true|True|TRUE"), lambda text: True),
    (re.compile(r"false|False|FALSE"), lambda text: False),
    (re.compile(r"|~|null|Null|NULL"), lambda text: None),
    (re.compile(r"[-+]?[0-9]+"), int),
    (re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+"), lambda text: int(text, 0)),
    (re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?"), float),
    (re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)"), lambda text: float(text.replace(".", ""))),
)

_HINTS = (
    ("tab character", "; indent with spaces"),
    ("cannot start any token", "; indent with spaces, and put a text that begins with a sign in quotes"),
    ("parsing a flow mapping", "; inside {…} put a text with a colon, comma or bracket in quotes"),
    ("mapping values are not allowed", "; put a text with a colon in quotes, and indent a line like its neighbours"),
    ("parsing a block mapping", "; are the lines indented like their neighbours?"),
)
LARGEST_INTEGER = 2**53 - 1
"""Integers beyond this are not the same number in every JSON reader: no bank states and no call carries one."""


class BankSyntaxError(EpisemError):
    """A bank file that is not acceptable YAML; the text names file, line and column.

    ``place`` is ``file`` or ``file:line:column``, ``fault`` what is wrong there.
    """

    def __init__(self, place: str, fault: str) -> None:
        super().__init__(f"{place}: {fault}")
        self.place = place
        self.fault = fault


class _Fault(Exception):
    def __init__(self, message: str, event: Any) -> None:
        super().__init__(message)
        self.mark = event.start_mark


def read_yaml(path: Path) -> Any:
    """Return the one document in ``path`` (UTF-8 whatever the locale), ``None`` if it is empty.

    Raises:
        BankSyntaxError: naming file, line and column, for unreadable, malformed or non-strict YAML.
    """
    try:
        text = read_regular(path, LARGEST_FILE).decode("utf-8-sig")
    except OSError as error:
        raise BankSyntaxError(str(path), f"cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise BankSyntaxError(str(path), "is not UTF-8 text") from None
    try:
        return _document(iter(yaml.parse(text, Loader=_PARSER)))
    except _Fault as fault:
        raise BankSyntaxError(_at(path, fault.mark), str(fault)) from None
    except yaml.MarkedYAMLError as error:
        fault_text = " ".join(part for part in (error.context, error.problem) if part)
        hint = next((hint for sign, hint in _HINTS if sign in fault_text), "")
        raise BankSyntaxError(_at(path, error.problem_mark or error.context_mark), fault_text + hint) from None
    except yaml.YAMLError as error:
        raise BankSyntaxError(str(path), " ".join(str(error).split())) from None


def _at(path: Path, mark: Any) -> str:
    return f"{path}:{mark.line + 1}:{mark.column + 1}" if mark else str(path)


def _document(events: Iterator[Any]) -> Any:
    documents = 0
    content = None
    for event in events:
        if isinstance(event, yaml.DocumentStartEvent):
            documents += 1
            if documents > 1:
                raise _Fault("a file holds one document", event)
            content = _value(next(events), events, 0)
    return content


def _value(event: Any, events: Iterator[Any], depth: int) -> Any:
    if isinstance(event, yaml.AliasEvent) or event.anchor is not None:
        raise _Fault("anchors and aliases are not allowed", event)
    if event.tag is not None:
        raise _Fault("tags are not allowed", event)
    if isinstance(event, yaml.ScalarEvent):
        return _scalar(event)
    if depth >= MAX_DEPTH:
        raise _Fault(f"nested too deeply, at most {MAX_DEPTH} levels", event)
    if isinstance(event, yaml.SequenceStartEvent):
        return [_value(item, events, depth + 1) for item in _until(yaml.SequenceEndEvent, events)]
    return _mapping(events, depth + 1)


def _mapping(events: Iterator[Any], depth: int) -> dict[str, Any]:
    mapping: dict[str, Any] = {}
    for event in _until(yaml.MappingEndEvent, events):
        if not isinstance(event, yaml.ScalarEvent) or event.anchor or event.tag or not event.value:
            raise _Fault("a key must be plain text", event)
        if event.value in mapping:
            raise _Fault(f"duplicate key {event.value!r}", event)
        mapping[event.value] = _value(next(events), events, depth)
    return mapping


def _until(end: type, events: Iterator[Any]) -> Iterator[Any]:
    for event in events:
        if isinstance(event, end):
            return
        yield event


def _scalar(event: Any) -> Any:
    text: str = event.value
    if event.implicit[0]:  # quoted and block scalars are always text
        for pattern, convert in _SCALARS:
            if pattern.fullmatch(text):
                value = convert(text) if len(text) <= 100 else LARGEST_INTEGER + 1
                if isinstance(value, int) and abs(value) > LARGEST_INTEGER:
                    raise _Fault(f"a number must not exceed {LARGEST_INTEGER}", event)
                return value
    return text
