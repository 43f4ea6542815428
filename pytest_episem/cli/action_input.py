"""What a person types who plays a workflow: an action in words, or a question to us."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, TypeAlias, cast

from pytest_episem.errors import EpisemError, UnknownName, suggestion
from pytest_episem.workflows.actions import (
    Action,
    Attempt,
    Batch,
    Compensate,
    Finish,
    HandOff,
    Query,
    Revalidate,
    Stop,
    Wait,
)
from pytest_episem.workflows.certificate import unknown_obligations
from pytest_episem.workflows.model import Claim
from pytest_episem.workflows.refusal import action_words
from pytest_episem.workflows.shield import new_key, offered, sent
from pytest_episem.workflows.support import Belief, Model
from pytest_episem.workflows.tools import unused_key

Ask = Literal["actions", "advice", "worlds", "told", "help"]
ASKS: tuple[Ask, ...] = ("actions", "advice", "worlds", "told", "help")
WORDS = ("send", "undo", "query", "wait", "renew", "hand", "finish", "stop")
_CLAIMS = ("completed", "withdrawn")

Meant: TypeAlias = Action | Ask | None


def choices(model: Model, belief: Belief, batches: Sequence[tuple[str, ...]] = ()) -> list[Action]:
    """Return the actions to choose among by number: those that the contracts offer, without waits and endings;
    ``batches`` are pieces of work that may be sent in one request."""
    together = [Batch(works, unused_key(belief, "batch")) for works in batches]
    return [*together, *(action for action in offered(model, belief) if not isinstance(action, Wait))]


def typed_form(belief: Belief, action: Action) -> str:
    """Return an action as it is typed: ``send charge``, ``send charge chg-7``, ``wait 2``."""
    if isinstance(action, (Attempt, Compensate)):
        undo = isinstance(action, Compensate)
        used = any(request.key == action.key for request in sent(belief.entries, action.obligation, undo))
        return f"{'undo' if undo else 'send'} {action.obligation}{f' {action.key}' if used else ''}"
    if isinstance(action, Batch):
        return f"send {', '.join(action.obligations)}"
    if isinstance(action, Revalidate):
        return f"renew {action.approval}"
    return "hand off" if isinstance(action, HandOff) else action_words(action)


def read_action(line: str, model: Model, belief: Belief, batches: Sequence[tuple[str, ...]] = ()) -> Meant:
    """Return what a typed line means, ``None`` for an empty one; ``batches`` as for :func:`choices`.

    Raises:
        EpisemError: the line means nothing; nothing has happened then.
    """
    words = line.lower().replace(",", " ").split()
    if not words:
        return None
    word, rest = words[0], words[1:]
    if word in ASKS and not rest:
        return word
    if word.isascii() and word.isdigit() and not rest:
        return _numbered(word, choices(model, belief, batches))
    if word not in WORDS:
        near = suggestion(word, [*WORDS, *ASKS])
        raise EpisemError(f"{word!r} is no action{near or '; help lists them'}")
    for works in batches:
        if word == "send" and rest == [work.lower() for work in works]:
            return Batch(works, unused_key(belief, "batch"))
    return _action(word, rest, model, belief)


def _numbered(word: str, actions: list[Action]) -> Action:
    if not 1 <= int(word[:6]) <= len(actions):
        raise EpisemError(f"there is no action {word[:6]}; 'actions' lists them")
    return actions[int(word) - 1]


def _action(word: str, rest: list[str], model: Model, belief: Belief) -> Action:
    template = model.template
    if word == "wait":
        return Wait(_number(rest))
    if word == "finish":
        return Finish(cast(Claim, _one("claim", rest or [template.ends[0]], _CLAIMS)))
    if word == "hand":
        return _hand_off([name for name in rest if name != "off"], model, belief)
    if word == "stop":
        return Stop()
    if word == "renew":
        return Revalidate(_one("approval", rest or list(template.approvals)[:1], template.approvals))
    name = _one("piece of work", rest[:1], template.obligations)
    if word == "query":
        _no_more(rest[1:])
        return Query(name)
    return _request(word, name, rest[1:], belief)


def _request(word: str, name: str, rest: list[str], belief: Belief) -> Action:
    """A request under the key named, in its own spelling if it was used before; without one under a new key."""
    _no_more(rest[1:])
    used = sent(belief.entries, name, word == "undo")
    fresh = new_key(name, sum(1 for request in used if request.recovery))
    known = {request.key.lower(): request.key for request in used}
    key = known.get(rest[0], rest[0]) if rest else fresh
    return Compensate(name, key) if word == "undo" else Attempt(name, key)


def _hand_off(names: list[str], model: Model, belief: Belief) -> Action:
    for name in names:
        _one("piece of work", [name], model.template.obligations)
    return HandOff(tuple(names) or unknown_obligations(model, belief))


def _number(rest: list[str]) -> int:
    _no_more(rest[1:])
    word = rest[0] if rest else "1"
    if not (word.isascii() and word.isdigit()):
        raise EpisemError(f"wait takes a number of instants, not {word!r}")
    return int(word[:6])


def _one(what: str, rest: list[str], allowed: Iterable[str]) -> str:
    names = {name.lower(): name for name in allowed}
    if not rest:
        raise EpisemError(f"say which {what}: {', '.join(names.values()) or 'there is none'}")
    _no_more(rest[1:])
    if rest[0] not in names:
        raise UnknownName(what, rest[0], names.values())
    return names[rest[0]]


def _no_more(rest: list[str]) -> None:
    if rest:
        raise EpisemError(f"{' '.join(rest)!r} is too much; help says how to write it")
