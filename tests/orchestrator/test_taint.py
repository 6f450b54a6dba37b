"""What strangers wrote is known wherever and whenever it entered the thread."""

from __future__ import annotations

from pathlib import Path

from shipmate.models.scripted import ScriptedModel, call
from tests.support.workspace import Probe, open_workspace, talk


async def test_a_result_that_comes_late_into_an_earlier_message_taints(tmp_path: Path) -> None:
    fetch = Probe("fetch", acts=True, untrusted=True)
    act, aside = Probe("act", acts=True), Probe("aside", acts=True)
    model = ScriptedModel([[call("fetch")], [call("aside")], "Monday.", "Fetched.", [call("act")], "never"])
    async with open_workspace(tmp_path, model, [fetch, act, aside], allow=["act", "aside"]) as app:
        await talk(app, "go")
        assert (await talk(app, "what day is it today, by the way?")).text == "Monday."
        await talk(app, "yes")
        outcome = await talk(app, "now act")
    assert (fetch.marks, aside.marks) == ([""], [""])
    assert (outcome.status, act.marks) == ("suspended", [])


async def test_without_strangers_words_a_rule_is_enough(tmp_path: Path) -> None:
    act = Probe("act", acts=True)
    model = ScriptedModel([[call("act")], "Done."])
    async with open_workspace(tmp_path, model, [act], allow=["act"]) as app:
        assert (await talk(app, "act")).text == "Done."
    assert act.marks == [""]
