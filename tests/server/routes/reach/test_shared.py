"""Files too large for a platform are fetched by an address, by whoever has it, for a while."""

from __future__ import annotations

import asyncio
import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

from shipmate.adapters.memory_platform import MemoryAdapter
from shipmate.app import Shipmate
from shipmate.models.scripted import ScriptedModel, call
from shipmate.tools.file.sharing import Shares
from shipmate.workspace.layout import Layout
from tests.support.server import make_site, make_workspace, opener_for, serving

LONG = 20
CONTENT = bytes(range(256)) * 20


def write_config(root: Path) -> None:
    # Pressing a button needs a platform that shows calls.
    adapter = {"kind": "memory", "open": True, "capabilities": {"supportsFiles": True, "maxFileBytes": 1000}}
    server = {"publicUrl": "https://ship.example/base/", "shareHours": 2}
    (root / "ship.json").write_text(json.dumps({"adapters": {"telegram": adapter}, "server": server}))


async def test_a_large_file_gets_an_address_that_asks_first_and_ends(tmp_path: Path) -> None:
    make_workspace(tmp_path)
    write_config(tmp_path)
    (tmp_path / "größe 大.bin").write_bytes(CONTENT)
    model = ScriptedModel([call("send_file", path="größe 大.bin"), "There it is."])
    async with serving(make_site(tmp_path, opener_for(model))) as served:
        ship = await served.ship()
        assert isinstance(ship, Shipmate)
        adapter = ship.adapters.find("telegram")
        assert isinstance(adapter, MemoryAdapter)
        ship.listen()
        platform = adapter.platform
        await platform.say("send me the film")
        await asyncio.wait_for(
            platform.wait("anyone who has the address can fetch the file for 2 hours"), LONG
        )
        (approval,) = (await served.client.get("/api/approvals")).json()["approvals"]
        assert approval["sharedHours"] == 2
        assert ship.shares.list() == []
        await served.client.post(f"/api/approvals/{approval['id']}", json={"approved": True})
        await asyncio.wait_for(platform.wait("There it is.", "https://"), LONG)
        await served.idle()
        text = next(each.text for each in platform.in_chat("1") if "https://" in each.text)
        found = re.search(r"https://ship\.example/base(/shared/(sh_\w+)\.([0-9a-f]{64}))$", text)
        assert found, text
        address, share_id, secret = found.groups()
        share = ship.shares.find(share_id)
        assert share
        assert share.expires_at[:16].replace("T", " ") in text
        # What is kept of the conversation, and what the model was told, does not open it.
        kept = [
            path for path in (tmp_path / ".ship").rglob("*") if path.is_file() and share.id not in path.name
        ]
        assert not [path for path in kept if secret.encode() in path.read_bytes()]
        assert secret not in repr(model.requests)
        async with served.stranger() as stranger:
            whole = await stranger.get(address)
            assert (whole.status_code, whole.content) == (200, CONTENT)
            assert whole.headers["content-disposition"].startswith("attachment; filename*=utf-8''gr%C3%B6")
            wanted = {
                "cache-control": "no-store",
                "x-content-type-options": "nosniff",
                "accept-ranges": "bytes",
            }
            assert {name: whole.headers[name] for name in wanted} == wanted
            for asked, part in (("bytes=10-19", CONTENT[10:20]), ("bytes=-5", CONTENT[-5:])):
                piece = await stranger.get(address, headers={"range": asked})
                assert (piece.status_code, piece.content) == (206, part)
            head = await stranger.head(address)
            assert (head.status_code, head.headers["content-length"]) == (200, str(len(CONTENT)))
            past = await stranger.get(address, headers={"range": f"bytes={len(CONTENT)}-"})
            assert (past.status_code, past.headers["content-range"]) == (416, f"bytes */{len(CONTENT)}")
            for wrong in (address[:-1], address + "0", f"/shared/{share_id}", f"/shared/.{secret}"):
                assert (await stranger.get(wrong)).status_code == 404, wrong
            for wrong in ("..%2Fship.json", "%2Fetc%2Fpasswd.x", f"{share_id}.%FF", f"../a.md.{secret}"):
                assert (await stranger.get(f"/shared/{wrong}")).status_code in (400, 404), wrong
            assert (await stranger.get(f"/api/files/{share_id}")).status_code == 401
            mine = await served.client.get(f"/api/files/{share_id}")
            assert mine.content == CONTENT
            # The very file: as it was, also after it was copied back, and nothing in its place.
            place = tmp_path / share.path
            place.rename(tmp_path / "aside")
            for other in (lambda: place.symlink_to("a.md"), lambda: place.write_bytes(b"x" * len(CONTENT))):
                other()
                assert (await stranger.get(address)).status_code == 404
                place.unlink()
            place.write_bytes(CONTENT)
            assert (await stranger.get(address)).content == CONTENT
    # Another process knows it, and can take it back.
    shares = Shares(Layout.at(tmp_path), ship.config.server)
    assert shares.redeem(address.removeprefix("/shared/")) == share
    late = Shares(
        Layout.at(tmp_path), ship.config.server, clock=lambda: datetime.now(UTC) + timedelta(hours=3)
    )
    assert late.redeem(address.removeprefix("/shared/")) is None
    assert (tmp_path / ".ship/shared" / f"{share_id}.json").stat().st_mode & 0o077 == 0
    shares.revoke(share_id)
    assert shares.redeem(address.removeprefix("/shared/")) is None
