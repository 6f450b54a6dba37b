-- name: append
WITH held AS (
    SELECT 1 FROM fence WHERE thread_id = %(thread_id)s AND token = %(token)s FOR SHARE
), grown AS (
    INSERT INTO thread (thread_id, lines)
    SELECT %(thread_id)s, %(count)s WHERE %(token)s::bigint IS NULL OR EXISTS (SELECT FROM held)
    ON CONFLICT (thread_id, binned) DO UPDATE
        SET lines = thread.lines + excluded.lines, changed_at = clock_timestamp()
    RETURNING edition, lines
), added AS (
    INSERT INTO thread_row (edition, line, data)
    SELECT grown.edition, grown.lines - %(count)s + given.place, given.data
    FROM grown, unnest(%(data)s::bytea[]) WITH ORDINALITY AS given (data, place)
)
SELECT edition FROM grown;

-- name: create
INSERT INTO thread (thread_id, lines) VALUES (%(thread_id)s, %(count)s)
ON CONFLICT (thread_id, binned) DO NOTHING RETURNING edition;

-- name: add_rows
INSERT INTO thread_row (edition, line, data)
SELECT %(edition)s, %(after)s + given.place, given.data
FROM unnest(%(data)s::bytea[]) WITH ORDINALITY AS given (data, place);

-- name: read
SELECT thread.edition, thread.lines, thread_row.line, thread_row.data FROM thread
LEFT JOIN thread_row ON thread_row.edition = thread.edition
    AND thread_row.line > CASE WHEN thread.edition = %(edition)s AND thread.lines >= %(line)s THEN %(line)s ELSE 0 END
WHERE thread.thread_id = %(thread_id)s AND thread.binned = %(binned)s
ORDER BY thread_row.line;

-- name: exists
SELECT 1 FROM thread WHERE thread_id = %(thread_id)s AND binned = %(binned)s;

-- name: ids
SELECT thread_id FROM thread WHERE NOT binned ORDER BY thread_id;

-- name: move
UPDATE thread SET binned = %(binned)s WHERE thread_id = %(thread_id)s AND binned <> %(binned)s;

-- name: remove
DELETE FROM thread WHERE thread_id = %(thread_id)s AND NOT binned;

-- name: remove_sidecars
DELETE FROM sidecar_line WHERE thread_id = %(thread_id)s;

-- name: find
SELECT * FROM thread WHERE thread_id = %(thread_id)s ORDER BY binned LIMIT 1;

-- name: note
UPDATE thread SET noted = %(noted)s, title = %(title)s, member = %(member)s, message_count = %(message_count)s,
    token_estimate = %(token_estimate)s, created_at = %(created_at)s, last_at = %(last_at)s, read_at = %(read_at)s,
    archived = %(archived)s, settings = %(settings)s, words = %(words)s, first_at = %(first_at)s,
    said_at = %(said_at)s, problems = %(problems)s
WHERE edition = %(edition)s AND noted <= %(noted)s;

-- name: list
SELECT * FROM thread
WHERE binned = %(binned)s AND (%(archived)s::boolean IS NULL OR archived = %(archived)s)
  AND left(thread_id, length(%(unlisted)s)) <> %(unlisted)s
  AND (%(last_at)s::text IS NULL OR last_at < %(last_at)s
       OR (last_at = %(last_at)s AND thread_id > %(thread_id)s))
  AND (%(query)s = '' OR title ILIKE %(like)s OR thread_id ILIKE %(like)s)
  AND (%(viewer)s::text IS NULL OR convert_from(settings, 'UTF8')::json ->> 'owner' = %(viewer)s
       OR EXISTS (SELECT FROM json_array_elements_text(
           CASE json_typeof(convert_from(settings, 'UTF8')::json -> 'sharedWith')
           WHEN 'array' THEN convert_from(settings, 'UTF8')::json -> 'sharedWith' ELSE '[]' END
       ) AS other WHERE other = %(viewer)s))
  AND NOT (binned AND EXISTS (
      SELECT FROM thread AS live WHERE live.thread_id = thread.thread_id AND NOT live.binned))
ORDER BY last_at DESC, thread_id LIMIT %(limit)s;

-- name: unnoted
-- Whoever holds a thread brings it up to date; one that nobody holds was left behind.
SELECT thread_id FROM thread
WHERE noted < lines AND (%(every)s OR pg_try_advisory_xact_lock(hashtextextended('thread ' || thread_id, 0)))
ORDER BY changed_at LIMIT %(limit)s;

-- name: all
SELECT DISTINCT thread_id FROM thread;

-- name: count
SELECT count(*), coalesce(sum(message_count), 0), coalesce(sum(problems), 0) FROM thread WHERE NOT binned;

-- name: read_mark
SELECT data FROM mark WHERE thread_id = %(thread_id)s;

-- name: lock_mark
SELECT pg_advisory_xact_lock(hashtextextended('mark ' || %(thread_id)s, 0));

-- name: put_mark
INSERT INTO mark (thread_id, data) VALUES (%(thread_id)s, %(data)s)
ON CONFLICT (thread_id) DO UPDATE SET data = excluded.data;

-- name: remove_mark
DELETE FROM mark WHERE thread_id = %(thread_id)s;

-- name: changed
SELECT nextval('revision');

-- name: revision
SELECT last_value FROM revision;
