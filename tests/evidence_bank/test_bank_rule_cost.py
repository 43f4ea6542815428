"""What a rule may take is known and bounded before it is evaluated."""

from __future__ import annotations

import copy
import subprocess
import sys
from pathlib import Path

import pytest
from bank_files import SMALL, write_family

from pytest_episem.banks.problem import BankError
from pytest_episem.banks.yaml_file import read_yaml
from pytest_episem.evidence.bank import load_bank
from pytest_episem.evidence.bank.rule import Rule, RuleError

STATE = {"a": [1, 2], "b": {"x": {"n": 1}}, "t": "word"}
DIGITS = "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]"


def nested(times: int) -> str:
    rule = "true"
    for name in "abcdefghi"[:times]:
        rule = f"{DIGITS}.all({name}, {rule})"
    return rule


def tenfold(times: int) -> str:
    text = "'aaaaaaaaaa'"
    for _ in range(times):
        text = f"[{text}].map(x, x+x+x+x+x+x+x+x+x+x)[0]"
    return f"size({text}) > 0"


@pytest.mark.parametrize(
    ("source", "fault"),
    [
        (nested(3), "inside one another"),
        (tenfold(2), "through a list of more than"),
        ("[t].map(x, x + x).map(x, x + x).size() > 0", "what it has built"),
        ("[t + t].exists(x, true)", "through a list of more than"),
        ("(a + a).all(x, true)", "what it has built"),
        ("{'k': a}.all(x, true)", "what it has built"),
        ("b[a.map(x, t)[0]].all(x, true)", "what it has built"),
        ("a.all(x, [[x, x]].exists(y, true))", "through a list of more than"),
        ("a.all\n(x, a // comment\n.all (y, a\t. all(z, true)))", "inside one another"),
        ("'\\'' == t || a.all(x, a.all(y, a.all(z, true)))", "inside one another"),
        ("'//' == t || a.all(x, a.all(y, a.all(z, true)))", "inside one another"),
        ("a.existsOne(x, a.exists_one(y, a.exists(z, true)))", "inside one another"),
        ("t.matches('(x{900}){900}')", "matches"),
        ("r'\\' == t || a.all(x, true)", "cannot be read"),
        ("'''it's''' == t", "right before it"),
        ("true // end\r || false", "cannot be read"),
        ("a.transformList(i, v, v).size() > 0", "there is no method"),
    ],
)
def test_what_could_take_for_ever_is_refused(source: str, fault: str) -> None:
    with pytest.raises(RuleError) as raised:
        Rule(source, {*STATE, "x", "y", "z", "i", "v"})
    assert fault in str(raised.value)
    assert str(raised.value).isprintable()


@pytest.mark.parametrize(
    "source",
    [
        "sum(b.filter(k, b[k].n > 0).map(k, b[k].n)) + sum(b.map(k, b[k].n + 1)) == 3",
        "[0, 1].exists(i, a[i] == 1 && [0, 1].exists(j, a[j] == 2 && j > i))",
        "b.all(k, k in ['x', 'y']) && !a.all(n, n < 2)",
        "size(b.filter(k, b[k].n == 1)) == 1 && t + t == 'wordword'",
        "[t].exists(x, x == 'a.all(b, c.all(d, e.all(f, g)))') || (a).exists(n, n == 1)",
    ],
)
def test_what_rules_need_is_allowed(source: str) -> None:
    rule = Rule(source, STATE)
    assert rule.holds(STATE) is True
    assert rule.steps(STATE) < 10_000


def test_steps_grow_with_what_is_gone_through() -> None:
    """Two macros inside one another on 10 and on 100 entries: a hundred times as many."""
    rule = Rule("a.all(x, a.all(y, x == y))", {"a": []})
    few, many = rule.steps({"a": [1] * 10}), rule.steps({"a": [1] * 100})
    assert few > 100
    assert many > 50 * few


def refusal(root: Path, change: dict[str, object], extra: dict[str, object] | None = None) -> str:
    family = copy.deepcopy(read_yaml(SMALL / "library" / "loan.yaml"))
    family["rule"] |= change
    family["state"] |= extra or {}
    write_family(root / "library" / "loan.yaml", family)
    with pytest.raises(BankError) as raised:
        load_bank(root)
    return str(raised.value.problems[0])


def test_a_rule_too_expensive_for_an_instance_names_file_and_field(tmp_path: Path) -> None:
    numbers = {"many": list(range(1000))}
    text = refusal(tmp_path, {"prohibited": "many.all(x, many.all(y, x + y > 0))"}, numbers)
    assert "loan.yaml" in text
    assert "rule.prohibited" in text
    assert "at most 1,000,000 are allowed" in text


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("x" * 10_001, "10,001 characters"),
        (list(range(1001)), "1,001 entries"),
        ({f"k{n}": 1 for n in range(1001)}, "1,001"),
    ],
)
def test_a_value_too_large_is_refused(tmp_path: Path, value: object, said: str) -> None:
    text = refusal(tmp_path, {}, {"large": value})
    assert "state" in text
    assert said in text


def test_a_text_that_grows_as_it_is_filled_in_is_refused(tmp_path: Path) -> None:
    family = copy.deepcopy(read_yaml(SMALL / "library" / "loan.yaml"))
    family["state"]["long"] = "x" * 9_000
    family["goal"] += " {long}{long}"
    write_family(tmp_path / "library" / "loan.yaml", family)
    with pytest.raises(BankError, match="more than 10,000 characters with its places filled in"):
        load_bank(tmp_path)


@pytest.mark.parametrize("rule", [nested(9), tenfold(9)], ids=["never ends", "takes all memory"])
def test_such_a_rule_neither_hangs_nor_ends_the_process(tmp_path: Path, rule: str) -> None:
    """In a process of its own: before, one waited for ever and one was aborted."""
    family = copy.deepcopy(read_yaml(SMALL / "library" / "loan.yaml"))
    family["rule"]["prohibited"] = rule
    write_family(tmp_path / "library" / "loan.yaml", family)
    code = (
        "import sys; from pathlib import Path; from pytest_episem.evidence.bank import *; load_bank(Path(sys.argv[1]))"
    )
    words = [sys.executable, "-c", code, str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 1
    assert "rule.prohibited" in done.stderr.splitlines()[-1]
