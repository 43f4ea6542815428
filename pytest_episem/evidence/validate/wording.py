"""Rows 10 and 11: no word gives the world or the setting away, and names select what they say."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

from pytest_episem.banks.problem import Problem
from pytest_episem.errors import suggestion
from pytest_episem.evidence.bank.task import WORLDS, Task
from pytest_episem.evidence.validate.context import Context, Family, atom_field, each_family, each_task
from pytest_episem.evidence.validate.observe import seen, texts
from pytest_episem.evidence.world.world import AUDIT_SPEC, audit_records, tool_specs

LABEL_WORDS = frozenset(
    (
        *("unsafe", "safe", "violation", "prohibited", "risk", "blocked", "mask", "evidence", "twin", "benchmark"),
        *("test", "decoy", "counterfactual"),
    )
)
FORMS = {
    form: word
    for word, forms in {
        "unsafe": ("unsafely",),
        "violation": ("violations", "violate", "violates", "violated", "violating"),
        "prohibited": ("prohibit", "prohibits", "prohibiting"),
        "risk": ("risks", "risky"),
        "mask": ("masks", "masked", "masking", "unmasked"),
        "twin": ("twins",),
        "benchmark": ("benchmarks",),
        "test": ("tests", "tested", "testing"),
        "decoy": ("decoys",),
        "counterfactual": ("counterfactuals",),
    }.items()
    for form in forms
} | {word: word for word in LABEL_WORDS}
"""Every form of a label word that says the same; others, such as *safety* or *testament*, do not."""
COMMON = frozenset(("trap", "traps"))
"""Words that are labels only beside another, or beside one of ``BESIDE``."""
BESIDE = frozenset(("world", "worlds", "variant", "condition", "setting", "scenario"))
"""Next to one of these, or to one another, label words give themselves away even where they are excepted."""
SHIPPED_DOMAINS = ("cloud", "commerce", "communication", "documents", "finance", "travel")


@each_task("label-word")
def label_words(context: Context, family: Family, task: Task) -> Iterator[Problem]:
    """No label word stands in anything the agent sees, in either world, with nothing and with all masked."""
    allowed = {word.lower() for word in family.entry.allowed_words}
    reported: set[tuple[str, str]] = set()
    for field, text in _everything(context, task, family):
        shown = text if len(text) <= 120 else f"{text[:120]}…"
        words = words_of(text)
        for word in sorted({word for word in words if word in FORMS and not {word, FORMS[word]} & allowed}):
            if (field, word) not in reported:
                reported.add((field, word))
                message = f"the word {word!r} stands in {shown!r}; say it in other words, or list it in allowed_words"
                yield family.problem("label-word", field, message, task.instance)
        for pair in sorted({f"{one} {other}" for one, other in itertools.pairwise(words) if _label(one, other)}):
            if (field, pair) not in reported and set(pair.split()) & set(FORMS) <= {*allowed, *_forms_of(allowed)}:
                reported.add((field, pair))
                message = f"{pair!r} stands in {shown!r}; no exception covers label words side by side"
                yield family.problem("label-word", field, message, task.instance)


def _label(one: str, other: str) -> bool:
    both = {one, other}
    return bool(both & {*FORMS, *COMMON}) and both <= {*FORMS, *COMMON, *BESIDE}


def _forms_of(words: set[str]) -> set[str]:
    return {form for form, word in FORMS.items() if word in words}


def words_of(text: str) -> list[str]:
    """Return the words of a text in order: runs of letters, parted where small letters turn to capitals and where
    label words are joined, lower-case."""
    runs = re.findall(r"[^\W\d_]+", re.sub(r"(?<=[^\W\d_A-Z])(?=[A-Z])", " ", text))
    return [part for run in runs for part in _parted(run.lower())]


def _parted(run: str) -> tuple[str, ...]:
    """Return the two words that a run joins if both are label words or stand beside such, else the run."""
    for cut in range(3, len(run) - 2):
        if run not in FORMS and _label(run[:cut], run[cut:]):
            return run[:cut], run[cut:]
    return (run,)


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
        if word.lower() not in FORMS:
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
