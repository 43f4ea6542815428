"""What a failed request means: the agent's doing, a fault to wait out, or the end of the run (protocol, section 2)."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pytest_episem.agents.limits import told_wait
from pytest_episem.episode import Abandonment
from pytest_episem.scrub import scrubbed

SAMPLING = ("temperature", "top_p", "seed")
"""Arguments that are left out for the rest of the run when the model refuses them."""
_PREFIXES = re.compile(r"^(?:litellm\.)?(?:\w+Error|Timeout(?: Error)?)\s*:\s*|^\w+Exception\s*-\s*", re.IGNORECASE)
_OVERFLOW = re.compile(
    r"context[ _](?:length|window|limit|size)|maximum (?:context|input|prompt) length|prompt is too long"
    r"|too many (?:input )?tokens|input (?:is )?too long|exceeds? the (?:maximum|max)[^.]{0,40}tokens",
    re.IGNORECASE,
)
_FILTER = re.compile(
    r"content[_ ](?:filter|policy|management policy)|safety system|responsible ?ai ?policy|violat\w+ our usage polic",
    re.IGNORECASE,
)
_NO_TOOLS = re.compile(
    r"(?:not|n't) support (?:\w+ ){0,3}(?:tool|function)|(?:tool|function)[\w ]{0,20}(?:is|are) not supported"
    r"|no endpoints found that support tool|auto[\"'\\]* tool choice requires|tools? param requires"
    r"|not support parameters:? ?\[[^\]]*'tools'",
    re.IGNORECASE,
)
_NO_CREDIT = re.compile(
    r"insufficient_quota|insufficient (?:balance|credits?|funds)|credit balance is too low|billing[ _]hard[ _]limit",
    re.IGNORECASE,
)
_NO_KEY = re.compile(
    r"missing credentials|missing \w+(?: \w+)? api[ _]key|api_key client option must be set|no api[ _]key"
    r"|(?:incorrect|invalid) api[ _]key|could not resolve authentication",
    re.IGNORECASE,
)
_UNKNOWN_MODEL = re.compile(r"model_not_found|LLM Provider NOT provided|unmapped llm provider", re.IGNORECASE)
_OWN_CALL = re.compile(
    r"error parsing tool call|Failed to parse tool call arguments as JSON|tool call validation failed:"
    r"|Failed to call a function\. Please adjust your prompt|Model produced invalid sequence as part of ToolUse"
    r"|Failed to parse input at pos \d+:|unexpected tokens remaining in message header"
    r"|XML syntax error on line \d+:|expected element type <function> but have <",
    re.IGNORECASE,
)
"""How servers say that they could not read what their own model wrote as a call: ollama, Groq, Bedrock, llama.cpp,
vLLM. What we send ourselves is never meant: calls go back with arguments that are a JSON object."""
_OWN_CALL_STATUS = (400, 422, 424, 500)
_RAW_CALL = re.compile(r"raw='(.*)', err=", re.DOTALL)
_KEY_VARIABLES = {
    "azure": "AZURE_API_KEY, AZURE_API_BASE and AZURE_API_VERSION",
    "bedrock": "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE",
    "cohere_chat": "COHERE_API_KEY",
    "fireworks_ai": "FIREWORKS_AI_API_KEY",
    "hosted_vllm": "HOSTED_VLLM_API_KEY",
    "perplexity": "PERPLEXITYAI_API_KEY",
    "sagemaker": "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE",
    "together_ai": "TOGETHERAI_API_KEY",
    "vertex_ai": "GOOGLE_APPLICATION_CREDENTIALS, VERTEXAI_PROJECT and VERTEXAI_LOCATION",
    "watsonx": "WATSONX_API_KEY, WATSONX_URL and WATSONX_PROJECT_ID",
    **{
        name: f"{name.upper()}_API_KEY"
        for name in (
            "anthropic", "cerebras", "codestral", "cohere", "databricks", "dashscope", "deepinfra", "deepseek",
            "gemini", "groq", "huggingface", "mistral", "moonshot", "nebius", "novita", "nvidia_nim", "openai",
            "openrouter", "replicate", "sambanova", "xai",
        )
    },
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Fault:
    """One failed request.

    Attributes:
        kind: as in ``InfrastructureError``.
        text: what the provider said, scrubbed.
        retry: whether the same request may succeed later.
        fatal: whether no other request can succeed either.
        told: seconds the provider asks to wait.
        disposition: set when it is an outcome of the episode and no fault of the infrastructure.
        refused: the sampling argument that the model does not take.
        unreadable_call: the text of a call that the provider could not read, which is the agent's doing.
    """

    kind: str
    text: str
    retry: bool = False
    fatal: bool = False
    told: float | None = None
    disposition: Abandonment | None = None
    refused: str | None = None
    unreadable_call: str | None = None


class BadResponse(Exception):
    """The provider answered with something that is no answer of a model."""


def fault_of(error: BaseException, sampling: Collection[str] = ()) -> Fault:
    """Return what ``error``, raised by litellm for a request with the arguments ``sampling``, means."""
    text, status = _plain_text(error), _status(error)
    code, words = _code(error), f"{error} {getattr(error, 'body', None) or ''}"
    kinds = {kind.__name__ for kind in type(error).__mro__}
    client_error = status is not None and 400 <= status < 500 and status not in (408, 409, 425, 429)
    if code == "tool_use_failed":
        return Fault("agent", text, unreadable_call=_failed_generation(error))
    if status in _OWN_CALL_STATUS and _OWN_CALL.search(words):
        found = _RAW_CALL.search(words)
        return Fault("agent", text, unreadable_call=scrubbed(found.group(1)) if found else text)
    if "ContextWindowExceededError" in kinds or code == "context_length_exceeded" or status == 413:
        return Fault("overflow", text, disposition="unfinished")
    if "ContentPolicyViolationError" in kinds or (client_error and (code == "content_filter" or _FILTER.search(words))):
        return Fault("filter", text, disposition="filtered")
    if _NO_TOOLS.search(words):
        return Fault("no_tools", text, fatal=True)
    if client_error:
        refused = _refused(words, sampling)
        if refused:
            return Fault("request", text, refused=refused)
        if status in (400, 422) and _OVERFLOW.search(words):
            return Fault("overflow", text, disposition="unfinished")
    if status == 402 or (_NO_CREDIT.search(f"{words} {code}") and "RESOURCE_EXHAUSTED" not in words):
        return Fault("quota", text, fatal=True)
    if status in (401, 403) or _NO_KEY.search(words):
        return Fault("authentication", text, fatal=True)
    if status == 404 or _UNKNOWN_MODEL.search(words):
        return Fault("unknown_model", text, fatal=True)
    if isinstance(error, ImportError):
        return Fault("setup", text, fatal=True)
    return _passing(error, text, status, words) if not client_error else Fault("request", text)


def _passing(error: BaseException, text: str, status: int | None, words: str) -> Fault:
    """Class what may pass by itself."""
    headers = _headers(error)
    told = told_wait(headers, words)
    if status == 429:
        return Fault("rate_limit", text, retry="request too large" not in words.lower(), told=told)
    causes = {kind.__name__ for cause in _causes(error) for kind in type(cause).__mro__}
    if status in (408, 504) or causes & {"TimeoutException", "APITimeoutError", "TimeoutError"}:
        return Fault("timeout", text, retry=True, told=told)
    if not headers and (causes & {"TransportError", "APIConnectionError", "OSError"} or "Connection error" in text):
        return Fault("connection", text, retry=True)
    if (headers and (status or 500) >= 500) or status in (409, 425, 501, 502, 503, 529):
        return Fault("server", text, retry=True, told=told)
    return Fault("response", text, retry=True)


def came_from_warning(error: BaseException) -> bool:
    """Whether a warning that was made an error is what failed the request."""
    return any(isinstance(cause, Warning) for cause in _causes(error))


def key_hint(provider: str) -> str:
    """Return which environment variable holds the provider's key, as a half sentence; ``""`` where unknown."""
    variables = _KEY_VARIABLES.get(provider)
    return f"; set {variables}" if variables else ""


def _plain_text(error: BaseException) -> str:
    text = str(error) or type(error).__name__
    while (shorter := _PREFIXES.sub("", text, count=1)) != text:
        text = shorter
    return scrubbed(text or type(error).__name__)


def _status(error: BaseException) -> int | None:
    status = getattr(error, "status_code", None)
    return status if isinstance(status, int) else None


def _headers(error: BaseException) -> Mapping[str, str]:
    """Return the headers of the provider's response with lower-case names; empty when there was no response."""
    response = getattr(error, "response", None)
    for found in (getattr(response, "headers", None), getattr(error, "litellm_response_headers", None)):
        if found:
            return {str(name).lower(): str(value) for name, value in found.items()}
    return {}


def _body(error: BaseException) -> Mapping[str, Any]:
    body = getattr(error, "body", None)
    if isinstance(body, Mapping) and isinstance(body.get("error"), Mapping):
        body = body["error"]
    return body if isinstance(body, Mapping) else {}


def _code(error: BaseException) -> str:
    return str(_body(error).get("code") or getattr(error, "code", None) or "")


def _failed_generation(error: BaseException) -> str:
    return str(_body(error).get("failed_generation") or "")


def _refused(words: str, sampling: Collection[str]) -> str | None:
    named = (name for name in SAMPLING if name in sampling and re.search(rf"\b{name}\b", words))
    return next(named, None)


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield what ``error`` came from; of litellm's own classes, which are used for anything, only a timeout counts."""
    seen: list[BaseException] = []
    found: BaseException | None = error
    while found is not None and found not in seen and len(seen) < 20:
        seen.append(found)
        own = type(found).__module__.startswith("litellm") and type(found).__name__ != "Timeout"
        if not own:
            yield found
        found = found.__cause__ or found.__context__
