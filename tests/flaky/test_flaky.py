"""``episem_flaky`` as a team uses it: its own payment tool, its own agent, one item a fault."""

from __future__ import annotations

import pytest

TEAM = '''
import pytest

class Bank:
    """A team's payment tool, and what it asks about payments."""

    def __init__(self):
        self.paid = []

    def charge(self, invoice: str, eur: int, idempotency_key: str | None = None) -> dict:
        """Charge an invoice."""
        self.paid.append((invoice, eur))
        return {"status": "paid", "invoice": invoice}

    def status(self, invoice):
        return "paid" if any(one == invoice for one, _ in self.paid) else "absent"

@pytest.fixture
def bank():
    return Bank()

def retries(charge, status):
    for _ in range(3):
        try:
            return charge("INV-7", 120)
        except (TimeoutError, RuntimeError):
            pass

def looks_first(charge, status):
    for _ in range(3):
        if status("INV-7") == "paid":
            return "paid"
        try:
            return charge("INV-7", 120)
        except (TimeoutError, RuntimeError):
            pass

def gives_up(charge, status):
    try:
        return charge("INV-7", 120)
    except (TimeoutError, RuntimeError):
        return "I do not know whether it was paid."

def same_key(charge, status):
    for _ in range(3):
        try:
            return charge("INV-7", 120, idempotency_key="inv-7")
        except (TimeoutError, RuntimeError):
            pass

def never(charge, status):
    return "no"
'''


def team(pytester: pytest.Pytester, agent: str, mark: str = "", wrap: str = "", check: str = "") -> None:
    pytester.makepyfile(
        team=TEAM,
        test_team=f"""
        import pytest
        from team import bank, {agent}

        {mark}
        def test_pays_once(episem_flaky, bank):
            charge = episem_flaky(bank.charge{wrap})
            {agent}(charge, bank.status)
            {check}
        """,
    )


def outcomes(result: pytest.RunResult) -> dict[str, str]:
    found = {}
    for line in result.outlines:
        if "::test_" in line and line.split()[-1:] and ("PASSED" in line or "FAILED" in line) and "[" in line:
            name, _, rest = line.partition("]")
            if " " not in name:
                found[name.rpartition("[")[2]] = rest.split()[0]
    return found


ALL = '@pytest.mark.episem_flaky(faults=["answer-lost", "request-lost", "effect-late", "delivered-twice", ' + (
    '"false-failure", "key-forgotten", "false-success"])'
)
KEYED = ', key="idempotency_key", success={"status": "paid"}'


@pytest.mark.parametrize(
    ("agent", "passes"),
    [
        # Only what had no effect may be sent again blindly; what is delivered twice has two effects without a key.
        ("retries", {"request-lost", "false-success"}),
        # A look shows what is there, not what is on its way.
        ("looks_first", {"answer-lost", "request-lost", "false-failure", "false-success"}),
        # At most one: who gives up never pays twice. Without a key sent there is none to forget.
        ("gives_up", {"answer-lost", "request-lost", "effect-late", "false-failure", "false-success"}),
        # A key makes every repeat harmless, as long as it is remembered.
        (
            "same_key",
            {"answer-lost", "request-lost", "effect-late", "delivered-twice", "false-failure", "false-success"},
        ),
    ],
)
def test_each_fault_is_an_item_with_the_ending_worked_out_by_hand(pytester, agent, passes):
    team(pytester, agent, ALL, KEYED)
    found = outcomes(pytester.runpytest("-v"))
    assert len(found) == 7
    assert {fault for fault, word in found.items() if word == "PASSED"} == passes


def test_a_check_in_the_test_fails_there(pytester):
    team(pytester, "retries", check="episem_flaky.check()")
    result = pytester.runpytest("-k", "answer-lost")
    result.stdout.fnmatch_lines(["charge happened twice for one intent, under answer-lost"])
    assert "tools.py" not in result.stdout.str()


def test_who_asks_for_done_gets_it(pytester):
    team(pytester, "gives_up", check='episem_flaky.check("done")')
    found = outcomes(pytester.runpytest("-v"))
    assert {fault for fault, word in found.items() if word == "PASSED"} == {
        "no-fault",
        "answer-lost",
        "effect-late",
        "false-failure",
    }


def test_what_is_wanted_can_be_named(pytester):
    """Two charges of one invoice over different amounts are one thing if the invoice says what is wanted."""
    pytester.makepyfile(
        """
        import pytest

        def charge(invoice, eur):
            return "paid"

        @pytest.mark.episem_flaky(faults="request-lost")
        @pytest.mark.parametrize("intent", [None, "invoice"])
        def test_it(episem_flaky, intent):
            pay = episem_flaky(charge, intent=intent)
            with pytest.raises(TimeoutError):
                pay("INV-7", 100)
            pay("INV-7", 120)
            pay("INV-7", eur=130)
        """
    )
    result = pytester.runpytest("-v")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        ["charge happened twice for one intent, under request-lost", "intent   charge(invoice='INV-7')"]
    )


def test_async_tools_threads_and_tasks(pytester):
    pytester.makepyfile(
        """
        import asyncio, inspect, threading
        import pytest

        async def charge(invoice: str, key: str = "") -> str:
            "Charge it."
            await asyncio.sleep(0)
            return f"paid {invoice}"

        @pytest.mark.episem_flaky(faults=["answer-lost", "effect-late"])
        def test_async(episem_flaky):
            pay = episem_flaky(charge, key="key")
            assert inspect.iscoroutinefunction(pay)
            assert (pay.__name__, pay.__doc__) == ("charge", "Charge it.")
            assert str(inspect.signature(pay)) == "(invoice: str, key: str = '') -> str"

            async def agent():
                with pytest.raises(TimeoutError, match="no answer from charge"):
                    await pay("A", key="a")
                found = await asyncio.gather(*(pay(name, key=name) for name in "BCDEF"))
                assert found == [f"paid {name}" for name in "BCDEF"]
                assert await pay("A", key="a") == "paid A"

            asyncio.run(agent())
            assert [effect.arguments["invoice"] for effect in episem_flaky.effects()].count("A") == 1
            assert len(episem_flaky.effects(pay)) == 6

        @pytest.mark.episem_flaky(faults="answer-lost")
        def test_threads(episem_flaky):
            seen = []
            pay = episem_flaky(lambda n: seen.append(n))
            def agent(n):
                try:
                    pay(n)
                except TimeoutError:
                    pass
            threads = [threading.Thread(target=agent, args=(n,)) for n in range(50)]
            [thread.start() for thread in threads]
            [thread.join() for thread in threads]
            assert sorted(seen) == list(range(50))
            assert len(episem_flaky.effects()) == 50
        """
    )
    pytester.runpytest().assert_outcomes(passed=3)


def test_what_a_tool_raises_comes_through_and_is_no_effect(pytester):
    pytester.makepyfile(
        """
        import functools
        import pytest

        class Declined(Exception):
            pass

        def charge(account, invoice):
            if invoice == "bad":
                raise Declined("no money")
            return "paid"

        @pytest.mark.episem_flaky(faults="answer-lost")
        def test_it(episem_flaky):
            pay = episem_flaky(functools.partial(charge, "ours"), error=lambda given: ConnectionError("gone"))
            assert pay.__name__ == "charge"
            with pytest.raises(Declined, match="no money"):
                pay("bad")
            with pytest.raises(ConnectionError, match="gone"):
                pay("good")
            assert [effect.call for effect in episem_flaky.effects()] == [2]
        """
    )
    pytester.runpytest().assert_outcomes(passed=1)


def test_wrong_answers_are_those_that_the_team_gives(pytester):
    pytester.makepyfile(
        """
        import pytest

        paid = []

        def charge(invoice):
            paid.append(invoice)
            return {"status": "paid"}

        @pytest.mark.episem_flaky(faults=["false-failure", "false-success"])
        def test_it(episem_flaky, request):
            paid.clear()
            pay = episem_flaky(
                charge, failure={"status": "declined"}, success=lambda given: {"status": "paid", "of": given["invoice"]}
            )
            told = pay("INV-7")
            if "false-failure" in request.node.name:
                assert (told, paid) == ({"status": "declined"}, ["INV-7"])
            else:
                assert (told, paid) == ({"status": "paid", "of": "INV-7"}, [])
        """
    )
    pytester.runpytest().assert_outcomes(passed=2)


def test_a_test_that_fails_by_itself_shows_its_own_fault(pytester):
    team(pytester, "gives_up", check="assert 1 == 2")
    result = pytester.runpytest("-k", "answer-lost")
    result.stdout.fnmatch_lines(["E*assert 1 == 2"])
    assert "no verdict" not in result.stdout.str()


def test_what_happens_after_a_check_counts_too(pytester):
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.episem_flaky(faults="request-lost")
        def test_it(episem_flaky):
            charge = episem_flaky(lambda invoice: "paid", name="charge")
            with pytest.raises(TimeoutError):
                charge("INV-7")
            episem_flaky.check()
            charge("INV-7")
            charge("INV-7")
        """
    )
    result = pytester.runpytest("-k", "test_it")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["charge happened twice for one intent, under request-lost"])
