"""Checks of a model's name, address and arguments before anything runs, without importing litellm if they are right."""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import json
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pytest_episem.errors import EpisemError, UnknownName, suggestion
from pytest_episem.scrub import looks_secret, scrubbed

_PRICES = "model_prices_and_context_window_backup.json"
_PROVIDER_LISTS = ("provider_endpoints_support_backup.json", "llms/openai_like/providers.json")
_CHAT = (None, "chat", "completion", "responses")
_SECRET_KEY = re.compile(
    r"api[-_]?key|secret|passw(?:or)?d|passphrase|credential|authorization|cookie|(?:access|private)[-_]?key",
    re.IGNORECASE,
)
_TOKEN_KEY = re.compile(r"tokens?$", re.IGNORECASE)
_WORD_TOKEN = re.compile(
    r"(?:^|[-_])(?:bos|eos|eot|pad|unk|mask|sep|cls|start|begin|stop|end|per|special)[-_]", re.IGNORECASE
)
"""Of these the token is one that a model reads or writes, not one that opens a door."""
_OURS = {
    "model": "use --episem-model",
    "custom_llm_provider": "use a model name of the form provider/name",
    "api_base": "use --episem-api-base",
    "base_url": "use --episem-api-base",
    **dict.fromkeys(("messages", "tools", "functions", "stream", "n"), "the protocol fixes it"),
    **dict.fromkeys(("num_retries", "max_retries", "fallbacks"), "requests are retried without it"),
}


def checked_model_args(text: str | None) -> dict[str, Any]:
    """Return the sampling arguments in ``text``, a JSON object; ``{}`` without one.

    Raises:
        EpisemError: it is no JSON object, holds what the run itself sets, or holds a secret, which the run's
            settings would carry into ``run.json``.
    """
    if not text:
        return {}
    where, example = "--episem-model-args", '{"top_p": 0.9}'
    try:
        arguments = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise EpisemError(f"{where} is not valid JSON: {error}; expected an object such as {example}") from None
    if not isinstance(arguments, dict):
        raise EpisemError(f"{where} must be a JSON object such as {example}, not {type(arguments).__name__}")
    for key in arguments:
        if key in _OURS:
            raise EpisemError(f"{where}: {key!r} is not a sampling argument; {_OURS[key]}")
    for key, value in _walk(arguments):
        if _names_secret(key, value) or (isinstance(value, str) and looks_secret(value)):
            raise EpisemError(
                f"{where}: {key!r} may carry a secret, and settings are written to run.json; "
                "give keys in the environment, such as OPENAI_API_KEY"
            )
    timeout = arguments.get("timeout")
    if timeout is not None and (isinstance(timeout, bool) or not isinstance(timeout, int | float) or timeout <= 0):
        raise EpisemError(f"{where}: 'timeout' must be a number of seconds above 0, not {json.dumps(timeout)[:40]}")
    return arguments


def _names_secret(key: str, value: Any) -> bool:
    """Whether the name of an argument says that it is a secret: a token is one only where it is text, since
    ``max_tokens`` and ``input_cost_per_token`` count tokens or price them."""
    if _SECRET_KEY.search(key):
        return True
    return bool(isinstance(value, str) and _TOKEN_KEY.search(key) and not _WORD_TOKEN.search(key))


def check_model_name(name: str, api_base: str | None = None) -> None:
    """Check a model name and API address against what the installed litellm lists, without importing it.

    A bare name must be one it lists, unless ``api_base`` is given: then it is a model of that server, taken for
    compatible with OpenAI's API. ``provider/name`` needs a known provider alone.

    Raises:
        EpisemError: litellm is not installed, or the name, its kind or the address is wrong.
        UnknownName: no such provider.
    """
    _check_address(api_base)
    catalogue = _catalogue()
    if catalogue is None:
        raise EpisemError("--episem-model needs litellm, which is not installed: pip install litellm")
    models, providers = catalogue
    if not name.strip("/ ") or name != name.strip():
        raise EpisemError(f"--episem-model {name!r} is not a model name; expected one such as openai/gpt-4o")
    listed = models.get(name)
    if listed is not None and listed.get("mode") not in _CHAT:
        raise EpisemError(f"model {name!r} is for {listed['mode']}; expected a chat model with tool calling")
    if listed is not None or not models:
        return
    if "/" in name:
        provider = name.split("/", 1)[0]
        if providers and provider not in providers | _registered() and provider not in _imported_providers():
            hint = f" For a server with OpenAI's API write openai/{name}." if api_base else ""
            fault = UnknownName("provider", provider, providers)
            raise EpisemError(f"model {name!r}: {fault}.{hint}" if hint else f"model {name!r}: {fault}")
    elif api_base is None and not _routed(name, models):
        chat = [known for known, facts in models.items() if facts.get("mode") in ("chat", "responses")]
        near = suggestion(name, chat)
        raise EpisemError(
            f"unknown model {name!r}{near}{' A' if near.endswith('?') else '; a'} model that litellm {_version()} does "
            f"not list is written provider/name, such as openai/{name}"
        )


def provider_of(model: str) -> str:
    """Return litellm's provider of a model: what stands before the slash, else what its list says; ``""`` unknown."""
    if "/" in model:
        return model.split("/", 1)[0]
    models = (_catalogue() or ({}, frozenset()))[0]
    return str((models.get(model) or {}).get("litellm_provider") or "")


def _check_address(api_base: str | None) -> None:
    if api_base is None:
        return
    expected = "expected a URL such as http://127.0.0.1:8000/v1"
    try:
        parts = urlsplit(api_base)
        host, user = parts.hostname, parts.username or parts.password
        _ = parts.port
    except ValueError:
        raise EpisemError(f"--episem-api-base {scrubbed(api_base)!r}: {expected}") from None
    if parts.scheme not in ("http", "https") or not host:
        raise EpisemError(f"--episem-api-base {scrubbed(api_base)!r}: {expected}")
    if user or looks_secret(api_base):
        raise EpisemError("--episem-api-base must not carry a password or key; give it in the environment")


@functools.cache
def _catalogue() -> tuple[Mapping[str, Mapping[str, Any]], frozenset[str]] | None:
    """Return what the installed litellm lists, models and providers; ``None`` without litellm.

    Empty where its files are not the known ones: then nothing can be refused.
    """
    spec = importlib.util.find_spec("litellm")
    folder = next(iter(spec.submodule_search_locations or ()), None) if spec else None
    if folder is None:
        return None
    prices = _read(Path(folder) / _PRICES)
    models = {name: facts for name, facts in prices.items() if isinstance(facts, dict) and name != "sample_spec"}
    providers = {str(facts.get("litellm_provider")) for facts in models.values()}
    for file in _PROVIDER_LISTS:
        listed = _read(Path(folder) / file)
        providers |= set(listed.get("providers") or listed)
    return models, frozenset(providers - {"None"}) if models else frozenset()


def _read(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _routed(name: str, models: Mapping[str, Mapping[str, Any]]) -> bool:
    """Whether litellm finds the provider of an unlisted name by a rule: fine-tuned models, later versions."""
    if name.startswith("ft:"):
        return True
    rules = models.get("fallback_generalizations", {}).get("rules")
    for rule in rules if isinstance(rules, list) else ():
        if isinstance(rule, dict) and "litellm_provider" in (rule.get("model_info") or {}):
            with contextlib.suppress(re.error, TypeError):
                if re.search(rule["pattern"], name, re.IGNORECASE):
                    return True
    return False


def _registered() -> set[str]:
    """Return the providers that the user's own code registered with litellm, where it has been imported already."""
    own = getattr(sys.modules.get("litellm"), "custom_provider_map", None) or ()
    return {str(entry.get("provider")) for entry in own if isinstance(entry, Mapping)}


def _imported_providers() -> set[str]:
    """Return the providers that litellm itself knows: some stand in no file of it. Importing it takes seconds, so only
    before a name is refused."""
    from pytest_episem.agents.litellm_module import load_litellm

    return {str(getattr(one, "value", one)) for one in load_litellm("openai/gpt-4o").provider_list}


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    with contextlib.suppress(PackageNotFoundError):
        return version("litellm")
    return ""


def _walk(value: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every value below ``value`` with the key it stands under."""
    if key:
        yield key, value
    if isinstance(value, dict):
        for name, item in value.items():
            yield from _walk(item, str(name))
    elif isinstance(value, list):
        for item in value:
            yield from _walk(item, key)


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")
