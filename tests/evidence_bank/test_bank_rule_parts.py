"""A rule is given the parts of the state that it reads, and says the same as with the whole."""

from __future__ import annotations

import itertools

import pytest

from pytest_episem.evidence.bank import shipped_bank
from pytest_episem.evidence.bank.cel_extension import cel
from pytest_episem.evidence.bank.place import merge
from pytest_episem.evidence.bank.rule import FUNCTIONS, Rule, RuleError

STATE = {
    "request": {"amount": 5, "items": {"a": 1, "b": 2}, "request": 7, "size": 3, "note": "request.amount"},
    "people": [{"amount": 1}, {"amount": 9}],
    "day": "2033-01-04",
}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("request.amount == 5", True),
        ("size(request) == 5", True),
        ("'note' in request", True),
        ('request["size"] == 3', True),
        ("request . size == 3", True),
        ("request.size == 3 && size(request) == 5", True),
        ("request.exists(name, name == 'note')", True),
        ("request.items.exists(name, request.items[name] == 2)", True),
        ("request.items.size() == 2", True),
        ("request.request == 7", True),
        ("request.note == 'request.amount'", True),
        ("request.note == 'request'", False),
        ("has(request.size)", True),
        ("has(request.limit)", False),
        ("people.exists(request, request.amount == 9)", True),
        ("request == request && request.amount == 5", True),
        ("[request].exists(r, r.size == 3)", True),
        ("date(day) < date('2033-01-05')", True),
        ("(request).size == 3", True),
        ("request.amount==5?request.size==3:request.items.a==0", True),
        ("request.\nsize == 3", True),
        ("request.size // how many\n() == 5", True),
        ("request.exists // any\n(day, day == 'note') && request.amount == 5", True),
        ("request // which\n.size == 3", True),
        ("request.amount == 5 // request.items", True),
    ],
)
def test_whatever_a_rule_reads_is_there(source, expected):
    assert Rule(source, STATE).holds(STATE) is expected


def test_a_fault_is_explained_from_the_whole():
    with pytest.raises(RuleError, match=r"amout.*did you mean 'amount'"):
        Rule("request.amout == 5", STATE).holds(STATE)


@pytest.mark.slow
def test_every_rule_of_the_bank_says_the_same_of_the_whole_state():
    for task in shipped_bank().tasks.values():
        atoms = [task.atoms[name] for name in task.critical]
        program = cel.compile(task.rule.source)
        picks = itertools.islice(itertools.product(*(atom.candidates for atom in atoms)), 40)
        for values in picks:
            state = task.with_values(task.states["unsafe"], dict(zip(task.critical, values, strict=True)))
            whole = {**merge(task.otherwise, state), "args": dict(task.goal_arguments)}
            said = program.execute(cel.Context(variables=whole, functions=FUNCTIONS))
            assert task.prohibited(state, task.goal_arguments) is said, (task.id, values)
