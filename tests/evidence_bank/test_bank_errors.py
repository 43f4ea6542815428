"""Every fault of a bank is one line that names file, instance, field and the nearest name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_episem.banks.problem import BankError, Problem
from pytest_episem.errors import UnknownName
from pytest_episem.evidence.bank import join_banks, load_bank

Change = Callable[[dict[str, Any]], Any]
Broken = Callable[[str, Change], BankError]

ALL = ""
ONE = "m-17"


def tool(name: str, **fields: Any) -> Change:
    return lambda family: family["tools"][name].update(fields)


def shows(**fields: Any) -> Change:
    return lambda family: family["tools"]["get_member"]["shows"].update(fields)


def needs(**fields: Any) -> Change:
    return lambda family: family["tools"]["get_member"]["needs"].update(fields)


def atom(name: str, **fields: Any) -> Change:
    return lambda family: family["atoms"][name].update(fields)


def rule(**fields: Any) -> Change:
    return lambda family: family["rule"].update(fields)


def instance(**fields: Any) -> Change:
    return lambda family: family["instances"]["m-17"].update(fields)


def state(**fields: Any) -> Change:
    return lambda family: family["instances"]["m-17"]["state"].update(fields)


# change, instance, field, what the message says
FAULTS: dict[str, tuple[Change, str, str, str]] = {
    # the shape of the file
    "unknown key": (lambda f: f.update(gaol=f.pop("goal")), ALL, "gaol", "unknown key 'gaol'; did you mean 'goal'?"),
    "unknown key in rule": (rule(prohibted="true"), ALL, "rule.prohibted", "did you mean 'prohibited'?"),
    "unknown key in atom": (atom("member-fines", suject="x"), ALL, "atoms.member-fines.suject", "mean 'subject'?"),
    "unknown key in tool": (tool("get_desk", show={}), ALL, "tools.get_desk.show", "did you mean 'shows'?"),
    "unknown key in needs": (needs(x={"off": "a"}), ALL, "tools.get_member.needs.x.off", "did you mean 'of'?"),
    "unknown key in shows": (
        shows(x={"each": "a", "as": "key", "wher": "b"}),
        ALL,
        "tools.get_member.shows.x.wher",
        "unknown key 'wher'; allowed: as, each",
    ),
    "unknown key in instance": (instance(sate={}), ONE, "sate", "did you mean 'state'?"),
    "missing key": (lambda f: f.pop("goal"), ALL, "goal", "is missing"),
    "missing in instance": (lambda f: f["instances"]["m-17"].pop("safe"), ONE, "safe", "is missing"),
    "wrong type": (lambda f: f.update(goal=5), ALL, "goal", "must be a text, not 5"),
    "null": (lambda f: f.update(goal=None), ALL, "goal", "must be a text, not None"),
    "text or mapping": (shows(x=5), ALL, "tools.get_member.shows.x", "must be a text or a mapping, not 5"),
    "inside the mapping": (shows(x={"each": 5, "as": "key"}), ALL, "tools.get_member.shows.x.each", "be a text, not 5"),
    "not a place": (shows(x="a b"), ALL, "tools.get_member.shows.x", "'a b' is not a place such as request.amount"),
    "empty step": (shows(x="a..b"), ALL, "tools.get_member.shows.x", "'a..b' is not a place"),
    "field of a list": (shows(x={"each": "a", "as": {"y": ""}}), ALL, "tools.get_member.shows.x.as.y", "not a place"),
    "tool name": (
        lambda f: f["tools"].update(GetIt=f["tools"]["get_desk"]),
        ALL,
        "tools.GetIt",
        "'GetIt' is not a name",
    ),
    "instance id": (
        lambda f: f["instances"].update({"M 17": f["instances"]["m-17"]}),
        "M 17",
        "",
        "'M 17' is not an id of small letters and digits",
    ),
    "atom name": (
        lambda f: f["atoms"].update(Fines=f["atoms"]["card-colour"]),
        ALL,
        "atoms.Fines",
        "not an atom's name",
    ),
    "two roles": (atom("member-fines", irrelevant="desk.name"), ALL, "atoms.member-fines", "exactly one of 'critical'"),
    "no role": (
        lambda f: f["atoms"]["desk-limit"].pop("critical"),
        ALL,
        "atoms.desk-limit",
        "exactly one of 'critical'",
    ),
    "where alone": (atom("member-fines", where="true"), ALL, "atoms.member-fines", "'where' goes with 'each'"),
    "two kinds": (
        tool("get_desk", prepare="x"),
        ALL,
        "tools.get_desk",
        "exactly one of 'read', 'prepare' and 'commit'",
    ),
    "of and goal": (needs(x={"of": "desk.name", "goal": "desk.name"}), ALL, "tools.get_member.needs.x", "stands alone"),
    "no need": (needs(x={"about": "x"}), ALL, "tools.get_member.needs.x", "give one of 'of', 'key_of' and 'goal'"),
    "no override": (instance(safe={}), ONE, "safe", "must have at least 1 item"),
    "could_be": (atom("member-fines", could_be=[1, 2, 3]), ALL, "atoms.member-fines.could_be", "at most 2 items"),
    "family": (lambda f: f.update(family="library/lone"), ALL, "family", "is 'library/lone', must be 'library/loan'"),
    # values
    "float": (state(x={"y": 1.5}), ONE, "state.x.y", "1.5 is not allowed; a value is a text, an integer"),
    "nothing": (state(x={"y": None}), ONE, "state.x.y", "nothing (null) is not allowed"),
    "list of objects": (state(x=[{"a": 1}]), ONE, "state.x", "keyed mappings hold objects"),
    "mixed list": (state(x=["a", 1]), ONE, "state.x", "a list holds plain texts or plain integers"),
    "yes/no list": (state(x=[True]), ONE, "state.x", "a list holds plain texts or plain integers"),
    "dot in a key": (state(x={"a.b": 1}), ONE, "state.x.a.b", "must not contain '.', '{' or '}'"),
    "brace in a key": (state(x={"{a}": 1}), ONE, "state.x.{a}", "must not contain '.', '{' or '}'"),
    "args": (state(args={}), ONE, "state", "'args' is reserved"),
    "override type": (instance(safe={"desk.limit": 1.5}), ONE, "safe.desk.limit", "1.5 is not allowed"),
    "float in could_be": (
        atom("member-fines", could_be=[0.5]),
        ONE,
        "atoms.member-fines.could_be",
        "0.5 is not allowed",
    ),
    "null in could_be": (atom("member-fines", could_be=[None]), ONE, "atoms.member-fines.could_be", "(null) is not"),
    # places and names in braces
    "override": (instance(safe={"desk.limt": 1}), ONE, "safe.desk.limt", "no place desk.limt in the instance's state"),
    "nearest place": (instance(safe={"desk.limt": 1}), ONE, "safe.desk.limt", "did you mean 'limit'?"),
    "nearest outer place": (instance(safe={"dsk.limit": 1}), ONE, "safe.dsk.limit", "did you mean 'desk'?"),
    "need": (needs(x="membr.id"), ONE, "tools.get_member.needs.x", "did you mean 'member'?"),
    "set": (tool("reserve", sets={"request.statu": "x"}), ONE, "tools.reserve.sets.request.statu", "mean 'status'?"),
    "goal": (lambda f: f.update(goal="{member.idd}"), ONE, "goal", "{member.idd} names no value"),
    "nearest in goal": (lambda f: f.update(goal="{member.idd}"), ONE, "goal", "did you mean 'id'?"),
    "object in goal": (
        lambda f: f.update(goal="{desk}"),
        ONE,
        "goal",
        "{desk} names several values; allowed: desk.name",
    ),
    "subject": (
        atom("member-fines", subject="{membr.id}"),
        ONE,
        "atoms.member-fines.subject",
        "did you mean 'member'?",
    ),
    "could_be name": (
        atom("member-fines", could_be=["{desk.lim}"]),
        ONE,
        "atoms.member-fines.could_be",
        "mean 'limit'?",
    ),
    "atom nowhere": (atom("member-fines", critical="member.fine"), ALL, "atoms.member-fines", "did you mean 'fines'?"),
    "shown nowhere": (shows(fines="member.fine"), ALL, "tools.get_member.shows.fines", "did you mean 'fines'?"),
    "argument in a place": (
        shows(x="member.{member}"),
        ONE,
        "tools.get_member.shows.x",
        "{member} is not a parameter of the tool; did you mean 'member_id'?",
    ),
    "list of no collection": (
        shows(x={"each": "member.id", "as": "key"}),
        ONE,
        "tools.get_member.shows.x",
        "member.id must be a mapping of keyed elements",
    ),
    "keys of no collection": (needs(x={"key_of": "desk.name"}), ONE, "tools.get_member.needs.x", "must be a mapping"),
    "list without its key": (shows(x={"each": "desk", "as": {"y": "name"}}), ONE, "tools.get_member.shows.x", "'key'"),
    "set of a number": (tool("reserve", sets={"member.fines": "x"}), ONE, "tools.reserve.sets.member.fines", "no text"),
    "set of an object": (tool("reserve", sets={"member": "x"}), ONE, "tools.reserve.sets.member", "holds no text"),
    # parameters
    "free parameter of a read": (
        tool("get_desk", needs={"x": {"goal": "desk.name"}}),
        ONE,
        "tools.get_desk.needs",
        "takes identifiers only",
    ),
    "type of a parameter": (
        needs(x={"of": "desk.limit", "type": "string"}),
        ONE,
        "tools.get_member.needs.x",
        "100 is not",
    ),
    "object as argument": (needs(x="desk"), ONE, "tools.get_member.needs.x", "is not of type"),
    # tools and atoms
    "no commit": (tool("lend", commit=None, prepare="x"), ONE, "tools.lend.needs", "identifiers only"),
    "two commits": (
        tool("reserve", commit="x", prepare=None),
        ONE,
        "tools",
        "exactly one tool must be the commit, found 2",
    ),
    "audit tool": (
        lambda f: f["tools"].update(query_audit_records=f["tools"]["get_desk"]),
        ONE,
        "tools.query_audit_records",
        "is the name of the audit tool",
    ),
    # rules
    "syntax": (rule(prohibited="member.fines >"), ONE, "rule.prohibited", "is not a valid expression"),
    "unknown root": (
        rule(prohibited="membr.fines > 1"),
        ONE,
        "rule.prohibited",
        "reads 'membr', which is not in the state",
    ),
    "nearest root": (rule(prohibited="membr.fines > 1"), ONE, "rule.prohibited", "did you mean 'member'?"),
    "equal": (rule(equal="desk.limit =="), ONE, "rule.equal", "is not a valid expression"),
    "long rule": (rule(prohibited="true" + " || true" * 200), ONE, "rule.prohibited", "is too long, at most 1000"),
    "where": (
        lambda f: f["atoms"].update(
            {"x-{key}": {**f["atoms"]["card-colour"], "irrelevant": "desk.{key}", "each": "desk", "where": "ky == 'a'"}}
        ),
        ONE,
        "atoms.x-{key}.where",
        "did you mean 'key'?",
    ),
    "where fails": (
        lambda f: f["atoms"].update(
            {
                "x-{key}": {
                    **f["atoms"]["card-colour"],
                    "irrelevant": "desk.{key}",
                    "each": "desk",
                    "where": "key + 1 == 2",
                }
            }
        ),
        ONE,
        "atoms.x-{key}.where",
        "fails",
    ),
    "each": (
        lambda f: f["atoms"].update({"x-{key}": {**f["atoms"]["card-colour"], "each": "desk.name"}}),
        ONE,
        "atoms.x-{key}.each",
        "desk.name must be a mapping",
    ),
    "otherwise": (rule(otherwise={"a.b": 1.5}), ALL, "rule.otherwise.a.b", "not 1.5"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_names_file_instance_field_and_what_is_allowed(broken: Broken, copy_of_bank: Path, name: str) -> None:
    change, where, field, message = FAULTS[name]
    problem = broken("library/loan", change).problems[0]
    assert problem.file == str(copy_of_bank / "library" / "loan.yaml")
    assert (problem.instance, problem.field) == (where, field)
    assert message in problem.message
    parts = [part for part in (problem.file, where, field) if part]
    assert str(problem) == f"{': '.join(parts)}: {problem.message} [schema]"


def test_two_atoms_of_one_id_are_refused(broken: Broken) -> None:
    def change(family: dict[str, Any]) -> None:
        family["atoms"]["guest-{key}"]["each"] = "room.guests"
        family["atoms"]["guest-bo"] = dict(family["atoms"]["host-badge"])

    problem = broken("library/room", change).problems[0]
    assert (problem.instance, problem.field) == ("reading-room", "atoms.guest-bo")
    assert problem.message == "two atoms have the id 'guest-bo'"


def test_an_atom_id_from_a_key_is_small_letters_and_digits(broken: Broken) -> None:
    def change(family: dict[str, Any]) -> None:
        family["instances"]["reading-room"]["state"]["room"]["guests"]["Bo, the 2nd]"] = {"badge": "B4"}

    problem = broken("library/room", change).problems[0]
    assert (problem.instance, problem.field) == ("reading-room", "atoms.guest-{key}")
    assert problem.message.startswith("gives the id 'guest-Bo, the 2nd]'")


def test_a_twin_that_turns_a_listed_collection_into_a_text_is_refused(broken: Broken) -> None:
    problem = broken(
        "library/room",
        lambda f: f["instances"]["reading-room"]["safe"].update({"lockers": "none", "room.guests": "none"}),
    ).problems[0]
    assert problem.field == "tools.list_guests.shows.guests"
    assert problem.message == "room.guests must be a mapping of keyed elements"


def test_a_task_that_cannot_be_searched_through_is_refused(broken: Broken) -> None:
    def change(family: dict[str, Any]) -> None:
        guests = family["instances"]["reading-room"]["state"]["room"]["guests"]
        guests.update({f"g{number}": {"badge": "B"} for number in range(12)})

    problem = broken("library/room", change).problems[0]
    # 14 guests that are not on the list, and the list itself
    assert problem.field == "atoms"
    assert problem.message.startswith("15 critical atoms with 32768 combinations are too many")


def test_a_tool_with_too_many_different_calls_is_refused_before_they_are_listed(broken: Broken) -> None:
    def change(family: dict[str, Any]) -> None:
        family["instances"]["reading-room"]["state"]["lockers"] = {f"l{n}": {"place": "x"} for n in range(1000)}
        family["tools"]["get_locker"]["needs"] = {f"n{n}": {"key_of": "lockers"} for n in range(10)}
        family["tools"]["get_locker"]["shows"] = {}

    problem = broken("library/room", change).problems[0]
    assert problem.field == "tools.get_locker.needs"
    assert problem.message.startswith(f"1{'0' * 30} different calls are too many")


def test_every_problem_is_kept_and_the_text_says_how_many_more(broken: Broken) -> None:
    def change(family: dict[str, Any]) -> None:
        family["goal"] = 5
        family["rule"]["statement"] = 5
        family["tools"]["lend"]["shows"]["x"] = 5

    error = broken("library/loan", change)
    assert {problem.field for problem in error.problems} == {"goal", "rule.statement", "tools.lend.shows.x"}
    assert str(error).endswith("(and 2 more; 'episem validate' lists them)")


def test_problems_of_several_files_come_together(copy_of_bank: Path) -> None:
    (copy_of_bank / "library" / "loan.yaml").write_text("a:\n  - *x", encoding="utf-8")
    (copy_of_bank / "library" / "card.yaml").write_text("a: &x 1", encoding="utf-8")
    with pytest.raises(BankError) as raised:
        load_bank(copy_of_bank)
    assert [Path(problem.file).name for problem in raised.value.problems] == ["card.yaml:1:4", "loan.yaml:2:5"]


def test_nothing_that_is_no_family_file_passes_unseen(copy_of_bank: Path) -> None:
    (copy_of_bank / "library" / "other.yml").write_text("", encoding="utf-8")
    with pytest.raises(BankError, match=r"other\.yml: must be named \.yaml"):
        load_bank(copy_of_bank)


@pytest.mark.parametrize("content", ["", "[]", "5", "text"])
def test_a_file_that_is_no_mapping_is_named(copy_of_bank: Path, content: str) -> None:
    (copy_of_bank / "library" / "loan.yaml").write_text(content, encoding="utf-8")
    with pytest.raises(BankError, match=r"loan\.yaml: must hold a mapping with the keys family"):
        load_bank(copy_of_bank)


def test_an_empty_or_missing_directory_says_what_is_expected(tmp_path: Path) -> None:
    (tmp_path / "fleet").mkdir()
    file = tmp_path / "fleet" / "vans.yaml"
    file.write_text("family: fleet/vans\n", encoding="utf-8")
    (tmp_path / "empty").mkdir()
    for directory, message in (
        (tmp_path / "empty", r"no family file \(<domain>/<family>\.yaml\) found \["),
        (tmp_path / "missing", r"no such directory \["),
        (tmp_path / "fleet", r"this is the folder of a domain, name the bank's above it"),
        (file, r"is a file; name the bank's directory"),
    ):
        with pytest.raises(BankError, match=message) as raised:
            load_bank(directory)
        assert str(raised.value).startswith(str(directory))


def test_a_problem_is_one_printable_line() -> None:
    text = str(Problem("schema", "f.yaml", "", "a\nb", "is \x1b[31mred\u202e and \u2028new"))
    assert text == "f.yaml: a\\nb: is \\x1b[31mred\\u202e and \\u2028new [schema]"


def test_unknown_tasks_and_atoms_are_answered_with_the_nearest(small_bank) -> None:
    with pytest.raises(UnknownName, match="unknown task 'library/loan/m-71'; did you mean 'library/loan/m-17'"):
        small_bank.task("library/loan/m-71")
    with pytest.raises(UnknownName, match="unknown atom of library/loan/m-17 'desklimit'; did you mean 'desk-limit'"):
        small_bank.task("library/loan/m-17").atom("desklimit")


def test_banks_join_unless_they_hold_the_same_task(small_bank, copy_of_bank: Path) -> None:
    for name in ("loan", "room"):
        (copy_of_bank / "library" / f"{name}.yaml").unlink()
    file = copy_of_bank / "library" / "card.yaml"
    with pytest.raises(BankError, match=r"card\.yaml: library/card/c-1: is in two banks"):
        join_banks([small_bank, load_bank(copy_of_bank)])
    file.write_text(file.read_text("utf-8").replace("c-1:", "c-8:").replace("c-2:", "c-9:"), encoding="utf-8")
    joined = join_banks([small_bank, load_bank(copy_of_bank)])
    assert list(joined.tasks) == [*small_bank.tasks, "library/card/c-8", "library/card/c-9"]
    assert join_banks([small_bank]) is small_bank
