-- name: add
INSERT INTO usage (file, at, thread_id, member, run_id, step, model, input_tokens, output_tokens,
                   cache_read_tokens, cache_write_tokens, cost, estimated_tokens, milliseconds,
                   asker, payer, route)
VALUES (:file, :at, :thread_id, :member, :run_id, :step, :model, :input_tokens, :output_tokens,
        :cache_read_tokens, :cache_write_tokens, :cost, :estimated_tokens, :milliseconds,
        :asker, :payer, :route);

-- name: list
SELECT * FROM usage WHERE at >= :since ORDER BY file, id;

-- name: list_thread
-- Found by the thread alone: by its time, all there is since then would be looked at. What colleagues used who
-- were asked in it is booked to it; of one run, only its own steps are wanted.
SELECT * FROM usage
WHERE (thread_id = :thread_id OR payer = :thread_id) AND +at >= :since AND (:run_id IS NULL OR run_id = :run_id)
ORDER BY file, id;

-- name: files
SELECT * FROM usage_file;

-- name: put_file
INSERT OR REPLACE INTO usage_file (name, inode, offset) VALUES (:name, :inode, :offset);

-- name: drop_file
DELETE FROM usage_file WHERE name = :name;

-- name: drop
DELETE FROM usage WHERE file = :name;

-- name: clear
DELETE FROM usage;

-- name: clear_files
DELETE FROM usage_file;
