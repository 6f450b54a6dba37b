-- name: state
SELECT coalesce(max(kept_line.place), 0), coalesce(sum(length(kept_line.data)), 0)::bigint FROM thread
LEFT JOIN kept_line USING (thread_id) WHERE thread.thread_id = %(thread_id)s GROUP BY thread.thread_id;

-- name: add
INSERT INTO kept_line (thread_id, data) VALUES (%(thread_id)s, %(data)s) RETURNING place;

-- name: read
SELECT data FROM kept_line WHERE thread_id = %(thread_id)s ORDER BY place;

-- name: drop
DELETE FROM kept_line WHERE thread_id = %(thread_id)s;

-- name: sweep
-- Whole threads: of those that are gone, those nobody wrote in for long, and the oldest when all are too large.
DELETE FROM kept_line WHERE thread_id IN (
    SELECT thread_id FROM (
        SELECT thread_id, max(at) AS last, sum(sum(length(data))) OVER (ORDER BY max(at) DESC) AS together
        FROM kept_line GROUP BY thread_id
    ) AS kept
    WHERE last < clock_timestamp() - %(days)s::interval OR together > %(bytes)s
       OR NOT EXISTS (SELECT FROM thread WHERE thread.thread_id = kept.thread_id)
);

-- name: old
SELECT thread_id FROM kept_line GROUP BY thread_id HAVING min(at) < clock_timestamp() - %(days)s::interval;

-- name: threads
SELECT DISTINCT thread_id FROM kept_line ORDER BY thread_id;
