-- name: intend
-- A run that waited for a person goes on under its own id; what it says then is a further segment.
INSERT INTO outbox (run_id, segment, platform, thread_id, message, created_at)
VALUES (:run_id, (SELECT count(*) FROM outbox WHERE run_id = :run_id),
        :platform, :thread_id, :message, :created_at);

-- name: next
SELECT * FROM outbox WHERE platform = :platform AND status = 'waiting' ORDER BY id LIMIT 1;

-- name: begin
UPDATE outbox SET status = 'sending', attempts = attempts + 1 WHERE id = :id AND status = 'waiting';

-- name: sent
UPDATE outbox SET status = 'sent', receipt = :receipt, sent_at = :sent_at WHERE id = :id;

-- name: failed
UPDATE outbox SET status = :status, error = :error WHERE id = :id;

-- name: doubt
UPDATE outbox SET status = 'uncertain', error = 'the process ended while sending'
WHERE platform = :platform AND status = 'sending';

-- name: list
SELECT * FROM outbox WHERE (:status IS NULL OR status = :status) ORDER BY id;
