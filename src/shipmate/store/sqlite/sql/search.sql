-- name: known
SELECT row FROM searched WHERE thread_id = :thread_id AND message_id = :message_id;

-- name: drop_row
DELETE FROM search WHERE rowid = :row;

-- name: add
INSERT INTO search (rowid, tokens, thread_id, message_id, role, at, text)
VALUES (:row, :tokens, :thread_id, :message_id, :role, :at, :text);

-- name: last
SELECT rowid AS row FROM search ORDER BY rowid DESC LIMIT 1;

-- name: remember
INSERT INTO searched (thread_id, message_id, row) VALUES (:thread_id, :message_id, :row)
ON CONFLICT (thread_id, message_id) DO UPDATE SET row = excluded.row;

-- name: find
SELECT thread_id, message_id, role, at, text FROM search
WHERE search MATCH :match AND (:within = '' OR thread_id = :within) AND (:viewer IS NULL OR thread_id IN (
    SELECT thread_id FROM thread WHERE json_extract(CAST(settings AS TEXT), '$.owner') = :viewer
    OR EXISTS (SELECT 1 FROM json_each(CAST(settings AS TEXT), '$.sharedWith') WHERE value = :viewer)))
ORDER BY rowid DESC LIMIT :limit;

-- name: clear
DELETE FROM search;

-- name: clear_known
DELETE FROM searched;

-- name: drop_thread_rows
DELETE FROM search WHERE rowid IN (SELECT row FROM searched WHERE thread_id = :thread_id);

-- name: drop_thread_known
DELETE FROM searched WHERE thread_id = :thread_id;

-- name: known_of_thread
SELECT searched.message_id, searched.row, search.text FROM searched
JOIN search ON search.rowid = searched.row WHERE searched.thread_id = :thread_id;

-- name: forget
DELETE FROM searched WHERE thread_id = :thread_id AND message_id = :message_id;
