-- name: accept
INSERT INTO inbox (platform, message_id, thread_id, event, received_at)
VALUES (:platform, :message_id, :thread_id, :event, :received_at)
ON CONFLICT (platform, message_id) DO NOTHING;

-- name: find
SELECT * FROM inbox WHERE platform = :platform AND message_id = :message_id;

-- name: open
SELECT * FROM inbox WHERE thread_id = :thread_id AND status IN ('waiting', 'running') ORDER BY seq;

-- name: take
UPDATE inbox SET status = 'running', run_id = :run_id, progress = :progress,
    attempts = CASE WHEN progress = :progress THEN attempts + 1 ELSE 1 END
WHERE seq = :seq AND status IN ('waiting', 'running')
RETURNING *;

-- name: finish
UPDATE inbox SET status = 'done', outcome = :outcome, done_at = :done_at
WHERE seq = :seq AND status IN ('waiting', 'running');

-- name: withdraw
UPDATE inbox SET status = 'withdrawn', done_at = :done_at
WHERE thread_id = :thread_id AND message_id = :message_id AND status = 'waiting';

-- name: threads
SELECT DISTINCT thread_id FROM inbox WHERE status IN ('waiting', 'running') ORDER BY seq;

-- name: forget
DELETE FROM inbox WHERE status IN ('done', 'withdrawn') AND done_at < :before;
