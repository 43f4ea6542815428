"""The strict YAML of bank files: the scalars of 1.2, nothing that hides what is written."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_episem.banks.yaml_file import MAX_DEPTH, BankSyntaxError, read_yaml

SCALARS: dict[str, Any] = {
    # texts in 1.2, something else in 1.1
    "12:30": "12:30",
    "190:20:30": "190:20:30",
    "NO": "NO",
    "no": "no",
    "yes": "yes",
    "on": "on",
    "off": "off",
    "y": "y",
    "2033-01-04": "2033-01-04",
    "2033-01-04T09:40:00Z": "2033-01-04T09:40:00Z",
    "1_000": "1_000",
    "0b11": "0b11",
    "=": "=",
    "<<": "<<",
    # the same in both
    "true": True,
    "True": True,
    "FALSE": False,
    "null": None,
    "~": None,
    "": None,
    "0": 0,
    "-17": -17,
    "+17": 17,
    "9007199254740991": 9007199254740991,
    "1.5": 1.5,
    ".5": 0.5,
    "1e3": 1000.0,
    ".inf": math.inf,
    "'12'": "12",
    '"true"': "true",
    "''": "",
    # octal is written 0o in 1.2, a leading zero means nothing
    "010": 10,
    "0o10": 8,
    "0x1F": 31,
    # neither
    "1.2.3": "1.2.3",
    "1,000": "1,000",
    "Null!": "Null!",
    "ünï": "ünï",
}


@pytest.fixture
def read(tmp_path: Path):
    def reader(text: str | bytes) -> Any:
        file = tmp_path / "file.yaml"
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_yaml(file)

    return reader


@pytest.mark.parametrize(("text", "value"), SCALARS.items())
def test_scalars_are_those_of_yaml_1_2(read: Any, text: str, value: Any) -> None:
    found = read(f"key: {text}\n")["key"]
    assert type(found) is type(value)
    assert found == value


def test_a_not_a_number_is_a_float_for_the_schema_to_refuse(read: Any) -> None:
    assert math.isnan(read("key: .nan")["key"])


def test_block_scalars_are_text_whatever_they_look_like(read: Any) -> None:
    assert read("key: |\n  12\n") == {"key": "12\n"}
    assert read("key: >-\n  a\n  b\n") == {"key": "a b"}


def test_keys_are_text_as_written(read: Any) -> None:
    assert read("1: a\ntrue: b\n~: c\nno: d\n2033-01-01: e") == {
        "1": "a",
        "true": "b",
        "~": "c",
        "no": "d",
        "2033-01-01": "e",
    }


def test_the_order_of_keys_is_kept(read: Any) -> None:
    assert list(read("z: 1\na: 2\nm: 3")) == ["z", "a", "m"]


REFUSED = {
    "a: 1\nb: 2\na: 3": (3, 1, "duplicate key 'a'"),
    "a: {b: 1, b: 1}": (1, 11, "duplicate key 'b'"),
    "1: x\n'1': y": (2, 1, "duplicate key '1'"),
    "a: &x 1": (1, 4, "anchors and aliases are not allowed"),
    "a: &x [1]\nb: *x": (1, 4, "anchors and aliases are not allowed"),
    "a: *x": (1, 4, "anchors and aliases are not allowed"),
    "&x a: 1": (1, 1, "a key must be plain text"),
    "a: !!int '3'": (1, 4, "tags are not allowed"),
    "a: !!str 3": (1, 4, "tags are not allowed"),
    "a: ! 3": (1, 4, "tags are not allowed"),
    "!!python/object/apply:os.system [x]": (1, 1, "tags are not allowed"),
    "a: !!python/name:os.system": (1, 4, "tags are not allowed"),
    "? [a, b]\n: 1": (1, 3, "a key must be plain text"),
    "? {a: b}\n: 1": (1, 3, "a key must be plain text"),
    "'': 1": (1, 1, "a key must be plain text"),
    "a: 1\n---\nb: 2": (2, 1, "a file holds one document"),
    "a: 9007199254740992": (1, 4, "a number must not exceed 9007199254740991"),
    f"a: {'9' * 5000}": (1, 4, "a number must not exceed 9007199254740991"),
    f"a: 0x{'f' * 5000}": (1, 4, "a number must not exceed 9007199254740991"),
    "a: -9007199254740992": (1, 4, "a number must not exceed 9007199254740991"),
}


@pytest.mark.parametrize(("text", "where"), REFUSED.items())
def test_what_is_refused_says_where(read: Any, tmp_path: Path, text: str, where: tuple[int, int, str]) -> None:
    with pytest.raises(BankSyntaxError) as raised:
        read(text)
    line, column, fault = where
    assert str(raised.value) == f"{tmp_path / 'file.yaml'}:{line}:{column}: {fault}"


@pytest.mark.parametrize(
    "text",
    [
        "a: [1",
        "a: b: c",
        "\ta: 1",
        "a: 'x",
        "%YAML 9.9\n---\na: 1",
        "a: \x00",
        b"\xff\xfe\x00",
        b"a: caf\xe9",
        "[" * 100_000,
        "- " * 10_000,
        "{a: " * 5_000,
        "a:\n" + "".join(" " * n + "a:\n" for n in range(1, 2000)),
    ],
    ids=lambda text: repr(text[:12]),
)
def test_what_is_malformed_is_one_line(read: Any, tmp_path: Path, text: str | bytes) -> None:
    with pytest.raises(BankSyntaxError) as raised:
        read(text)
    assert str(raised.value).startswith(str(tmp_path / "file.yaml"))
    assert "\n" not in str(raised.value)


def test_nesting_has_a_limit(read: Any) -> None:
    assert read("[" * MAX_DEPTH + "]" * MAX_DEPTH)
    with pytest.raises(BankSyntaxError, match=f"nested too deeply, at most {MAX_DEPTH} levels"):
        read("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1))


def test_a_missing_file_and_a_folder_are_named(tmp_path: Path) -> None:
    with pytest.raises(BankSyntaxError, match=r"no\.yaml: cannot be read: No such file"):
        read_yaml(tmp_path / "no.yaml")
    with pytest.raises(BankSyntaxError, match="cannot be read: Is a directory"):
        read_yaml(tmp_path)


def test_a_byte_order_mark_is_no_part_of_the_first_key(read: Any) -> None:
    assert read(b"\xef\xbb\xbfa: 1") == {"a": 1}


def test_an_empty_file_holds_nothing(read: Any) -> None:
    assert read("") is None
    assert read("# a comment\n") is None


@pytest.mark.parametrize("locale", ["C", "POSIX"])
def test_files_are_utf8_whatever_the_locale(tmp_path: Path, locale: str) -> None:
    file = tmp_path / "file.yaml"
    file.write_bytes("name: Øresund · Straße\n".encode())
    code = (
        "import sys; from pathlib import Path; from pytest_episem.banks.yaml_file import read_yaml;"
        "print(ascii(read_yaml(Path(sys.argv[1]))))"
    )
    environment = {**os.environ, "LC_ALL": locale, "LANG": locale, "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    command = [sys.executable, "-c", code, str(file)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == r"{'name': '\xd8resund \xb7 Stra\xdfe'}"


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("rule:\n  a: 1\n\tb: 2\n", "; indent with spaces"),
        ("a: {remark: Note: the driver waits}\n", "; inside {…} put a text with a colon, comma or bracket in quotes"),
        ("a: Note: the driver waits\n", "; put a text with a colon in quotes, and indent a line like its neighbours"),
        ("a:\n  b: 1\n   c: 2\n", "; put a text with a colon in quotes, and indent a line like its neighbours"),
        ("a:\n   b: 1\n  c: 2\n", "; are the lines indented like their neighbours?"),
    ],
)
def test_a_syntax_error_says_what_to_look_at(tmp_path: Path, text: str, hint: str) -> None:
    file = tmp_path / "f.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(BankSyntaxError) as raised:
        read_yaml(file)
    assert str(raised.value).endswith(hint)
