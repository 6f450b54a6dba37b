"""The command `members`."""

from __future__ import annotations

from pathlib import Path

from tests.support.terminal import shipmate


def test_members_are_added_related_shown_and_removed(workspace: Path) -> None:
    def run(*words: str, code: int = 0, said: str = "") -> str:
        done = shipmate(workspace, "members", *words, said=said)
        assert done.returncode == code, done.stderr
        return done.stdout + done.stderr

    assert "Nina is a member now" in run("add", "nina", "--name", "Nina", "--colour", "#336699")
    assert "is no id" in run("add", "../nina", code=2)
    assert "both files say so" in run("relate", "nina", "superior", "captain")
    assert "captain (" in run("show", "nina")
    assert (
        run("env", "nina", "API_KEY", said="hidden-value\n")
        == "members/nina/member.json holds API_KEY (mode 0600).\n"
    )
    shown = run("show", "nina")
    assert "API_KEY" in shown
    assert "hidden-value" not in shown
    assert '"colleagues": [\n      "nina"\n    ]' in run("list", "--json")
    assert "say `shipmate members remove nina --yes`" in run("remove", "nina", code=2)
    assert "move it back" in run("remove", "nina", "--yes")
    assert "nina" not in run()
