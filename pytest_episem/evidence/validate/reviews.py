"""Rows 9 and 12: what no machine can tell is signed by a person, for one content of one family file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import yaml

from pytest_episem.banks.problem import Problem
from pytest_episem.banks.yaml_file import BankSyntaxError, read_yaml
from pytest_episem.errors import EpisemError, UnknownName, suggestion
from pytest_episem.evidence.validate.context import Context, Family, read_bank

REVIEWS_FILE = "reviews.yaml"
REVIEWED_ROWS = (9, 12)
_FIELDS = {"reviewed_by": str, "date": str, "hash": str, "rows": list, "note": str}


def reviews(context: Context) -> Iterator[Problem]:
    """Every review fits the family file as it is; in the shipped bank every family has one."""
    file = context.directory / REVIEWS_FILE
    signed: Any = {}
    if file.is_file():
        try:
            signed = read_yaml(file)
        except BankSyntaxError as error:
            yield _fault("", str(error).removeprefix(f"{file}"))
            return
    if not isinstance(signed, dict):
        yield _fault("", "must be a mapping from domain/family to its review")
        return
    known = {family.name: family for family in context.families}
    for name in signed if context.whole else ():
        if name not in known:
            yield _fault(name, f"there is no such family{suggestion(name, known)}")
    for name, family in known.items():
        if name in signed:
            yield from _check(family, signed[name])
        elif context.shipped:
            message = f"no signed review in {REVIEWS_FILE}; a person must read the family for rows 9 and 12"
            yield family.problem("one-danger", "family", message)


def _check(family: Family, review: Any) -> Iterator[Problem]:
    if not isinstance(review, dict):
        yield _fault(family.name, "must be a mapping with reviewed_by, date, hash, rows and note")
        return
    for field in review:
        if field not in _FIELDS:
            yield _fault(f"{family.name}.{field}", f"is not a known key{suggestion(field, _FIELDS)}")
    wrong = [field for field, kind in _FIELDS.items() if not isinstance(review.get(field), kind) or not review[field]]
    for field in wrong:
        yield _fault(f"{family.name}.{field}", "is missing, empty or of the wrong type")
    if wrong:
        return
    if not re.fullmatch(r"\d{4}-\d{2}-\d{2}", review["date"]):
        yield _fault(f"{family.name}.date", f"{review['date']!r} is not a date; write YYYY-MM-DD")
    missing = [row for row in REVIEWED_ROWS if row not in review["rows"]]
    if missing:
        yield _fault(f"{family.name}.rows", f"the review does not cover row {missing[0]}")
    if review["hash"] != family.content_hash:
        message = f"the file has changed since {review['reviewed_by']} reviewed it on {review['date']}; review it again"
        yield family.problem("one-danger", "family", message)


def _fault(field: str, message: str) -> Problem:
    return Problem("one-danger", REVIEWS_FILE, "", field, message)


def sign_reviews(
    bank_dir: Path, reviewer: str, date: str, note: str, families: Iterable[str] | None = None
) -> list[str]:
    """Record in ``reviews.yaml`` that ``reviewer`` read the families for rows 9 and 12, as they are now.

    Args:
        bank_dir: the bank's directory.
        reviewer: the person's name.
        date: of the review, ``YYYY-MM-DD``.
        note: what was looked at, in a few words.
        families: ``domain/family`` names; all that load where not given.

    Returns:
        The names that were signed.

    Raises:
        UnknownName: a family that the bank does not have.
        EpisemError: no name, no note, no proper date, or a ``reviews.yaml`` that cannot be read.
    """
    for field, text in {"reviewer": reviewer, "note": note}.items():
        if not text.strip():
            raise EpisemError(f"a review needs a {field}")
    if not re.fullmatch(r"\d{4}-\d{2}-\d{2}", date):
        raise EpisemError(f"the date of a review is written YYYY-MM-DD, not {date!r}")
    known = {family.name: family for family in read_bank(bank_dir).families}
    chosen = list(known) if families is None else list(families)
    for name in chosen:
        if name not in known:
            raise UnknownName("family", name, known)
    file = bank_dir / REVIEWS_FILE
    signed = read_yaml(file) if file.is_file() else {}
    if not isinstance(signed, dict):
        raise EpisemError(f"{file}: must be a mapping from domain/family to its review")
    for name in chosen:
        signed[name] = {
            "reviewed_by": reviewer,
            "date": date,
            "hash": known[name].content_hash,
            "rows": list(REVIEWED_ROWS),
            "note": note,
        }
    text = yaml.safe_dump(dict(sorted(signed.items())), allow_unicode=True, sort_keys=False, width=120)
    file.write_text(text, encoding="utf-8", newline="\n")
    return chosen
