"""Decide where a workspace keeps what must last: files of its own folder, or PostgreSQL for a fleet."""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from shipmate.approvals.approval_file import ApprovalFiles, ApprovalRecords
from shipmate.approvals.audit import Audit
from shipmate.context.kept.kept_file import KeptThread, read_kept
from shipmate.context.kept.request_log import RequestLog
from shipmate.errors import UserError
from shipmate.store.allowance import Allowance
from shipmate.store.file_store import open_store
from shipmate.store.journal.outbox import JournalOutbox
from shipmate.store.port import OutboxRow, Store
from shipmate.thread.log import FileLog, Log
from shipmate.workspace.config import ContextSettings
from shipmate.workspace.disk.disk import DISK, Disk
from shipmate.workspace.layout import Layout
from shipmate.workspace.load import load_config, read_env
from shipmate.workspace.secret.secret import Mask
from shipmate.workspace.upload import UploadFolder, Uploads

if TYPE_CHECKING:
    from shipmate.store.postgres.database import PostgresDatabase
    from shipmate.store.postgres.postgres_store import PostgresStore

VARIABLE = "SHIPMATE_STORE"
SCHEMES = ("postgresql://", "postgres://")
MISSING = "a store in PostgreSQL needs the extra `fleet`; install it with pip install 'shipmate[fleet]'"


class Shelf(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """What of a workspace is read and written without opening its threads."""

    # Where the few small files lie that all processes share: people, budget marks, the journal of due times.
    papers: Disk
    audit: Audit
    allowance: Allowance
    uploads: Uploads
    # Reads what models were sent in a thread.
    read_kept: Callable[[str], KeptThread]
    # Lists all sends, as a process that is not the keeper may.
    sends: Callable[[], list[OutboxRow]]


class Residence(Shelf, frozen=True, kw_only=True, eq=False):
    """Where one workspace keeps what must last."""

    store: Store
    log: Log
    records: ApprovalRecords
    # In PostgreSQL: the same store, with its fences and its database.
    fleet: PostgresStore | None = None

    def keep_requests(self, layout: Layout, settings: ContextSettings, mask: Mask) -> RequestLog:
        """Return what keeps the requests that models are sent."""
        if self.fleet is None:
            return RequestLog(layout, settings, mask)
        from shipmate.context.kept.kept_table import SharedRequestLog

        return SharedRequestLog(layout, settings, mask, self.fleet.database)


def _shelve_files(layout: Layout, mask: Callable[[str], str] | None, disk: Disk = DISK) -> Shelf:
    return Shelf(
        papers=disk,
        audit=Audit(layout, mask, disk),
        allowance=Allowance(layout, disk),
        uploads=UploadFolder(layout),
        read_kept=partial(read_kept, layout),
        sends=JournalOutbox(layout, disk).look,
    )


def _shelve_rows(layout: Layout, mask: Callable[[str], str] | None, database: PostgresDatabase) -> Shelf:
    from shipmate.context.kept.kept_table import read_kept_rows
    from shipmate.store.postgres.audit import PostgresChain
    from shipmate.store.postgres.ledger import PostgresAllowance
    from shipmate.store.postgres.outbox import list_sends
    from shipmate.store.postgres.paper import PaperDisk, PostgresUploads

    papers = PaperDisk(layout, database)
    return Shelf(
        papers=papers,
        audit=Audit(layout, mask, chain=PostgresChain(database, socket.gethostname())),
        allowance=PostgresAllowance(layout, papers, database),
        uploads=PostgresUploads(layout, database),
        read_kept=partial(read_kept_rows, database),
        sends=partial(list_sends, database),
    )


@contextmanager
def open_shelf(layout: Layout) -> Generator[Shelf]:
    """Open what a small command reads and writes; nothing else of the workspace is touched."""
    address = find_address(layout)
    if not address:
        yield _shelve_files(layout, None)
        return
    database = _import_database()(address)
    try:
        yield _shelve_rows(layout, mask_of(address), database)
    finally:
        database.let_go()


def reside_in_files(
    layout: Layout, store: Store, mask: Callable[[str], str] | None = None, disk: Disk = DISK
) -> Residence:
    """Return the residence of a workspace that keeps all in its folder."""
    shelf = _shelve_files(layout, mask, disk)
    records = ApprovalFiles(layout, shelf.audit, disk)
    return Residence(**_fields(shelf), store=store, log=FileLog(layout, disk), records=records)


async def open_residence(
    layout: Layout, address: str, mask: Callable[[str], str] | None = None, *, worker: str = ""
) -> Residence:
    """Open where a workspace keeps what must last; without an address, its files."""
    if not address:
        return reside_in_files(layout, open_store(layout), mask)
    _import_database()
    from shipmate.approvals.approval_table import PostgresApprovals
    from shipmate.store.postgres.postgres_store import open_postgres_store

    store = await open_postgres_store(address, worker=worker or name_worker())
    shelf = _shelve_rows(layout, mask, store.database)
    records = PostgresApprovals(store.database, shelf.audit)
    return Residence(**_fields(shelf), store=store, log=store.log, records=records, fleet=store)


def _fields(shelf: Shelf) -> dict[str, Any]:
    return {name: getattr(shelf, name) for name in Shelf.__struct_fields__}


def _import_database() -> type[PostgresDatabase]:
    try:
        from shipmate.store.postgres.database import PostgresDatabase
    except ModuleNotFoundError as error:
        raise UserError(MISSING) from error
    return PostgresDatabase


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
