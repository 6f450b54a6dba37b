-- name: begin
INSERT INTO audit_head (worker, seq, hash) VALUES (%(worker)s, 0, %(hash)s) ON CONFLICT (worker) DO NOTHING;

-- name: head
SELECT seq, hash FROM audit_head WHERE worker = %(worker)s FOR UPDATE;

-- name: last
SELECT line FROM audit_entry WHERE worker = %(worker)s ORDER BY seq DESC LIMIT 1;

-- name: add
INSERT INTO audit_entry (worker, seq, at, line) VALUES (%(worker)s, %(seq)s, %(at)s, %(line)s);

-- name: move
UPDATE audit_head SET seq = %(seq)s, hash = %(hash)s WHERE worker = %(worker)s;

-- name: heads
SELECT worker, seq, hash FROM audit_head
UNION SELECT worker, NULL, NULL FROM audit_entry WHERE worker NOT IN (SELECT worker FROM audit_head)
ORDER BY 1;

-- name: lines
SELECT line FROM audit_entry WHERE worker = %(worker)s ORDER BY seq;

-- name: one
SELECT line FROM audit_entry WHERE worker = %(worker)s AND seq = %(seq)s;

-- name: now
SELECT clock_timestamp();

-- name: backward
SELECT at, worker, seq, line FROM audit_entry
WHERE %(at)s::text IS NULL OR (at, worker, seq) < (%(at)s, %(worker)s, %(seq)s)
ORDER BY at DESC, worker DESC, seq DESC LIMIT %(limit)s;
