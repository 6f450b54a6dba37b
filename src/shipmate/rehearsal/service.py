"""Rehearse a script: perform it, have it judged, compare, and keep the report."""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from shipmate.errors import ModelError, PrimingError
from shipmate.models.choice import ModelChoice
from shipmate.models.port import ModelRequest, TextDelta
from shipmate.models.selection.window import Windows
from shipmate.priming.library import Library
from shipmate.priming.ref import ScriptRef
from shipmate.priming.rehearsal.compare import compare
from shipmate.priming.rehearsal.fitting import Judge
from shipmate.priming.rehearsal.performed import Performed
from shipmate.priming.rehearsal.report.kept import keep_report
from shipmate.priming.rehearsal.report.rehearsal_report import Report
from shipmate.priming.rehearsal.rubric import ask_judge, find_questions
from shipmate.priming.script.record import Script
from shipmate.rehearsal.perform import perform
from shipmate.rehearsal.recorded_model import NAME
from shipmate.rehearsal.stage import ToolMode
from shipmate.values.message import timestamp, user_message
from shipmate.workspace.crew import Crew
from shipmate.workspace.layout import CAPTAIN, Layout
from shipmate.workspace.load import load_config


async def rehearse(
    layout: Layout,
    ref: str,
    *,
    member: str = CAPTAIN,
    model: str | None = None,
    tools: ToolMode = "script",
    forced: bool = False,
    ignore: Collection[str] = (),
) -> Report:
    """Rehearse a script of the library; its report takes the place of the last one."""
    named = str(ScriptRef.parse(ref))
    started = timestamp()
    try:
        script = Library(layout).load(ScriptRef.parse(ref), member)
        performed = await perform(layout, script, member=member, model=model, tools=tools, forced=forced)
        judge = await _find_judge(layout, script, performed, member=member, model=model, ignore=ignore)
        report = compare(script, performed, judge, ignore=ignore)
    except PrimingError as error:
        report = Report(verdict="broken", reason=str(error))
    except ModelError as error:
        # The judge's: what a member's model does is in what was performed.
        report = Report(verdict="unusable", reason=str(error))
    report = msgspec.structs.replace(
        report, ref=named, member=member, tools=tools, model=model or "", forced=forced, started_at=started
    )
    keep_report(layout, report)
    return report


async def _find_judge(
    layout: Layout,
    script: Script,
    performed: Performed,
    *,
    member: str,
    model: str | None,
    ignore: Collection[str],
) -> Judge | None:
    """Have answers judged where a record has a rubric, by the model that answered or the member's own."""
    questions = find_questions(script, performed, ignore=ignore)
    if not questions:
        return None
    loaded = load_config(layout)
    found = Crew(layout, loaded).find(member)
    models = ModelChoice(found.config.llm, loaded.environ, None, Windows())

    async def ask(system: str, words: str) -> str:
        request = ModelRequest(system=system, messages=[user_message("rubric", words)])
        answer = models.named(None if model == NAME else model).stream(request)
        return "".join([event.text async for event in answer if isinstance(event, TextDelta)])

    try:
        return await ask_judge(questions, ask)
    finally:
        await models.close()
