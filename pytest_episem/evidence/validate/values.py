"""Row 12: nothing is shared between instances, and nothing belongs to someone real."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator, Mapping
from typing import Any

from pytest_episem.banks.problem import Problem
from pytest_episem.evidence.bank.place import Path, dotted, parse
from pytest_episem.evidence.validate.context import Context, Family, each_family

CODE = "shared-value"
SMALLEST_AMOUNT = 1000
"""Smaller integers are counts and may repeat."""

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}.*)?")
_CLOCK_OR_ZONE = re.compile(r"(UTC|GMT)?[+-]?\d{1,2}:\d{2}")
_ID_WORD = re.compile(r"(?=\S*\d\S*\d)(?=\S*[A-Za-z])[\w/.-]+|\d{3,}")
_EMAIL = re.compile(r"[\w.+-]+@([\w-]+(?:\.[\w-]+)*)")
_HOST = re.compile(
    r"(?<![\w@.-])((?:[\w-]+\.)+(?:com|org|net|info|biz|io|dev|app|ai|co|eu|us|uk|de|fr|es|it|nl|be|ch|at|se|no|dk|fi|pl"
    r"|cz|ie|pt|ca|au|jp|cn|in|br|gov|edu|mil|int))(?![\w.-])",
    re.IGNORECASE,
)
_RESERVED_HOST = re.compile(r"(?:.*\.)?(?:example\.(?:com|org|net|edu)|example|test|invalid|localhost)", re.IGNORECASE)
_PHONE = re.compile(r"(?<![\w.+-])(?:\+\d[\d ().-]{6,}\d|\(?\d{3}\)?[ .-]\d{3}[ .-]\d{4})(?![\w-])")
_RESERVED_PHONE = re.compile(r"555\D?01\d\d$")
_CARD = re.compile(r"(?<![\w.-])\d(?:[ -]?\d){12,18}(?![\w.-])")
_IBAN = re.compile(r"(?<!\w)[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?(?!\w)")
_IP = re.compile(r"(?<![\w.])(\d{1,3}(?:\.\d{1,3}){3})(?![\w.]*\d)")


def distinctive(value: Any) -> str:
    """Return id, name, amount or date for a value that must be one instance's own, else ``""``."""
    if isinstance(value, bool) or not isinstance(value, int | str):
        return ""
    if isinstance(value, int):
        return "amount" if abs(value) >= SMALLEST_AMOUNT else ""
    if _DATE.fullmatch(value):
        return "date"
    if _CLOCK_OR_ZONE.fullmatch(value) or len(value.split()) > 5:
        return ""
    if _EMAIL.search(value) or _ID_WORD.search(value):
        return "id"
    return "name" if len([word for word in value.split() if word[:1].isupper()]) >= 2 else ""


@each_family(CODE)
def shared_values(context: Context, family: Family) -> Iterator[Problem]:
    """No id, name, amount or date of an instance is in another instance; the later one is named."""
    index: dict[Any, list[tuple[str, str, str]]] = context.once("values", lambda: _index(context))
    common = {canonical_value(value) for _, value in _items(family.entry.state)}
    chosen = {other.name for other in context.families}
    reported: set[Any] = set()
    for instance in family.entry.instances:
        here = (family.name, instance)
        for place, value in _instance_items(family, instance):
            kind, key = distinctive(value), canonical_value(value)
            if not kind or key in common or (instance, key) in reported:
                continue
            spots = index.get(key, [])
            others = [spot for spot in spots if spot[:2] != here]
            if others and not (spots[0][:2] == here and all(spot[0] in chosen for spot in others)):
                reported.add((instance, key))
                where = ": ".join(others[0])
                more = f" and {len(others) - 1} more" if len(others) > 1 else ""
                message = f"the {kind} {value!r} is also in {where}{more}; every instance has its own"
                yield family.problem(CODE, dotted(place), message, instance)


def canonical_value(value: Any) -> Any:
    """Return the form in which values are compared: texts without case, never equal to a number."""
    return (type(value).__name__, value.lower() if isinstance(value, str) else value)


def _index(context: Context) -> dict[Any, list[tuple[str, str, str]]]:
    index: dict[Any, list[tuple[str, str, str]]] = {}
    for family in context.neighbours:
        for instance in family.entry.instances:
            for place, value in _instance_items(family, instance):
                if distinctive(value):
                    index.setdefault(canonical_value(value), []).append((family.name, instance, dotted(place)))
    return index


def _instance_items(family: Family, instance: str) -> Iterator[tuple[Path, Any]]:
    entry = family.entry.instances[instance]
    for place, value in _items(entry.state):
        yield ("state", *place), value
    for name, value in entry.safe.items():
        for place, item in _items(value, parse(name)):
            yield ("safe", *place), item


def _items(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield every value, every item of a list, and every key of a mapping."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield (*path, str(key)), str(key)
            yield from _items(inner, (*path, str(key)))
    elif isinstance(value, list):
        for item in value:
            yield path, item
    else:
        yield path, value


@each_family(CODE)
def invented_values(context: Context, family: Family) -> Iterator[Problem]:
    """Addresses, domains, telephone, card and account numbers lie in ranges reserved for examples."""
    reported: set[tuple[str, str]] = set()
    for instance, place, text in _texts(family):
        for fault in real_looking(text):
            if (instance, fault) not in reported:
                reported.add((instance, fault))
                yield family.problem(CODE, dotted(place), fault, instance)


def _texts(family: Family) -> Iterator[tuple[str, Path, str]]:
    shared = {"goal": family.entry.goal, "state": family.entry.state}
    tools = {name: tool.description for name, tool in family.entry.tools.items()}
    atoms = {n: [a.subject, a.predicate, a.source, *map(str, a.could_be)] for n, a in family.entry.atoms.items()}
    for place, value in _items({**shared, "tools": tools, "atoms": atoms}):
        yield "", place, str(value)
    for instance in family.entry.instances:
        for place, value in _instance_items(family, instance):
            yield instance, place, str(value)


def real_looking(text: str) -> Iterator[str]:
    """Yield what is wrong with a text that could point to someone real."""
    for found in _EMAIL.finditer(text):
        if not _RESERVED_HOST.fullmatch(found.group(1)):
            yield f"the e-mail address {found.group()!r} may be real; use example.com, .org or .net"
    for found in _HOST.finditer(text):
        if not _RESERVED_HOST.fullmatch(found.group(1)):
            yield f"the domain {found.group()!r} may be real; use example.com, .org, .net or a name under .example"
    for found in _PHONE.finditer(text):
        if not _RESERVED_PHONE.search(re.sub(r"[ ().]", "-", found.group())) and not _DATE.match(found.group()):
            yield f"the telephone number {found.group()!r} may be real; use 555-0100 to 555-0199"
    for found in _CARD.finditer(text):
        if _luhn(re.sub(r"\D", "", found.group())):
            yield f"{found.group()!r} passes the check of card numbers; change its last digit"
    for found in _IBAN.finditer(text):
        if _iban(found.group().replace(" ", "")):
            yield f"{found.group()!r} passes the check of bank account numbers; change a digit"
    for found in _IP.finditer(text):
        if _public(found.group(1)):
            yield f"the address {found.group(1)!r} may be real; use 192.0.2.x, 198.51.100.x or a private one"


def _luhn(digits: str) -> bool:
    doubled = [int(d) * (2 if index % 2 else 1) for index, d in enumerate(reversed(digits))]
    return sum(number - 9 if number > 9 else number for number in doubled) % 10 == 0


def _iban(text: str) -> bool:
    if not 15 <= len(text) <= 34:
        return False
    return int("".join(str(int(letter, 36)) for letter in text[4:] + text[:4])) % 97 == 1


def _public(text: str) -> bool:
    try:
        return ipaddress.ip_address(text).is_global
    except ValueError:
        return False
