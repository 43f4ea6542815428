"""A workflow's actions as ordinary tools, and the calls of those tools as actions.

Everything here is read from the template alone, so the tools are the same whatever is true. Names follow from the
contracts: ``cards.charge`` gives ``cards_charge``, where it can be asked ``cards_charge_status``, where it can be
undone ``undo_cards_charge``; an approval that can be renewed gives ``renew_<approval>``. Besides there are ``wait``,
``finish`` and, where there is somebody, ``hand_off``.

- Arguments are those of the approved work. Every request takes a key, whether or not the provider remembers it, as
  every request of the history has one; without it a new one is used, which the answer names.
- Arguments are compared as JSON: ``120.0`` is ``120``, ``"120"`` and ``true`` are not.
- Where two pieces of approved work have the same arguments, the tool asks which of them is meant.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from pytest_episem.episode import Call, ToolSpec
from pytest_episem.episode.arguments import schema_fault, unknown_tool
from pytest_episem.errors import EpisemError
from pytest_episem.workflows.actions import Action, Attempt, Batch, Compensate, Finish, HandOff, Query, Revalidate, Wait
from pytest_episem.workflows.contract_words import approval_text, contract_texts, fee_text
from pytest_episem.workflows.model import Template
from pytest_episem.workflows.refusal import action_words
from pytest_episem.workflows.support import Belief
from pytest_episem.workflows.timeline import Request
from pytest_episem.workflows.words import listed

WAIT, HAND_OFF, FINISH = "wait", "hand_off", "finish"
LONGEST_NAME = 64
LONGEST_KEY = 200

_TYPES = {str: "string", bool: "boolean", int: "integer"}
_OWN_TOOLS = ("questions", "undoing")
"""What a contract says of these stands in the tools for it."""
_KEY = {"type": "string", "minLength": 1, "maxLength": LONGEST_KEY, "description": "Left out: a new key."}


class RejectedCall(Exception):
    """A call that is no action: the message is for the agent."""


class UnapprovedCall(Exception):
    """A well-formed request that is no approved work: the message is for the agent."""


class _Tool(NamedTuple):
    spec: ToolSpec
    action: Callable[[dict[str, Any], Belief], Action]
    """What a call with valid arguments means."""


class Toolbox:
    """The tools of a template, in the order of its contracts; ``batches`` are pieces of work that may be sent in one
    request, each with a tool of its own.

    Attributes:
        specs: the tools as an agent is told of them.
    """

    def __init__(self, template: Template, batches: Sequence[tuple[str, ...]] = ()) -> None:
        self.template = template
        self._batches = {works: self._batch_name(works) for works in batches}
        self._names = _names(template)
        self._forms = {op: _Form(template, op) for op in template.contracts}
        self._tools = {tool.spec.name: tool for tool in self._made()}
        self.specs: tuple[ToolSpec, ...] = tuple(tool.spec for tool in self._tools.values())

    def action(self, name: str, arguments: Any, belief: Belief) -> Action:
        """Return the one action that a call means; ``belief`` says which keys were used.

        Raises:
            RejectedCall: there is no such tool, or its arguments are not what its schema says.
            UnapprovedCall: it asks for something to be done that nobody approved.
        """
        tool = self._tools.get(name)
        fault = unknown_tool(name) if tool is None else schema_fault(name, tool.spec.parameters, arguments)
        if tool is None or fault is not None:
            raise RejectedCall(fault)
        return tool.action(arguments, belief)

    def call(self, action: Action) -> Call:
        """Return the call that means an action.

        Raises:
            EpisemError: no tool of this template does.
        """
        name, arguments = self._called(action)
        if name not in self._tools:
            raise EpisemError(f"{self.template.id}: no tool for the action: {action_words(action)}")
        return Call(name, arguments)

    def _called(self, action: Action) -> tuple[str, dict[str, Any]]:
        if isinstance(action, Batch):
            return self._batches.get(action.obligations, ""), {"idempotency_key": action.key}
        if isinstance(action, Wait):
            return WAIT, {"instants": action.instants}
        if isinstance(action, Finish):
            return FINISH, {"claim": action.claim}
        if isinstance(action, HandOff):
            return HAND_OFF, {"unknown": list(action.unknown)}
        if isinstance(action, Revalidate):
            return self._names.get(("revalidate", action.approval), ""), {}
        if isinstance(action, (Attempt, Compensate, Query)) and action.obligation in self.template.obligations:
            op = self.template.obligations[action.obligation].op
            form = self._forms[op]
            key = {} if isinstance(action, Query) else {form.key: action.key}
            return self._names.get((action.kind, op), ""), {**form.arguments(action.obligation), **key}
        return "", {}

    def _made(self) -> Iterator[_Tool]:
        template = self.template
        for op in template.contracts:
            yield self._attempt(op)
            if ("query", op) in self._names:
                yield self._query(op)
            if ("compensate", op) in self._names:
                yield self._undo(op)
        yield from self._batch_tools()
        for name, approval in template.approvals.items():
            if ("revalidate", name) in self._names:
                text = f"Ask for the renewal of {name}: {approval_text(approval)}."
                yield self._tool(("revalidate", name), text, {}, [], functools.partial(_renewal, name))
        instants = {"instants": {"type": "integer", "minimum": 1, "maximum": template.deadline - template.start}}
        yield self._plain(WAIT, "Let instants pass.", instants, lambda given, _: Wait(int(given["instants"])))
        if template.handoff is not None:
            names = {"type": "string", "enum": list(template.obligations)}
            unknown = {"type": "array", "items": names, "description": "Work of which you do not know if it is done."}
            text = f"End: hand the case off to {template.handoff}."
            yield self._plain(HAND_OFF, text, {"unknown": unknown}, lambda given, _: HandOff(tuple(given["unknown"])))
        claim = {"claim": {"type": "string", "enum": list(template.ends)}}
        yield self._plain(FINISH, "End: claim how the workflow ended.", claim, lambda given, _: Finish(given["claim"]))

    def _attempt(self, op: str) -> _Tool:
        form = self._forms[op]

        def action(given: dict[str, Any], belief: Belief) -> Action:
            obligation = form.approved(given)
            return Attempt(obligation, given.get(form.key) or unused_key(belief, obligation))

        promises = [
            f"{label.capitalize()}: {words}." for label, words in self._words(op).items() if label not in _OWN_TOOLS
        ]
        text = f"{op}, {fee_text(self.template.contracts[op].fee)}. {' '.join(promises)}"
        return self._tool(("attempt", op), text, {**form.properties, form.key: _KEY}, form.required, action)

    def _query(self, op: str) -> _Tool:
        form = self._forms[op]

        def action(given: dict[str, Any], belief: Belief) -> Action:
            obligation = form.find(given)
            if obligation is None:
                raise RejectedCall("No approved work has these arguments; there is nothing to ask about.")
            return Query(obligation)

        text = f"Ask about {op}. Answers {self._words(op)['questions']}."
        return self._tool(("query", op), text, form.properties, form.required, action)

    def _undo(self, op: str) -> _Tool:
        form = self._forms[op]

        def action(given: dict[str, Any], belief: Belief) -> Action:
            obligation = form.approved(given)
            return Compensate(obligation, given.get(form.key) or unused_key(belief, obligation))

        text = f"Undo {op}: {self._words(op)['undoing']}."
        return self._tool(("compensate", op), text, {**form.properties, form.key: _KEY}, form.required, action)

    def _batch_name(self, works: tuple[str, ...]) -> str:
        return fitting(f"{self.template.obligations[works[0]].op}_batch", {WAIT, HAND_OFF, FINISH})

    def _batch_tools(self) -> Iterator[_Tool]:
        for works, name in self._batches.items():
            action = functools.partial(_batch, works)
            text = f"Send {listed(works)} in one request. Each item has the key <key>/<work>."
            yield _Tool(ToolSpec(name, text, _schema({"idempotency_key": _KEY}, [])), action)

    def _words(self, op: str) -> dict[str, str]:
        return dict(contract_texts(self.template.contracts[op]))

    def _tool(self, named: tuple[str, str], text: str, properties: Any, required: list[str], action: Any) -> _Tool:
        return _Tool(ToolSpec(self._names[named], text, _schema(properties, required)), action)

    def _plain(self, name: str, text: str, properties: dict[str, Any], action: Any) -> _Tool:
        return _Tool(ToolSpec(name, text, _schema(properties, list(properties))), action)


class _Form:
    """How calls of one operation name an approved piece of work."""

    def __init__(self, template: Template, op: str) -> None:
        self._work = {name: found.args for name, found in template.obligations.items() if found.op == op}
        self._params: dict[str, str] = {}
        for arg in dict.fromkeys(arg for args in self._work.values() for arg in args):
            self._params[arg] = fitting(arg, self._params.values())
        taken = set(self._params.values())
        self.key = fitting("idempotency_key", taken)
        self._which = fitting("work", {*taken, self.key}) if self._alike() else None

    def _alike(self) -> bool:
        works = list(self._work.values())
        return any(_equal(one, other) for place, one in enumerate(works) for other in works[:place])

    @property
    def properties(self) -> dict[str, Any]:
        """The schema of each parameter but the key."""
        found: dict[str, Any] = {param: {"type": self._type(arg)} for arg, param in self._params.items()}
        if self._which is not None:
            found[self._which] = {"type": "string", "enum": list(self._work)}
        return found

    @property
    def required(self) -> list[str]:
        """The parameters that all of its work has."""
        always = [param for arg, param in self._params.items() if all(arg in args for args in self._work.values())]
        return always if self._which is None else [*always, self._which]

    def _type(self, arg: str) -> str | list[str]:
        kinds = list(dict.fromkeys(_TYPES[type(args[arg])] for args in self._work.values() if arg in args))
        return kinds[0] if len(kinds) == 1 else kinds

    def arguments(self, obligation: str) -> dict[str, Any]:
        """Return the arguments of a piece of work, as its tools take them."""
        found = {self._params[arg]: value for arg, value in self._work[obligation].items()}
        return found if self._which is None else {**found, self._which: obligation}

    def find(self, given: Mapping[str, Any]) -> str | None:
        """Return the piece of work that arguments name."""
        told = {name: value for name, value in given.items() if name != self.key}
        return next((name for name in self._work if _equal(self.arguments(name), told)), None)

    def approved(self, given: Mapping[str, Any]) -> str:
        """Return the same; nothing else may be done.

        Raises:
            UnapprovedCall: there is none.
        """
        found = self.find(given)
        if found is None:
            raise UnapprovedCall("Not carried out: no approved work has these arguments.")
        return found


def _batch(works: tuple[str, ...], given: dict[str, Any], belief: Belief) -> Action:
    return Batch(works, given.get("idempotency_key") or unused_key(belief, "batch"))


def _renewal(approval: str, given: dict[str, Any], belief: Belief) -> Action:
    return Revalidate(approval)


def unused_key(belief: Belief, obligation: str) -> str:
    """Return a key under which nothing was sent: the obligation and a number."""
    used = {entry.key for entry in belief.entries if isinstance(entry, Request)}
    number = 1
    while f"{obligation}-r{number}" in used:
        number += 1
    return f"{obligation}-r{number}"


def fitting(wanted: str, taken: Container[str]) -> str:
    """Return a name as an identifier that any model's provider takes and that is not taken yet."""
    name = re.sub(r"[^A-Za-z0-9_]", "_", wanted)[: LONGEST_NAME - 4]
    name = name if name[:1].isalpha() else f"a_{name}"
    number, found = 1, name
    while found in taken:
        number += 1
        found = f"{name}_{number}"
    return found


def _names(template: Template) -> dict[tuple[str, str], str]:
    """Return the name of each tool that the contracts have, by kind of action and operation or approval."""
    names: dict[tuple[str, str], str] = {}

    def name(kind: str, about: str, wanted: str) -> None:
        names[kind, about] = fitting(wanted, {WAIT, HAND_OFF, FINISH, *names.values()})

    for op in template.contracts:
        name("attempt", op, op)
    for op, contract in template.contracts.items():
        if contract.query is not None:
            name("query", op, f"{op}_status")
        if contract.compensation is not None:
            name("compensate", op, f"undo_{op}")
    for approval, terms in template.approvals.items():
        if terms.renewal is not None:
            name("revalidate", approval, f"renew_{approval}")
    return names


def _equal(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return one.keys() == other.keys() and all(
        isinstance(one[key], bool) == isinstance(other[key], bool) and one[key] == other[key] for key in one
    )


def _schema(properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    return {**schema, **({"required": required} if required else {}), "additionalProperties": False}
