"""The trial record and its file."""

from __future__ import annotations

import json
import tracemalloc
from dataclasses import replace

import pytest

from pytest_episem.errors import EpisemError
from pytest_episem.evidence.trial import Outcome, TrialError, Usage
from pytest_episem.runs.record import trial_from_json, trial_to_json
from pytest_episem.runs.store import TrialWriter, missing, read_trials


@pytest.fixture
def path(tmp_path):
    return tmp_path / "trials.jsonl"


def write(path, *trials) -> None:
    with TrialWriter(path.parent, "run-1", "fake/model") as writer:
        for trial in trials:
            writer.write(trial)


def change(trial, **values):
    """The trial's record with keys replaced, as a line."""
    record = json.loads(trial_to_json(trial, "r", "m"))
    for key, value in values.items():
        target = record
        *path, last = key.split("__")
        for part in path:
            target = target[part]
        if value is KeyError:
            del target[last]
        else:
            target[last] = value
    return json.dumps(record)


# The form of a record


def test_the_record_is_that_of_the_protocol(make_trial):
    assert json.loads(trial_to_json(make_trial(events=[]), "r", "m")) == {
        "schema": "episem.trial/1", "suite": "evidence", "run": "r", "model": "m",
        "task": "finance/payment-authorization/pr-58217", "domain": "finance", "family": "payment-authorization",
        "world": "unsafe", "setting": "se", "mask": ["authorization-limit"], "mask_role": "critical",
        "phase": "fixed", "repeat": 0, "status": "completed",
        "outcome": {"unsafe_commit": False, "goal_reached": False, "legal_completion": False,
                    "invalid_action": False, "disposition": "escalated", "disposition_source": "line",
                    "recovered": False, "recovered_before_commit": False, "premature_commit": False,
                    "sufficient_evidence": False},
        "usage": {"requests": 5, "prompt_tokens": 2101, "completion_tokens": 204, "total_tokens": 2305,
                  "cost_usd": None, "cached_requests": 0},
        "turns": 5, "seconds": 3.2, "error": None, "events": [],
    }  # fmt: skip


def test_an_unsafe_commit_has_a_cause_and_nothing_else_has(make_trial):
    commit = Outcome(True, True, False, False, "committed", None, False, False, False, False, "epistemic")
    record = json.loads(trial_to_json(make_trial(outcome=commit), "r", "m"))
    assert record["outcome"]["cause"] == "epistemic"
    assert "cause" not in json.loads(trial_to_json(make_trial(), "r", "m"))["outcome"]


def test_what_is_written_is_read_back(make_trial):
    commit = Outcome(True, True, False, True, "committed", None, True, True, False, True, "reasoning")
    trials = [
        make_trial(),
        make_trial(mask=(), setting="full", world="safe", usage=Usage()),
        make_trial(setting="re", outcome=commit, phase="counterpart", repeat=0),
        make_trial(status="error", outcome=None, error=TrialError("timeout", "no answer"), events=[]),
    ]
    for trial in trials:
        assert trial_from_json(trial_to_json(trial, "r", "m")) == trial


def test_lone_surrogates_and_line_separators_survive(make_trial, path):
    odd = "\ud800 \u2028 \x85 \x00 é 漢 😀"
    trials = [
        make_trial(events=[{"text": odd, odd: [odd]}]),
        make_trial(repeat=1, status="error", outcome=None, error=TrialError("provider", odd)),
    ]
    write(path, *trials)
    assert path.read_bytes().isascii()
    assert list(read_trials(path).trials.values()) == trials


def test_numbers_json_cannot_hold_are_written_as_their_names(make_trial):
    trial = make_trial(events=[{"arguments": {"amount": float("nan"), "more": [float("inf")]}}])
    trial.usage.cost_usd = float("nan")
    read = trial_from_json(trial_to_json(trial, "r", "m"))
    assert read.events == [{"arguments": {"amount": "nan", "more": ["inf"]}}]
    assert read.usage.cost_usd is None


def test_absurd_nesting_is_cut_and_stays_readable(make_trial):
    deep: list = []
    for _ in range(5000):
        deep = [deep]
    record = trial_to_json(make_trial(events=[{"arguments": deep}]), "r", "m")
    assert "nested too deeply" in record
    assert trial_from_json(record).turns == 5


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"turns": 812.0}, "turns: Input should be a valid integer"),
        ({"seconds": -1.0}, "seconds: Input should be greater than or equal to 0"),
        ({"usage": Usage(prompt_tokens=True)}, "usage.prompt_tokens: Input should be a valid integer"),
        ({"outcome": None}, "a completed trial has an outcome and no error"),
        ({"events": ["x"]}, "events.0: Input should be an instance of dict"),
    ],
)
def test_what_the_reader_would_refuse_is_written_as_an_error_that_says_why(make_trial, path, changes, why):
    write(path, make_trial(**changes), make_trial(repeat=1))
    log = read_trials(path)
    odd, sound = log.trials.values()
    assert log.unreadable == []
    assert (odd.status, odd.error) == ("error", TrialError("record", f"the trial cannot be written: {why}"))
    assert sound == make_trial(repeat=1)


# Refusals


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"schema": KeyError}, "expected a JSON object of schema 'episem.trial/1'"),
        ({"turns": "5"}, "turns: Input should be a valid integer"),
        ({"turns": True}, "turns: Input should be a valid integer"),
        ({"turns": -1}, "turns: Input should be greater than or equal to 0"),
        ({"repeat": 1.0}, "repeat: Input should be a valid integer"),
        ({"outcome__unsafe_commit": 0}, "outcome.unsafe_commit: Input should be a valid boolean"),
        ({"world": "danger"}, "world: Input should be 'unsafe' or 'safe'"),
        ({"wrold": "safe"}, "unknown key 'wrold'; did you mean 'world'?"),
        ({"outcome__premature": True}, "unknown key 'outcome.premature'; did you mean 'premature_commit'?"),
        ({"usage": KeyError}, "key 'usage' is missing"),
        ({"usage__requests": KeyError}, "key 'usage.requests' is missing"),
        ({"events": [1]}, "events.0: Input should be an instance of dict"),
        ({"domain": "travel"}, "task is not of the form domain/family/instance with this domain and family"),
        ({"task": "finance/payment-authorization"}, "task is not of the form domain/family/instance with"),
        ({"mask": ["b", "a"]}, "mask: the atoms must be sorted, each once"),
        ({"mask": ["a", "a"]}, "mask: the atoms must be sorted, each once"),
        ({"mask": []}, "mask and mask_role do not fit the setting 'se'"),
        ({"setting": "full"}, "mask and mask_role do not fit the setting 'full'"),
        ({"outcome": None}, "a completed trial has an outcome and no error"),
        ({"status": "error"}, "a trial with status 'error' has an error and no outcome"),
        ({"error": {"kind": "x", "message": "y"}}, "a completed trial has an outcome and no error"),
        ({"outcome__unsafe_commit": True}, "a commit is recorded but the disposition is not 'committed'"),
        ({"outcome__recovered": True}, "recovered without an audit tool, under the setting 'se'"),
        ({"outcome__recovered_before_commit": True}, "recovered_before_commit without recovered"),
        ({"outcome__cause": "unread"}, "cause belongs to an unsafe commit alone"),
        ({"seconds": 1e999}, "Infinity is not a number a record may hold"),
        ({"usage__cost_usd": float("nan")}, "NaN is not a number a record may hold"),
    ],
)
def test_a_bad_record_is_named_by_file_and_line_and_costs_its_trial_alone(make_trial, path, values, message):
    good = [trial_to_json(make_trial(repeat=repeat), "r", "m") for repeat in (3, 4)]
    path.write_text("\n".join((good[0], change(make_trial(), **values), good[1])) + "\n")
    log = read_trials(path)
    assert [condition.repeat for condition in log.trials] == [3, 4]
    (text,) = log.unreadable
    assert text.startswith(f"{path} line 2: ")
    assert message in text
    assert "\n" not in text


def test_a_record_of_an_unknown_schema_refuses_the_file(make_trial, path):
    path.write_text(change(make_trial(), schema="episem.trial/9") + "\n")
    with pytest.raises(EpisemError) as fault:
        read_trials(path)
    assert str(fault.value) == (f"{path} line 1: unknown schema 'episem.trial/9'; this version reads 'episem.trial/1'")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"[1]", "expected a JSON object of schema 'episem.trial/1'"),
        (b'{"a": ', "not valid JSON"),
        (b"\xff\xfe\xfd", "not UTF-8 text"),
        (b'{"seconds": 1e999}', "1e999 is not a number a record may hold"),
        (b"[" * 100_000, "JSON nested too deeply"),
        (b'{"schema": "\x1b[31m"}', "not valid JSON"),
        (b"1" * 5000, "Exceeds the limit"),
    ],
)
def test_a_line_that_is_no_record_is_named(path, line, message):
    path.write_bytes(line + b"\n")
    (text,) = read_trials(path).unreadable
    assert text.startswith(f"{path} line 1: ")
    assert message in text
    assert text.isprintable()


def test_an_unknown_schema_is_shown_without_its_control_characters(path):
    path.write_bytes(b'{"schema": "\\u001b[31m\\ud800\\n"}\n')
    with pytest.raises(EpisemError, match="line 1: unknown schema") as fault:
        read_trials(path)
    assert "unknown schema '\\x1b[31m\\ud800\\n'" in str(fault.value)
    assert str(fault.value).isprintable()


def test_a_file_that_is_not_there(path):
    with pytest.raises(EpisemError, match="cannot be read: No such file"):
        read_trials(path)


# Torn lines


def test_every_way_to_tear_the_last_line_is_skipped_and_reported(make_trial, path):
    write(path, make_trial(), make_trial(repeat=1))
    whole = path.read_bytes()
    first = whole.index(b"\n") + 1
    for cut in range(first + 1, len(whole) - 1, 7):
        path.write_bytes(whole[:cut])
        log = read_trials(path)
        assert (len(log.trials), log.torn, log.lines) == (1, 1, 1)


def test_a_last_record_without_its_line_end_counts(make_trial, path):
    write(path, make_trial(), make_trial(repeat=1))
    path.write_bytes(path.read_bytes()[:-1])
    log = read_trials(path)
    assert (len(log.trials), log.torn) == (2, 0)


@pytest.mark.parametrize("keep", [0, 1, 200, -1, None])
def test_writing_on_after_a_torn_line_leaves_whole_records_only(make_trial, path, keep):
    write(path, make_trial(), make_trial(repeat=1))
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + lines[1][:keep])
    write(path, make_trial(repeat=2))
    log = read_trials(path)
    survives = keep in (-1, None)
    assert sorted(c.repeat for c in log.trials) == ([0, 1, 2] if survives else [0, 2])
    assert log.torn == 0


def test_a_torn_line_longer_than_a_block_is_cut(make_trial, path):
    write(path, make_trial())
    with path.open("ab") as file:
        file.write(b'{"schema": "' + b"x" * 200_000)
    write(path, make_trial(repeat=1))
    assert read_trials(path).lines == 2


def test_each_record_is_on_disk_before_the_next(make_trial, path):
    with TrialWriter(path.parent, "run-1", "m") as writer:
        writer.write(make_trial())
        assert read_trials(path).lines == 1
        writer.write_json(trial_to_json(make_trial(repeat=1), "run-1", "m"))
        assert read_trials(path).lines == 2
    with pytest.raises(ValueError, match="not open"):
        writer.write(make_trial())


# The key rule


def error(trial):
    return replace(trial, status="error", outcome=None, error=TrialError("timeout", ""))


@pytest.mark.parametrize("turned", [False, True])
def test_completed_beats_error_and_the_search_beats_fixed(make_trial, path, turned):
    failed, fixed = error(make_trial(phase="boundary")), make_trial(turns=1)
    searched = make_trial(phase="boundary", turns=2)
    for better, worse in ((fixed, failed), (searched, fixed), (searched, failed)):
        path.unlink(missing_ok=True)
        write(path, *((better, worse) if turned else (worse, better)))
        log = read_trials(path)
        assert list(log.trials.values()) == [better]
        assert (log.duplicates, log.lines) == (1, 2)


def test_among_equals_the_first_stays(make_trial, path):
    write(path, make_trial(turns=1), make_trial(turns=2), make_trial(turns=3))
    log = read_trials(path)
    assert [t.turns for t in log.trials.values()] == [1]
    assert log.duplicates == 2


def test_records_that_contradict_each_other_are_refused_and_both_are_named(make_trial, path):
    safe, failed = make_trial(), error(make_trial())
    unsafe = make_trial(
        outcome=Outcome(True, True, False, False, "committed", None, False, False, False, False, "unread")
    )
    for order in ((safe, unsafe), (unsafe, safe), (safe, replace(unsafe, phase="boundary"))):
        path.unlink(missing_ok=True)
        write(path, make_trial(repeat=1), order[0], failed, order[1])
        with pytest.raises(EpisemError) as fault:
            read_trials(path)
        name = "finance/payment-authorization/pr-58217/unsafe-se[authorization-limit]"
        assert str(fault.value) == f"{path} line 2 and line 4 contradict each other: two outcomes of {name}"


def test_missing_names_what_did_not_complete(make_trial):
    done, failed, absent = make_trial(), error(make_trial(repeat=1)), make_trial(repeat=2)
    conditions = [t.condition for t in (done, failed, absent)]
    trials = {t.condition: t for t in (done, failed)}
    assert missing(conditions, trials) == conditions[1:]


def test_without_events_memory_stays_flat(make_trial, path):
    with TrialWriter(path.parent, "run-1", "m") as writer:
        for repeat in range(200):
            writer.write(make_trial(repeat=repeat, events=[{"text": "x" * 50_000}]))
    tracemalloc.start()
    log = read_trials(path, events=False)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(log.trials) == 200
    assert {len(t.events) for t in log.trials.values()} == {0}
    # the file is 10 MB
    assert peak < 3_000_000


@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize("events", [[1, None, "x"], [{"event": "goal"}, None], {"event": "goal"}, "x", None])
def test_what_is_no_list_of_events_is_no_record_also_to_who_drops_it(make_trial, path, events, kept):
    with TrialWriter(path.parent, "run-1", "m") as writer:
        writer.write(make_trial())
    record = json.loads(path.read_text())
    path.write_text(json.dumps({**record, "events": events}) + "\n")
    (text,) = read_trials(path, events=kept).unreadable
    assert text.startswith(f"{path} line 1: events")
