-- The processes of a fleet. `worker` is the name under which a process holds its life lock and its threads.
CREATE TABLE fleet_process (
    worker text PRIMARY KEY,
    -- What its jobs are marked with; a gateway has none.
    worker_id bigint REFERENCES procrastinate_workers (id) ON DELETE SET NULL,
    role text NOT NULL,
    -- The members it serves; null for all.
    members text[],
    concurrency integer NOT NULL DEFAULT 0,
    version text NOT NULL,
    since timestamptz NOT NULL DEFAULT clock_timestamp(),
    heard_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    is_draining boolean NOT NULL DEFAULT false
);

-- Finding the next job of a thread asks for the others of its lock; without this every waiting job is read for it.
CREATE INDEX fleet_job_lock ON procrastinate_jobs (lock, id) WHERE status IN ('todo', 'doing');

-- A job that ends wakes nobody, and the next of its thread would wait until somebody looks.
CREATE FUNCTION fleet_wake_freed_lock() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    next_queue text;
BEGIN
    IF TG_OP = 'UPDATE' AND NEW.status = 'doing' THEN
        RETURN NULL;
    END IF;
    SELECT queue_name INTO next_queue FROM procrastinate_jobs WHERE lock = OLD.lock AND status = 'todo' LIMIT 1;
    IF FOUND THEN
        PERFORM pg_notify('procrastinate_queue_v1#' || next_queue, '{"type": "job_inserted"}');
        PERFORM pg_notify('procrastinate_any_queue_v1', '{"type": "job_inserted"}');
    END IF;
    RETURN NULL;
END;
$$;

CREATE TRIGGER fleet_wake_freed_lock AFTER UPDATE OF status OR DELETE ON procrastinate_jobs
    FOR EACH ROW WHEN (OLD.status = 'doing' AND OLD.lock IS NOT NULL) EXECUTE FUNCTION fleet_wake_freed_lock();
