"""The index must say what the files say, also after it is made anew."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shipmate.approvals.audit import Audit
from shipmate.store.file_store import FileStore
from shipmate.store.port import Store, ThreadInfo
from shipmate.thread.row import merge_rows, split_lines

if TYPE_CHECKING:
    from tests.simulation.world import World


async def index_troubles(store: Store, world: World) -> list[str]:
    """Say where the index and the files differ."""
    listed = await _list(store)
    found = await _find(store)
    waiting = await store.consents.waiting()
    assert isinstance(store, FileStore)
    await store.reconcile(anew=True)
    troubles: list[str] = []
    again = await _list(store)
    if listed != again:
        troubles.append(f"the list says {listed}, and made anew {again}")
    if found != await _find(store):
        troubles.append("the search finds something else once it is made anew")
    if waiting != await store.consents.waiting():
        troubles.append("the list of approvals says something else once it is made anew")
    counts = {name: info.message_count for name, info in again.items()}
    stored = {name: _count(world, name) for name in world.thread_ids()}
    if counts != stored:
        troubles.append(f"the list counts {counts}, the files hold {stored}")
    troubles += [
        f"{name} was called one of {titles}, and is listed as {again[name].title!r}"
        for name, titles in world.outside.titles.items()
        if name in again and titles and world.outside.renamed.get(name) and again[name].title not in titles
    ]
    return troubles


def audit_troubles(audit: Audit, world: World) -> list[str]:
    """Say what acted without being on record, and where the record is broken."""
    allowed = {(each.thread_id, each.call_id) for each in audit.entries() if each.event == "allowed"}
    acted = [act for act in world.outside.acts if act.tool != "look"]
    troubles = [f"{act} is not in the audit log" for act in acted if act.key[:2] not in allowed]
    found = audit.verify()
    if not found.holds and not world.has_failed:
        troubles.append(f"the audit log is broken: {found.breaks}")
    return troubles


async def _list(store: Store) -> dict[str, ThreadInfo]:
    binned = await store.threads.list(archived=None, binned=True, limit=100)
    return {each.thread_id: each for each in [*await store.threads.list(archived=None, limit=100), *binned]}


async def _find(store: Store) -> list[tuple[str, str]]:
    hits = await store.search.find("please", limit=500)
    return sorted((hit.thread_id, hit.message_id) for hit in hits)


def _count(world: World, thread_id: str) -> int:
    rows, _, _ = split_lines(world.read_thread(thread_id), 1)
    return len(merge_rows(rows))
