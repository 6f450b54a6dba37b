"""Ask a model to judge answers, and count what it costs."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress

from shipmate.errors import StorageError
from shipmate.models.choice import ModelChoice
from shipmate.models.port import Finish, ModelRequest, TextDelta
from shipmate.models.selection.window import Windows
from shipmate.rehearsal.live_log import name_rehearsal
from shipmate.rehearsal.rehearsal_setting import Setting
from shipmate.store.journal.usage import UsageFiles
from shipmate.store.port import StepUsage
from shipmate.values.message import new_id, timestamp, user_message
from shipmate.workspace.crew import Crew
from shipmate.workspace.disk.disk import DISK
from shipmate.workspace.layout import Layout
from shipmate.workspace.load import load_config


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
