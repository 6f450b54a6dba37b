"""Compare the prompts of the three profiles with those that were reviewed by eye.

After an intended change run with SHIPMATE_UPDATE_GOLDEN=1, read the difference, and commit it.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from shipmate.context.request import ContextRequest
from tests.support.prompt import MOMENT, TOOLS, open_example

GOLDEN = Path(__file__).parent / "golden"


@pytest.mark.parametrize("member", ["captain", "nina"])
@pytest.mark.parametrize("profile", ["shipmate", "nanobot", "zyhive"])
def test_prompt_is_the_reviewed_one(tmp_path: Path, profile: str, member: str) -> None:
    builder = open_example(tmp_path, member)
    context = builder.build(
        ContextRequest(
            thread_id="telegram:dm:42",
            user_id="42",
            platform="telegram",
            model="claude-sonnet-4-6",
            tools=TOOLS,
            last_text="how do I $memory-keeping?",
            extra_context="The person speaks in the group 财务.",
            recalled=["The fiscal year begins in April."],
            now=MOMENT,
            profile=profile,
        )
    )
    found = context.system.replace(str(builder.layout.root), "{workspace}") + "\n"
    path = GOLDEN / f"{profile}-{member}.md"
    if os.environ.get("SHIPMATE_UPDATE_GOLDEN"):
        path.write_text(found, encoding="utf-8")
    assert found == path.read_text(encoding="utf-8")


def test_no_golden_prompt_holds_a_secret() -> None:
    for path in GOLDEN.glob("*.md"):
        text = path.read_text(encoding="utf-8")
        assert "ghp_example" not in text
        assert "sk-example" not in text
    assert len(list(GOLDEN.glob("*.md"))) == 6
