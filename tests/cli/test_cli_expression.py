"""``-k``: the same selection as pytest makes of the same names."""

from __future__ import annotations

import pytest

from pytest_episem.cli.expression import matcher
from pytest_episem.errors import EpisemError

NAMES = ("episem", "finance/payment-authorization/pr-58217/unsafe-se[authorization-limit]")


@pytest.mark.parametrize(
    ("expression", "selected"),
    [
        ("", True),
        ("  ", True),
        ("finance", True),
        ("FINANCE", True),
        ("travel", False),
        ("not travel", True),
        ("not not finance", True),
        ("finance and travel", False),
        ("finance or travel", True),
        ("not finance or pr-58217", True),  # not binds closer than or
        ("travel and finance or pr-58217", True),  # and binds closer than or
        ("travel and (finance or pr-58217)", False),
        ("(finance)and(pr-58217)", True),
        ("/unsafe-se[authorization-limit]", True),
        ("nothing", False),  # a word that begins with 'not' is a word
        ("order", False),
        ("episem", True),
        ("episemfinance", False),  # no word spans two names
    ],
)
def test_selection(expression, selected):
    assert matcher(expression)(NAMES) is selected


@pytest.mark.parametrize(
    ("expression", "complaint"),
    [
        ("and", "got and"),
        ("a or", "got end of input"),
        ("not", "got end of input"),
        ("(a", "expected right parenthesis"),
        ("a)", "got right parenthesis"),
        ("()", "got right parenthesis"),
        ("a b", "got identifier"),
        ("a=b", "got ="),
        ("(" * 10_000, "nested too deeply"),
        ("not " * 10_000 + "a", "nested too deeply"),
    ],
)
def test_what_cannot_be_read_is_named(expression, complaint):
    with pytest.raises(EpisemError, match="as in pytest") as fault:
        matcher(expression)
    assert complaint in str(fault.value)


def test_a_name_takes_no_arguments():
    with pytest.raises(EpisemError, match="takes no arguments"):
        matcher("finance(a=1)")(NAMES)
