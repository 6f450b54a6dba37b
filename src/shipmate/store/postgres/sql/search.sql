-- name: drop
DELETE FROM word WHERE edition = %(edition)s AND message_id = ANY(%(ids)s);

-- name: drop_all
DELETE FROM word WHERE edition = %(edition)s;

-- name: add
INSERT INTO word (edition, message_id, role, at, text, tokens)
VALUES (%(edition)s, %(message_id)s, %(role)s, %(at)s, %(text)s, array_to_tsvector(%(tokens)s::text[]));

-- name: find
SELECT thread.thread_id, word.message_id, word.role, word.at, word.text FROM word JOIN thread USING (edition)
WHERE NOT thread.binned AND word.tokens @@ %(match)s::tsquery
  AND (%(within)s::text = '' OR thread.thread_id = %(within)s::text)
  AND (%(viewer)s::text IS NULL OR convert_from(thread.settings, 'UTF8')::jsonb ->> 'owner' = %(viewer)s::text
    OR convert_from(thread.settings, 'UTF8')::jsonb -> 'sharedWith' @> to_jsonb(%(viewer)s::text))
  AND NOT EXISTS (SELECT FROM unnest(%(runs)s::text[]) AS run WHERE strpos(word.text, run) = 0)
ORDER BY word.place DESC LIMIT %(limit)s;
