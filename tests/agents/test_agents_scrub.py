"""Secrets stay out of texts."""

from __future__ import annotations

import html
import json
from base64 import b64encode
from pathlib import Path
from urllib.parse import quote, quote_plus

import pytest

from pytest_episem.scrub import fit_to_print, looks_secret, scrubbed, without_secrets


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


@pytest.mark.parametrize(
    "name",
    [
        "OPENAI_API_KEY_2",
        "HFTOKEN",
        "PGPASSWORD",
        "DB_PWD",
        "SMTP_PASS",
        "SECRET_KEY_BASE",
        "AWS_SECRET_ACCESS_KEY",
        "KEY",
    ],
)
@pytest.mark.parametrize(
    "written",
    [
        str,
        repr,
        json.dumps,
        lambda value: json.dumps(json.dumps(value)),
        quote,
        quote_plus,
        lambda value: quote(value, safe="").lower(),
        html.escape,
        lambda value: b64encode(value.encode()).decode(),
    ],
)
def test_a_secret_is_known_by_its_name_and_however_it_is_written(monkeypatch, name, written):
    value = 'ab"cd/ef+gh<ij\\kl'
    monkeypatch.setenv(name, value)
    assert (
        fit_to_print(f"for {written(value)} sent").replace('"', "").replace("'", "").replace("\\", "") == "for *** sent"
    )


KEY_FILE = "-----BEGIN KEY-----\nMIIEvAIBADANBgkqhkiG9w0B\nAQEFAASCBKcwggSjAgEAAoIB\nx==\n-----END KEY-----"


@pytest.mark.parametrize(
    "text",
    [
        KEY_FILE,
        json.dumps(KEY_FILE)[1:-1],
        " ".join(KEY_FILE.split("\n")),
        KEY_FILE.replace("\n", "\nE       "),
        "MIIEvAIBADANBgkqhkiG9w0B",
        "AQEFAASCBKcwggSjAgEAAoIB",
    ],
)
def test_a_secret_of_several_lines_is_hidden_whole_and_line_by_line(monkeypatch, text):
    monkeypatch.setenv("SIGNING_KEY", KEY_FILE)
    assert fit_to_print(f"<{text}>") == "<***>"


def test_the_password_of_an_address_in_the_environment_is_a_secret(monkeypatch):
    monkeypatch.setenv("DATABASE_URL", "postgres://app:hunter22@db.test/shop")
    assert fit_to_print("authentication failed for hunter22") == "authentication failed for ***"


@pytest.mark.parametrize("value", ["true", "none", "disabled", "100000", "", "      ", str(Path(__file__))])
def test_an_ordinary_value_is_no_secret(monkeypatch, value):
    monkeypatch.setenv("MAX_TOKEN", value)
    assert fit_to_print(f"a {value} b") == f"a {value} b"


def test_a_secret_that_is_a_word_is_not_looked_for_inside_others(monkeypatch):
    monkeypatch.setenv("DB_PASSWORD", "finance")
    assert fit_to_print("finance refinanced") == "*** refinanced"


def test_where_the_shell_stands_and_lives_is_no_secret(monkeypatch):
    monkeypatch.setenv("PWD", "/no/such/place")
    monkeypatch.setenv("OLDPWD", "/no/such/place")
    assert fit_to_print("in /no/such/place") == "in /no/such/place"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("::error::x", ": :error::x"),
        ("  ::debug::x", "  : :debug::x"),
        ("said: ::stop-commands::x", "said: : :stop-commands::x"),
        ("wrapped::ERROR::x", "wrapped: :ERROR::x"),
        ("a ##[group]b", "a # #[group]b"),
        ("##vso[task.x]", "# #vso[task.x]"),
        ("episem::finance/a/b/safe-full", "episem::finance/a/b/safe-full"),
        ("## Heading", "## Heading"),
        ("one\n::error::two\r::error::three", "one\n: :error::two\r: :error::three"),
    ],
)
def test_commands_of_a_ci_runner_are_drawn_apart(text, shown):
    assert fit_to_print(text) == shown


def test_a_document_keeps_everything_but_its_secrets(monkeypatch):
    monkeypatch.setenv("SHOP_TOKEN", "tok-of-mine")
    document = {"n": 1.5, "is": True, "none": None, "list": ["a  b\n", {"tok-of-mine": "x tok-of-mine"}]}
    expected = {"n": 1.5, "is": True, "none": None, "list": ["a  b\n", {"***": "x ***"}]}
    assert without_secrets(document) == expected
