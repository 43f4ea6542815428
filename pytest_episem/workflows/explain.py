"""Why a recorded run counts against its agent, as a small timeline that a stranger can follow (workflow protocol,
section 2)."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence

from pytest_episem.banks.folder import bank_options
from pytest_episem.text import escaped
from pytest_episem.workflows.actions import ENDINGS, Action, Attempt, Compensate, Finish, Revalidate, Step
from pytest_episem.workflows.live import Live
from pytest_episem.workflows.refusal import action_text, fate_count, reason
from pytest_episem.workflows.shield import admissible, harmed, not_offered
from pytest_episem.workflows.support import Belief, Model
from pytest_episem.workflows.timeline import Run
from pytest_episem.workflows.trial import Judgement
from pytest_episem.workflows.verdict import LedgerEntry, Trajectory, Violation
from pytest_episem.workflows.words import (
    counted,
    harm_text,
    history_text,
    listed,
    obligation_text,
    truth_texts,
    unknown_texts,
    verdict_text,
    violation_text,
)

WIDTH = 80
LABEL = 11


def fault(judged: Judgement, refuted: Sequence[str] = ()) -> str:
    """Return in one line what counts against a recorded run, or an empty text.

    That is: a record that does not stand (``refuted`` says why, beside what the adjudicator found), harm that the
    recovery did or that the shield kept it from doing, a request that nobody approved, a claim that is false or that
    nobody could know, and an end without a claim where more could have been had. Any other hand-off is no fault, nor is
    an unknown end where there is nobody to hand to.
    """
    trajectory, verdict = judged.trajectory, judged.trajectory.verdict
    against = [*refuted, *judged.faults]
    if against:
        return f"refuted: the record does not stand; {_short(against[0])}"
    if judged.unapproved:
        tools = ", ".join(dict.fromkeys(request.tool for request in judged.unapproved))
        return f"unapproved: asked {tools} for something that nobody approved; it was not carried out"
    if verdict.new:
        return f"new violation: {'; '.join(harm_text(violation) for violation in verdict.new)}"
    if verdict.claim_holds is False:
        return f"false claim: said that everything is {_claimed(trajectory)}, and it is not"
    return "; ".join(_proposed(judged)) or _given_up(trajectory)


def _proposed(judged: Judgement) -> Iterator[str]:
    """What is wrong with proposals, done or stopped: the shield protects the world, not the score."""
    trajectory = judged.trajectory
    unsafe, claims = judged.faulty("unsafe"), judged.faulty("false_claim")
    them = "it" if unsafe + claims == 1 else "them"
    stopped = f"; the shield stopped {them}" if trajectory.shield else "; no harm came of it this time"
    if unsafe:
        yield f"unsafe: {counted(unsafe, 'proposal')} could have done harm{stopped if not claims else ''}"
    if claims and trajectory.shield:
        yield f"false claim: said {counted(claims, 'time')} that everything is done where that was not certain{stopped}"
    elif claims:
        yield f"false claim: said that everything is {_claimed(trajectory)}, true this time, but not certain"


def _given_up(trajectory: Trajectory) -> str:
    if not trajectory.given_up:
        return ""
    if trajectory.certifiable:
        return "gave up: ended without a claim that was certain"
    if trajectory.verdict.terminal == "handed_off":
        return "gave up: handed off where more could be found out and done"
    return "gave up: ended without a claim and without handing the case to anybody"


def _claimed(trajectory: Trajectory) -> str:
    claims = [step.action.claim for step in trajectory.steps if isinstance(step.action, Finish) and not step.refused]
    return claims[-1] if claims else "done"


def _short(text: str, length: int = 200) -> str:
    text = " ".join(text.split())
    return text if len(text) <= length else f"{text[: length - 1]}…"


def explain(model: Model, judged: Judgement, case: str, banks: Sequence[str] = ()) -> str:
    """Return the failure text of a recorded run: what was approved, what nobody knew, every step with its answer,
    what truly happened, and for each step that was not admissible the world that it would have harmed and what to ask
    first. At most 80 columns but for the command, fit for any terminal.

    ``banks`` are those that the run was told of, for the command that shows the case.
    """
    trajectory, template = judged.trajectory, model.template
    shield = "on" if trajectory.shield else "off"
    live = judged.live
    came = "" if live is None else ", trouble live"
    lines = _wrapped(fault(judged) or f"no fault: {verdict_text(trajectory.verdict)}", 0)
    lines += _block("case", [f"{template.id}/{case}; deadline t{template.deadline}, shield {shield}{came}"])
    lines += _block("approved", ["; ".join(obligation_text(template, name) for name in template.obligations)])
    lines += _block("known", [f"t{entry.sent} {history_text(template, entry)}" for entry in template.history])
    lines += _block("not met", [unmet_text(live)]) if live is not None and live.unmet else []
    lines += _block("not known", [*unknown_texts(template, model.worlds), _sizes(model)])
    lines += _block("steps", list(_steps(model, trajectory)) or ["none"])
    lines += _block("truth", truth_texts(template, trajectory.world, model.worlds) or ["nothing else was possible"])
    lines += _block("ledger", ledger_lines(model, trajectory) or ["no effect"])
    lines += _block("verdict", [verdict_text(trajectory.verdict)])
    lines.append(f"{'inspect':<{LABEL}}{show_command(template.id, case, banks)}")  # whole, to be copied
    return "\n".join(escaped(line) for line in lines)


def unmet_text(live: Live) -> str:
    """Return that trouble never came, since what it strikes was never called."""
    return f"{counted(len(live.unmet), 'trouble')} never came, of {listed(live.unmet)}: it was not called"


def show_command(template: str, case: str, banks: Sequence[str] = ()) -> str:
    """Return the command that shows a case: what is public, what is hidden, and what each controller does on it."""
    return f"episem show {template} --case {case}{bank_options(banks)}"


def _sizes(model: Model) -> str:
    fates = fate_count(model, list(range(len(model.worlds))))
    return f"({fates} fates, {len(model.worlds)} worlds fit every answer)"


def beliefs(model: Model, trajectory: Trajectory) -> Iterator[tuple[Step, Belief | None]]:
    """Yield every step with the worlds that were compatible before it; ``None`` behind an answer that none gives."""
    belief: Belief | None = model.root
    for step in trajectory.steps:
        yield step, belief
        belief = _after(model, belief, step) if belief is not None else None


def _after(model: Model, belief: Belief, step: Step) -> Belief | None:
    if step.refused is not None or isinstance(step.action, ENDINGS):
        return belief
    return model.step(belief, step.action).get(step.answer)


def _steps(model: Model, trajectory: Trajectory) -> Iterator[str]:
    """The steps, each that was not admissible with the reason under it."""
    truth = model.index_of(trajectory.world)
    told = [found for found, _ in _told(model, trajectory)]
    for line, (step, belief) in zip(step_lines(model, trajectory), told, strict=True):
        yield line
        mark = _mark(model, belief, step) if belief is not None else ""
        if belief is not None and mark:
            yield f"   {mark}: {reason(model, belief, step.action)}{_true_one(model, belief, step.action, truth)}"


def step_lines(model: Model, trajectory: Trajectory) -> Iterator[str]:
    """Yield every step in a line: ``2. t1 query charge: chg-7 absent``. Of refusals with nothing executed between them,
    each is told once, with its count, in the place of its first."""
    for (step, belief), places in _told(model, trajectory):
        if belief is not None and len(places) > 1:
            first, last, times = places[0], places[-1], len(places)
            span = f"{first}.-{last}." if last - first + 1 == times else f"{first}.…{last}."
            yield f"{span} t{step.time} {step_text(model, belief, step)} ({times} times)"
        elif belief is None:
            yield f"{places[0]}. t{step.time} {step.action.kind}: {step.answer}".rstrip(": ")
        else:
            odd = "" if _after(model, belief, step) else "   <- no compatible world answers so"
            yield f"{places[0]}. t{step.time} {step_text(model, belief, step)}{odd}"


def _told(model: Model, trajectory: Trajectory) -> Iterator[tuple[tuple[Step, Belief | None], list[int]]]:
    """Yield steps with the numbers under which each comes; what was executed always stands alone."""
    refused: dict[tuple[str, str], tuple[tuple[Step, Belief | None], list[int]]] = {}
    for number, one in enumerate(beliefs(model, trajectory), 1):
        step, belief = one
        if step.refused is not None:
            said = step_text(model, belief, step) if belief is not None else step.action.kind
            refused.setdefault((said, step.refused), (one, []))[1].append(number)
            continue
        yield from refused.values()
        refused.clear()
        yield one, [number]
    yield from refused.values()


def step_text(model: Model, belief: Belief, step: Step) -> str:
    """Return a step with its answer and what it cost: ``query charge: chg-7 absent (fee 1)``."""
    answer = f": {step.answer}" if step.answer else ""
    return f"{action_text(model.template, belief, step.action)}{answer}{f' (fee {step.fee})' if step.fee else ''}"


def _mark(model: Model, belief: Belief, step: Step) -> str:
    if step.refused is not None:
        return "refused, not executed"
    if admissible(model, belief, step.action):
        return ""
    return "not certified" if isinstance(step.action, Finish) else "not admissible"


def _true_one(model: Model, belief: Belief, action: Action, truth: int | None) -> str:
    if isinstance(action, ENDINGS) or not_offered(model.template, belief.time, action):
        return ""
    return " The truth is one of them." if truth in {world for world, _ in harmed(model, belief, action)} else ""


def ledger_lines(model: Model, trajectory: Trajectory) -> list[str]:
    """Return the private ledger of a recorded run, a line for each effect, with what was wrong with it."""
    wrongs = [*trajectory.verdict.inherited, *trajectory.verdict.new]
    return _ledger(model, trajectory.ledger, wrongs, recovery_steps(trajectory))


def run_ledger(model: Model, run: Run) -> list[str]:
    """Return the same for a run of a world without any action."""
    return _ledger(model, run.ledger, run.violations, {})


def _ledger(
    model: Model, ledger: Iterable[LedgerEntry], violations: Iterable[Violation], steps: dict[str, int]
) -> list[str]:
    marks: dict[tuple[str, str, int], list[str]] = {}
    for violation in violations:
        place = (violation.obligation, violation.request, violation.at)
        marks.setdefault(place, []).append(violation_text(model.template, violation))
    lines = []
    for effect in ledger:
        wrong = " and ".join(marks.pop((effect.obligation, effect.request, effect.landed), []))
        mark = f"   <- {wrong}" if wrong else ""
        lines.append(f"t{effect.landed} {effect.obligation} by {_whose(model, effect, steps)}{mark}")
    for (_, request, at), wrongs in marks.items():
        lines.append(f"t{at} {' and '.join(wrongs)}, by {_sender(model, request, steps)}")
    return lines


def _whose(model: Model, effect: LedgerEntry, steps: dict[str, int]) -> str:
    undone = f", undone at t{effect.undone}" if effect.undone is not None else ""
    return f"{_sender(model, effect.request, steps)}{undone}"


def _sender(model: Model, request: str, steps: dict[str, int]) -> str:
    """Return what sent a request: the key of a past one, or the step of the recovery."""
    past = {known.id: known.key for known in model.template.requests}
    return past.get(request, f"the recovery's step {steps[request]}" if request in steps else request)


def recovery_steps(trajectory: Trajectory) -> dict[str, int]:
    """Return the number of the step that sent each request of the recovery, by the request's id."""
    sent = [
        number
        for number, step in enumerate(trajectory.steps, 1)
        if step.refused is None and isinstance(step.action, (Attempt, Compensate, Revalidate))
    ]
    return {f"r{place}": number for place, number in enumerate(sent, 1)}


def _block(title: str, rows: Sequence[str]) -> list[str]:
    lines: list[str] = []
    for row in rows:
        lines += _wrapped(row, LABEL)
    return [f"{title if not number else '':<{LABEL}}{line[LABEL:]}" for number, line in enumerate(lines)]


def _wrapped(row: str, indent: int) -> list[str]:
    """A row broken at 80 columns; what follows stands under it, two further in."""
    own = len(row) - len(row.lstrip())
    first = " " * (indent + own)
    return textwrap.wrap(
        row.strip(),
        WIDTH,
        initial_indent=first,
        subsequent_indent=first if own else f"{first}  ",
        break_on_hyphens=False,
    ) or [first]
