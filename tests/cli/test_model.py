"""Which model answers a command, and what does not have to wait for one (U11)."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from tests.support.provider_server import ProviderServer
from tests.support.provider_wire import refuse
from tests.support.terminal import make_workspace, shipmate

UNSET = {"llm": {"provider": "openai", "apiKey": "${NOT_SET_ANYWHERE}"}}


@pytest.fixture
def unset(tmp_path: Path) -> Path:
    """Make a workspace whose model names a variable nobody set."""
    folder = make_workspace(tmp_path)
    (folder / "ship.json").write_text(json.dumps(UNSET))
    return folder


def test_u11_an_unset_variable_does_not_block_the_context(unset: Path) -> None:
    done = shipmate(unset, "context")
    assert done.returncode == 0
    assert "NOT_SET_ANYWHERE, which is not set" in done.stderr


def test_u11_an_unset_variable_does_not_block_another_model(unset: Path) -> None:
    done = shipmate(unset, "ask", "--model", "rehearsal", "hello")
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


def test_u11_an_unset_variable_is_named_when_its_model_is_asked(unset: Path) -> None:
    done = shipmate(unset, "ask", "hello")
    assert done.returncode != 0
    assert "NOT_SET_ANYWHERE, which is not set" in done.stderr
    assert "Traceback" not in done.stderr
    assert "NOT_SET_ANYWHERE" in shipmate(unset, "doctor").stdout


async def test_u11_an_env_file_sends_the_prompt_where_it_says(tmp_path: Path) -> None:
    folder = make_workspace(tmp_path)
    async with ProviderServer() as server:
        (folder / ".env").write_text(f"OPENAI_API_KEY=sk-of-the-file\nOPENAI_BASE_URL={server.url}/v1\n")
        done = await asyncio.to_thread(shipmate, folder, "ask", "hello")
    assert done.returncode == 0, done.stderr
    assert server.requests[0].headers["authorization"] == "Bearer sk-of-the-file"


async def run(folder: Path, *arguments: str, said: str = "", **env: str) -> tuple[int, str, str]:
    done = await asyncio.to_thread(shipmate, folder, "model", *arguments, said=said, **env)
    return done.returncode, done.stdout, done.stderr


KEY = "sk-pasted-0123456789"


async def test_5_a_key_is_tested_once_and_kept_where_it_belongs(tmp_path: Path) -> None:
    folder = make_workspace(tmp_path)
    (folder / ".env").write_text("# mine\nOTHER=1\n")
    (folder / "ship.json").write_text('{\n  "name":   "Ada",\n  "llm": {"temperature": 0.5}\n}\n')
    async with ProviderServer() as server:
        url = f"{server.url}/v1"
        code, out, err = await run(
            folder, "set", "openai:gpt-x", "--key-stdin", "--base-url", url, said=f"{KEY}\n"
        )
        assert (code, len(server.requests)) == (0, 1), err
        assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
        assert KEY not in out + err
        assert "openai:gpt-x answered in" in out
        assert (folder / ".env").read_text() == f"# mine\nOTHER=1\nOPENAI_API_KEY={KEY}\n"
        assert (folder / ".env").stat().st_mode & 0o777 == 0o600
        text = (folder / "ship.json").read_text()
        assert '"name":   "Ada"' in text
        llm = json.loads(text)["llm"]
        assert llm.pop("temperature") == 0.5
        assert llm == {
            "provider": "openai",
            "model": "gpt-x",
            "baseUrl": url,
            "apiKey": "${OPENAI_API_KEY}",
        }
        done = await asyncio.to_thread(shipmate, folder, "ask", "hello")
        assert done.returncode == 0, done.stderr
        assert server.requests[-1].headers["authorization"] == f"Bearer {KEY}"
        code, out, _ = await run(folder, "unset")
        assert code == 0
        assert "gpt-x" in out
    assert json.loads((folder / "ship.json").read_text())["llm"] == {"temperature": 0.5}


async def test_5_what_does_not_answer_is_kept_only_by_force(tmp_path: Path) -> None:
    folder = make_workspace(tmp_path)
    async with ProviderServer() as server:
        server.script(refuse(401, f"bad key {KEY}"))
        arguments = ("set", "openai:gpt-x", "--key-stdin", "--base-url", f"{server.url}/v1")
        code, out, err = await run(folder, *arguments, said=f"{KEY}\n")
        assert code == 1
        assert len(err.strip().splitlines()) == 2
        assert "Nothing was written." in err
        assert KEY not in out + err
        assert not (folder / ".env").exists()
        assert not (folder / "ship.json").exists()
        server.script(refuse(401, "bad"))
        code, _, _ = await run(folder, *arguments, "--force", said=f"{KEY}\n")
    assert code == 0
    assert KEY in (folder / ".env").read_text()


def test_5_a_key_as_an_argument_is_refused_and_not_repeated(tmp_path: Path) -> None:
    folder = make_workspace(tmp_path)
    for arguments in (("openai:gpt-x", KEY), (KEY,), ("openai:gpt-x", "--key", KEY)):
        done = shipmate(folder, "model", "set", *arguments)
        assert done.returncode == 2
        assert KEY not in done.stdout + done.stderr
    assert not (folder / ".env").exists()


async def test_5_a_variable_of_the_environment_is_not_shadowed(tmp_path: Path) -> None:
    """The environment wins over .env: a key kept there under the same name would never be used."""
    folder = make_workspace(tmp_path)
    async with ProviderServer() as server:
        arguments = ("set", "openai:m", "--key-stdin", "--base-url", f"{server.url}/v1")
        code, out, err = await run(folder, *arguments, said=f"{KEY}\n", OPENAI_API_KEY="sk-other-0123456789")
        assert code == 0, err
        assert "SHIPMATE_OPENAI_API_KEY" in out
        done = await asyncio.to_thread(shipmate, folder, "ask", "hi", OPENAI_API_KEY="sk-other-0123456789")
        assert done.returncode == 0, done.stderr
    assert server.requests[-1].headers["authorization"] == f"Bearer {KEY}"


async def test_5_a_stored_key_is_sent_to_no_other_address(tmp_path: Path) -> None:
    folder = make_workspace(tmp_path)
    async with ProviderServer() as server:
        for arguments in (("set", "openai:m"), ("list", "openai")):
            code, _, err = await run(
                folder, *arguments, "--base-url", f"{server.url}/v1", OPENAI_API_KEY="sk-other-0123456789"
            )
            assert code == 2
            assert "Nothing was sent" in err
    assert server.requests == []
    assert server.asides == []


async def test_5_a_member_has_a_model_of_its_own(tmp_path: Path) -> None:
    folder = make_workspace(tmp_path)
    (folder / "members" / "bob").mkdir(parents=True)
    (folder / "members" / "bob" / "Agent.md").write_text("# Bob\n")
    async with ProviderServer() as server:
        url = f"{server.url}/v1"
        code, out, err = await run(folder, "set", "vllm:small", "--base-url", url, "--member", "bob")
        assert code == 0, err
        assert "members/bob/member.json" in out
        done = await asyncio.to_thread(shipmate, folder, "ask", "-m", "bob", "hello")
        assert done.returncode == 0, done.stderr
    assert server.requests[-1].model == "small"
    assert not (folder / "ship.json").exists()


async def test_5_models_are_listed_and_shown_with_their_window(tmp_path: Path) -> None:
    folder = make_workspace(tmp_path)
    async with ProviderServer() as server:
        server.routes["/v1/models"] = {"data": [{"id": "small", "max_model_len": 4096}]}
        url = f"{server.url}/v1"
        code, out, _ = await run(folder, "list", "vllm", "--base-url", url)
        assert (code, out.split()) == (0, ["vllm:small", "4,096", "tokens"])
        await run(folder, "set", "vllm:small", "--base-url", url)
        code, out, _ = await run(folder, "show")
        assert "reads 4,096 tokens at once (the server tells)" in out
        code, out, _ = await run(folder, "test")
        assert (code, "answered in" in out) == (0, True)
        server.routes.clear()
        code, _, err = await run(folder, "list", "vllm", "--base-url", url)
        assert code == 2
        assert "does not list its models" in err


async def test_5_a_name_given_with_m_is_a_model_once(tmp_path: Path) -> None:
    folder = make_workspace(tmp_path)
    done = await asyncio.to_thread(shipmate, folder, "ask", "-m", "rehearsal", "hello")
    assert done.returncode == 0, done.stderr
    done = await asyncio.to_thread(shipmate, folder, "ask", "-m", "nobody:x", "hello")
    assert done.returncode == 2
    assert "nobody" in done.stderr


async def test_u12_doctor_claims_nothing_unasked(tmp_path: Path) -> None:
    folder = make_workspace(tmp_path)
    async with ProviderServer() as server:
        (folder / ".env").write_text(f"OPENAI_API_KEY={KEY}\nOPENAI_BASE_URL={server.url}/v1\n")
        done = await asyncio.to_thread(shipmate, folder, "doctor")
        assert "is configured; not asked (doctor --live asks it)" in done.stdout
        assert server.requests == []
        done = await asyncio.to_thread(shipmate, folder, "doctor", "--live")
    assert "answered: first byte after" in done.stdout
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    ("wire", "lines"),
    [
        ("chat", "OPENAI_API_KEY={key}\nOPENAI_BASE_URL={url}/v1"),
        ("anthropic", "ANTHROPIC_API_KEY={key}\nANTHROPIC_BASE_URL={url}"),
        ("google", "GEMINI_API_KEY={key}\nGOOGLE_GEMINI_BASE_URL={url}"),
    ],
)
async def test_u11_an_env_file_counts_whole_on_every_wire(tmp_path: Path, wire: str, lines: str) -> None:
    folder = make_workspace(tmp_path)
    async with ProviderServer() as server:
        (folder / ".env").write_text(lines.format(key=KEY, url=server.url))
        done = await asyncio.to_thread(shipmate, folder, "ask", "hello")
    assert done.returncode == 0, done.stderr
    assert server.requests[0].protocol == wire
    assert KEY in "".join(server.requests[0].headers.values())


def test_u12_yolo_and_a_misspelt_limit_are_told_at_every_start(tmp_path: Path) -> None:
    folder = make_workspace(tmp_path)
    (folder / "ship.json").write_text('{"permissions": {"mode": "yolo"}}')
    assert "mode yolo" in shipmate(folder, "ask", "hello").stderr
    (folder / "ship.json").write_text('{"permisions": {"deny": ["exec"]}}')
    done = shipmate(folder, "ask", "hello")
    assert "permisions" in done.stderr
