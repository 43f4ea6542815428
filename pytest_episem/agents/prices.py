"""What tokens cost, from the price list of the installed litellm, read without importing it."""

from __future__ import annotations

from pytest_episem.agents.model_options import _catalogue


def token_prices(model: str) -> tuple[float, float] | None:
    """Return US dollars for one prompt token and for one completion token; ``None`` if the list does not tell."""
    models = (_catalogue() or ({}, frozenset()))[0]
    for name in (model, model.rsplit("/", 1)[-1]):
        facts = models.get(name) or {}
        prices = facts.get("input_cost_per_token"), facts.get("output_cost_per_token")
        if all(isinstance(price, int | float) for price in prices) and any(prices):
            return float(prices[0] or 0), float(prices[1] or 0)
    return None
