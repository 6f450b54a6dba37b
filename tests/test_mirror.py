"""Tests lie where what they test lies: a file of a mirrored folder is named after its module (H6)."""

from __future__ import annotations

from pathlib import Path

import shipmate

SOURCE = Path(shipmate.__file__).parent
TESTS = Path(__file__).parent
ROOMS = {path.name for path in SOURCE.iterdir() if path.is_dir() and path.name != "__pycache__"}
# Tests of what several modules do together, each in the room whose behaviour it is.
CROSSING = {
    "adapters/test_small_platform.py": "people who write mail, or to WeCom, through the product",
    "adapters/telegram/test_telegram_kill.py": "a server that is killed between what it hears and says",
    "adapters/feishu/test_feishu_foreign.py": "the loopback Feishu, by Feishu's own SDK",
    "adapters/telegram/test_telegram_foreign.py": "the loopback Telegram, by grammY",
    "adapters/telegram/test_telegram_chat.py": "people who talk to members on Telegram, through the product",
    "fleet/test_engine.py": "every engine, with processes that die and freeze",
    "models/provider/test_loading.py": "what is loaded for which provider",
    "models/wire/gemini/test_gemini_conversation.py": "Gemini's wire over HTTP, beside its SDK",
    "models/wire/test_conversation.py": "wires over HTTP, through WireModel",
    "models/wire/test_growth.py": "requests of the whole product that only grow",
    "orchestrator/test_half_call.py": "answers that end in the midst of a call, on all four wires",
    "tools/exec/test_command_target.py": "what a question about a command is bound to, through the tool",
    "crew/test_crew_kill.py": "three members in one thread, whose keeper is killed",
    "cli/test_every_terminal.py": "widths, encodings, dumb terminals, closed pipes, keys",
    "cli/test_foreign_folder.py": "folders made for other programs, through the command line",
    "cli/test_help.py": "every command describes itself",
    "context/test_bad_input.py": "whatever stands in a workspace, a prompt is made",
    "context/test_document_001.py": "document 001 to the letter",
    "context/test_golden.py": "the profiles against the documents",
    "context/test_nanobot.py": "what nanobot's own tests hold, over the wire",
    "context/test_origin.py": "the example of the origin",
    "context/test_prefix.py": "requests of one course begin alike",
    "orchestrator/keeper/test_silence.py": "nobody waits for a keeper that is gone",
    "orchestrator/keeper/test_visitor.py": "who is let in at the socket",
    "orchestrator/keeper/test_welcome.py": "those who are attached are served to the end",
    "orchestrator/test_alias.py": "tools called as the documents name them",
    "orchestrator/test_answer.py": "answers to approvals, through the product",
    "orchestrator/test_changed.py": "targets that change between question and act",
    "orchestrator/test_decided.py": "decisions that come late",
    "orchestrator/test_forbidden.py": "rules that come late",
    "orchestrator/test_plan.py": "plans that are agreed first, and lists of steps, through the product",
    "orchestrator/test_preview.py": "mode preview, through the product",
    "orchestrator/test_received.py": "what strangers sent",
    "orchestrator/test_server_tools.py": "tools of MCP servers through whole runs",
    "orchestrator/test_small_window.py": "what a model that reads little is sent",
    "orchestrator/test_row.py": "rows and streams, read by the AI SDK",
    "priming/script/test_origin.py": "scripts read by the origin's own reader",
    "priming/test_order.py": "records in their order, on all four wires",
    "priming/test_cli.py": "the priming commands, with the fixtures of this room",
    "server/routes/v1/test_client.py": "programs of others that speak OpenAI's protocol",
    "server/routes/v1/test_tool.py": "tools of programs, from the offer to the result",
    "server/test_client.py": "the AI SDK's clients",
    "server/test_openapi.py": "every route against its description",
    "server/test_restart.py": "the AI SDK's clients through a kill",
    "server/test_workspace.py": "the routes of a workspace's files together",
    "schedule/test_schedule_kill.py": "a server that is killed while tasks begin",
    "tools/exec/preview/test_equal.py": "a preview and a plain run of one command",
    "tools/exec/program/test_oracle.py": "the grammars against the real programs",
    "tools/web/test_hostile.py": "hostile servers and pages",
    "tools/web/test_markup_cost.py": "what a page may cost",
    "workspace/foreign/test_half_written.py": "whatever a program left half-written",
    "workspace/yaml/test_cost.py": "what a document may cost",
}


def mirrored() -> dict[str, Path]:
    """Return the test files of folders that mirror a room, by their path."""
    found = (path for room in ROOMS for path in (TESTS / room).rglob("test_*.py"))
    return {path.relative_to(TESTS).as_posix(): path for path in found if "node_modules" not in path.parts}


def names_a_module(path: str) -> bool:
    place = SOURCE / Path(path).parent
    name = Path(path).stem.removeprefix("test_")
    return (place / f"{name}.py").is_file() or (place / name / "__init__.py").is_file()


def test_h6_every_test_of_a_room_is_named_after_a_module_or_known_to_cross() -> None:
    strays = {path for path in mirrored() if not names_a_module(path)} - set(CROSSING)
    assert strays == set(), "name it after its module, or say in CROSSING what it tests across modules"


def test_h6_what_crosses_is_there_and_names_no_module() -> None:
    known = mirrored()
    assert {path for path in CROSSING if path not in known or names_a_module(path)} == set()


def test_h6_other_folders_of_tests_are_those_that_drive_the_whole() -> None:
    others = {path.name for path in TESTS.iterdir() if path.is_dir() and any(path.rglob("test_*.py"))} - ROOMS
    assert others - {"node"} == {"attack", "crash", "page", "simulation"}
