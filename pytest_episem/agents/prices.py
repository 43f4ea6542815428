"""What tokens cost: as the arguments say, or from the installed litellm's price list, read without importing it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_episem.agents.model_options import _catalogue


def token_prices(model: str, arguments: Mapping[str, Any] | None = None) -> tuple[float, float] | None:
    """Return US dollars for one prompt token and for one completion token; ``None`` if neither the model's arguments
    nor the list tell."""
    given = given_prices(arguments or {})
    if given is not None:
        return given
    models = (_catalogue() or ({}, frozenset()))[0]
    for name in (model, model.rsplit("/", 1)[-1]):
        facts = models.get(name) or {}
        prices = given_prices(facts)
        if prices is not None and any(prices):
            return prices
    return None


def given_prices(facts: Mapping[str, Any]) -> tuple[float, float] | None:
    """Return the prices that stand in ``facts`` under litellm's names, ``None`` if one is missing or no price."""
    prices = facts.get("input_cost_per_token"), facts.get("output_cost_per_token")
    if not all(isinstance(price, int | float) and price >= 0 for price in prices):
        return None
    return float(prices[0] or 0), float(prices[1] or 0)
