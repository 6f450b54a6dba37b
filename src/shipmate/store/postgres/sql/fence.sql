-- name: take
SELECT take_thread(%(thread_id)s, %(worker)s);

-- name: retake
SELECT pg_try_advisory_lock(hashtextextended('thread ' || %(thread_id)s, 0));

-- name: release
SELECT pg_advisory_unlock(hashtextextended('thread ' || %(thread_id)s, 0));

-- name: verify
SELECT 1 FROM fence WHERE thread_id = %(thread_id)s AND token = %(token)s FOR SHARE;

-- name: live
SELECT pg_try_advisory_lock(hashtextextended('worker ' || %(worker)s, 0));

-- name: register
INSERT INTO fence_session (worker, pid) VALUES (%(worker)s, pg_backend_pid())
ON CONFLICT (worker) DO UPDATE SET pid = excluded.pid, since = clock_timestamp();
