-- name: register
WITH registered AS (SELECT worker_id FROM procrastinate_register_worker_v1() WHERE %(works)s)
INSERT INTO fleet_process (worker, worker_id, role, members, concurrency, version)
VALUES (%(worker)s, (SELECT worker_id FROM registered), %(role)s, %(members)s, %(concurrency)s, %(version)s)
ON CONFLICT (worker) DO UPDATE SET worker_id = excluded.worker_id, heard_at = clock_timestamp()
RETURNING worker_id;

-- name: fetch
SELECT id, task_name, args ->> 'thread', queue_name
FROM procrastinate_fetch_job_v2(%(queues)s::varchar[], %(worker_id)s);

-- name: later
INSERT INTO procrastinate_jobs (queue_name, task_name, args, scheduled_at)
VALUES (%(queue)s, %(task)s, jsonb_build_object('thread', %(thread_id)s::text),
    clock_timestamp() + make_interval(secs => %(seconds)s))
RETURNING id;

-- name: finish
-- With it go the jobs of rows that were done along with its own. A job and its row are written as one: whoever
-- sees no open row sees no job that is still needed.
DELETE FROM procrastinate_jobs
WHERE id = %(id)s AND status = 'doing' AND worker_id = %(worker_id)s
    OR lock = %(lock)s AND status = 'todo'
        AND NOT EXISTS (SELECT 1 FROM inbox WHERE inbox.thread_id = %(lock)s AND is_open)
RETURNING id;

-- name: put_back
UPDATE procrastinate_jobs SET status = 'todo', worker_id = NULL
WHERE id = ANY(%(ids)s::bigint[]) AND status = 'doing' AND worker_id = %(worker_id)s RETURNING id;

-- name: put_back_others
UPDATE procrastinate_jobs SET status = 'todo', worker_id = NULL
WHERE id <> ALL(%(ids)s::bigint[]) AND status = 'doing' AND worker_id = %(worker_id)s RETURNING id;

-- name: drain
UPDATE fleet_process SET is_draining = true WHERE worker = %(worker)s RETURNING worker;

-- name: tick
WITH own AS (
    UPDATE fleet_process SET heard_at = clock_timestamp() WHERE worker = %(worker)s RETURNING worker
)
SELECT (SELECT count(*) FROM own) AS known,
    (SELECT count(*) FROM fleet_process
     WHERE heard_at < clock_timestamp() - make_interval(secs => %(grace)s)) AS silent;

-- name: end_frozen
SELECT process.worker, pg_terminate_backend(session.pid)
FROM fleet_process AS process JOIN fence_session AS session USING (worker)
WHERE process.heard_at < clock_timestamp() - make_interval(secs => %(limit)s);

-- name: dead
SELECT worker, worker_id FROM fleet_process
WHERE heard_at < clock_timestamp() - make_interval(secs => %(grace)s)
    AND pg_try_advisory_xact_lock(hashtextextended('worker ' || worker, 0))
FOR UPDATE SKIP LOCKED;

-- name: forget
DELETE FROM fleet_process WHERE worker = ANY(%(workers)s);

-- name: take_over
WITH lost AS (
    DELETE FROM procrastinate_jobs
    WHERE status = 'doing' AND worker_id = ANY(%(worker_ids)s)
    RETURNING queue_name, task_name, lock, args
)
INSERT INTO procrastinate_jobs (queue_name, task_name, lock, args)
SELECT queue_name, task_name, lock, args FROM lost
RETURNING lock;

-- name: forget_workers
DELETE FROM procrastinate_workers WHERE id = ANY(%(worker_ids)s);

-- name: owns
SELECT 1 AS owns FROM procrastinate_jobs
WHERE id = %(id)s AND status = 'doing' AND worker_id = %(worker_id)s;

-- name: queues
SELECT queue_name, count(*) FILTER (WHERE status = 'todo') AS waiting, count(*) FILTER (WHERE status = 'doing') AS running
FROM procrastinate_jobs WHERE status IN ('todo', 'doing') AND lock IS NOT NULL
GROUP BY queue_name;

-- name: processes
SELECT worker, role, members, concurrency, version, since::text AS since, is_draining,
    heard_at < clock_timestamp() - make_interval(secs => %(grace)s) AS silent
FROM fleet_process ORDER BY since;

-- name: threads_of
SELECT DISTINCT lock FROM procrastinate_jobs
WHERE status = 'todo' AND lock IS NOT NULL AND queue_name = ANY(%(queues)s) ORDER BY lock LIMIT 100;

-- name: has_job
SELECT 1 AS found FROM procrastinate_jobs WHERE lock = %(lock)s AND status IN ('todo', 'doing') LIMIT 1;

-- name: enqueue
INSERT INTO procrastinate_jobs (queue_name, task_name, lock, args)
SELECT coalesce(
    (SELECT member FROM thread WHERE thread_id = %(thread_id)s AND NOT binned AND member <> ''),
    (SELECT convert_from(data, 'UTF8')::jsonb ->> 'member' FROM mark WHERE thread_id = %(thread_id)s),
    %(member)s
), %(task)s, %(thread_id)s, jsonb_build_object('thread', %(thread_id)s::text);

-- name: runs
SELECT thread_id, run_id, array_agg(convert_from(message_id, 'UTF8'))
FROM inbox WHERE is_open AND run_id IS NOT NULL GROUP BY thread_id, run_id ORDER BY min(seq);
