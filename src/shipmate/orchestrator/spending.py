"""Keep to the budget before a model is asked: warn, then ask a person, then stop."""

from __future__ import annotations

import msgspec

from shipmate.errors import ShipmateError
from shipmate.orchestrator.run_wording import say
from shipmate.orchestrator.turn import Turn
from shipmate.store.allowance import Allowance, SpentBudget
from shipmate.thread.errand import errand_of
from shipmate.tools.tool import Labels, Picture, Tool, ToolContext, ToolResult
from shipmate.values import chunk as chunks
from shipmate.values.event import TYPED_MODEL
from shipmate.values.message import new_id, tool_name, tool_parts
from shipmate.values.reveal import reveal
from shipmate.values.tool_name import EXCEED_BUDGET

REFUSED = ("output-denied", "output-error")


class BudgetError(ShipmateError):
    """The budget is used up. Raise `budget` in ship.json, or wait for the next day."""


class ExceedBudgetArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    limits: tuple[str, ...]
    words: str


class ExceedBudget(Tool[ExceedBudgetArguments]):
    """The question whether work may go on today beyond a budget."""

    name = EXCEED_BUDGET
    description = "Go on today beyond the budget."
    arguments = ExceedBudgetArguments
    labels = Labels(asks=True)

    def __init__(self, allowance: Allowance) -> None:
        self._allowance = allowance

    async def picture(self, arguments: ExceedBudgetArguments, context: ToolContext) -> Picture:
        return Picture(reveal(arguments.words))

    async def run(self, arguments: ExceedBudgetArguments, context: ToolContext) -> ToolResult:
        for key in arguments.limits:
            self._allowance.note(key, leave=True)
        return ToolResult(output=arguments.words)


class Spending:
    """What is looked at before each request; without a budget nothing is."""

    def __init__(self, allowance: Allowance) -> None:
        self._allowance = allowance
        self.question = ExceedBudget(allowance)

    async def asks(self, turn: Turn) -> bool:
        """Return whether a question was put into the message; raise when nothing may be asked any more."""
        member = turn.equipment.member
        budget = member.config.budget
        if not budget.is_set or turn.model == TYPED_MODEL:
            return False
        errand = errand_of(turn.thread)
        found = self._allowance.look(budget, errand.chain[0] if errand else member.id)
        used = [each for each in found if each.state != "free"]
        if not used:
            return False
        language, mark = turn.language, self._allowance.mark()
        if stopped := [each for each in used if each.state == "stopped"]:
            raise BudgetError(say("budget-stop", spent=describe_budget(stopped[0], language)))
        if beyond := [each for each in used if each.state == "spent" and each.key not in mark.leave]:
            if any(_is_refused(part) for part in tool_parts(turn.message)):
                raise BudgetError(say("budget-refused", spent=describe_budget(beyond[0], language)))
            lines = [_explain(each, budget.stop, language) for each in beyond]
            asked = {"limits": [each.key for each in beyond], "words": "\n".join(lines)}
            await turn.commit(chunks.tool_input_available(new_id("call"), EXCEED_BUDGET, asked))
            return True
        for each in used:
            if each.key not in mark.warned:
                words = describe_budget(each, language)
                turn.tell(chunks.data("notice", {"kind": "budget", "text": words}))
                self._allowance.note(each.key, leave=False)
        return False


def describe_budget(budget: SpentBudget, language: str) -> str:
    """Say how far a limit is used."""
    kind = "warn" if budget.state in ("free", "warned") else "spent"
    words = say(
        f"budget-{kind}-{budget.period}",
        whose=f" ({budget.member})" if budget.member else "",
        spent=budget.amount(budget.spent),
        limit=budget.amount(budget.limit),
    )
    return words.tell(language)


def _explain(budget: SpentBudget, stop: float, language: str) -> str:
    leave = say("budget-leave", stop=budget.amount(stop * budget.limit)).tell(language)
    return f"{describe_budget(budget, language)} {leave}"


def _is_refused(part: dict[str, object]) -> bool:
    return tool_name(part) == EXCEED_BUDGET and part["state"] in REFUSED
