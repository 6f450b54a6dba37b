-- The whole of state.db. Times are ISO 8601 in UTC, so that they sort as text.

CREATE TABLE IF NOT EXISTS inbox (
    seq         INTEGER PRIMARY KEY AUTOINCREMENT,
    platform    TEXT NOT NULL,
    message_id  TEXT NOT NULL,
    thread_id   TEXT NOT NULL,
    event       BLOB NOT NULL,
    received_at TEXT NOT NULL,
    status      TEXT NOT NULL DEFAULT 'waiting' CHECK (status IN ('waiting', 'running', 'done', 'withdrawn')),
    -- Attempts that began with the same progress; a run that gets further starts to count anew.
    attempts    INTEGER NOT NULL DEFAULT 0,
    progress    INTEGER NOT NULL DEFAULT -1,
    run_id      TEXT,
    outcome     BLOB,
    done_at     TEXT,
    UNIQUE (platform, message_id)
);
CREATE INDEX IF NOT EXISTS inbox_open ON inbox (thread_id, seq) WHERE status IN ('waiting', 'running');
CREATE INDEX IF NOT EXISTS inbox_done ON inbox (done_at) WHERE status IN ('done', 'withdrawn');

CREATE TABLE IF NOT EXISTS outbox (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    run_id     TEXT NOT NULL,
    segment    INTEGER NOT NULL,
    platform   TEXT NOT NULL,
    thread_id  TEXT NOT NULL,
    message    BLOB NOT NULL,
    created_at TEXT NOT NULL,
    status     TEXT NOT NULL DEFAULT 'waiting' CHECK (status IN ('waiting', 'sending', 'sent', 'uncertain', 'failed')),
    attempts   INTEGER NOT NULL DEFAULT 0,
    receipt    TEXT,
    error      TEXT,
    sent_at    TEXT,
    UNIQUE (run_id, segment)
);
CREATE INDEX IF NOT EXISTS outbox_open ON outbox (platform, id) WHERE status IN ('waiting', 'sending');

CREATE TABLE IF NOT EXISTS thread (
    thread_id      TEXT PRIMARY KEY,
    title          TEXT NOT NULL DEFAULT '',
    titled_by      TEXT NOT NULL DEFAULT 'message' CHECK (titled_by IN ('message', 'person')),
    member         TEXT NOT NULL DEFAULT 'captain',
    message_count  INTEGER NOT NULL DEFAULT 0,
    token_estimate INTEGER NOT NULL DEFAULT 0,
    created_at     TEXT NOT NULL,
    last_at        TEXT NOT NULL,
    read_at        TEXT,
    archived       INTEGER NOT NULL DEFAULT 0,
    binned         INTEGER NOT NULL DEFAULT 0,
    settings       BLOB NOT NULL DEFAULT '{}'
);
CREATE INDEX IF NOT EXISTS thread_last ON thread (last_at);

CREATE TABLE IF NOT EXISTS usage (
    id                 INTEGER PRIMARY KEY AUTOINCREMENT,
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
CREATE INDEX IF NOT EXISTS usage_at ON usage (at);

-- One row for each acting call that was begun. Its key is what keeps a call from running twice.
CREATE TABLE IF NOT EXISTS call (
    thread_id  TEXT NOT NULL,
    message_id TEXT NOT NULL,
    call_id    TEXT NOT NULL,
    begun_at   TEXT NOT NULL,
    PRIMARY KEY (thread_id, message_id, call_id)
) WITHOUT ROWID;

-- Provider signatures of a turn that is still open; deleted when it closes.
CREATE TABLE IF NOT EXISTS signature (
    message_id TEXT PRIMARY KEY,
    data       BLOB NOT NULL
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS approval (
    id           TEXT PRIMARY KEY,
    thread_id    TEXT NOT NULL,
    status       TEXT NOT NULL,
    requested_at TEXT NOT NULL,
    expires_at   TEXT
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS approval_open ON approval (thread_id) WHERE status = 'requested';

CREATE TABLE IF NOT EXISTS "grant" (
    id         TEXT PRIMARY KEY,
    data       BLOB NOT NULL,
    created_at TEXT NOT NULL,
    until      TEXT,
    revoked_at TEXT
) WITHOUT ROWID;

-- Search can be lost and rebuilt from the thread files: `shipmate reindex`.
CREATE VIRTUAL TABLE IF NOT EXISTS search USING fts5 (
    tokens,
    thread_id UNINDEXED,
    message_id UNINDEXED,
    role UNINDEXED,
    at UNINDEXED,
    text UNINDEXED,
    tokenize = "unicode61 remove_diacritics 2 tokenchars '_'"
);
CREATE TABLE IF NOT EXISTS searched (
    thread_id  TEXT NOT NULL,
    message_id TEXT NOT NULL,
    row        INTEGER NOT NULL,
    PRIMARY KEY (thread_id, message_id)
) WITHOUT ROWID;
