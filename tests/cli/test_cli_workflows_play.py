"""``episem play`` of workflows: whole games through a pipe, and what typed lines mean.

Costs by hand. Billing chain: a charge 3, the receipt 1, asking is free. Valid-key recovery, *lost*: the remembered key
makes resending harmless, so 2 + 1 for transfer and posting are enough; joint planning asks first (1) and pays 4.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from pytest_episem.cli.action_input import choices, read_action, typed_form
from pytest_episem.errors import EpisemError
from pytest_episem.workflows.actions import Attempt, Compensate, Finish, HandOff, Query, Revalidate, Stop, Wait
from pytest_episem.workflows.bank.load import shipped_workflows
from pytest_episem.workflows.support import Model

CHAIN = "finance/billing-chain"


@pytest.fixture
def play(episem, workflow_dir):
    def run(typed: str, *arguments: str, name: str = "billing-chain", **environment: str) -> str:
        result = episem("play", name, "--bank", workflow_dir, *arguments, stdin=typed, **environment)
        assert result.returncode == 0, result.stderr
        return result.stdout

    return run


def ending(page: str) -> list[str]:
    return [" ".join(line.split()) for line in page.split("How it ended\n")[1].splitlines()]


def test_a_whole_game(play):
    page = play("query charge\nsend charge\nsend receipt\nfinish\n", "--case", "lost")
    game = page.split("to ask us")[1]
    for shown in ("chg-7 absent", "settled at 1; fee 3", "settled at 1; fee 1"):
        assert f"  {shown}\n" in game
    truth = game.split("What was true\n")[1].split("\n\n")[0].splitlines()
    assert truth == ["  chg-7: never arrived", "  new requests, cards.charge: effect at once"]
    ledger = game.split("The ledger\n")[1].split("\n\n")[0].splitlines()
    assert ledger == [
        "  t0 invoice by inv-7",
        "  t1 charge by the recovery's step 2",
        "  t1 receipt by the recovery's step 3",
    ]
    assert ending(page)[1:4] == [
        "you 4 3 0 reached completed, certified",
        "joint planning 4 3 0 reached completed, certified",
        "You did as well as joint planning.",
    ]


def test_the_shield_refuses_with_its_reason_and_nothing_has_happened(play):
    page = play("send charge\nfinish\nquery charge\nsend receipt\nfinish\n", "--case", "landed")
    assert "refused: harmful in 3 of 6 fates. If chg-7 is in flight: t0 sent, t1 yours lands, t2 chg-7 lands" in page
    assert "Ask first: query charge (free)." in page
    assert ending(page)[1] == "you 1 2 0 reached completed, certified"
    assert "The shield refused 2 proposals of yours." in page
    assert "unsafe: 1 proposal could have done harm; false claim: said 1 time" in page
    assert "You did as well" not in page


def test_giving_up_is_told(play):
    page = play("hand off charge\n", "--case", "landed")
    assert "gave up: handed off where more could be found out and done" in page


def test_without_the_shield_harm_is_done_and_told(play):
    page = play("send charge\nsend receipt\nfinish\n", "--case", "landed", "--shield", "off")
    assert "t1 charge by the recovery's step 1   <- charged twice" in page
    assert "new violation: charge done twice, at t1" in page
    assert ending(page)[1] == "you 4 2 0 missed claimed by the agent alone, and it is false, 1 new violation"
    assert "You did as well" not in page
    assert "beat" not in page


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "case", "typed", "judgement"),
    [
        (
            "billing-chain",
            "landed",
            "wait\nquery charge\nsend receipt\nfinish\n",
            "Joint planning did better by 1 in actions.",
        ),
        ("billing-chain", "landed", "hand off\n", "Joint planning ended certified."),
        ("billing-chain", "landed", "query charge\nsend receipt\nfinish\n", "You did as well as joint planning."),
        (
            "valid-key-recovery",
            "lost",
            "send transfer trf-5206\nsend posting\nfinish\n",
            "You did better by 1 in fees: you",
        ),
    ],
)
def test_did_you_beat_it(play, name, case, typed, judgement):
    assert any(line.startswith(judgement) for line in ending(play(typed, "--case", case, name=name)))


@pytest.mark.slow
def test_what_is_dealt_stays_hidden_until_the_end_and_comes_again_with_its_seed(play):
    pages = [play("stop\n", "--seed", "5") for _ in range(2)]
    assert pages[0] == pages[1]
    assert "--seed 5 deals the same again" in pages[0].split("Actions\n")[0]
    dealt = {play("stop\n", "--seed", str(seed)).split("What was true\n")[1].splitlines()[0] for seed in range(40)}
    assert len(dealt) == 6  # every fate of the charge


def test_the_seed_is_printed_where_none_was_given(play):
    page = play("stop\n")
    seed = page.split("--seed ")[1].split()[0]
    again = play("stop\n", "--seed", seed)
    assert again.split("What was true")[1] == page.split("What was true")[1]


def test_the_commands_that_are_printed_name_the_bank(play, workflow_dir, episem):
    page = play("stop\n", "--case", "landed")
    again = f"episem play {CHAIN} --case landed --bank {workflow_dir}"
    assert f"again: {again}\n" in page
    assert episem(*again.split()[1:], stdin="stop\n").stdout == page
    shown = page.split("all of it: episem ")[1].split()
    assert episem(*shown).returncode == 0


def test_advice_and_worlds(play):
    page = play("advice\nworlds\nquery charge\nworlds\nadvice\nsend receipt\nadvice\nfinish\n", "--case", "landed")
    # Without an effect, and with charges refused, nothing helps: 3 of the 24 worlds.
    assert "joint planning: query charge; going on from there, completion is certified in 21 of 24 worlds." in page
    assert "6 fates of the history, 24 worlds fit every answer so far." in page
    assert "1 fate of the history, 4 worlds fit every answer so far." in page
    assert "joint planning: send receipt; going on from there, completion is certified in 4 of 4 worlds." in page
    assert "joint planning: finish completed; it is certain in all 4 worlds that are left." in page


def test_asking_us_costs_nothing_and_slips_neither(play):
    page = play("help\ntold\nactions\nsend chrage\nfly\n\n99\nquery charge\nsend receipt\nfinish\n", "--case", "landed")
    assert "unknown piece of work 'chrage'; did you mean 'charge'?" in page
    assert "'fly' is no action; help lists them" in page
    assert "there is no action 99; 'actions' lists them" in page
    assert ending(page)[1] == "you 1 2 0 reached completed, certified"


def test_quit_is_a_stop_and_a_question_mark_a_call_for_help(play):
    page = play("?\nquit\nquery charge\n", "--case", "landed")
    assert "  quit                leave, which is a stop" in page
    assert "the input ended: stop" in page
    assert ending(page)[1] == "you 0 0 0 missed unknown: ended without a claim"


def test_numbers_choose_from_the_list(play):
    page = play("3\n4\nfinish\n", "--case", "landed")
    listed = page.split("Actions\n")[1].split("\n\n")[0].splitlines()
    assert listed[2].split()[:3] == ["3", "query", "charge"]
    assert listed[3].split()[:3] == ["4", "send", "receipt"]
    assert ending(page)[1] == "you 1 2 0 reached completed, certified"


def test_the_deadline_is_told_before_it_costs_the_game(play):
    page = play("wait 5\nhand off\n", "--case", "landed")
    assert "it is t6; the deadline: finish, hand off or stop now, anything else ends it as unknown" in page
    assert ending(page)[1] == "you 0 2 5 missed handed off"
    assert ending(play("wait 5\nquery charge\n", "--case", "landed"))[1].endswith("unknown: ended without a claim")


def test_an_input_that_ends_has_stopped(play):
    page = play("query charge\n", "--case", "landed")
    assert "the input ended: stop" in page
    assert ending(page)[1] == "you 0 1 0 missed unknown: ended without a claim"


def test_an_ending_that_could_have_been_certified_is_told(play):
    page = play("query charge\nsend receipt\nstop\n", "--case", "landed")
    assert "When you ended, finishing would have been certified." in page


def test_withdrawing(play):
    # Renewal refused (1), room there: undo it before t4 (1).
    typed = "renew trip-904\nquery room\nundo room\nfinish withdrawn\n"
    page = play(typed, "--case", "room-held", name="trip-withdrawal")
    assert ending(page)[1] == "you 2 3 0 missed withdrawn, certified"
    assert "t0 room by rm-904, undone at t1" in page


@pytest.mark.parametrize("columns", ["60", "80", "200"])
def test_a_game_keeps_to_its_width(play, columns):
    typed = "worlds\nadvice\nsend charge\nhelp\ntold\nquery charge\nsend receipt\nfinish\n"
    page = play(typed, "--case", "landed", COLUMNS=columns)
    own = [line for line in page.splitlines() if not line.startswith(("again:", "all of it:"))]
    assert max(map(len, own)) <= int(columns)


@pytest.fixture(scope="module")
def chain() -> Model:
    return Model(shipped_workflows().workflow(CHAIN).template)


@pytest.fixture(scope="module")
def trip() -> Model:
    return Model(shipped_workflows().workflow("travel/trip-withdrawal").template)


@pytest.mark.parametrize(
    ("line", "action"),
    [
        ("", None),
        ("advice", "advice"),
        ("Query Charge", Query("charge")),
        ("send charge", Attempt("charge", "charge-r1")),
        ("send charge CHG-7", Attempt("charge", "chg-7")),
        ("send charge my-key", Attempt("charge", "my-key")),
        ("undo charge", Compensate("charge", "charge-r1")),
        ("wait", Wait(1)),
        ("wait 3", Wait(3)),
        ("hand off", HandOff(("charge",))),
        ("hand off charge, receipt", HandOff(("charge", "receipt"))),
        ("finish", Finish("completed")),
        ("finish withdrawn", Finish("withdrawn")),
        ("stop", Stop()),
        ("1", Attempt("invoice", "invoice-r1")),
    ],
)
def test_what_a_line_means(chain, line, action):
    assert read_action(line, chain, chain.root) == action


def test_a_renewal_may_be_named_or_not(trip):
    assert read_action("renew", trip, trip.root) == Revalidate("trip-904")
    assert read_action("renew trip-904", trip, trip.root) == Revalidate("trip-904")


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("sned charge", "did you mean 'send'?"),
        ("query", "say which piece of work: invoice, charge, receipt"),
        ("query charge now", "'now' is too much"),
        ("send charge a b", "'b' is too much"),
        ("wait long", "wait takes a number of instants, not 'long'"),
        ("wait \u00b2", "wait takes a number of instants"),
        ("finish done", "unknown claim 'done'"),
        ("renew po-1", "unknown approval 'po-1'"),
        ("hand off chrage", "did you mean 'charge'?"),
        ("0", "there is no action 0"),
        ("9" * 5000, "there is no action 999999"),
    ],
)
def test_a_line_that_means_nothing(chain, line, complaint):
    with pytest.raises(EpisemError) as fault:
        read_action(line, chain, chain.root)
    assert complaint in str(fault.value)


def test_every_action_offered_is_read_back_as_it_is_typed():
    for workflow in shipped_workflows().workflows.values():
        model = Model(workflow.template)
        for action in choices(model, model.root):
            assert read_action(typed_form(model.root, action), model, model.root) == action


def test_in_a_real_terminal(workflow_dir):
    import pty

    leader, follower = pty.openpty()
    arguments = [sys.executable, "-m", "pytest_episem.cli", "play", "billing-chain", "--bank", str(workflow_dir)]
    environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "NO_COLOR")}
    process = subprocess.Popen(
        [*arguments, "--case", "landed"],
        stdin=follower,
        stdout=follower,
        stderr=follower,
        env={**environment, "TERM": "xterm-256color"},
    )
    os.close(follower)
    shown = b""
    try:
        os.write(leader, b"query charge\nsend receipt\nfinish\n")
        while b"all of it:" not in shown:
            shown += os.read(leader, 65536)
        assert process.wait(timeout=60) == 0
    finally:
        process.kill()
        os.close(leader)
    assert b"\x1b[" in shown
    assert b"completed, certified" in shown


def test_a_game_from_before_the_trouble(play):
    page = play("send charge\nquery charge\nadvice\nsend receipt\nfinish\n", "--case", "landed", "--live")
    assert "timed out" not in page
    assert "The first request of a piece of work may get no answer" in page
    game = page.split("to ask us")[1]
    for shown in ("timeout; fee 3; it is t1", "charge-r1 settled at 0", "joint planning: send receipt; going on"):
        assert f"  {shown}" in game
    assert ending(page)[1:4] == [
        "you 1 2 0 reached completed, certified",
        "joint planning 1 2 0 reached completed, certified",
        "You did as well as joint planning.",
    ]
    assert "again: episem play finance/billing-chain --case landed --bank" in page
    assert "--live" in page.split("again: ")[1]


def test_several_items_in_one_request(play):
    typed = "send lindqvist, adeyemi, kovar\nsend lindqvist, adeyemi, kovar\nstop\n"
    page = play(typed, "--case", "first-two", "--live", "--bank", "shipped", name="batch-items")
    assert "1  send lindqvist, adeyemi, kovar" in page
    game = page.split("to ask us")[1]
    assert "  timeout; fee 1; it is t1" in game
    assert "'lindqvist adeyemi kovar'" not in game
    assert "is too much" in game  # sent once, each is sent by itself
    assert "batch-r1: effect of its first 2 items alone at t0" in game


def test_a_task_has_no_trouble_to_come(episem):
    result = episem("play", "pr-58217", "--live", stdin="")
    assert result.returncode == 2
    assert "--live means nothing for" in result.stderr
