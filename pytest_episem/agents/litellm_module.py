"""litellm as a module: imported once, late, without network and without its noise."""

from __future__ import annotations

import contextlib
import os
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from pytest_episem.garbage import keep_more, no_search

_OFFLINE = ("LITELLM_LOCAL_MODEL_COST_MAP", "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS")
"""litellm fetches these lists from the network unless told not to."""
_import_lock = threading.Lock()
loaded: Any = None
"""litellm itself, once :func:`load_litellm` has returned."""


def load_litellm(model: str) -> Any:
    """Import litellm, once and without network, and return it.

    A first mocked completion imports what litellm imports late. Its imports warn, and a repository may turn
    warnings into errors, so they are silenced until it is loaded.
    """
    global loaded
    with _import_lock:
        if loaded is None:
            for name in _OFFLINE:
                os.environ.setdefault(name, "True")
            with warnings.catch_warnings(), no_search():
                warnings.simplefilter("ignore")
                import litellm

                with contextlib.suppress(Exception):
                    hello = [{"role": "user", "content": "hello"}]
                    litellm.completion(model=model, messages=hello, tools=[_TOOL], mock_response="hello")
            keep_more()
            loaded = litellm
    return loaded


_TOOL = {
    "type": "function",
    "function": {"name": "hello", "description": "hello", "parameters": {"type": "object", "properties": {}}},
}


class Shared:
    """A change of something that the whole process shares; it lasts while anyone holds it."""

    def __init__(self, change: Callable[[], contextlib.AbstractContextManager[None]]) -> None:
        self._change = change
        self._held: contextlib.AbstractContextManager[None] = contextlib.nullcontext()
        self._holders = 0
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        with self._lock:
            self._holders += 1
            if self._holders == 1:
                self._held = self._change()
                self._held.__enter__()

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._holders -= 1
            if self._holders == 0:
                self._held.__exit__(None, None, None)


@contextlib.contextmanager
def _no_warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@contextlib.contextmanager
def _no_advice() -> Iterator[None]:
    before, loaded.suppress_debug_info = loaded.suppress_debug_info, True
    try:
        yield
    finally:
        loaded.suppress_debug_info = before


WITHOUT_WARNINGS = Shared(_no_warnings)
"""Needed where a repository turns warnings into errors and litellm's client warns in the middle of a request."""
WITHOUT_ADVICE = Shared(_no_advice)
"""Without it litellm prints where to get help at every failed request, right into the output of the user's tests."""
