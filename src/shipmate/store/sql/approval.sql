-- name: put_approval
INSERT INTO approval (id, thread_id, status, requested_at, expires_at)
VALUES (:id, :thread_id, :status, :requested_at, :expires_at)
ON CONFLICT (id) DO UPDATE SET status = excluded.status, expires_at = excluded.expires_at;

-- name: list_approvals
SELECT id FROM approval
WHERE (:status IS NULL OR status = :status) AND (:thread_id IS NULL OR thread_id = :thread_id)
ORDER BY requested_at DESC, id DESC LIMIT :limit;

-- name: count_approvals
SELECT thread_id, count(*) AS count FROM approval WHERE status = 'requested' GROUP BY thread_id;

-- name: add_grant
INSERT INTO "grant" (id, data, created_at, until) VALUES (:id, :data, :created_at, :until)
ON CONFLICT (id) DO NOTHING;

-- name: list_grants
SELECT * FROM "grant"
WHERE :all OR revoked_at IS NULL ORDER BY created_at, id;

-- name: revoke_grant
UPDATE "grant" SET revoked_at = :revoked_at WHERE id = :id AND revoked_at IS NULL;
