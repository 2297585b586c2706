WITH given AS NOT MATERIALIZED (
  SELECT * FROM (VALUES ($1::text, $2::text, $3::boolean,
$4::bigint, $5::bigint,
$6::bigint, 1, $7::int, 1, $8::int, 1,
$9::int,
$10::text, $11::text, $12::text,
$13::text))
    AS g(endpoint_id, id, low_priority, execution_timeout_ms, retention_ms, ttl_ms, input_start, input_length,
      webhook_start, webhook_length,
      sealed_start, sealed_length, worker_id, machine_id, traceparent, batch_id)
), payload AS (
  INSERT INTO job_input (endpoint_id, job_id, input, webhook_sealed, s3_config_sealed, traceparent,
    batch_id)
  SELECT g.endpoint_id, g.id, substring($14::bytea FROM g.input_start FOR g.input_length),
    substring($15::bytea FROM g.webhook_start FOR g.webhook_length), substring($16::bytea
      FROM g.sealed_start FOR g.sealed_length),
    g.traceparent, g.batch_id
  FROM given g ON CONFLICT (endpoint_id, job_id) DO NOTHING
), stored AS (
INSERT INTO job AS j (endpoint_id, id, state, low_priority, attempt, machine_id, worker_id, claim_id, has_webhook,
  execution_timeout_ms,
  retention_ms, submitted_at, started_at, execution_deadline_at, ttl_deadline_at, expires_at)
SELECT g.endpoint_id, g.id, CASE WHEN g.worker_id IS NULL THEN 'IN_QUEUE' ELSE 'IN_PROGRESS' END, g.low_priority,
  CASE WHEN g.worker_id IS NULL THEN 0 ELSE 1 END, g.machine_id, g.worker_id,
  CASE WHEN g.worker_id IS NOT NULL THEN $17::uuid END, g.webhook_length IS NOT NULL, g.execution_timeout_ms,
  g.retention_ms, now(),
  CASE WHEN g.worker_id IS NOT NULL THEN now() END,
  CASE WHEN g.worker_id IS NOT NULL THEN now() + g.execution_timeout_ms * interval '1 ms' END,
  now() + g.ttl_ms * interval '1 ms', now() + g.ttl_ms * interval '1 ms'
FROM given g ON CONFLICT (endpoint_id, id) DO NOTHING
RETURNING j.endpoint_id, j.id, j.state, j.low_priority, j.position, round(date_part('epoch', j.submitted_at) * 1e6) / 1000 AS submitted_ms
), tallied AS (
  INSERT INTO endpoint_tally AS t (endpoint_id, slot, completed, failed, retried, queued, queued_low, claimed_to)
  SELECT c.endpoint_id, pg_backend_pid() % 16, c.completed, c.failed, c.retried, c.queued,
    c.queued_low, c.claimed_to
  FROM (
SELECT endpoint_id, 0 AS completed, 0 AS failed, 0 AS retried, 1 * count(*) AS queued,
  1 * count(*) FILTER (WHERE low_priority) AS queued_low, 0 AS claimed_to FROM (SELECT endpoint_id, low_priority FROM stored WHERE state = 'IN_QUEUE') AS r
    GROUP BY endpoint_id) AS c ORDER BY c.endpoint_id
  ON CONFLICT (endpoint_id, slot) DO UPDATE SET completed = t.completed + excluded.completed,
    failed = t.failed + excluded.failed,
    retried = t.retried + excluded.retried, queued = t.queued + excluded.queued,
    queued_low = t.queued_low + excluded.queued_low,
    claimed_to = greatest(t.claimed_to, excluded.claimed_to)
)
SELECT endpoint_id, id, position, submitted_ms FROM stored;
