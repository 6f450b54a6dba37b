-- name: put
INSERT OR REPLACE INTO approval (id, thread_id, status, requested_at, expires_at, stamp)
VALUES (:id, :thread_id, :status, :requested_at, :expires_at, :stamp);

-- name: list
SELECT id FROM approval
WHERE (:status IS NULL OR status = :status) AND (:thread_id IS NULL OR thread_id = :thread_id)
ORDER BY requested_at DESC, id DESC LIMIT :limit;

-- name: count
SELECT thread_id, count(*) AS count FROM approval WHERE status = 'requested' GROUP BY thread_id;

-- name: known
SELECT id, status, stamp FROM approval;

-- name: drop
DELETE FROM approval WHERE id = :id;

-- name: clear
DELETE FROM approval;
