"""Secrets stay out of texts."""

from __future__ import annotations

import pytest

from pytest_episem.agents.scrub import looks_secret, scrubbed


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("Authorization: Bearer abc.def-123456", "abc.def"),
        ("Incorrect API key provided: sk-proj-0123456789ab. Bye", "0123456789ab"),
        ("POST https://x.test/v1beta?key=AIzaSyA0123456789 failed", "AIzaSyA0123456789"),
        ("connecting to http://user:hunter22@10.0.0.1/v1", "hunter22"),
        ("the gateway echoed my-very-own-value", "my-very-own-value"),
    ],
)
def test_secrets_are_hidden(monkeypatch, text, secret):
    monkeypatch.setenv("GATEWAY_TOKEN", "my-very-own-value")
    assert secret not in scrubbed(text)
    assert "***" in scrubbed(text)
    assert looks_secret(text)


@pytest.mark.parametrize("text", ["model gpt-4o is busy", "http://127.0.0.1:8000/v1?x=1", "temperature 0", "***"])
def test_harmless_texts_stay(text):
    assert scrubbed(text) == text
    assert not looks_secret(text)


def test_a_text_is_one_short_printable_line():
    text = scrubbed("a\n\tb\x1b[31m \ud800 " + "x" * 500)
    assert text.startswith("a b\\x1b[31m \\ud800 xxx")
    assert len(text) == 300


def test_a_short_value_is_no_secret(monkeypatch):
    monkeypatch.setenv("LOCAL_API_KEY", "none")
    assert scrubbed("none of it") == "none of it"
