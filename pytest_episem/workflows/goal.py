"""The request that an agent is given: the workflow, the approved work, the approvals and all that was answered so far.

It is written from the template alone, so it is the same whatever is true.
"""

from __future__ import annotations

from collections.abc import Iterable

from pytest_episem.workflows.contract_words import approval_text, clock_text, duty_text, served_text
from pytest_episem.workflows.model import Template
from pytest_episem.workflows.words import history_text, listed

WANTED = {
    "completed": "every piece of approved work has taken effect exactly once by the deadline",
    "withdrawn": "nothing of the approved work is left standing",
}


def goal_text(template: Template) -> str:
    """Return the whole request."""
    wanted = listed([WANTED[end] for end in template.ends], "or, failing that, until")
    parts = [
        f"{template.title.rstrip('.')}. Please see it through until {wanted}.",
        clock_text(template),
        _block("Approved work", ((name, duty_text(template, name)) for name in template.obligations)),
    ]
    if template.approvals:
        parts.append(_block("Approvals", ((name, approval_text(found)) for name, found in template.approvals.items())))
    parts.append(_block("So far", ((f"t{past.sent}", history_text(template, past)) for past in template.history)))
    return "\n\n".join([*parts, served_text(template)])


def _block(title: str, lines: Iterable[tuple[str, str]]) -> str:
    return "\n".join([f"{title}:", *(f"- {name}: {line}" for name, line in lines)])
