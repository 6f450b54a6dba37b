"""Have a model judge answers by the rubrics of a script."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from importlib.resources import files
from typing import TypeAlias

import msgspec

from shipmate.priming.rehearsal.answer_piece import AnswerPiece
from shipmate.priming.rehearsal.compare import compare
from shipmate.priming.rehearsal.fitting import Judge, no_judge, text_of_piece
from shipmate.priming.rehearsal.performed import Performed
from shipmate.priming.script.record import Script
from shipmate.workspace.json import read_json

# Takes a system prompt and what to judge; returns what the model says.
Ask: TypeAlias = Callable[[str, str], Awaitable[str]]
REASON_LIMIT = 300
UNCLEAR = "the judge did not say whether the rubric holds"


class RubricQuestion(msgspec.Struct, frozen=True):
    """An answer that must be judged, and by what."""

    rubric: str
    recorded: str
    answer: str


def find_questions(
    script: Script, performed: Performed, *, ignore: Collection[str] = ()
) -> list[RubricQuestion]:
    """Return what must be judged before a performance can be compared."""
    found: dict[RubricQuestion, None] = {}

    def note(rubric: str, recorded: AnswerPiece, new: AnswerPiece) -> str:
        found[_question(rubric, recorded, new)] = None
        return ""

    compare(script, performed, note, ignore=ignore)
    return list(found)


async def ask_judge(questions: Collection[RubricQuestion], ask: Ask) -> Judge:
    """Ask about each question once; return a judge that knows the answers, and holds nothing else."""
    prompt = (files("shipmate.priming.rehearsal") / "rubric.md").read_text("utf-8")
    told = {
        question: read_judged(await ask(prompt, msgspec.json.encode(question).decode()))
        for question in questions
    }

    def judge(rubric: str, recorded: AnswerPiece, new: AnswerPiece) -> str:
        known = told.get(_question(rubric, recorded, new))
        return no_judge(rubric, recorded, new) if known is None else known

    return judge


def read_judged(reply: str) -> str:
    """Return why a rubric does not hold, "" when it does; an unclear reply is a no."""
    text = reply.strip().removeprefix("```json").removeprefix("```").removesuffix("```").strip()
    try:
        said = read_json(text)
    except ValueError:
        return UNCLEAR
    if not isinstance(said, dict) or not isinstance(said.get("holds"), bool):
        return UNCLEAR
    reason = str(said.get("reason") or "the rubric does not hold").strip()[:REASON_LIMIT]
    return "" if said["holds"] else reason


def _question(rubric: str, recorded: AnswerPiece, new: AnswerPiece) -> RubricQuestion:
    return RubricQuestion(rubric, text_of_piece(recorded), text_of_piece(new))
