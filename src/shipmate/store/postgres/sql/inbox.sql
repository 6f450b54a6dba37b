-- name: now
SELECT coalesce(%(now)s, clock_timestamp());

-- name: lock
SELECT pg_advisory_xact_lock(hashtextextended('inbox ' || %(thread_id)s, 0)), coalesce(%(now)s, clock_timestamp());

-- name: number
SELECT nextval(pg_get_serial_sequence('inbox', 'seq'));

-- name: add
INSERT INTO inbox (seq, key, thread_id, message_id, run_id, is_open, done_at, data)
VALUES (%(seq)s, %(key)s, %(thread_id)s, %(message_id)s, %(run_id)s, %(is_open)s, %(done_at)s, %(data)s)
ON CONFLICT (seq) DO NOTHING;

-- name: find
SELECT data FROM inbox
WHERE key = %(key)s AND (is_open OR done_at >= %(now)s::timestamptz - %(remembered)s) ORDER BY seq DESC LIMIT 1;

-- name: open
SELECT data FROM inbox WHERE is_open AND thread_id = %(thread_id)s ORDER BY seq;

-- name: threads
SELECT thread_id FROM inbox WHERE is_open GROUP BY thread_id ORDER BY min(seq);

-- name: running
SELECT data FROM inbox WHERE is_open AND run_id IS NOT NULL ORDER BY seq;

-- name: open_by_seq
SELECT data FROM inbox WHERE is_open AND seq = ANY(%(seqs)s) ORDER BY seq FOR UPDATE;

-- name: open_of_run
SELECT data FROM inbox WHERE is_open AND run_id = %(run_id)s ORDER BY seq FOR UPDATE;

-- name: by_message
SELECT data FROM inbox
WHERE thread_id = %(thread_id)s AND message_id = %(message_id)s
  AND (is_open OR done_at >= %(now)s::timestamptz - %(remembered)s)
ORDER BY is_open DESC, seq FOR UPDATE;

-- name: change
UPDATE inbox SET run_id = %(run_id)s, is_open = %(is_open)s, done_at = %(done_at)s, data = %(data)s
WHERE seq = %(seq)s;

-- name: forget
DELETE FROM inbox WHERE NOT is_open AND done_at < %(now)s::timestamptz - %(remembered)s;

-- name: all
SELECT data FROM inbox ORDER BY seq;

-- name: go_on
SELECT setval(pg_get_serial_sequence('inbox', 'seq'), greatest(%(next)s - 1, 1), %(next)s > 1);
