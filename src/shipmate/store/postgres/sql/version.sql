-- name: make
CREATE TABLE IF NOT EXISTS migration (
    number integer PRIMARY KEY,
    name text NOT NULL,
    breaks boolean NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- name: is_made
SELECT to_regclass('migration') IS NOT NULL;

-- name: lock
SELECT pg_advisory_xact_lock(hashtextextended('shipmate migration', 0));

-- name: last
SELECT coalesce(max(number), 0) FROM migration;

-- name: note
INSERT INTO migration (number, name, breaks) VALUES (%(number)s, %(name)s, %(breaks)s);

-- name: breaks
SELECT bool_or(breaks) FROM migration WHERE number > %(number)s;
