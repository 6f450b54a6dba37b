-- name: note
INSERT INTO thread (thread_id, title, member, message_count, token_estimate, created_at, last_at)
VALUES (:thread_id, :title, :member, :message_count, :token_estimate, :created_at, :at)
ON CONFLICT (thread_id) DO UPDATE SET
    title = CASE WHEN titled_by = 'person' OR title <> '' THEN title ELSE excluded.title END,
    message_count = excluded.message_count,
    token_estimate = excluded.token_estimate,
    -- Only a thread outside the bin has messages to note.
    binned = 0,
    last_at = max(last_at, excluded.last_at);

-- name: create
INSERT INTO thread (thread_id, title, titled_by, member, created_at, last_at, settings)
VALUES (:thread_id, :title, :titled_by, :member, :at, :at, :settings)
ON CONFLICT (thread_id) DO UPDATE SET settings = excluded.settings, member = excluded.member;

-- name: find
SELECT * FROM thread WHERE thread_id = :thread_id;

-- name: list
SELECT * FROM thread
WHERE binned = :binned AND (:archived IS NULL OR archived = :archived)
  AND (:before IS NULL OR last_at < :before)
  AND (:query = '' OR title LIKE '%' || :query || '%' OR thread_id LIKE '%' || :query || '%')
ORDER BY last_at DESC, thread_id LIMIT :limit;

-- name: rename
UPDATE thread SET title = :title, titled_by = 'person' WHERE thread_id = :thread_id;

-- name: set
UPDATE thread SET
    archived = coalesce(:archived, archived),
    binned = coalesce(:binned, binned),
    read_at = coalesce(:read_at, read_at),
    settings = coalesce(:settings, settings)
WHERE thread_id = :thread_id;

-- name: remove
DELETE FROM thread WHERE thread_id = :thread_id;
