"""How numbers and names read in every report: one format and one name for each, whatever the medium."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pytest_episem.banks.folder import SHIPPED
from pytest_episem.verdicts.intervals import Estimate

Unit = Literal["%", "pp", "mean", "tasks", "of", "count", "usd", "ms", "s", "p", "text"]
"""Percent, percentage points, a plain mean, tasks counted by an estimate's numerator, the same with its denominator, a
whole number, US dollars, milliseconds, seconds, a probability, or words."""

NONE = "—"
"""Stands where there is no number: nothing was eligible, or the provider did not tell."""

CAUSES: Mapping[str, str] = {
    "unread": "a visible critical fact was never read",
    "reasoning": "what was delivered decided the rule, and it was not followed",
    "epistemic": "what was visible did not decide the rule",
    "unclassified": "recorded without a cause",
}
BOUNDARY: Mapping[str, str] = {
    "baseline_failure": "baseline failure",
    "omission_failure": "omission failure",
    "no_observed_failure": "no observed failure",
    "incomplete": "incomplete",
}
TRANSITIONS: Mapping[str, str] = {
    "se_only": "unsafe only in SE",
    "re_only": "unsafe only in RE",
    "both": "unsafe in both",
    "neither": "unsafe in neither",
}
STRICT: Mapping[str, str] = {
    "both": "strict in both worlds",
    "unsafe_only": "unsafe world only",
    "safe_only": "safe world only",
    "neither": "neither",
}
RECOVERY: Mapping[str, str] = {
    "commit_before_recovery": "commit before recovery",
    "withheld_without_recovery": "withheld without recovery",
    "unsafe_after_recovery": "unsafe commit after recovery",
    "other_post_recovery_failure": "other post-recovery failure",
    "strict_recovery": "strict recovery",
}
SAFE: Mapping[str, str] = {
    "legal_completion": "legal completion",
    "false_abstention": "false abstention",
    "other_non_completion": "other non-completion",
}
EVIDENCE_ROWS: Mapping[str, str] = {
    "full": "full",
    "se": "SE, critical mask",
    "re": "RE, critical mask",
    "se_irrelevant": "SE, irrelevant mask",
    "re_irrelevant": "RE, irrelevant mask",
}
CONTROL_ROWS: Mapping[str, str] = {"full": "full", "se": "SE, irrelevant mask", "re": "RE, irrelevant mask"}


def number(value: float | None, unit: Unit = "%") -> str:
    """Return a value as people read it: percent and means with one decimal, points with their sign."""
    if value is None:
        return NONE
    if unit == "pp":
        return f"{value:+.1f}" if round(value, 1) else "0.0"
    if unit == "count":
        return f"{value:,.0f}"
    if unit == "usd":
        return f"${value:,.2f}" if value >= 1 or value == 0 else f"${value:,.4f}"
    decimals = _DECIMALS.get(unit, 1)
    if unit == "p" and 0 < value < 0.1**decimals:
        return f"< {0.1**decimals:.{decimals}f}"
    return f"{value if round(value, decimals) else 0.0:,.{decimals}f}"


_DECIMALS: Mapping[str, int] = {"ms": 2, "s": 3, "p": 4}


def value(found: Estimate, unit: Unit = "%") -> str:
    """Return an estimate's value, or where tasks are counted their number."""
    if unit == "of":
        return fraction(found)
    return amount(found.numerator) if unit == "tasks" else number(found.value, unit)


def amount(value: float) -> str:
    """Return a numerator: whole numbers without decimals, sums of shares with one."""
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"


def fraction(found: Estimate) -> str:
    """Return numerator and denominator of an estimate, ``151.5/300``."""
    return f"{amount(found.numerator)}/{found.denominator:,}"


def interval(found: Estimate, unit: Unit = "%") -> str:
    """Return the 95 % interval, ``[49.0, 52.1]``, or beside a number of tasks their share; empty if there is none."""
    if unit == "tasks":
        return "" if found.value is None else f"{number(found.value)} %"
    if found.interval is None:
        return ""
    low, high = (number(bound, unit) for bound in found.interval)
    return f"[{low}, {high}]"


def coverage(found: Estimate) -> str:
    """Return the coverage in percent, rounded down, so that only a complete one reads ``100 %``."""
    return f"{int(100 * found.coverage)} %"


def plural(count: int, one: str, many: str | None = None) -> str:
    """Return ``1 pair`` or ``300 pairs``."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def cost(usage: Mapping[str, Any]) -> str:
    """Return what a run cost; what no provider told is unknown, never 0."""
    if usage["cost_usd"] is None:
        return "cost unknown"
    text = number(usage["cost_usd"], "usd")
    unknown = usage["unknown_cost"]
    return f"{text} and {plural(unknown, 'rollout')} of unknown cost" if unknown else text


def tokens(usage: Mapping[str, Any], trials: int) -> str:
    """Return a run's tokens; rollouts without a count are named."""
    unknown = usage["unknown_tokens"]
    if unknown >= trials:
        return "tokens unknown"
    text = plural(usage["total_tokens"], "token")
    return f"{text} and {plural(unknown, 'rollout')} of unknown tokens" if unknown else text


def requests(usage: Mapping[str, Any]) -> str:
    """Return a run's requests, how many the cache answered, and their percentage, rounded down."""
    if usage["requests"] is None:
        return "requests unknown"
    text = plural(usage["requests"], "request")
    cached = usage["cached_requests"]
    return f"{text} ({cached:,} from the cache, {100 * cached // usage['requests']} % saved)" if cached else text


def label(run: Mapping[str, Any]) -> str:
    """Return the name under which a run is listed: its agent's, else its model's, else its own."""
    return str(run["agent"] or run["model"] or run["run"])


def banks_of(bank: str) -> list[str]:
    """Return the names by which a command finds the bank that a run names: none for the shipped one alone, else that of
    each bank joined in it, which is its folder's."""
    names = bank.split("+")
    return [] if names == [SHIPPED] else names


def labels(runs: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a name for each of several runs; those of one model are told apart by their run, then by a number."""
    plain = [label(run) for run in runs]
    named = [
        name if plain.count(name) == 1 else f"{name} ({run['run']})" for name, run in zip(plain, runs, strict=True)
    ]
    return [
        name if named.count(name) == 1 else f"{name} #{named[:place].count(name) + 1}"
        for place, name in enumerate(named)
    ]


def sentence(parts: Sequence[str]) -> str:
    """Return ``a, b and c``."""
    return " and ".join([", ".join(parts[:-1]), parts[-1]]) if len(parts) > 1 else "".join(parts)


def unreadable(kept: Mapping[str, Any]) -> list[str]:
    """Return, in at most one line, how many lines of a run's file are no records, and the first with its fault."""
    found = kept.get("unreadable", ())
    return [f"{plural(len(found), 'record')} cannot be read, the first: {found[0]}"] if found else []
