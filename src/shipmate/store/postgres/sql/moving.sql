-- name: known
SELECT stamp, lines FROM moved WHERE name = %(name)s;

-- name: note
INSERT INTO moved (name, stamp, lines) VALUES (%(name)s, %(stamp)s, %(lines)s)
ON CONFLICT (name) DO UPDATE SET stamp = excluded.stamp, lines = excluded.lines;

-- name: thread
SELECT edition, lines FROM thread WHERE thread_id = %(thread_id)s AND binned = %(binned)s FOR UPDATE;

-- name: make_thread
INSERT INTO thread (thread_id, binned, changed_at) VALUES (%(thread_id)s, %(binned)s, %(changed_at)s) RETURNING edition;

-- name: rows
SELECT data FROM thread_row WHERE edition = %(edition)s ORDER BY line;

-- name: add_rows
INSERT INTO thread_row (edition, line, data)
SELECT %(edition)s, %(after)s + given.place, given.data
FROM unnest(%(data)s::bytea[]) WITH ORDINALITY AS given (data, place);

-- name: count_rows
UPDATE thread SET lines = %(lines)s WHERE edition = %(edition)s;

-- name: put_sidecar
INSERT INTO sidecar_line (thread_id, data) VALUES (%(thread_id)s, %(data)s);

-- name: drop_sidecars
DELETE FROM sidecar_line WHERE thread_id = %(thread_id)s;

-- name: put_mark
INSERT INTO mark (thread_id, data) VALUES (%(thread_id)s, %(data)s)
ON CONFLICT (thread_id) DO UPDATE SET data = excluded.data;

-- name: put_joint
INSERT INTO joint_decision (name, data) VALUES (%(name)s, %(data)s) ON CONFLICT (name) DO NOTHING;

-- name: put_grant
INSERT INTO consent_grant (id, created_at, until, revoked_at, data)
VALUES (%(id)s, %(created_at)s, %(until)s, %(revoked_at)s, %(data)s)
ON CONFLICT (id) DO UPDATE SET revoked_at = coalesce(consent_grant.revoked_at, excluded.revoked_at);

-- name: put_paper
INSERT INTO paper (path, data) VALUES (%(path)s, %(data)s) ON CONFLICT (path) DO UPDATE SET data = excluded.data;

-- name: put_upload
INSERT INTO upload (id, description, data) VALUES (%(id)s, %(description)s, %(data)s) ON CONFLICT (id) DO NOTHING;

-- name: put_entry
INSERT INTO audit_entry (worker, seq, at, line) VALUES (%(worker)s, %(seq)s, %(at)s, %(line)s)
ON CONFLICT (worker, seq) DO NOTHING;

-- name: put_head
INSERT INTO audit_head (worker, seq, hash) VALUES (%(worker)s, %(seq)s, %(hash)s)
ON CONFLICT (worker) DO UPDATE SET seq = excluded.seq, hash = excluded.hash WHERE audit_head.seq < excluded.seq;

-- name: threads
SELECT thread_id, binned, edition FROM thread ORDER BY edition;

-- name: marks
SELECT thread_id, data FROM mark ORDER BY thread_id;

-- name: sidecars
SELECT thread_id, string_agg(data || '\x0a', '' ORDER BY place) FROM sidecar_line GROUP BY thread_id ORDER BY thread_id;

-- name: approvals
SELECT id, data FROM approval WHERE data IS NOT NULL ORDER BY id;

-- name: joints
SELECT name, data FROM joint_decision ORDER BY place;

-- name: months
SELECT left(at, 7), string_agg(data || '\x0a', '' ORDER BY place) FROM usage_step GROUP BY left(at, 7) ORDER BY 1;

-- name: inbox
SELECT data FROM inbox ORDER BY seq;

-- name: outbox
SELECT data FROM outbox ORDER BY id;

-- name: next_seq
SELECT coalesce(max(seq), 0) + 1 FROM inbox;

-- name: next_id
SELECT coalesce(max(id), 0) + 1 FROM outbox;
