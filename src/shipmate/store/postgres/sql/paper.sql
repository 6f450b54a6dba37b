-- name: make
INSERT INTO paper (path) VALUES (%(path)s) ON CONFLICT (path) DO NOTHING;

-- name: stat
SELECT number, length(data), changed_at FROM paper WHERE path = %(path)s;

-- name: read
SELECT substring(data FROM %(offset)s + 1 FOR %(size)s) FROM paper WHERE path = %(path)s;

-- name: append
UPDATE paper SET data = data || %(data)s, changed_at = clock_timestamp() WHERE path = %(path)s;

-- name: cut
UPDATE paper SET data = substring(data FOR %(size)s), changed_at = clock_timestamp() WHERE path = %(path)s;

-- name: remove
DELETE FROM paper WHERE path = %(path)s;

-- name: move
UPDATE paper SET path = %(target)s, changed_at = clock_timestamp() WHERE path = %(path)s;

-- name: copy
INSERT INTO paper (path, data) SELECT %(target)s, data FROM paper WHERE path = %(path)s
ON CONFLICT (path) DO NOTHING;

-- name: names
SELECT path FROM paper WHERE starts_with(path, %(folder)s);

-- name: lock
SELECT pg_advisory_lock(hashtextextended('paper ' || %(path)s, 0));

-- name: try_lock
SELECT pg_try_advisory_lock(hashtextextended('paper ' || %(path)s, 0));

-- name: unlock
SELECT pg_advisory_unlock(hashtextextended('paper ' || %(path)s, 0));

-- name: keep_upload
INSERT INTO upload (id, description, data) VALUES (%(id)s, %(description)s, %(data)s) ON CONFLICT (id) DO NOTHING;

-- name: find_upload
SELECT description, data FROM upload WHERE id = %(id)s;

-- name: uploads
SELECT id FROM upload ORDER BY id;

-- name: papers
SELECT path, data FROM paper ORDER BY path;
