"""What the author of a rule reads: what is wrong, where, and what may have been meant."""

from __future__ import annotations

import pytest

from pytest_episem.evidence.bank.rule import Rule, RuleError

STATE = {"van": {"odometer": 40, "plate": "AB-1"}, "trip": {"distance": 7}}


@pytest.mark.parametrize(
    ("source", "fault"),
    [
        ("van.odometer >> 3", "it cannot be read from '> 3' on"),
        ("van.odometer > 3 and true", "it cannot be read from 'and true' on; write && for and, || for or, ! for not"),
        ("van.odometer = 3", "it cannot be read from '= 3' on; write == to compare"),
        ("(van.odometer > 3", "it ends too early; its brackets do not match"),
        ("van.plate == 'a and b' &&", "it ends too early"),
        ("", "it ends too early"),
    ],
)
def test_an_expression_that_cannot_be_read(source, fault):
    with pytest.raises(RuleError) as raised:
        Rule(source, STATE)
    assert str(raised.value) == f"rule {source!r} is not a valid expression: {fault}"


@pytest.mark.parametrize(
    ("source", "fault"),
    [
        ("van.odometr > 3", "there is no 'odometr' in the state; did you mean 'odometer'?"),
        (
            "van.plate + trip.distance > 3 || van.plate == 'trip.distance'",
            "an operation does not fit the kinds of its values: van.plate is a text, trip.distance is a number",
        ),
        ("summ(van.odometer) > 3", "there is no function 'summ'; did you mean 'sum'?"),
        ("date(van.plate) > date(van.plate)", "date(…) fails: time data 'AB-1' does not match format '%Y-%m-%d'"),
    ],
)
def test_a_rule_that_gives_no_verdict(source, fault):
    with pytest.raises(RuleError) as raised:
        Rule(source, STATE).holds(STATE)
    assert str(raised.value) == f"rule {source!r} fails: {fault}"
