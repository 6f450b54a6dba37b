"""Rehearse a script: perform it, have it judged, compare, and keep the report."""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import get_args

import msgspec

from shipmate.errors import ModelError, PrimingError, StorageError
from shipmate.models.choice import ModelChoice
from shipmate.models.port import Finish, ModelRequest, TextDelta
from shipmate.models.selection.window import Windows
from shipmate.priming.library import Library, NotTheirsError, is_applicable
from shipmate.priming.ref import ScriptRef
from shipmate.priming.rehearsal.compare import ASPECTS, compare
from shipmate.priming.rehearsal.fitting import Judge
from shipmate.priming.rehearsal.performed import Performed
from shipmate.priming.rehearsal.recorded import read_defaults
from shipmate.priming.rehearsal.report.kept import keep_report
from shipmate.priming.rehearsal.report.rehearsal_report import Report
from shipmate.priming.rehearsal.rubric import ask_judge, find_questions
from shipmate.priming.script.record import Script, ScriptError
from shipmate.rehearsal.live_log import name_rehearsal
from shipmate.rehearsal.perform import perform
from shipmate.rehearsal.rehearsal_setting import Setting, ToolMode
from shipmate.store.journal.usage import UsageFiles
from shipmate.store.port import StepUsage
from shipmate.values.message import new_id, timestamp, user_message
from shipmate.workspace.crew import Crew
from shipmate.workspace.disk.disk import DISK
from shipmate.workspace.layout import CAPTAIN, Layout
from shipmate.workspace.load import load_config

log = logging.getLogger(__name__)


class PaidJudge:
    """A model that is asked about rubrics; what it was paid is kept as for any other request."""

    def __init__(self, layout: Layout, models: ModelChoice, model: str | None, member: str) -> None:
        self._spent = UsageFiles(layout, DISK)
        self._models = models
        self._model = model
        self._member = member
        self._thread, self._run = str(name_rehearsal()), new_id("run")
        self._costs: list[float | None] = []

    @property
    def cost_usd(self) -> float | None:
        """Return what all its answers cost, None when nobody knows."""
        return None if None in self._costs else sum(filter(None, self._costs))

    async def ask(self, system: str, words: str) -> str:
        """Return what the model says."""
        request = ModelRequest(system=system, messages=[user_message("rubric", words)])
        began = time.perf_counter()
        said: list[str] = []
        # An answer that is cut off was paid as well, and nobody says how much.
        self._costs.append(None)
        async for event in self._models.named(self._model).stream(request):
            if isinstance(event, TextDelta):
                said.append(event.text)
            elif isinstance(event, Finish):
                self._costs[-1] = event.usage.cost
                self._note(event, round((time.perf_counter() - began) * 1000))
        return "".join(said)

    def _note(self, end: Finish, milliseconds: int) -> None:
        used = end.usage
        step = StepUsage(
            at=timestamp(),
            thread_id=self._thread,
            member=self._member,
            run_id=self._run,
            step=len(self._costs),
            model=end.model,
            input_tokens=used.input_tokens,
            output_tokens=used.output_tokens,
            cache_read_tokens=used.cache_read_tokens,
            cache_write_tokens=used.cache_write_tokens,
            cost=used.cost,
            estimated_tokens=0,
            milliseconds=milliseconds,
        )
        # Where nothing can be written the report says it.
        with suppress(StorageError):
            self._spent.append(step)


@asynccontextmanager
async def open_judge(layout: Layout, setting: Setting) -> AsyncGenerator[PaidJudge]:
    """Open the model that judges: the one that is named, that answered, or the member's own."""
    loaded = load_config(layout)
    member = Crew(layout, loaded).find(setting.member)
    models = ModelChoice(member.config.llm, loaded.environ, None, Windows())
    model = setting.judge or (None if setting.is_played else setting.model)
    try:
        yield PaidJudge(layout, models, model, member.id)
    finally:
        await models.close()


class Held(msgspec.Struct, frozen=True, kw_only=True):
    """A rehearsal that was held: what was heard, by whom it is judged, and the report."""

    report: Report
    performed: Performed = Performed()
    judge: Judge | None = None
    # What was rehearsed; None when it could not be read.
    script: Script | None = None
    # Whoever asks for the wrong member leaves no mark on a script.
    is_kept: bool = True


async def rehearse(layout: Layout, ref: str, setting: Setting) -> Report:
    """Rehearse a script of the library; its report takes the place of the last one."""
    held = await hold(layout, ref, setting)
    try:
        if held.is_kept:
            keep_report(layout, held.report)
    except StorageError as error:
        # A test may run where nothing can be written; the report is what it asked for.
        log.warning("%s", error)
    return held.report


def choose_member(layout: Layout, ref: ScriptRef, given: str | None = None) -> str:
    """Return the member a script is for: the given one, its owner, the captain, or the first it lists."""
    if given is not None or ref.member is not None:
        return given or ref.member or CAPTAIN
    try:
        listed = Library(layout).load(ref).applicable
    except PrimingError:
        # A broken script is reported as such where it is rehearsed.
        return CAPTAIN
    return CAPTAIN if is_applicable(None, listed, CAPTAIN) else listed[0]


def _check_setting(setting: Setting) -> None:
    """Refuse a word that is none of ours: taken for another it would let a test pass that tests nothing."""
    if setting.tools not in get_args(ToolMode):
        raise PrimingError(f"there is no {setting.tools!r} for tools. Write {', '.join(get_args(ToolMode))}.")
    ignored = [setting.ignore] if isinstance(setting.ignore, str) else setting.ignore
    unknown = [name for name in ignored if isinstance(setting.ignore, str) or name not in ASPECTS]
    if unknown:
        raise PrimingError(f"nothing is ignored by {unknown[0]!r}. Write a list of {', '.join(ASPECTS)}.")


async def hold(layout: Layout, ref: str, setting: Setting) -> Held:
    """Rehearse a script of the library and return what was heard as well; nothing is kept."""
    _check_setting(setting)
    started = timestamp()
    held = await _hold(layout, ScriptRef.parse(ref), setting)
    report = msgspec.structs.replace(
        held.report,
        ref=str(ScriptRef.parse(ref)),
        member=setting.member,
        tools=setting.tools,
        model=setting.model or "",
        forced=setting.forced,
        started_at=started,
    )
    return msgspec.structs.replace(held, report=report)


async def _hold(layout: Layout, ref: ScriptRef, setting: Setting) -> Held:
    try:
        script = Library(layout).load(ref, setting.member)
        # What is expected is read first, of each turn by who performs it: nothing is said for a script that
        # cannot be judged.
        has_rubric = _has_rubric(script)
        performed = await perform(layout, script, setting)
        judge = None
        if has_rubric and (questions := find_questions(script, performed, ignore=setting.ignore)):
            async with open_judge(layout, setting) as paid:
                judge = await ask_judge(questions, paid.ask)
            performed = msgspec.structs.replace(performed, judged_usd=paid.cost_usd)
        report = judge_script(script, performed, judge, setting)
        return Held(report=report, performed=performed, judge=judge, script=script)
    except NotTheirsError as error:
        return Held(report=Report(verdict="broken", reason=str(error)), is_kept=False)
    except ScriptError as error:
        named = ScriptError(error.problem, path=error.path or str(ref), line=error.line, record=error.record)
        return Held(report=Report(verdict="broken", reason=str(named)))
    except PrimingError as error:
        return Held(report=Report(verdict="broken", reason=str(error)))
    except ModelError as error:
        # The judge's: what a member's model does is in what was performed.
        return Held(report=Report(verdict="unusable", reason=str(error)))


def judge_script(script: Script, performed: Performed, judge: Judge | None, setting: Setting) -> Report:
    """Compare what was heard with a script, as the setting wants it."""
    bounds = {"max_ms": setting.max_ms, "max_cost_usd": setting.max_cost_usd}
    return compare(script, performed, judge, ignore=setting.ignore, **bounds)


def _has_rubric(script: Script) -> bool:
    """Return whether anything is left to a model's judgement."""
    expected = [record.extra.get("expect") for record in script.records]
    return any(each.rubric for each in read_defaults(script).kinds.values()) or any(
        isinstance(each, dict) and "rubric" in each for each in expected
    )
