-- name: add
INSERT INTO usage_step (at, thread_id, payer, run_id, data)
VALUES (%(at)s, %(thread_id)s, %(payer)s, %(run_id)s, %(data)s);

-- name: list
SELECT data FROM usage_step WHERE at >= %(since)s ORDER BY place;

-- name: list_thread
SELECT data FROM usage_step
WHERE (thread_id = %(thread_id)s OR payer = %(thread_id)s) AND at >= %(since)s
  AND (%(run_id)s::text IS NULL OR run_id = %(run_id)s)
ORDER BY place;

-- name: since
SELECT place, data FROM usage_step WHERE place > %(place)s AND starts_with(at, %(month)s) ORDER BY place;

-- name: sidecars
SELECT data FROM sidecar_line WHERE thread_id = %(thread_id)s ORDER BY place;

-- name: add_sidecar
INSERT INTO sidecar_line (thread_id, data) VALUES (%(thread_id)s, %(data)s);

-- name: drop_sidecars
DELETE FROM sidecar_line WHERE thread_id = %(thread_id)s;
