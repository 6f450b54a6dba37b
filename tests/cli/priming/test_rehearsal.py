"""Rehearsals from the command line: what runs, what is said of it, and how the command ends."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest

from shipmate.cli.group import run
from shipmate.priming.rehearsal.report.kept import last_report
from shipmate.rehearsal.service import Held, Setting, hold
from shipmate.workspace.layout import Layout
from tests.support.priming_script import words
from tests.support.rehearsed import answered, called, returned, said

WRITES = (
    said("note it")
    + called("write", "c1", {"path": "note.md", "content": "x"})
    + returned("write", "c1", "Wrote note.md.")
    + answered("Noted.")
)
WRONG = words("hello", "no model says this")


class Crew:
    """A workspace with scripts, and its command line."""

    def __init__(self, root: Path, captured: pytest.CaptureFixture[str]) -> None:
        (root / "Agent.md").write_text("# Mate\n", encoding="utf-8")
        self.layout = Layout(root)
        self._captured = captured

    def put(self, ref: str, text: str) -> Path:
        path = self.layout.priming / f"{ref}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def rehearse(self, *arguments: str) -> tuple[int, str, str]:
        code = run(["-C", str(self.layout.root), "priming", "rehearse", *arguments])
        printed = self._captured.readouterr()
        return code, printed.out, printed.err

    def json(self, *arguments: str) -> Any:
        return json.loads(self.rehearse(*arguments, "--json")[1])


@pytest.fixture
def crew(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Crew:
    return Crew(tmp_path, capsys)


def test_p2_a_script_in_which_a_member_acted_can_pass(crew: Crew) -> None:
    crew.put("team_shared/writes", WRITES)
    code, out, _ = crew.rehearse("team_shared/writes", "--model", "script")
    assert (code, out.splitlines()[0].partition(" (")[0]) == (0, "team_shared/writes: as recorded")
    assert not (crew.layout.root / "note.md").exists()
    assert not crew.layout.threads.exists()


def test_each_ending_has_its_own_exit_code(crew: Crew, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    crew.put("team_shared/good", words("hello", "hi"))
    crew.put("team_shared/wrong", WRONG)
    crew.put("team_shared/bad", "### user\n")
    crew.put("team_shared/silent", answered("nobody asked"))
    crew.put("team_shared/unclear", said("hi") + answered("x", expect={"regexp": "x"}))
    assert crew.rehearse("team_shared/good", "--model", "script")[0] == 0
    code, out, _ = crew.rehearse("team_shared/wrong", "--model", "rehearsal")
    assert (code, "no model says this" in out) == (1, True)
    for name, reason in (("bad", "no longer understood"), ("silent", "no user turn"), ("unclear", "regex")):
        code, out, _ = crew.rehearse(f"team_shared/{name}", "--model", "script")
        assert (code, reason in out) == (3, True)
    code, out, _ = crew.rehearse("team_shared/wrong", "--model", "openai:gpt-5")
    assert (code, "OPENAI_API_KEY" in out) == (4, True)
    for mistake in (["team_shared/none"], ["nonsense"], [], ["team_shared/good", "--tools", "real"]):
        assert crew.rehearse(*mistake)[0] == 2
    assert crew.rehearse("team_shared/good", "-m", "nobody", "--model", "script")[0] == 2


def test_many_scripts_and_folders_are_rehearsed_each_once(
    crew: Crew, monkeypatch: pytest.MonkeyPatch
) -> None:
    crew.put("team_shared/a", words("hello", "hi"))
    crew.put("team_shared/deep/b", words("hello", "hi"))
    crew.put("individual/ux/own", words("hello", "hi"))
    crew.put("team_shared/deep/no slug", words("hello", "hi"))
    (crew.layout.root / "members" / "ux").mkdir(parents=True)
    (crew.layout.root / "members" / "ux" / "Agent.md").write_text("# Ux\n")
    found = crew.json("individual", "team_shared/a", "team_shared", "--model", "script")
    assert [(each["ref"], each["verdict"]) for each in found["scripts"]] == [
        ("individual/ux/own", "same"),
        ("team_shared/a", "same"),
        ("team_shared/deep/b", "same"),
        ("team_shared/deep/no slug.md", "broken"),
    ]
    assert found["scripts"][0]["reports"][0]["member"] == "ux"
    assert found["verdict"] == "broken"
    monkeypatch.chdir(crew.layout.priming)
    by_path = crew.json("team_shared/deep", "team_shared/a.md", "--model", "script")
    assert [each["ref"] for each in by_path["scripts"]] == [
        "team_shared/deep/b",
        "team_shared/deep/no slug.md",
        "team_shared/a",
    ]
    code, out, _ = crew.rehearse("team_shared", "--model", "script")
    assert (code, out.splitlines()[-1]) == (3, "3 scripts: 2 as recorded, 1 broken.")


def test_a_script_for_others_is_rehearsed_with_one_of_them(crew: Crew) -> None:
    (crew.layout.root / "members" / "ux").mkdir(parents=True)
    (crew.layout.root / "members" / "ux" / "Agent.md").write_text("# Ux\n")
    crew.put("team_shared/theirs", "---\napplicableMemberIds: [ux]\n---\n" + words("hello", "hi"))
    found = crew.json("team_shared/theirs", "--model", "script")
    assert found["scripts"][0]["reports"][0]["member"] == "ux"
    assert crew.rehearse("team_shared/theirs", "-m", "captain", "--model", "script")[0] == 3
    kept = last_report(crew.layout, "team_shared/theirs")
    # Asking for the wrong member says nothing about the script.
    assert (kept is not None and kept.verdict) == "same"


def test_a_member_who_is_not_there_is_a_mistake_of_the_caller(crew: Crew) -> None:
    crew.put("individual/captain/own", words("hello", "hi"))
    code, _, err = crew.rehearse("individual/captain/own", "-m", "nobody", "--model", "script")
    assert (code, "there is no member 'nobody'" in err) == (2, True)


def test_a_script_for_nobody_does_not_keep_others_from_being_rehearsed(crew: Crew, tmp_path: Path) -> None:
    crew.put("team_shared/a", "---\napplicableMemberIds: [gone]\n---\n" + words("hello", "hi"))
    crew.put("team_shared/b", words("hello", "hi"))
    report = tmp_path / "report.xml"
    code, out, _ = crew.rehearse("team_shared", "--model", "script", "--junit", str(report))
    assert (code, out.splitlines()[-1]) == (3, "2 scripts: 1 as recorded, 1 broken.")
    assert "team_shared/a is for gone, but there is no member 'gone'" in out
    assert report.is_file()


def test_a_broken_expectation_names_its_script(crew: Crew) -> None:
    crew.put("team_shared/unclear", said("hi") + answered("x", expect={"regexp": "x"}))
    assert (
        "team_shared/unclear:" in crew.rehearse("team_shared/unclear", "--model", "script")[1].splitlines()[1]
    )


def test_repeated_rehearsals_have_a_pass_rate(crew: Crew) -> None:
    crew.put("team_shared/wrong", WRONG)
    crew.put("team_shared/good", words("hello", "hi"))
    found = crew.json("team_shared/good", "--model", "script", "--repeat", "3")
    assert [(each["passed"], each["runs"], each["passRate"]) for each in found["scripts"]] == [(3, 3, 1.0)]
    code, out, _ = crew.rehearse("team_shared/wrong", "--model", "rehearsal", "--repeat", "2")
    assert (code, "0 of 2 runs" in out) == (1, True)
    wanted = ("team_shared/wrong", "--model", "rehearsal", "--repeat", "2", "--pass-rate", "0")
    assert crew.rehearse(*wanted)[0] == 0


def test_p2_runs_that_differ_in_the_same_way_are_shown_once(crew: Crew, tmp_path: Path) -> None:
    crew.put("team_shared/wrong", WRONG)
    files = [tmp_path / "report.xml", tmp_path / "report.md"]
    reports = ("--junit", str(files[0]), "--markdown", str(files[1]))
    _, out, _ = crew.rehearse("team_shared/wrong", "--model", "rehearsal", "--repeat", "4", *reports)
    assert out.splitlines()[0].startswith("team_shared/wrong: not as recorded (0 of 4 runs, 0%, ")
    assert out.count("no model says this") == 1
    assert "Runs 1, 2, 3, 4, Turn 1, hello:" in out
    assert [file.read_text().count("Runs 1, 2, 3, 4") for file in files] == [1, 1]


@pytest.mark.parametrize(
    ("name", "told"),
    [
        (
            "individual/captain",
            "there is no script in individual/captain yet. Make one with `shipmate priming new",
        ),
        ("individual/ux", "there is no member 'ux'. There are: captain."),
        (
            "individual",
            "there is no script in individual yet. Make one with `shipmate priming new individual/MEM",
        ),
        ("log", "'log' is no ref and no folder of scripts. Did you mean team_shared/harbour/log?"),
        ("harbour/log", "Did you mean team_shared/harbour/log?"),
        ("nothing", "'nothing' is no ref and no folder of scripts. `shipmate priming list` shows"),
        ("team_shared/none", "no script team_shared/none."),
    ],
)
def test_p2_a_name_that_is_no_script_says_what_it_could_mean(crew: Crew, name: str, told: str) -> None:
    crew.put("team_shared/harbour/log", words("hello", "hi"))
    code, _, err = crew.rehearse(name, "--model", "script")
    assert (code, told in err) == (2, True), err


def test_p2_a_stray_file_beside_a_member_s_folder_does_not_hide_it(crew: Crew) -> None:
    crew.put("individual/captain/own", words("hello", "hi"))
    crew.put("individual/captain", words("hello", "hi"))
    code, out, _ = crew.rehearse("individual/captain", "--model", "script")
    assert (code, out.splitlines()[0].partition(" (")[0]) == (0, "individual/captain/own: as recorded")


def test_the_last_report_is_kept_and_nothing_else(crew: Crew) -> None:
    crew.put("team_shared/wrong", WRONG)
    assert last_report(crew.layout, "team_shared/wrong") is None
    crew.rehearse("team_shared/wrong", "--model", "rehearsal", "--tools", "sandbox", "--forced")
    report = last_report(crew.layout, "team_shared/wrong")
    assert report is not None
    assert (report.verdict, report.tools, report.model, report.forced) == (
        "differs",
        "sandbox",
        "rehearsal",
        True,
    )
    assert report.turns[0].recorded[0].text == "no model says this"
    left = [path.relative_to(crew.layout.ship).as_posix() for path in crew.layout.ship.rglob("*.*")]
    assert [name for name in left if "thread" in name or "approval" in name] == []


def test_an_update_writes_the_new_answers_and_shows_what_changed(crew: Crew) -> None:
    path = crew.put("team_shared/wrong", WRONG)
    code, out, _ = crew.rehearse("team_shared/wrong", "--model", "rehearsal", "--update")
    assert code == 0
    assert "-no model says this\n" in out
    assert "\n+Hello!" in out
    assert "--- a/.minds/priming/team_shared/wrong.md\n" in out
    assert "no model says this" not in path.read_text(encoding="utf-8")
    assert crew.rehearse("team_shared/wrong", "--model", "rehearsal")[0] == 0
    before = path.read_text(encoding="utf-8")
    assert crew.rehearse("team_shared/wrong", "--model", "rehearsal", "--update")[0] == 0
    assert path.read_text(encoding="utf-8") == before
    assert crew.rehearse("team_shared/wrong", "--update", "--repeat", "2")[0] == 2


def test_an_update_keeps_who_may_read_the_script(crew: Crew) -> None:
    path = crew.put("team_shared/wrong", WRONG)
    path.chmod(0o640)
    assert crew.rehearse("team_shared/wrong", "--model", "rehearsal", "--update")[0] == 0
    assert path.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize(
    "meanwhile", [words("another question", "no model says this"), "half a", WRONG + answered("One more.")]
)
def test_an_update_leaves_alone_what_was_changed_during_the_rehearsal(
    crew: Crew, monkeypatch: pytest.MonkeyPatch, meanwhile: str
) -> None:
    path = crew.put("team_shared/wrong", WRONG)

    async def hold_and_edit(layout: Layout, ref: str, setting: Setting) -> Held:
        held = await hold(layout, ref, setting)
        path.write_text(meanwhile, encoding="utf-8")
        return held

    monkeypatch.setattr("shipmate.cli.priming.rehearsal.hold", hold_and_edit)
    code, out, error = crew.rehearse("team_shared/wrong", "--model", "rehearsal", "--update")
    assert code == 1
    assert path.read_text(encoding="utf-8") == meanwhile
    assert "was changed during the rehearsal" in error
    assert "+++" not in out


def test_an_update_does_not_hide_what_it_cannot_mend(crew: Crew) -> None:
    path = crew.put("team_shared/strict", said("hello") + answered("hi", expect={"contains": "ahoy"}))
    assert crew.rehearse("team_shared/strict", "--model", "rehearsal", "--update")[0] == 1
    assert "ahoy" in path.read_text(encoding="utf-8")


def test_reports_are_written_for_forges_and_people(crew: Crew, tmp_path: Path) -> None:
    crew.put("team_shared/wrong", WRONG)
    crew.put("team_shared/good", said("hello") + answered("hi", expect={"contains": "Hello"}))
    junit, markdown = tmp_path / "out" / "junit.xml", tmp_path / "out" / "report.md"
    files = ("--junit", str(junit), "--markdown", str(markdown))
    assert crew.rehearse("team_shared", "--model", "rehearsal", *files)[0] == 1
    suite = ElementTree.parse(junit).getroot()[0]
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
    assert "| team\\_shared/good | as recorded | 1 of 1 |" in markdown.read_text(encoding="utf-8")
    assert crew.rehearse("team_shared", "--model", "rehearsal", "--junit", str(tmp_path))[0] == 2


def test_bounds_and_ignored_aspects_come_from_options(crew: Crew) -> None:
    crew.put("team_shared/wrong", WRONG)
    wanted = ("team_shared/wrong", "--model", "rehearsal", "--ignore", "words")
    assert crew.rehearse(*wanted)[0] == 0
    found = crew.json(*wanted, "--max-ms", "0")
    assert [each["kind"] for each in found["scripts"][0]["reports"][0]["turns"][0]["deviations"]] == ["time"]
    crew.put("team_shared/good", words("hello", "hi"))
    assert crew.rehearse("team_shared/good", "--model", "script", "--max-cost", "0")[0] == 0


def test_live_tools_approve_nothing(crew: Crew) -> None:
    crew.put("team_shared/acts", words('call exec {"command": "touch acted"}', "Done."))
    found = crew.json("team_shared/acts", "--model", "rehearsal", "--tools", "live")
    (turn,) = found["scripts"][0]["reports"][0]["turns"]
    assert [piece["kind"] for piece in turn["new"] if piece["name"] == "exec"] == ["call", "denial"]
    assert not (crew.layout.root / "acted").exists()


LOG = (
    said("copy it")
    + called("read", "c1", {"path": "log.md"})
    + returned("read", "c1", "")
    + called("write", "c2", {"path": "copy.md", "content": "08:00"})
    + returned("write", "c2", "")
    + called("exec", "c3", {"command": "cat log.md"})
    + returned("exec", "c3", "")
    + answered("Copied.")
)


def remove(root: Path) -> None:
    (root / "log.md").unlink()


def forbid(root: Path) -> None:
    (root / "ship.json").write_text(json.dumps({"permissions": {"deny": ["write"]}}), encoding="utf-8")


def rewrite(root: Path) -> None:
    (root / "log.md").write_text("09:00 back\n", encoding="utf-8")


def make_folder(root: Path) -> None:
    (root / "copy.md").mkdir()


SEEDS = {
    "other result": (rewrite, "result"),
    "error for success": (remove, "error"),
    "refusal by a rule": (forbid, "error"),
    "a target that is a folder": (make_folder, "error"),
}


@pytest.mark.parametrize("name", SEEDS)
def test_p2_a_change_of_the_workspace_is_found_by_its_tools(crew: Crew, name: str) -> None:
    seed, kind = SEEDS[name]
    root = crew.layout.root
    (root / "log.md").write_text("08:00 left harbour\n", encoding="utf-8")
    path = crew.put("team_shared/log", LOG)
    command = ("team_shared/log", "--model", "script", "--tools", "sandbox")
    assert crew.rehearse(*command, "--update")[0] == 0
    assert "08:00 left harbour" in path.read_text(encoding="utf-8")
    assert crew.rehearse(*command)[0] == 0, "nothing is reported without a regression"
    seed(root)
    code, out, err = crew.rehearse(*command, "--json")
    assert (code, err) == (1, "")
    (turn,) = json.loads(out)["scripts"][0]["reports"][0]["turns"]
    assert kind in {deviation["kind"] for deviation in turn["deviations"]}
    assert not (root / "copy.md").is_file(), "nothing real was touched"
    # With the script's own answers nothing of it is noticed, but for the rule.
    assert crew.rehearse("team_shared/log", "--model", "script")[0] == int(name == "refusal by a rule")
