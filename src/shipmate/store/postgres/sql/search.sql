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
  AND (%(within)s = '' OR thread.thread_id = %(within)s)
  AND (%(viewer)s::text IS NULL OR convert_from(thread.settings, 'UTF8')::json ->> 'owner' = %(viewer)s
       OR EXISTS (SELECT FROM json_array_elements_text(
           CASE json_typeof(convert_from(thread.settings, 'UTF8')::json -> 'sharedWith')
           WHEN 'array' THEN convert_from(thread.settings, 'UTF8')::json -> 'sharedWith' ELSE '[]' END
       ) AS other WHERE other = %(viewer)s))
  AND NOT EXISTS (SELECT FROM unnest(%(runs)s::text[]) AS run WHERE strpos(word.text, run) = 0)
ORDER BY word.place DESC LIMIT %(limit)s;
