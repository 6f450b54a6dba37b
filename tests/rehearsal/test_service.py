from __future__ import annotations

from pathlib import Path

import pytest

from shipmate.errors import NotFoundError
from shipmate.priming.rehearsal.report.kept import last_report
from shipmate.priming.script.writer import write_script
from shipmate.rehearsal.service import rehearse
from shipmate.workspace.layout import Layout
from tests.support.cassette import STEP, called, make_script, make_workspace, words
from tests.support.provider_server import ProviderServer
from tests.support.provider_wire import refuse, say

REF = "team_shared/look"


def put(layout: Layout, text: str) -> None:
    layout.shared_priming.mkdir(parents=True, exist_ok=True)
    (layout.shared_priming / "look.md").write_text(text)


RUBRIC = """### record human_text_record
---
genseq: 1
msgId: m1
---
Greet me.

### record agent_words_record
---
genseq: 1
expect:
  rubric: It is a friendly greeting.
---
Hello!
"""


async def test_a_report_says_what_was_rehearsed_and_is_kept(tmp_path: Path) -> None:
    layout = make_workspace(tmp_path)
    put(
        layout,
        write_script(
            make_script(("look", [called("read", output="Ahoy.", path="a.md"), STEP, words("Ahoy.")]))
        ),
    )
    report = await rehearse(layout, f"{REF}.md", model="script", forced=True)
    assert (report.verdict, report.ref, report.member) == ("same", REF, "captain")
    assert (report.tools, report.model, report.forced) == ("script", "script", True)
    assert last_report(layout, REF) == report


async def test_a_broken_script_has_a_report_and_a_missing_one_has_none(tmp_path: Path) -> None:
    layout = make_workspace(tmp_path)
    put(layout, "### record nothing\n")
    assert (await rehearse(layout, REF, model="script")).verdict == "broken"
    with pytest.raises(NotFoundError):
        await rehearse(layout, "team_shared/none", model="script")


@pytest.mark.parametrize(
    ("judged", "verdict"),
    [
        (say('{"holds": true}'), "same"),
        (say('{"holds": false, "reason": "it is rude"}'), "differs"),
        (say("who knows"), "differs"),
        (refuse(401, "wrong key"), "unusable"),
    ],
    ids=["holds", "fails", "unclear", "refused"],
)
async def test_a_rubric_is_judged_by_the_member_s_model(tmp_path: Path, judged: object, verdict: str) -> None:
    async with ProviderServer() as server:
        llm = {"provider": "openai-compatible", "model": "m", "baseUrl": f"{server.url}/v1", "apiKey": "k"}
        layout = make_workspace(tmp_path, llm={**llm, "maxRetries": 0})
        put(layout, RUBRIC)
        server.script(say("Ahoy there!"), judged)  # pyright: ignore[reportArgumentType]
        report = await rehearse(layout, REF)
        assert report.verdict == verdict, report
        assert len(server.requests) == 2
        assert "friendly greeting" in str(server.requests[1].body)
