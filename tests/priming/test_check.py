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


def test_p6_findings_name_what_is_lost_of_a_script_that_can_be_read(library: Library, put: Put) -> None:
    call = '### record func_call_record\n```\n{"genseq": 1, "id": "c", "name": "n", "arguments": {}}\n```\n'
    put("team_shared/half", body=call)
    lost, good = findings(library)
    assert (lost.level, good.level, good.message) == ("warn", "ok", "1 scripts can be replayed")
    assert lost.message.startswith(".minds/priming/team_shared/half.md:1: the call 'c' has no result")


def test_p7_findings_name_damaged_recents_and_links(library: Library, put: Put, tmp_path: Path) -> None:
    path = library.layout.recent_priming("ux")
    path.parent.mkdir(parents=True)
    path.write_bytes(b"{")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "a.md").write_text("### user\n", encoding="utf-8")
    (library.layout.priming / "individual").mkdir(parents=True)
    (library.layout.priming / "individual/ux").symlink_to(elsewhere)
    link, recent = findings(library)
    assert "leads elsewhere" in link.message
    assert "set aside" in recent.message


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
