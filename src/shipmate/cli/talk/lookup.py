"""Look things up in a chat: what the prompt holds, what was used, who answers."""

from __future__ import annotations

from collections import defaultdict

from shipmate.cli.terminal.card import clean
from shipmate.cli.terminal.tongue import say
from shipmate.cli.terminal.width import fit
from shipmate.context.request import ContextRequest
from shipmate.orchestrator.equipment import Equipment
from shipmate.store.port import Ledger, StepUsage
from shipmate.store.tally import add_up
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.crew import Crew
from shipmate.workspace.member import Member


def context_lines(equipment: Equipment, thread_id: ThreadId, model: str | None) -> list[str]:
    """List the sections of the prompt as it would be built now."""
    asked = ContextRequest(
        thread_id=str(thread_id),
        platform=thread_id.platform,
        model=equipment.models.named(model).name,
        tools=tuple(equipment.toolset.specs()),
        window=equipment.models.recall_window(model).tokens,
    )
    built = equipment.context.build(asked)
    lines = [f"{part.tokens:>6}  {part.name}" for part in built.sections if part.included]
    total = say(f"tokens with {len(asked.tools)} tools, before the conversation")
    more = say("`shipmate context` shows each in full.")
    return [*lines, fit(f"{built.tokens:>6}  {total}", " " * 8), fit(more)]


async def cost_lines(ledger: Ledger, thread_id: str) -> list[str]:
    """Say what the models of a thread used and cost."""
    by_model: dict[str, list[StepUsage]] = defaultdict(list)
    for step in await ledger.usage("", thread_id):
        by_model[step.model].append(step)
    if not by_model:
        return [say("no model was asked here yet")]
    lines = [fit(f"{clean(model)}: {_sum(steps)}", "  ") for model, steps in by_model.items()]
    every = [step for steps in by_model.values() for step in steps]
    return [*lines, fit(f"{say('together')}: {_sum(every)}", "  ")] if len(by_model) > 1 else lines


def _sum(steps: list[StepUsage]) -> str:
    used = add_up(steps)
    counted = "1 request" if used.requests == 1 else f"{used.requests:,} requests"
    told = say(
        f"{counted}, {used.input_tokens:,} tokens read ({used.cache_read_tokens:,} cached), "
        f"{used.output_tokens:,} written"
    )
    return f"{told}, {say('the price is not known') if used.cost is None else f'${used.cost:.4f}'}"


def member_lines(crew: Crew, member: Member, *, alone: bool) -> list[str]:
    """Say who answers and, unless they were just chosen, who else is here."""
    others = [f"{each.id} ({each.name})" for each in crew.list() if each.id != member.id]
    lines = [say(f"{member.name} ({member.id}) answers here")]
    return lines if alone or not others else [*lines, say(f"also here: {', '.join(others)}")]
