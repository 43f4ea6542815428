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


def goal_text(template: Template, live: bool = False) -> str:
    """Return the whole request; ``live``: of work whose trouble is still to come, which its title would tell."""
    wanted = listed([WANTED[end] for end in template.ends], "or, failing that, until")
    parts = [
        f"Please carry out the approved work below, until {wanted}."
        if live
        else f"{template.title.rstrip('.')}. Please see it through until {wanted}.",
        clock_text(template),
        _block("Approved work", ((name, duty_text(template, name)) for name in template.obligations)),
    ]
    if template.approvals:
        parts.append(_block("Approvals", ((name, approval_text(found)) for name, found in template.approvals.items())))
    if template.history:
        done = ((f"t{past.sent}", history_text(template, past)) for past in template.history)
        parts.append(_block("So far", done))
    return "\n\n".join([*parts, served_text(template, live)])


def _block(title: str, lines: Iterable[tuple[str, str]]) -> str:
    return "\n".join([f"{title}:", *(f"- {name}: {line}" for name, line in lines)])
