-- What was accepted, must be sent, was used, granted or marked is in files now; this is an index over them.
DROP TABLE IF EXISTS inbox;
DROP TABLE IF EXISTS outbox;
DROP TABLE IF EXISTS call;
DROP TABLE IF EXISTS signature;
DROP TABLE IF EXISTS "grant";
DROP TABLE IF EXISTS usage;
DROP TABLE IF EXISTS thread;
DROP TABLE IF EXISTS approval;
DELETE FROM search;
DELETE FROM searched;

CREATE TABLE meta (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;

-- Rebuilt from .ship/threads/, .ship/bin/ and .ship/marks/.
CREATE TABLE thread (
    thread_id      TEXT PRIMARY KEY,
    title          TEXT NOT NULL,
    member         TEXT NOT NULL,
    message_count  INTEGER NOT NULL,
    token_estimate INTEGER NOT NULL,
    created_at     TEXT NOT NULL,
    last_at        TEXT NOT NULL,
    read_at        TEXT,
    archived       INTEGER NOT NULL,
    binned         INTEGER NOT NULL,
    settings       BLOB NOT NULL,
    -- How the files were when they were read; one that is different now is read again.
    stamp          TEXT NOT NULL,
    mark_stamp     TEXT NOT NULL,
    -- What the messages alone say: their first words, and when the first and the last were said.
    words          TEXT NOT NULL,
    first_at       TEXT NOT NULL,
    said_at        TEXT NOT NULL,
    -- How far the thread's file was read.
    inode          INTEGER NOT NULL,
    offset         INTEGER NOT NULL,
    problems       INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX thread_order ON thread (last_at DESC, thread_id);

-- Rebuilt from .ship/usage/.
CREATE TABLE usage (
    id                 INTEGER PRIMARY KEY,
    file               TEXT NOT NULL,
    at                 TEXT NOT NULL,
    thread_id          TEXT NOT NULL,
    member             TEXT NOT NULL,
    run_id             TEXT NOT NULL,
    step               INTEGER NOT NULL,
    model              TEXT NOT NULL,
    input_tokens       INTEGER NOT NULL,
    output_tokens      INTEGER NOT NULL,
    cache_read_tokens  INTEGER NOT NULL,
    cache_write_tokens INTEGER NOT NULL,
    cost               REAL,
    estimated_tokens   INTEGER NOT NULL,
    milliseconds       INTEGER NOT NULL
);
CREATE INDEX usage_at ON usage (at);
CREATE INDEX usage_thread ON usage (thread_id);
CREATE TABLE usage_file (
    name   TEXT PRIMARY KEY,
    inode  INTEGER NOT NULL,
    offset INTEGER NOT NULL
) WITHOUT ROWID;

-- Rebuilt from .ship/approvals/.
CREATE TABLE approval (
    id           TEXT PRIMARY KEY,
    thread_id    TEXT NOT NULL,
    status       TEXT NOT NULL,
    requested_at TEXT NOT NULL,
    expires_at   TEXT,
    stamp        TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX approval_order ON approval (requested_at, id);
CREATE INDEX approval_thread ON approval (thread_id, requested_at, id);
CREATE INDEX approval_open ON approval (thread_id) WHERE status = 'requested';
