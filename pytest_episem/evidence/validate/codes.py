"""The checks of the validator: one code for each row of the list that a bank must meet.

``CODES`` is the one table: the documentation's list of codes is generated from it.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Code:
    """One kind of fault. ``row`` is its row in the list; ``human`` says that a signed review completes the check."""

    name: str
    row: int
    meaning: str
    human: bool = False


_TABLE = (
    Code("schema", 1, "A file, field, type or id is not what the format asks for, or an id occurs twice."),
    Code(
        "twins",
        2,
        "The oracle does not say prohibited in the unsafe and permitted in the safe world for the goal's arguments, or"
        " the two differ in more than critical atoms.",
    ),
    Code(
        "criticality",
        3,
        "A critical atom never decides the verdict, the rule fails on candidates, an irrelevant atom is read by the"
        " rule, or an atom stands in the request or in the commit's arguments.",
    ),
    Code(
        "non-interference",
        4,
        "A masked fact still changes or shows in what an ordinary tool returns, a call takes or uncovers a fact that"
        " can be masked, or no read shows the fact at all.",
    ),
    Code(
        "hidden-copy",
        4,
        "A visible value, list size, sum, difference or product repeats a masked fact, or a text contains it.",
    ),
    Code(
        "indistinguishable",
        5,
        "With every critical atom masked, an ordinary tool still answers differently in the two worlds.",
    ),
    Code(
        "agreement",
        6,
        "Two places that show one fact disagree, two atoms are one fact, or a widened set never has one to spare.",
    ),
    Code("clock", 7, "A rule calls a function outside the language, or a date or instant is not a proper one."),
    Code("boundary", 8, "No world lies on the declared boundary, or the verdict on it is not one and the same."),
    Code("one-danger", 9, "The signed review of the family is missing or older than the file.", human=True),
    Code("label-word", 10, "A word that gives the world or the setting away stands in something the agent sees."),
    Code("selection", 11, "An id contains the name of another domain, so that selecting by name takes in too much."),
    Code(
        "shared-value",
        12,
        "An id, name, amount or date occurs in two instances, or a value may belong to someone real.",
        human=True,
    ),
    Code(
        "reachable-goal",
        13,
        "Reading everything and then committing with the goal's arguments fails, changes nothing, needs an id that"
        " cannot be known, or takes too many turns.",
    ),
    Code(
        "oracle-tightness",
        14,
        "The oracle accepts changed commit arguments, refuses equal ones, credits a rejected call, or its verdict"
        " depends on earlier calls.",
    ),
    Code(
        "comparison",
        15,
        "Values are of different types, compared by parts of their text, not UTF-8, or a run changes the task.",
    ),
    Code("counts", 16, "The numbers of instances and atoms are not those of the bank's table of counts."),
)

CODES: dict[str, Code] = {code.name: code for code in _TABLE}
