-- name: now
SELECT coalesce(%(now)s, clock_timestamp());

-- name: lock
SELECT pg_advisory_xact_lock(hashtextextended('outbox ' || %(answered)s, 0)), coalesce(%(now)s, clock_timestamp());

-- name: by_key
SELECT data FROM outbox WHERE key = %(key)s FOR UPDATE;

-- name: of_run
SELECT count(*) FROM outbox WHERE run_id = %(run_id)s;

-- name: number
SELECT nextval(pg_get_serial_sequence('outbox', 'id'));

-- name: add
INSERT INTO outbox (id, key, run_id, thread_id, status, forget_at, data)
VALUES (%(id)s, %(key)s, %(run_id)s, %(thread_id)s, %(status)s, %(forget_at)s, %(data)s)
ON CONFLICT (id) DO NOTHING;

-- name: get
SELECT data FROM outbox WHERE id = %(id)s;

-- name: get_locked
SELECT data FROM outbox WHERE id = %(id)s FOR UPDATE;

-- name: change
UPDATE outbox SET status = %(status)s, forget_at = %(forget_at)s, data = %(data)s WHERE id = %(id)s;

-- name: threads
SELECT thread_id FROM outbox WHERE status = 'waiting' GROUP BY thread_id ORDER BY min(id);

-- name: open
SELECT data FROM outbox WHERE status = 'waiting' AND thread_id = %(thread_id)s ORDER BY id;

-- name: list
SELECT data FROM outbox WHERE %(status)s::text IS NULL OR status = %(status)s ORDER BY id;

-- name: in_thread
SELECT data FROM (SELECT id, data FROM outbox WHERE thread_id = %(thread_id)s ORDER BY id DESC LIMIT %(limit)s) AS last
ORDER BY id;

-- name: forget
DELETE FROM outbox WHERE forget_at < %(now)s;

-- name: go_on
SELECT setval(pg_get_serial_sequence('outbox', 'id'), greatest(%(next)s - 1, 1), %(next)s > 1);
