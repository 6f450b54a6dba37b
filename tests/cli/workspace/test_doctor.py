from __future__ import annotations

import json
from pathlib import Path

from shipmate.approvals.audit import Audit, AuditEntry
from shipmate.values.thread_id import ThreadId
from shipmate.workspace.layout import Layout
from tests.support.terminal import shipmate


def test_a_good_workspace_is_told_what_works_and_which_model_answers(workspace: Path) -> None:
    done = shipmate(workspace, "doctor")
    assert done.returncode == 0
    assert "✓ Agent.md: 20 characters" in done.stdout
    assert str(workspace) not in done.stdout
    assert "! model: the built-in rehearsal model" in done.stdout
    assert "set a key such as ANTHROPIC_API_KEY" in done.stdout
    assert "✓ threads: none yet" in done.stdout


def test_an_unknown_key_is_reported_with_the_nearest_name(workspace: Path) -> None:
    (workspace / "ship.json").write_text('{"permisions": {}}')
    findings = json.loads(shipmate(workspace, "doctor", "--json").stdout)
    (found,) = [finding for finding in findings if finding["subject"] == "ship.json"]
    assert found["level"] == "warn"
    assert "'permisions'" in found["message"]
    assert "'permissions'" in found["fix"]


def test_a_broken_configuration_is_an_error_and_the_other_checks_go_on(workspace: Path) -> None:
    (workspace / "ship.json").write_text('{"name": ')
    done = shipmate(workspace, "doctor")
    assert done.returncode == 1
    assert "✗ ship.json: " in done.stdout
    assert "✓ threads" in done.stdout
    assert "1 must be mended" in done.stdout


def test_an_unknown_provider_is_an_error(workspace: Path) -> None:
    (workspace / "ship.json").write_text('{"llm": {"provider": "antropic"}}')
    done = shipmate(workspace, "doctor")
    assert done.returncode == 1
    assert "✗ model: " in done.stdout
    assert "'anthropic'" in done.stdout


def test_secrets_are_never_shown(workspace: Path) -> None:
    secret = "sk-ant-very-secret-0123456789"
    (workspace / "ship.json").write_text(json.dumps({"llm": {"provider": secret, "apiKey": secret}}))
    (workspace / ".env").write_text(f"ANTHROPIC_API_KEY={secret}\n")
    for arguments in (("doctor",), ("doctor", "--json")):
        done = shipmate(workspace, *arguments, OPENAI_API_KEY=secret)
        assert done.returncode == 1
        assert secret not in done.stdout + done.stderr
        assert "•••" in done.stdout


def test_a_broken_row_is_named_with_its_line(workspace: Path) -> None:
    folder = Layout(workspace).threads
    folder.mkdir(parents=True)
    (folder / "cli%3Achat%3Ax.jsonl").write_text('{"id":"u1","role":"user","parts":[]}\nrubbish\n')
    done = shipmate(workspace, "doctor")
    assert done.returncode == 0
    assert "! .ship/threads/cli%3Achat%3Ax.jsonl:2: cannot be read" in done.stdout


def test_an_agent_that_cannot_be_read_is_an_error(workspace: Path) -> None:
    (workspace / "Agent.md").write_bytes(b"\xff\xfe\x00bad")
    done = shipmate(workspace, "doctor")
    assert done.returncode == 1
    assert "✗ Agent.md: " in done.stdout
    (workspace / "Agent.md").write_text(" \n")
    assert "! Agent.md: " in shipmate(workspace, "doctor").stdout


def test_without_a_workspace_one_line_says_how_to_make_one(tmp_path: Path) -> None:
    done = shipmate(tmp_path, "doctor")
    assert done.returncode == 2
    assert "shipmate init" in done.stderr
    assert done.stderr.count("\n") == 1


def test_c19_literal_keys_and_loose_modes_are_named_with_their_fix(workspace: Path) -> None:
    (workspace / "ship.json").write_text('{"llm": {"provider": "rehearsal", "apiKey": "written-out"}}')
    (workspace / "ship.json").chmod(0o644)
    done = shipmate(workspace, "doctor")
    assert "! ship.json llm.apiKey: a secret is written out" in done.stdout
    assert '→ write "${LLM_API_KEY}" there' in done.stdout
    assert "! ship.json mode: others on this machine can read it (mode 644)" in done.stdout
    assert "→ chmod 600 ship.json" in done.stdout
    assert "written-out" not in done.stdout


def test_a_changed_audit_log_is_an_error(workspace: Path) -> None:
    Audit(Layout(workspace)).append(AuditEntry(event="refused", tool="exec", what="rm x"))
    assert "✓ audit: 1 entry, none cut or changed" in shipmate(workspace, "doctor").stdout
    (path,) = Layout(workspace).audit.glob("*.jsonl")
    path.write_bytes(path.read_bytes().replace(b"rm x", b"ls x"))
    done = shipmate(workspace, "doctor")
    assert done.returncode == 1
    assert f"✗ audit .ship/audit/{path.name}:1: entry 1 was changed" in done.stdout


def test_d5_d16_a_damaged_index_and_a_thread_cut_to_nothing_are_named(workspace: Path) -> None:
    layout = Layout(workspace)
    shipmate(workspace, "threads", "list")
    layout.state.write_bytes(b"rubbish" * 1000)
    layout.threads.mkdir(exist_ok=True)
    layout.thread(ThreadId("cli", "chat", "cut")).write_bytes(b"")
    listed = shipmate(workspace, "threads", "list")
    assert (listed.returncode, "cli:chat:cut" in listed.stdout) == (0, True)
    done = shipmate(workspace, "doctor")
    assert "! .ship/damaged/state-" in done.stdout
    assert "! .ship/threads/cli%3Achat%3Acut.jsonl: the file is empty" in done.stdout
    assert str(workspace) not in done.stdout


def test_m4_a_member_whose_model_is_missing_and_a_key_in_its_settings_are_named(workspace: Path) -> None:
    for name, settings in {
        "nina": {"model": "anthropic:claude-sonnet-4-6"},
        "bo": {"model": "nobody:knows"},
        "cy": {"model": "rehearsal", "env": {"BOOKS_TOKEN": "a-private-value"}},
    }.items():
        (workspace / "members" / name).mkdir(parents=True)
        (workspace / "members" / name / "member.json").write_text(json.dumps(settings))
    result = shipmate(workspace, "doctor", "--json")
    found = {each["subject"]: each for each in json.loads(result.stdout)}
    assert result.returncode == 1
    assert "has no key" in found["member nina: model"]["message"]
    assert found["member bo: model"]["level"] == "error"
    assert "member cy: model" not in found
    assert "BOOKS_TOKEN=…" in found["members/cy/member.json env.BOOKS_TOKEN"]["fix"]
    assert "a-private-value" not in result.stdout


def test_m4_whose_file_or_skill_a_warning_is_about_is_said(workspace: Path) -> None:
    for name in ("bo", "nina"):
        skill = workspace / "members" / name / "skills" / "tide"
        skill.mkdir(parents=True)
        (workspace / "members" / name / "Agent.md").write_text("")
        (skill / "SKILL.md").write_text(
            "---\nname: tide\ndescription: Tides.\nrequires: {bins: [no-such]}\n---\nx\n"
        )
    nina = workspace / "members" / "nina" / "member.json"
    nina.write_text('{"descripton": "x", "env": {"A": "${NOWHERE}"}, "skills": {"paths": ["gone"]}}')
    (workspace / "Agent.md").write_text("")
    (workspace / "USER.md").write_bytes(b"\xff\xfeA\0")
    lines = shipmate(workspace, "doctor").stdout.splitlines()
    for subject in ("Agent.md", "members/bo/Agent.md", "members/nina/Agent.md"):
        assert sum(line.startswith(f"! {subject}: empty") for line in lines) == 1
    assert "    → see `shipmate context --member nina --show agent`" in lines
    for subject in ("member.json env.A", "member.json", "skills.paths: gone"):
        assert any(line[2:].startswith(f"member nina: {subject}: ") for line in lines)
    for name in ("bo", "nina"):
        assert sum(f"members/{name}/skills/tide/SKILL.md cannot be used" in line for line in lines) == 1
    # What all share is said once.
    assert sum("USER.md" in line for line in lines) == 1


def test_m4_words_that_lie_outside_are_said_by_doctor_context_and_ask(
    workspace: Path, tmp_path: Path
) -> None:
    (tmp_path / "outside.md").write_text("# Mallory\n\nYou are Mallory.\n")
    nina = workspace / "members" / "nina"
    nina.mkdir(parents=True)
    for path, member in ((nina / "Agent.md", ("--member", "nina")), (workspace / "Agent.md", ())):
        path.unlink(missing_ok=True)
        path.symlink_to(tmp_path / "outside.md")
        name = member[1] if member else "captain"
        place = path.relative_to(workspace)
        words = f"{place}: a link to {tmp_path / 'outside.md'}, outside the workspace; copy the file in."
        doctor = shipmate(workspace, "doctor")
        assert (doctor.returncode, f"✗ member {name}: {words}" in doctor.stdout) == (1, True)
        shown = shipmate(workspace, "context", *member)
        assert (shown.returncode, words in shown.stderr) == (2, True)
        asked = shipmate(workspace, "ask", *member, "Hello")
        assert (asked.returncode != 0, asked.stdout, words in asked.stderr) == (True, "", True)
