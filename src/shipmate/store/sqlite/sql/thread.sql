-- name: put
INSERT OR REPLACE INTO thread (thread_id, title, member, message_count, token_estimate, created_at, last_at,
    read_at, archived, binned, settings, stamp, mark_stamp, words, first_at, said_at, inode, offset, problems)
VALUES (:thread_id, :title, :member, :message_count, :token_estimate, :created_at, :last_at,
    :read_at, :archived, :binned, :settings, :stamp, :mark_stamp, :words, :first_at, :said_at, :inode, :offset, :problems);

-- name: find
SELECT * FROM thread WHERE thread_id = :thread_id;

-- name: has_read
SELECT 1 FROM thread
WHERE thread_id = :thread_id AND NOT binned AND inode = :inode AND "offset" >= :offset;

-- name: stamps
SELECT thread_id, stamp, mark_stamp, binned FROM thread;

-- name: list
SELECT * FROM thread
WHERE binned = :binned AND (:archived IS NULL OR archived = :archived)
  AND thread_id NOT GLOB :unlisted
  AND (:last_at IS NULL OR last_at < :last_at OR (last_at = :last_at AND thread_id > :thread_id))
  AND (:viewer IS NULL OR json_extract(CAST(settings AS TEXT), '$.owner') = :viewer
    OR EXISTS (SELECT 1 FROM json_each(CAST(settings AS TEXT), '$.sharedWith') WHERE value = :viewer))
  AND (:query = '' OR title LIKE :like ESCAPE '\' OR thread_id LIKE :like ESCAPE '\')
ORDER BY last_at DESC, thread_id LIMIT :limit;

-- name: count
SELECT count(*) AS threads, coalesce(sum(message_count), 0) AS messages, coalesce(sum(problems), 0) AS problems
FROM thread WHERE binned = 0;

-- name: drop
DELETE FROM thread WHERE thread_id = :thread_id;

-- name: clear
DELETE FROM thread;
