"""Banks that others wrote: whatever is in the file, it loads or is refused in one line; nothing in it is executed."""

from __future__ import annotations

import contextlib
import copy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from bank_files import SMALL, write_family
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_episem.banks.problem import BankError
from pytest_episem.banks.yaml_file import read_yaml
from pytest_episem.episode import Call, Episode
from pytest_episem.evidence.bank import Task, load_bank
from pytest_episem.evidence.world import World

FAMILIES = {name: read_yaml(SMALL / "library" / f"{name}.yaml") for name in ("loan", "room", "card")}
MANY = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))

SCALARS: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**53) + 1, 2**53 - 1),
    st.floats(),
    st.sampled_from(
        [
            "",
            " ",
            "key",
            "args",
            "{key}",
            "{}",
            "{member.id}",
            "{room}",
            "a.{key}.b",
            "room.guests",
            "room.guests.{key}",
            "member.id.x",
            "request.status",
            "args.copies > 1",
            "desk.limit / 0 > 1",
            "true",
            "query_audit_records",
            "__import__('os')",
            "\u202e\x7f",
            "x" * 2000,
        ]
    ),
    st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=12),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(["a", "id", "key", "each", "as", "x.y", ""]), inner),
    ),
    max_leaves=6,
)


def spots(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the path of every value in a family file."""
    inner: list[tuple[Any, Any]] = []
    if isinstance(value, dict):
        inner = list(value.items())
    elif isinstance(value, list):
        inner = list(enumerate(value))
    return [path, *(found for key, item in inner for found in spots(item, (*path, key)))]


def at(value: Any, path: tuple[Any, ...]) -> Any:
    for step in path:
        value = value[step]
    return value


@st.composite
def mutated(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """A family of the small bank with one to three values replaced, removed, renamed or put elsewhere."""
    name = draw(st.sampled_from(sorted(FAMILIES)))
    family = copy.deepcopy(FAMILIES[name])
    for _ in range(draw(st.integers(1, 3))):
        places = [path for path in spots(family) if path]
        if not places:
            break
        *above, last = draw(st.sampled_from(places))
        parent = at(family, tuple(above))
        kind = draw(st.sampled_from(["replace", "remove", "rename", "copy"]))
        if kind == "replace":
            parent[last] = draw(VALUES)
        elif kind == "remove":
            del parent[last]
        elif kind == "rename" and isinstance(parent, dict):
            parent[draw(st.sampled_from(["a", "A b", "x.y", "{key}", "critical", "each", "m-18"]))] = parent.pop(last)
        else:
            parent[last] = copy.deepcopy(at(family, draw(st.sampled_from(places))))
    return name, family


def play_everything(task: Task) -> None:
    """Play each world of a task that loaded, with everything masked, by every call it has."""
    for label in ("unsafe", "safe"):
        for mask in ((), task.critical):
            episode = Episode(World(task, label, mask, audit=True), turn_limit=1000)
            for tool in task.tools.values():
                if tool.kind != "commit":
                    episode.turn([Call(tool.name, arguments) for arguments in tool.calls()])
            episode.turn([Call("query_audit_records")])
            episode.turn([Call(task.commit.name, dict(task.goal_arguments))])


@pytest.mark.slow
@MANY
@given(mutated())
def test_a_changed_family_loads_or_is_refused_in_one_line(tmp_path_factory: Any, change: tuple[str, Any]) -> None:
    name, family = change
    root = tmp_path_factory.mktemp("bank")
    write_family(root / "library" / f"{name}.yaml", family)
    try:
        bank = load_bank(root)
    except BankError as error:
        for problem in error.problems:
            assert str(problem).isprintable()
            assert problem.file.startswith(str(root))
        return
    for task in bank.tasks.values():
        play_everything(task)


@MANY
@given(st.binary(max_size=60) | st.text(st.sampled_from("ab:- \n[]{}&*!|>'\"#%@,?0.~"), max_size=60).map(str.encode))
def test_any_bytes_are_refused_in_one_line(tmp_path_factory: Any, content: bytes) -> None:
    root = tmp_path_factory.mktemp("bank")
    (root / "library").mkdir()
    (root / "library" / "loan.yaml").write_bytes(content)
    with pytest.raises(BankError) as raised:
        load_bank(root)
    assert str(raised.value).isprintable()


@pytest.mark.parametrize(
    "payload",
    [
        "!!python/object/apply:os.system ['touch {mark}']",
        "!!python/object/new:subprocess.Popen [['touch', '{mark}']]",
        "!!python/name:os.system",
        "!!python/module:antigravity",
        "{__class__: x}",
        "'{member.__class__}'",
        "'{0.__class__.__init__.__globals__}'",
        "'{member.id!r}'",
        "__import__('os').system('touch {mark}')",
    ],
)
def test_nothing_in_a_bank_is_executed(copy_of_bank: Path, tmp_path: Path, payload: str) -> None:
    mark = tmp_path / "executed"
    file = copy_of_bank / "library" / "loan.yaml"
    text = file.read_text("utf-8")
    for place in ("goal: Please lend {request.copies} copies of {request.titles} to member {member.id}.", "fines: 90"):
        assert place in text
        key = place.partition(":")[0]
        file.write_text(text.replace(place, f"{key}: {payload.replace('{mark}', str(mark))}"), encoding="utf-8")
        with contextlib.suppress(BankError):
            load_bank(copy_of_bank)
        assert not mark.exists()


@pytest.mark.parametrize("part", ["1+", "a.b.", "!", "-", "(", "[", "true?1:", "'a'+"])
def test_an_endless_rule_ends_in_an_error_not_in_a_crash(tmp_path: Path, part: str) -> None:
    """In a process of its own: a crash of the expression parser would take pytest with it."""
    family = copy.deepcopy(FAMILIES["loan"])
    family["rule"]["prohibited"] = part * 50_000 + "1"
    write_family(tmp_path / "library" / "loan.yaml", family)
    code = "import sys, pathlib; from pytest_episem.evidence.bank import *; load_bank(pathlib.Path(sys.argv[1]))"
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "characters is too long, at most 1000" in done.stderr.splitlines()[-1]


@pytest.mark.parametrize("part", ["1+", "a.b.", "!", "-"])
def test_the_longest_rule_is_compiled_even_on_a_small_stack(part: str) -> None:
    code = (
        "import sys, threading; from pytest_episem.evidence.bank.rule import LONGEST, Rule, RuleError\n"
        "def run():\n"
        "    try: Rule((sys.argv[1] * LONGEST)[: LONGEST - 1] + 'a', allowed={'a': 1})\n"
        "    except RuleError: pass\n"
        "    print('done')\n"
        "threading.stack_size(512 * 1024); thread = threading.Thread(target=run); thread.start(); thread.join()"
    )
    done = subprocess.run([sys.executable, "-c", code, part], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, "done")
