"""Rows 10 and 11: no word gives the world or the setting away, and names select what they say."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pytest_episem.banks.problem import Problem
from pytest_episem.errors import suggestion
from pytest_episem.evidence.bank.task import WORLDS, Task
from pytest_episem.evidence.validate.context import Context, Family, atom_field, each_family, each_task
from pytest_episem.evidence.validate.observe import seen, texts
from pytest_episem.evidence.world.world import AUDIT_SPEC, audit_records, tool_specs

LABEL_WORDS = frozenset(
    ("unsafe", "safe", "violation", "prohibited", "risk", "blocked", "mask", "evidence", "twin", "benchmark", "test")
)
SHIPPED_DOMAINS = ("cloud", "commerce", "communication", "documents", "finance", "travel")


@each_task("label-word")
def label_words(context: Context, family: Family, task: Task) -> Iterator[Problem]:
    """No label word stands in anything the agent sees, in either world, with nothing and with all masked."""
    allowed = {word.lower() for word in family.entry.allowed_words}
    reported: set[tuple[str, str]] = set()
    for field, text in _everything(context, task, family):
        for word in words_of(text) & LABEL_WORDS - allowed:
            if (field, word) not in reported:
                reported.add((field, word))
                shown = text if len(text) <= 120 else f"{text[:120]}…"
                message = f"the word {word!r} stands in {shown!r}; say it in other words, or list it in allowed_words"
                yield family.problem("label-word", field, message, task.instance)


def words_of(text: str) -> set[str]:
    """Return the whole words of a text: runs of letters, lower-case."""
    return set(re.findall(r"[^\W\d_]+", text.lower()))


def _everything(context: Context, task: Task, family: Family) -> Iterator[tuple[str, str]]:
    yield "goal", task.goal
    for spec in tool_specs(task):
        yield f"tools.{spec.name}", spec.name
        yield f"tools.{spec.name}", spec.description
        for _, text in texts(dict(spec.parameters)):
            yield f"tools.{spec.name}.needs", text
    yield "audit tool", f"{AUDIT_SPEC.name} {AUDIT_SPEC.description}"
    for world in WORLDS:
        for mask in ((), tuple(sorted(task.atoms))):
            for answer in seen(context, task, world, mask):
                for path, text in texts(answer.content):
                    field = f"tools.{answer.tool}.shows.{path[0]}" if answer.valid else f"tools.{answer.tool}"
                    yield field, text
        for atom_id, record in zip(sorted(task.atoms), audit_records(task, world, sorted(task.atoms)), strict=True):
            for _, text in texts({name: record[name] for name in ("subject", "predicate", "value", "source")}):
                yield atom_field(family, task.atoms[atom_id]), text


@each_family("label-word")
def exceptions(context: Context, family: Family) -> Iterator[Problem]:
    """An exception names a label word."""
    for word in family.entry.allowed_words:
        if word.lower() not in LABEL_WORDS:
            message = f"{word!r} is no label word{suggestion(word, LABEL_WORDS)}"
            yield family.problem("label-word", f"allowed_words.{word}", message)


@each_family("selection")
def selection(context: Context, family: Family) -> Iterator[Problem]:
    """No id holds the name of another domain."""
    domains = {*SHIPPED_DOMAINS, *(other.domain for other in context.neighbours)} - {family.domain}
    for domain in sorted(domains):
        if domain in family.name.lower():
            yield _selected(family, "family", family.name, domain)
        for instance in family.entry.instances:
            if domain in instance.lower():
                yield _selected(family, f"instances.{instance}", instance, domain, instance)
        for field, atom_id in sorted({(atom_field(family, a), a.id) for t in family.tasks for a in t.atoms.values()}):
            if domain in atom_id.lower():
                yield _selected(family, field, atom_id, domain)


def _selected(family: Family, field: str, name: str, domain: str, instance: str = "") -> Problem:
    message = f"the id {name!r} contains the domain {domain!r}, so that '-k {domain}' selects it too; rename it"
    return family.problem("selection", field, message, instance)
