-- name: put
INSERT INTO approval (id, thread_id, status, requested_at, expires_at)
VALUES (%(id)s, %(thread_id)s, %(status)s, %(requested_at)s, %(expires_at)s)
ON CONFLICT (id) DO UPDATE SET thread_id = excluded.thread_id, status = excluded.status,
    requested_at = excluded.requested_at, expires_at = excluded.expires_at;

-- name: write
INSERT INTO approval (id, thread_id, status, requested_at, expires_at, data)
VALUES (%(id)s, %(thread_id)s, %(status)s, %(requested_at)s, %(expires_at)s, %(data)s)
ON CONFLICT (id) DO UPDATE SET thread_id = excluded.thread_id, status = excluded.status,
    requested_at = excluded.requested_at, expires_at = excluded.expires_at, data = excluded.data;

-- name: read
SELECT data FROM approval WHERE id = %(id)s;

-- name: lock
SELECT pg_advisory_xact_lock(hashtextextended('approvals', 0));

-- name: list
SELECT id FROM approval
WHERE (%(status)s::text IS NULL OR status = %(status)s) AND (%(thread_id)s::text IS NULL OR thread_id = %(thread_id)s)
ORDER BY requested_at DESC, id DESC LIMIT %(limit)s;

-- name: waiting
SELECT thread_id, count(*) FROM approval WHERE status = 'requested' GROUP BY thread_id;

-- name: joints
SELECT name FROM joint_decision ORDER BY place;

-- name: read_joint
SELECT data FROM joint_decision WHERE name = %(name)s;

-- name: write_joint
INSERT INTO joint_decision (name, data) VALUES (%(name)s, %(data)s);

-- name: drop_joint
DELETE FROM joint_decision WHERE name = %(name)s;

-- name: add_grant
INSERT INTO consent_grant (id, created_at, until, revoked_at, data)
VALUES (%(id)s, %(created_at)s, %(until)s, %(revoked_at)s, %(data)s) ON CONFLICT (id) DO NOTHING;

-- name: grants
SELECT id, data, created_at, until, revoked_at FROM consent_grant
WHERE %(every)s OR revoked_at IS NULL ORDER BY created_at, id;

-- name: revoke
UPDATE consent_grant SET revoked_at = %(at)s WHERE id = %(id)s AND revoked_at IS NULL;

-- name: changed
SELECT nextval('revision');
