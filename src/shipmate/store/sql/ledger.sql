-- name: add_usage
INSERT INTO usage (at, thread_id, member, run_id, step, model, input_tokens, output_tokens,
                   cache_read_tokens, cache_write_tokens, cost, estimated_tokens, milliseconds)
VALUES (:at, :thread_id, :member, :run_id, :step, :model, :input_tokens, :output_tokens,
        :cache_read_tokens, :cache_write_tokens, :cost, :estimated_tokens, :milliseconds);

-- name: list_usage
SELECT * FROM usage WHERE at >= :since AND (:thread_id IS NULL OR thread_id = :thread_id) ORDER BY id;

-- name: begin_call
INSERT INTO call (thread_id, message_id, call_id, begun_at) VALUES (:thread_id, :message_id, :call_id, :begun_at)
ON CONFLICT DO NOTHING;

-- name: has_begun
SELECT 1 FROM call WHERE thread_id = :thread_id AND message_id = :message_id AND call_id = :call_id;

-- name: release_call
DELETE FROM call WHERE thread_id = :thread_id AND message_id = :message_id AND call_id = :call_id;

-- name: keep_signatures
INSERT INTO signature (message_id, data) VALUES (:message_id, :data)
ON CONFLICT (message_id) DO UPDATE SET data = excluded.data;

-- name: signatures
SELECT data FROM signature WHERE message_id = :message_id;

-- name: drop_signatures
DELETE FROM signature WHERE message_id = :message_id;
