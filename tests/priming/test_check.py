from __future__ import annotations

import re
from pathlib import Path

from shipmate.priming.check import check_file, findings
from shipmate.priming.library import Library
from shipmate.priming.script.parse import parse_script
from tests.support.priming_script import Put


def test_findings_name_what_is_broken(library: Library, put: Put) -> None:
    assert findings(library) == []
    put("team_shared/good")
    put("individual/ux/bad", body="### user\n### user\n")
    bad, good = findings(library)
    assert (bad.level, good.level, good.message) == ("error", "ok", "1 scripts can be replayed")
    assert bad.message.startswith(".minds/priming/individual/ux/bad.md:1: record 1:")


def test_a_name_no_ref_can_give_is_a_mistake(library: Library, put: Put) -> None:
    path = put("team_shared/两")
    (problem,) = check_file(library.layout, "x.md", path)
    assert "is not a slug" in str(problem)


def test_the_example_of_the_documentation_is_a_script() -> None:
    text = (Path(__file__).parents[2] / "docs/priming.md").read_text(encoding="utf-8")
    example = re.search(r"^~~~markdown\n(.*?)^~~~$", text, re.DOTALL | re.MULTILINE)
    assert example is not None
    script = parse_script(example[1])
    assert [record.type for record in script.records] == [
        "human_text_record",
        "func_call_record",
        "func_result_record",
        "agent_words_record",
    ]
    assert script.applicable == ("ux",)
