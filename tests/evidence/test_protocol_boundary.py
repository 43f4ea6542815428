"""The boundary search: order, early stop, reuse, errors, resume, counterparts."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import pytest

from pytest_episem.evidence.boundary import BoundarySearch, Probe, replay, search_order
from pytest_episem.evidence.condition import Condition
from pytest_episem.evidence.trial import Outcome, Trial, TrialError

TASK, SEED = "d/f/t", "s"


def trial(condition: Condition, what: str = "hold") -> Trial:
    """``hold``, ``act`` or ``error``."""
    act = what == "act"
    outcome = Outcome(act, act, False, False, "committed" if act else "stopped", None, False, False, False, False)
    failed = what == "error"
    return Trial(
        condition,
        "critical" if condition.mask else "none",
        status="error" if failed else "completed",
        outcome=None if failed else outcome,
        error=TrialError("timeout", "") if failed else None,
    )


class Runner:
    """Runs probes by rules from condition names, keeps what it ran, and reuses it."""

    def __init__(self, rules: Mapping[str, str] | None = None, otherwise: str = "hold") -> None:
        self.rules, self.otherwise = dict(rules or {}), otherwise
        self.trials: dict[Condition, Trial] = {}
        self.ran: list[Probe] = []

    def __call__(self, probe: Probe) -> Trial:
        self.ran.append(probe)
        name = probe.condition.name
        found = trial(probe.condition, self.rules.get(name, self.otherwise))
        self.trials[probe.condition] = found
        return found

    def fixed(self, atoms: str) -> Runner:
        """Run what the fixed conditions bring: full and the single masks."""
        for mask in [(), *[(atom,) for atom in atoms]]:
            condition = Condition(TASK, "unsafe", "se" if mask else "full", mask)
            self.trials[condition] = trial(condition, self.rules.get(condition.name, self.otherwise))
        return self

    def search(self, atoms: str):
        return BoundarySearch(SEED, TASK, atoms, self.trials.get).run(self)

    def names(self) -> list[str]:
        return [probe.condition.name for probe in self.ran]


def pairs_in_order(atoms: str) -> list[str]:
    return [f"unsafe-se[{','.join(mask)}]" for mask in search_order(SEED, TASK, atoms, 2)]


def test_the_order_is_that_of_the_hash():
    masks = [("a", "b"), ("a", "c"), ("b", "c")]
    by_hash = sorted(masks, key=lambda m: hashlib.sha256(f"s\x1fd/f/t\x1f{m[0]}\x1f{m[1]}".encode()).hexdigest())
    assert search_order("s", "d/f/t", ["c", "a", "b"], 2) == by_hash
    assert {tuple(search_order(str(seed), TASK, "abc", 2)) for seed in range(30)} == {
        (x, y, z) for x in masks for y in masks for z in masks if len({x, y, z}) == 3
    }


def test_the_order_depends_on_the_task():
    orders = {tuple(search_order(SEED, f"d/f/{i}", "abc", 2)) for i in range(300)}
    assert len(orders) == 6


def test_a_failure_under_full_is_zero_and_runs_nothing_more():
    runner = Runner({"unsafe-full": "act"}).fixed("abc")
    result = runner.search("abc")
    assert (result.m, result.witness, result.complete) == (0, None, True)
    assert runner.ran == []


def test_a_single_mask_is_one_and_has_no_counterparts():
    runner = Runner({"unsafe-se[b]": "act"}).fixed("abc")
    result = runner.search("abc")
    assert (result.m, result.witness, result.complete) == (1, None, True)
    assert runner.ran == []


def test_a_recorded_unsafe_single_mask_settles_its_size_whatever_else_is_missing():
    """The other single masks have items of their own: the search runs none of them."""
    for recorded in ("unsafe-se[b]", "unsafe-full"):
        runner = Runner({recorded: "act"}).fixed("abc")
        runner.trials = {c: t for c, t in runner.trials.items() if c.name in (recorded, "unsafe-full")}
        result = runner.search("abc")
        assert (result.m, result.witness, result.complete) == (0 if recorded == "unsafe-full" else 1, None, True)
        assert runner.ran == []


def test_the_probes_are_the_masks_that_the_search_alone_runs():
    """Of two or more atoms, in search order, up to the witness; what errored among them is one of them."""
    order = search_order(SEED, TASK, "abc", 2)
    names = pairs_in_order("abc")
    assert Runner({"unsafe-se[b]": "act"}).fixed("abc").search("abc").probes == ()
    assert Runner().fixed("abc").search("abc").probes == (*order, ("a", "b", "c"))
    assert Runner({names[1]: "act"}).fixed("abc").search("abc").probes == tuple(order[:2])
    assert Runner({names[0]: "error", names[1]: "act"}).fixed("abc").search("abc").probes == tuple(order[:2])
    assert Runner({names[2]: "error"}).fixed("abc").search("abc").probes == tuple(order)


@pytest.mark.parametrize("begun", ["safe-se", "unsafe-re", "safe-re"])
def test_the_recorded_witness_is_the_mask_of_which_any_counterpart_was_begun(begun):
    """Two unsafe masks are recorded, the later one with one counterpart: that one stays the witness."""
    order = search_order(SEED, TASK, "abc", 2)
    runner = Runner().fixed("abc")
    for mask in (order[1], order[2]):
        condition = Condition(TASK, "unsafe", "se", mask)
        runner.trials[condition] = trial(condition, "act")
    assert replay(SEED, TASK, "abc", runner.trials.get).witness == order[1]
    world, setting = begun.split("-")
    condition = Condition(TASK, world, setting, order[2])
    runner.trials[condition] = trial(condition)
    assert replay(SEED, TASK, "abc", runner.trials.get).witness == order[2]


def test_a_recorded_witness_stays_when_an_earlier_mask_turns_out_unsafe():
    """Resumed before any counterpart: the pair that errored before is tried again and acts; the recorded one stays."""
    order, names = search_order(SEED, TASK, "abc", 2), pairs_in_order("abc")
    runner = Runner({names[0]: "act"}).fixed("abc")
    recorded = Condition(TASK, "unsafe", "se", order[1])
    runner.trials[recorded] = trial(recorded, "act")
    assert runner.search("abc").witness == order[1]
    assert runner.names()[0] == names[0]


def test_an_exhausted_search_is_c_plus_one():
    runner = Runner().fixed("abc")
    result = runner.search("abc")
    assert (result.m, result.witness, result.complete) == (4, None, True)
    assert runner.names() == [*pairs_in_order("abc"), "unsafe-se[a,b,c]"]
    assert {probe.phase for probe in runner.ran} == {"boundary"}


def test_the_search_stops_at_the_first_unsafe_mask_and_runs_its_counterparts():
    order = pairs_in_order("abc")
    runner = Runner({order[1]: "act", order[2]: "act"}).fixed("abc")
    result = runner.search("abc")
    mask = order[1].removeprefix("unsafe-se")
    assert runner.names() == [*order[:2], f"safe-se{mask}", f"unsafe-re{mask}", f"safe-re{mask}"]
    assert [probe.phase for probe in runner.ran] == ["boundary"] * 2 + ["counterpart"] * 3
    assert result.m == 2
    assert result.complete
    assert result.witness == search_order(SEED, TASK, "abc", 2)[1]


def test_the_full_mask_may_be_the_witness():
    result = Runner({"unsafe-se[a,b]": "act"}).fixed("ab").search("ab")
    assert (result.m, result.witness) == (2, ("a", "b"))


def test_a_boundary_item_alone_runs_its_own_prerequisites():
    runner = Runner()
    assert runner.search("ab").m == 3
    assert runner.names()[0] == "unsafe-full"
    assert sorted(runner.names()[1:3]) == ["unsafe-se[a]", "unsafe-se[b]"]
    assert runner.names()[3:] == ["unsafe-se[a,b]"]


def test_an_error_ends_the_search_after_its_own_size():
    order = pairs_in_order("abc")
    runner = Runner({order[0]: "error"}).fixed("abc")
    result = runner.search("abc")
    assert (result.m, result.complete) == (None, False)
    assert runner.names() == order


def test_an_error_beside_a_witness_of_its_size_leaves_m_defined():
    order = pairs_in_order("abc")
    result = Runner({order[0]: "error", order[1]: "act"}).fixed("abc").search("abc")
    assert (result.m, result.complete) == (2, False)


def test_an_errored_counterpart_leaves_m_defined_and_the_search_incomplete():
    runner = Runner({"unsafe-se[a,b]": "act", "unsafe-re[a,b]": "error"}).fixed("ab")
    result = runner.search("ab")
    assert (result.m, result.complete) == (2, False)
    assert "safe-re[a,b]" in runner.names()


@pytest.mark.parametrize("broken", ["unsafe-full", "unsafe-se[a]"])
def test_an_errored_fixed_trial_is_not_tried_again_by_the_search(broken):
    runner = Runner({broken: "error"}).fixed("ab")
    assert runner.search("ab").m is None
    assert runner.ran == []


def test_a_resumed_search_tries_errors_again_and_keeps_the_recorded_witness():
    order = pairs_in_order("abc")
    first = Runner({order[0]: "error", order[1]: "act"}).fixed("abc")
    first.search("abc")
    again = Runner({order[0]: "act"})
    again.trials = {c: t for c, t in first.trials.items() if t.completed}
    result = again.search("abc")
    assert again.names() == order[:1]
    assert result.witness == search_order(SEED, TASK, "abc", 2)[1]
    assert result.complete
    # and the records alone say the same
    assert replay(SEED, TASK, "abc", again.trials.get) == result


def test_a_resumed_search_runs_only_what_is_missing():
    order = pairs_in_order("abcd")
    whole = Runner({order[3]: "act"}).fixed("abcd")
    expected = whole.search("abcd")
    for kept in range(len(whole.ran)):
        again = Runner({order[3]: "act"})
        again.trials = dict(list(whole.trials.items())[: 5 + kept])
        assert again.search("abcd") == expected
        assert again.ran == whole.ran[kept:]


def test_replay_of_a_partial_record_is_incomplete_never_c_plus_one():
    runner = Runner().fixed("abc")
    runner.search("abc")
    for left_out in list(runner.trials):
        kept = {c: t for c, t in runner.trials.items() if c != left_out}
        assert replay(SEED, TASK, "abc", kept.get).m is None


def test_misuse_is_refused():
    search = BoundarySearch(SEED, TASK, "a", {}.get)
    probe = search.next()
    assert probe is not None
    assert search.next() == probe
    with pytest.raises(ValueError, match="not over yet"):
        _ = search.result
    with pytest.raises(ValueError, match="expected the trial of d/f/t/unsafe-full"):
        search.feed(trial(Condition(TASK, "safe", "full")))
    search.feed(trial(probe.condition, "act"))
    assert search.result.m == 0
    with pytest.raises(ValueError, match="is over"):
        search.feed(None)
