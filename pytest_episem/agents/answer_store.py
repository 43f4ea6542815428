"""The files of the answer cache: one small JSON file a request, written in one step and believed only if it is whole.

What lies in the directory is data of unknown origin: it is checked against a strict schema and its own hash, nothing
of it is executed, and what does not fit is as good as absent.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import os
import time
from collections.abc import AsyncIterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal

from filelock import FileLock, Timeout
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from pytest_episem.agents.answer_key import canonical
from pytest_episem.agents.messages import Answer
from pytest_episem.agents.reply import Reply
from pytest_episem.episode import Abandonment, Call
from pytest_episem.files import open_regular
from pytest_episem.scrub import holds_secret

SCHEMA = "episem.answer/1"
LARGEST = 32 * 1024 * 1024
"""Bytes of an entry."""
_PAUSES = (0.02, 0.25)
"""Seconds between two looks at a request that another process has in flight: at first, and at most."""

Count = Annotated[int, Field(ge=0)]


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)


class _Call(_Strict):
    name: str
    arguments: Any
    id: str


class _Answer(_Strict):
    calls: list[_Call]
    text: str
    refusal: str
    finish_reason: str
    message: dict[str, Any]


class _Reply(_Strict):
    answer: _Answer | None
    disposition: Abandonment | None
    reason: str
    prompt_tokens: Count | None
    completion_tokens: Count | None
    total_tokens: Count | None
    cached_tokens: Count | None
    cost_usd: Annotated[float, Field(ge=0)] | None
    served_model: str
    left_out: list[str]

    @model_validator(mode="after")
    def _consistent(self) -> _Reply:
        if (self.answer is None) == (self.disposition is None):
            raise ValueError("expected an answer or a disposition")
        return self


class _Entry(_Strict):
    schema_: Literal["episem.answer/1"] = Field(alias="schema")
    key: str
    model: str
    reply: _Reply
    check: str


class Damaged(Exception):
    """An entry that cannot be believed; its text says why, in a few words."""


class Unfit(Exception):
    """A reply that is not kept; its text says why, in a few words."""


class AnswerStore:
    """The answers in a directory; any number of processes of one machine may share it."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def path(self, key: str) -> Path:
        """Return the file of a key's answer."""
        return self.directory / key[:2] / f"{key}.json"

    def read(self, key: str) -> Reply | None:
        """Return the reply kept under ``key``, ``None`` if there is none.

        Raises:
            Damaged: there is something else.
        """
        try:
            with open_regular(self.path(key)) as file:
                data = file.read(LARGEST + 1)
        except FileNotFoundError:
            return None
        except OSError as fault:
            raise Damaged(f"cannot be read: {fault.strerror}") from None
        return _parsed(data, key)

    def write(self, key: str, model: str, reply: Reply) -> None:
        """Keep a reply; whoever reads at the same time finds the old entry or the new one, never a part.

        Raises:
            Unfit: it holds a secret, or is no JSON.
            OSError: the file cannot be written.
        """
        content: dict[str, Any] = {"schema": SCHEMA, "key": key, "model": model, "reply": asdict(reply)}
        try:
            text = canonical({**content, "check": _check(content)})
        except (TypeError, ValueError, RecursionError):
            raise Unfit("it is no JSON") from None
        if holds_secret(text):
            raise Unfit("it holds what looks like a secret")
        path = self.path(key)
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(f".{key}.{os.getpid()}-{os.urandom(4).hex()}.part")
        try:
            draft.write_text(f"{text}\n", encoding="ascii")
            os.replace(draft, path)
        finally:
            draft.unlink(missing_ok=True)

    @contextlib.asynccontextmanager
    async def claim(self, key: str, longest: float) -> AsyncIterator[None]:
        """Wait until no other process has the request in flight, at most ``longest`` seconds, and claim it.

        The claim is a lock of the operating system's, so that a process that dies gives it up. It ends early when
        an entry has appeared; who has waited is to look for one.

        Raises:
            OSError: the directory takes no locks.
        """
        path = self.directory / "locks" / f"{key}.lock"
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(path, thread_local=False)
        pause, until = _PAUSES[0], time.monotonic() + longest
        while not _locked(lock) and not self.path(key).exists() and time.monotonic() < until:
            await asyncio.sleep(pause)
            pause = min(pause * 1.5, _PAUSES[1])
        try:
            yield
        finally:
            if lock.is_locked:
                # Safe while it is held: whoever locks the removed file afterwards finds the entry.
                if self.path(key).exists():
                    with contextlib.suppress(OSError):
                        path.unlink()
                lock.release()


def _locked(lock: FileLock) -> bool:
    try:
        lock.acquire(blocking=False)
    except Timeout:
        return False
    except NotImplementedError as fault:
        raise OSError(str(fault)) from None
    return True


def _parsed(data: bytes, key: str) -> Reply:
    if len(data) > LARGEST:
        raise Damaged("too large")
    try:
        document = json.loads(data, parse_constant=_refuse)
    except (ValueError, RecursionError):
        raise Damaged("no JSON") from None
    if not isinstance(document, dict):
        raise Damaged("no JSON object")
    if document.get("schema") != SCHEMA:
        raise Damaged(f"not of schema {SCHEMA}")
    try:
        expected = _check({name: value for name, value in document.items() if name != "check"})
    except (TypeError, ValueError, RecursionError):
        raise Damaged("no JSON") from None
    if document.get("check") != expected:
        raise Damaged("changed since it was written")
    if document.get("key") != key:
        raise Damaged("the answer to another request")
    try:
        return _reply(_Entry.model_validate(document).reply)
    except ValidationError as fault:
        first = fault.errors(include_url=False, include_context=False, include_input=False)[0]
        raise Damaged(f"{'.'.join(str(part) for part in first['loc'][:4])}: {first['msg']}") from None


def _reply(kept: _Reply) -> Reply:
    fields = {**dict(kept), "answer": None, "left_out": tuple(kept.left_out)}
    if kept.answer is not None:
        calls = tuple(Call(call.name, call.arguments, call.id) for call in kept.answer.calls)
        fields["answer"] = Answer(**{**dict(kept.answer), "calls": calls})
    return Reply(**fields)


def _check(content: dict[str, Any]) -> str:
    return hashlib.sha256(canonical(content).encode("ascii")).hexdigest()


def _refuse(name: str) -> Any:
    raise ValueError(name)
