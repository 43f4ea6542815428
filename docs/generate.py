"""Write the reference pages from the code: ``python docs/generate.py``; ``--check`` exits 1 if one is not current.

Nothing here is typed twice, but for what each field of a record means (``FIELDS``): a field without a meaning, or a
meaning without a field, stops the generator.
"""

from __future__ import annotations

import ast
import dataclasses
import importlib
import inspect
import json
import re
import sys
import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import click
from pydantic.json_schema import models_json_schema

import pytest_episem
from pytest_episem import cli
from pytest_episem.evidence.metrics import summary
from pytest_episem.evidence.record import EvidenceRecord, OutcomeRecord
from pytest_episem.evidence.validate import CODES
from pytest_episem.plugin import MARKERS, OWN_MARKERS, fixtures, hookspecs
from pytest_episem.plugin.options import OPTIONS, Option
from pytest_episem.runs import record, run
from pytest_episem.suite import suites
from pytest_episem.verdicts.intervals import Estimate
from pytest_episem.workflows import summary as workflow_summary
from pytest_episem.workflows import verdict
from pytest_episem.workflows.actions import Step
from pytest_episem.workflows.bank.codes import CODES as OUTCOME_CODES
from pytest_episem.workflows.live import Live
from pytest_episem.workflows.record import CaseRecord
from pytest_episem.workflows.trial import Judgement
from pytest_episem.workflows.world import World

HOME = Path(__file__).resolve().parent / "reference"
NOTE = "<!-- Written by docs/generate.py from the code; do not edit. -->"
LONGEST_LITERAL = 8

FIELDS: Mapping[str, Mapping[str, str]] = {
    "run.json": {
        "schema": f"`{run.RUN_SCHEMA}`",
        "run": "the run's name",
        "model": "the model's name; `null` where the user's own agent played",
        "agent": "`module:attribute`, or that a fixture gave the agent; `null` where a model played",
        "protocol_version": "version of the protocol",
        "plugin_version": "version of this package",
        "bank": "which bank, see below",
        "settings": "whatever changes what a rollout may give: instruction and its SHA-256, turn limit, time limit, "
        "sampling arguments, the API's address without secrets, repeats, controls",
        "search_seed": "seed of the order within a size of the boundary search",
        "started": "time of the start, ISO 8601",
        "plan": "the selected pairs, see below; every denominator comes from it; empty for the workflow suite alone",
        "workflows": "the plan of the workflow suite, see below; left out where it did not run",
        "merged": "the runs that a merged run was made of",
        "planned_settings": "the settings in which each pair of the plan was to be run",
        "session": "how the last session ended, see below; `null` in runs of earlier versions",
    },
    "session": {
        "ended": "time of the end, ISO 8601; `null` while it runs and after it was killed",
        "complaints": "what it says against its own records (interrupted, stopped …); each fails every gate",
    },
    "bank": {
        "name": "`shipped`, or the directory's name; several joined by `+`",
        "version": "what the file `VERSION` says",
        "hash": "SHA-256 over names and contents of the family files",
    },
    "plan[]": {
        "task": "`domain/family/instance`",
        "domain": "its domain",
        "family": "its family, without the domain",
        "critical": "ids of all its critical atoms",
        "irrelevant": "ids of all its irrelevant atoms",
        "selected": "how many of its items were selected",
    },
    "workflows": {
        "bank": "its bank, with keys as above; the hash is over the template files",
        "shield": "whether what is inadmissible was refused",
        "cases": "the assignments of the bank, or every compatible world",
        "planned": "the ids of the cases, `domain/template/case`; every denominator comes from it",
        "guidance": "what agents are told beside the answers: `none`, `evidence` or `advice:<controller>`",
        "form": "`journal`: the trouble stands in the journal; `live`: it happens to the agent's own call",
        "pilot": "those of the cases that are for trying things out; all others are held out",
    },
}
CASE_FIELDS: Mapping[str, Mapping[str, str]] = {
    "a case's outcome": {
        "trajectory": "what was done and what came of it, see below",
        "faults": "what the adjudicator found wrong when the episode ended; empty when the record stands",
        "unapproved": "requests that nobody approved (`turn`, `tool`, `arguments`); none was carried out",
        "invalid": "some call was rejected by the interface",
        "source": "what the ending was read from; `null` where nothing had to be read",
        "unanswered": "why no answer is the agent's; `null` where one is",
        "live": "what was done before the last trouble, where trouble happened live, see below; `null` elsewhere",
        "search": "what choosing took: `selection` (seconds of each decision), `cutoffs`, `fallbacks`, `nodes`",
    },
    "live": {
        "start": "the instant at which the last trouble had come",
        "history": "what was sent and answered until then, the agent's own calls among it, as a template has it",
        "steps": "its proposals until then; those of the trajectory come after",
        "met": "the requests of the journal whose trouble came",
        "unmet": "those whose trouble never came, since nothing called for it",
    },
    "trajectory": {
        "template": "`domain/template`",
        "world": "the hidden truth, see below",
        "shield": "whether what is inadmissible was refused",
        "steps": "every proposal in order, see below",
        "ledger": "every effect that took place, see below",
        "verdict": "how it ended, see below",
        "certifiable": "it ended without a claim where a finish would have been certified",
        "refused": "how many proposals were refused",
        "certified_claim": "whether the claim was certain when it was made; `null` without one",
        "given_up": "it ended without a claim though more could have been had",
    },
    "world": {
        "fates": "by past request: what became of it (`kind`, `arrives`, `lands`, `prefix`)",
        "services": "by operation, or `undo <operation>`: how new requests are served (`kind`, `delay`)",
        "lags": "by operation: how old what a replica shows is",
        "renewals": "by approval: whether a renewal is granted",
        "again": "by operation: second trouble (`kind`, `attempt`, `arrives`, `lands`)",
        "last_first": "of things due at one instant, what was sent last happens first",
    },
    "steps[]": {
        "time": "the instant",
        "action": "`kind` and what belongs to it: `obligation`, `key`, `instants`, `approval`, `unknown`, `claim` …",
        "answer": "the public answer, word for word",
        "fee": "what it cost",
        "refused": "why the shield refused it; `null` where it was executed",
        "fault": "what was wrong with it, refused or not: `unsafe`, `false_claim` or `not_offered`; `null` if nothing",
    },
    "ledger[]": {
        "obligation": "whose effect",
        "request": "the request that had it; `r1`, `r2` … are the recovery's",
        "landed": "the instant",
        "undone": "the instant it was undone; `null` where it stands",
        "authorised": "whether an approval was valid at the instant that the contract names",
        "ordered": "whether what it depends on was there",
    },
    "verdict": {
        "terminal": "how it ended; `claim` with the shield off alone",
        "goal": "at the deadline each obligation had exactly one surviving, authorised, ordered effect",
        "claim_holds": "whether what a finish claims is so; `null` without a finish",
        "new": "violations that recovery caused: `kind`, `obligation`, `request`, `at`",
        "inherited": "those that it did not",
        "fee": "sum of fees",
        "actions": "executed actions; finish and stop are none",
        "time": "instants that passed",
    },
}
EVENTS = {
    "goal": "the request",
    "request": "a model request that was answered, with its usage; `cached` where the answer cache did",
    "request_failed": "one that was tried again",
    "text": "what the agent wrote beside its calls",
    "call": "a call, what kind it was (`read`, `prepare`, `commit`, `audit`, `invalid`), and what it returned",
    "not_executed": "a call that stood behind the commit in its message",
    "notice": "something that was adapted, such as a sampling argument the model refuses",
    "final": "the last message",
    "end": "an end without one, and why",
    "left_running": "the time was up while the agent ran in a thread, which nobody can end",
    "error_after_end": "the agent raised after its episode was over",
}


# Small pieces of Markdown -----------------------------------------------------------------------------------------


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table; cells may hold anything that fits on a line."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def prose(text: str | None) -> str:
    """Return a docstring as Markdown: one line a paragraph, double backticks and roles made single ones."""
    paragraphs = re.split(r"\n\s*\n", inspect.cleandoc(text or ""))
    joined = "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)
    return re.sub(r":\w+:`~?([^`]*)`", r"`\1`", joined).replace("``", "`")


def page(title: str, *parts: str) -> str:
    return "\n\n".join([f"# {title}", NOTE, *parts]) + "\n"


# Options, fixtures ------------------------------------------------------------------------------------------------


def options_page() -> str:
    gates = [option for option in OPTIONS if option.gate or option.name in ("baseline", "gate-on", "min-coverage")]
    others = [option for option in OPTIONS if option not in gates]
    head = ("option", "ini key", "default", "meaning")
    return page(
        "Options",
        "Every option of `pytest`. Those with an ini key may also stand in `pyproject.toml`, under "
        "`[tool.pytest.ini_options]` or pytest 9's `[tool.pytest]`; the command line goes before. Options marked "
        "*repeatable* take a list there.",
        table(head, map(_option, others)),
        "## Gates\n\nHow they decide: [Gating a pull request](../gates.md).",
        table(head, map(_option, gates)),
        "## Markers\n\nFor `-m`; every item of the suite has them.",
        table(("marker", "meaning"), (_marker(line) for line in MARKERS)),
        "One is for tests of your own, see [Your own tools under faults](../flaky.md).",
        table(("marker", "meaning"), (_marker(line) for line in OWN_MARKERS)),
    )


def _option(option: Option) -> tuple[str, str, str, str]:
    value = _choice(option.choices) if option.choices else option.metavar
    flag = f"`{option.flag}`" if option.kind is bool else f"`{option.flag}={value}`"
    unset = option.default is None or option.kind is bool
    meaning = f"{option.help.replace('<', '&lt;')}{' *(repeatable)*' if option.many else ''}"
    return flag, f"`{option.dest}`" if option.ini else "", "" if unset else f"`{option.default}`", meaning


def _choice(names: Iterable[Any]) -> str:
    return f"{{{','.join(map(str, names))}}}"


def _marker(line: str) -> tuple[str, str]:
    name, _, meaning = line.partition(": ")
    return f"`{name}`", meaning


def fixtures_page() -> str:
    rows = list(_fixtures())
    return page(
        "Fixtures",
        "A chain of small ones; a repository may override each of them. A test that takes `episem_world`, "
        "`episem_run` with it, or `episem_rollout` is parametrized over every condition and takes the shipped suite's "
        "place.",
        table(("fixture", "scope", "needs", "gives"), rows),
        "`episem_flaky` stands by itself: it has to do with no suite, and makes no record. Its page: "
        "[Your own tools under faults](../flaky.md).",
        "An override of `episem_agent` returns a function of the episode, see "
        "[Testing your own agent](../agents.md). One with a wider scope than `function` is shared by all rollouts of "
        "a process, several at a time; with the scope `function` each item gets its own, one rollout at a time.",
    )


def hooks_page() -> str:
    hooks = [found for name, found in vars(hookspecs).items() if name.startswith("pytest_episem_")]
    return page(
        "Hooks",
        "What a plugin or a `conftest.py` may implement; examples are in [Extending the plugin](../extending.md).",
        *(part for hook in hooks for part in (f"## {hook.__name__}", _signature(hook), prose(hook.__doc__))),
    )


def _signature(function: types.FunctionType) -> str:
    signature = str(inspect.signature(function)).replace("'", "")
    return f"```python\ndef {function.__name__}{signature}: ...\n```"


def _fixtures() -> Iterator[tuple[str, str, str, str]]:
    """Read the fixtures from their source: how pytest keeps them at run time differs between its versions."""
    for node in ast.parse(inspect.getsource(fixtures)).body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            (decorator,) = node.decorator_list
            given = decorator.keywords if isinstance(decorator, ast.Call) else []
            scope = next((ast.literal_eval(word.value) for word in given if word.arg == "scope"), "function")
            needs = ", ".join(f"`{argument.arg}`" for argument in node.args.args)
            yield f"`{node.name}`", scope, needs, prose(ast.get_docstring(node))


# The validator ----------------------------------------------------------------------------------------------------


def validator_page() -> str:
    rows = [
        (str(c.row), f"`{c.name}`", c.meaning + (" *Completed by a review.*" if c.human else ""))
        for c in CODES.values()
    ]
    return page(
        "Validator codes",
        "What `episem validate` reports, row by row of the list that a bank must meet. A problem names file, instance, "
        "field and code.",
        table(("row", "code", "what is wrong"), rows),
        "## The workflow suite\n\nA problem in a [workflow](../workflows.md) names file, case, field and code.",
        table(("code", "what is wrong"), ((f"`{name}`", meaning) for name, meaning in OUTCOME_CODES.items())),
        "`episem validate --codes` prints the same list. Rows completed by a review are signed with `episem sign`; "
        "only the shipped bank must have the signatures.",
    )


# Records ----------------------------------------------------------------------------------------------------------


def records_page() -> str:
    header = {"schema": str, **_hints(run.RunHeader)}
    parts = [
        "A run's directory holds `run.json`, written first, and `trials.jsonl`, one JSON object a line, appended as "
        "trials end, whatever the suite. Reading is strict: a line of an unknown schema, with an unknown key or a "
        "wrong type is named and costs its trial; a torn last line is skipped and counted. What a later version adds "
        "has a default, so that older files read on. Everything else in the directory is computed from these. The "
        "records' JSON schema: [record.schema.json](record.schema.json).",
        *_fields("run.json", header),
        *_fields("bank", _hints(run.BankId)),
        *_fields("plan[]", _hints(run.PlanTask)),
        *_fields("workflows", _hints(run.WorkflowPlan)),
        *_fields("session", _hints(run.SessionEnd)),
        "## A line of trials.jsonl",
        "The same keys in every suite, and each suite's own.",
        *_described("of the evidence suite", EvidenceRecord),
        *_described("outcome", OutcomeRecord),
        *_described("of the workflow suite", CaseRecord),
        *_described("usage", record.UsageRecord),
        *_described("error", record.ErrorRecord),
        "## `events[]`",
        "Each has `event`, and `turn` where there is one; the rest depends on the event.",
        table(("event", "what"), ((f"`{name}`", meaning) for name, meaning in EVENTS.items())),
        *_workflow_fields(),
    ]
    return page("Records", *parts)


def _workflow_fields() -> Iterator[str]:
    kinds: Mapping[str, type] = {
        "a case's outcome": Judgement,
        "live": Live,
        "trajectory": verdict.Trajectory,
        "world": World,
        "steps[]": Step,
        "ledger[]": verdict.LedgerEntry,
        "verdict": verdict.Verdict,
    }
    for name, kind in kinds.items():
        yield from _fields(name, _hints(kind), CASE_FIELDS)


def _hints(kind: type) -> dict[str, Any]:
    hints = get_type_hints(kind)
    return {field.name: hints[field.name] for field in dataclasses.fields(kind)}


def _described(name: str, kind: type[record.Strict]) -> Iterator[str]:
    """Yield the keys of a part of a record, in the words of the code."""
    yield f"### {name[0].upper()}{name[1:]}" if " " in name else f"## `{name}`"
    rows = []
    for key, field in kind.model_fields.items():
        if not field.description:
            raise SystemExit(f"docs/generate.py: {kind.__name__}.{key} has no description")
        rows.append((f"`{field.alias or key}`", _type(field.annotation), field.description))
    yield table(("key", "type", "meaning"), rows)


def schema_text() -> str:
    """Return the JSON schema of a record of any suite."""
    kinds = [(one.record, "validation") for one in suites()]
    references, definitions = models_json_schema(kinds, title="A record of pytest-episem")
    document = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **definitions,
        "anyOf": [references[kind] for kind in kinds],
    }
    return json.dumps(document, indent=1) + "\n"


def _fields(name: str, types_: Mapping[str, Any], told: Mapping[str, Mapping[str, str]] = FIELDS) -> Iterator[str]:
    meanings = told[name]
    if set(meanings) != set(types_):
        raise SystemExit(f"docs/generate.py: FIELDS[{name!r}] and the code differ in {set(meanings) ^ set(types_)}")
    yield f"## {name[0].upper()}{name[1:]}" if " " in name else f"## `{name}`"
    yield table(("key", "type", "meaning"), ((f"`{key}`", _type(kind), meanings[key]) for key, kind in types_.items()))


def _type(kind: Any) -> str:
    """Return a type in the words of JSON."""
    origin, inside = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return " or ".join(dict.fromkeys(_type(one) for one in inside))
    if origin is Literal:
        return " ".join(f"`{value}`" for value in inside[:LONGEST_LITERAL])
    if origin in (list, tuple):
        return f"list of {_type(inside[0])}"
    if origin is not None and origin is not dict:
        return _type(inside[0])  # Annotated and the like
    names = {str: "text", int: "whole number", float: "number", bool: "true or false", type(None): "null"}
    return names.get(kind, "object")


# The public names -------------------------------------------------------------------------------------------------


def api_page() -> str:
    """Every public name, with what its docstring says."""
    parts = [
        "What `pytest_episem` exports is public and stays as it is described here; everything else in the package is "
        "private and may change with any version. Fixtures, hooks, options and commands have pages of their own, and "
        "so have records and reports.",
    ]
    for group, names in pytest_episem.PUBLIC.items():
        parts.append(f"## {group}")
        for name in names:
            parts += _public(name, getattr(pytest_episem, name))
    return page("Python names", *parts)


def _public(name: str, found: Any) -> Iterator[str]:
    yield f"### {name}"
    if inspect.isfunction(found):
        yield f"```python\ndef {name}{_plain_signature(found)}: ...\n```"
    yield _sections(found.__doc__ or "")
    if inspect.isclass(found):
        rows = [
            (f"`{key}`", prose(value.__doc__).partition("\n")[0])
            for key, value in vars(found).items()
            if not key.startswith("_") and (inspect.isfunction(value) or isinstance(value, (property, classmethod)))
        ]
        if rows:
            yield table(("member", "what"), rows)


def _sections(text: str) -> str:
    """Return a docstring as Markdown, its lists of arguments, attributes and errors as lists."""
    parts = []
    for paragraph in re.split(r"\n\s*\n", inspect.cleandoc(text)):
        head, _, rest = paragraph.partition("\n")
        if re.fullmatch(r"(Args|Attributes|Raises):", head):
            entries = re.split(r"\n(?=\S)", inspect.cleandoc(rest))
            parts.append("\n".join([head, "", *(f"- {prose(entry)}" for entry in entries)]))
        else:
            parts.append(prose(paragraph))
    return "\n\n".join(parts)


def _plain_signature(function: Any) -> str:
    """Return a signature with its annotations as they are written, which Python shows as texts."""
    return re.sub(r"(: |-> )'([^']*)'", r"\1\2", str(inspect.signature(function)))


# The report -------------------------------------------------------------------------------------------------------


def report_page() -> str:
    text = inspect.cleandoc(summary.__doc__ or "")
    rows = re.findall(r"^(``.*?) {2,}(.*)$", text, re.MULTILINE)
    estimate = [field.name for field in dataclasses.fields(Estimate)]
    keys = [field.name for field in dataclasses.fields(summary.Summary)]
    if not rows or not all(any(f"``{key}``" in left or key.startswith("table_") for left, _ in rows) for key in keys):
        raise SystemExit("docs/generate.py: metrics/summary.py does not describe every key of report.json")
    return page(
        "report.json",
        f"Every number of a run's report, schema `{summary.REPORT_SCHEMA}`. Written at the end of a run and by "
        "`episem report`; computed from the records alone.",
        table(("key", "holds"), ((prose(left), prose(right)) for left, right in rows)),
        "Keys in this order: " + ", ".join(f"`{key}`" for key in ("schema", *keys)) + ".",
        "## An estimate",
        prose(Estimate.__doc__),
        "Its keys: " + ", ".join(f"`{name}`" for name in estimate) + ".",
        *_workflow_report(),
    )


def _workflow_report() -> Iterator[str]:
    rows = _rows(workflow_summary.__doc__)
    empty = workflow_summary.WorkflowSummary({}, (), (), False, True, workflow_summary.Row(""), {}, {})
    if [f"``{key}``" for key in empty.to_dict()] != [left.strip() for left, _ in rows]:
        raise SystemExit("docs/generate.py: workflows/summary.py does not describe every key")
    yield (
        "## The workflow suite\n\nA run that holds workflows has one more key, `workflows`; of a run that holds "
        "nothing else it is the only one beside `schema`."
    )
    yield table(("key", "holds"), ((prose(left), prose(right)) for left, right in rows))
    yield f"The keys of `results` are {', '.join(f'`{name}`' for name in workflow_summary.COUNTS)}."
    yield prose((workflow_summary.Row.__doc__ or "").partition("\n\n")[2])
    decisions = inspect.cleandoc(workflow_summary.__doc__ or "").partition("Decisions where")[2].partition("\n\n")[2]
    yield "\n".join(f"- {prose(item)}" for item in decisions.removeprefix("- ").split("\n- "))
    yield (
        'The report of several runs, `{"schema": "episem.reports/1", "reports": {name: report}}`, has '
        "`workflow_comparison` with `savings`, a line a template and one for all, `losses`, and "
        "`guidance`: for each side of the split the agents' and templates' pairs with `less` and `more` guidance."
    )
    for kind in (workflow_summary.Saving, workflow_summary.Loss):
        yield prose(kind.__doc__)


def _rows(doc: str | None) -> list[tuple[str, str]]:
    """The rows of the table of keys in a module's text; a cell may go on below."""
    body = re.search(r"^=+  =+\n(.*?)^=+  =+$", inspect.cleandoc(doc or ""), re.MULTILINE | re.DOTALL)
    lines = re.sub(r"\n {4,}", " ", body.group(1) if body else "")
    return re.findall(r"^(``.*?) {2,}(.*)$", lines, re.MULTILINE)


# The command line -------------------------------------------------------------------------------------------------


def cli_page() -> str:
    parts = [
        "`episem` looks into banks and reads records. It needs no model and no key; the benchmark itself runs in "
        "`pytest`.",
        "Exit codes: 0 done; 1 the answer is no (problems in a bank, a gate that fails); 2 something you can mend, "
        "said in one line; 3 a fault of ours; 130 interrupted.",
    ]
    for name, entry in cli.COMMANDS.items():
        command: click.Command = importlib.import_module(f"pytest_episem.cli.{entry.module}").command
        parts += list(_command(name, command))
    return page("Command line", *parts)


def _command(name: str, command: click.Command) -> Iterator[str]:
    arguments = [param for param in command.params if isinstance(param, click.Argument)]
    usage = " ".join(["episem", name, *map(_argument, arguments), "[OPTIONS]"])
    body, _, examples = inspect.cleandoc(command.help or "").partition("\b\n")
    yield f"## episem {name}"
    yield f"`{usage}`"
    yield prose(body.strip())
    lines = [line.strip() for line in examples.splitlines() if line.strip().startswith("episem ")]
    if lines:
        yield "```text\n" + "\n".join(lines) + "\n```"
    rows = [_parameter(param) for param in command.params if isinstance(param, click.Option) and not param.hidden]
    yield table(("option", "default", "meaning"), rows)


def _argument(param: click.Argument) -> str:
    name = (param.metavar or param.name or "").upper()
    return name if param.required else f"[{name}]"


def _parameter(param: click.Option) -> tuple[str, str, str]:
    value = _choice(param.type.choices) if isinstance(param.type, click.Choice) else param.metavar
    shown = "" if param.is_flag else f" {value or param.type.name.upper().partition(' ')[0]}"
    default = f"`{param.default}`" if param.show_default and isinstance(param.default, str) else ""
    return f"`{', '.join(param.opts)}{shown}`", "required" if param.required else default, param.help or ""


PAGES = {
    "options.md": options_page,
    "fixtures.md": fixtures_page,
    "hooks.md": hooks_page,
    "python.md": api_page,
    "cli.md": cli_page,
    "records.md": records_page,
    "record.schema.json": schema_text,
    "report-json.md": report_page,
    "validator.md": validator_page,
}


def main(arguments: Sequence[str]) -> int:
    """Write the pages, or check them; return 1 where a check finds a difference."""
    HOME.mkdir(exist_ok=True)
    stale = []
    for name, make in PAGES.items():
        path, text = HOME / name, make()
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            stale.append(f"reference/{name}")
            if "--check" not in arguments:
                path.write_text(text, encoding="utf-8", newline="\n")
    print(*(stale or ["every reference page is current"]), sep="\n")
    return int(bool(stale) and "--check" in arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
