"""Decide where a workspace keeps what must last: files of its own folder, or PostgreSQL for a fleet."""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import msgspec

from shipmate.approvals.approval_file import ApprovalFiles, ApprovalRecords
from shipmate.approvals.audit import Audit
from shipmate.errors import UserError
from shipmate.store.allowance import Allowance
from shipmate.store.file_store import open_store
from shipmate.store.port import Store
from shipmate.thread.log import FileLog, Log
from shipmate.workspace.disk.disk import DISK, Disk
from shipmate.workspace.layout import Layout
from shipmate.workspace.load import load_config, read_env
from shipmate.workspace.secret.secret import Mask
from shipmate.workspace.upload import UploadFolder, Uploads

if TYPE_CHECKING:
    from shipmate.store.postgres.postgres_store import PostgresStore

VARIABLE = "SHIPMATE_STORE"
SCHEMES = ("postgresql://", "postgres://")
MISSING = "a store in PostgreSQL needs the extra `fleet`; install it with pip install 'shipmate[fleet]'"


class Residence(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """Where one workspace keeps what must last."""

    store: Store
    log: Log
    # Where the few small files lie that all processes share: people, budget marks, the journal of due times.
    papers: Disk
    audit: Audit
    records: ApprovalRecords
    uploads: Uploads
    allowance: Allowance
    # In PostgreSQL: the same store, with its fences and its database.
    fleet: PostgresStore | None = None


def reside_in_files(
    layout: Layout, store: Store, mask: Callable[[str], str] | None = None, disk: Disk = DISK
) -> Residence:
    """Return the residence of a workspace that keeps all in its folder."""
    audit = Audit(layout, mask, disk)
    return Residence(
        store=store,
        log=FileLog(layout, disk),
        papers=disk,
        audit=audit,
        records=ApprovalFiles(layout, audit, disk),
        uploads=UploadFolder(layout),
        allowance=Allowance(layout, disk),
    )


async def open_residence(
    layout: Layout, address: str, mask: Callable[[str], str] | None = None, *, worker: str = ""
) -> Residence:
    """Open where a workspace keeps what must last; without an address, its files."""
    if not address:
        return reside_in_files(layout, open_store(layout), mask)
    try:
        from shipmate.approvals.approval_table import PostgresApprovals
        from shipmate.store.postgres.audit import PostgresChain
        from shipmate.store.postgres.ledger import PostgresAllowance
        from shipmate.store.postgres.paper import PaperDisk, PostgresUploads
        from shipmate.store.postgres.postgres_store import open_postgres_store
    except ModuleNotFoundError as error:
        raise UserError(MISSING) from error
    store = await open_postgres_store(address, worker=worker or name_worker())
    papers = PaperDisk(layout, store.database)
    audit = Audit(layout, mask, chain=PostgresChain(store.database, socket.gethostname()))
    return Residence(
        store=store,
        log=store.log,
        papers=papers,
        audit=audit,
        records=PostgresApprovals(store.database, audit),
        uploads=PostgresUploads(layout, store.database),
        allowance=PostgresAllowance(layout, papers, store.database),
        fleet=store,
    )


def name_worker() -> str:
    """Return a name that no other process of the fleet has or ever had."""
    return f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(3)}"


def find_address(layout: Layout, environ: Mapping[str, str] | None = None) -> str:
    """Return where ship.json or the environment says that a workspace is kept; nothing for its own folder."""
    given = (os.environ if environ is None else environ).get(VARIABLE) or read_env(layout).get(VARIABLE)
    if not given and _may_state_store(layout):
        given = load_config(layout, environ).config.store
    return check_address(given or "")


def check_address(address: str) -> str:
    """Refuse what is no address of a store, without showing it."""
    if address and not address.startswith(SCHEMES):
        raise UserError("the store must be an address such as postgresql://user:password@host:5432/name")
    return address


def mask_of(address: str) -> Mask:
    """Return what covers the secrets of an address."""
    from shipmate.workspace.secret.setting import address_secrets

    return Mask([address, *address_secrets(address)] if address else ())


def _may_state_store(layout: Layout) -> bool:
    """Return whether ship.json may say where the store is; most do not, and reading all takes its time."""
    try:
        return b'"store"' in layout.config.read_bytes()
    except OSError:
        return False
