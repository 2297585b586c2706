  WITH moved AS (
    UPDATE job j SET
      state = CASE WHEN j.retries < g.requeue_below THEN 'IN_QUEUE' ELSE g.final END,
      retries = j.retries + CASE WHEN g.counted AND j.retries < g.requeue_below THEN 1 ELSE 0 END,
      started_at = CASE WHEN j.retries < g.requeue_below THEN NULL
        ELSE greatest(j.started_at, now() - nullif(g.execution_ms, -1) * interval '1 ms') END,
      finished_at = CASE WHEN j.retries < g.requeue_below THEN NULL ELSE now() END,
      machine_id = CASE WHEN j.retries < g.requeue_below THEN NULL ELSE j.machine_id END,
      execution_deadline_at = NULL, claim_id = NULL,
      expires_at = CASE WHEN j.retries < g.requeue_below THEN j.expires_at
        ELSE least(j.ttl_deadline_at, now() + j.retention_ms * interval '1 ms') END
    FROM (VALUES (0, $1::text, $2::text, $3::int, $4::int,
$5::boolean,
$6::text, 1, $7::int, $8::text,
$9::text,
$10::text, $11::bigint))
      AS g(index, endpoint_id, id, attempt, requeue_below, counted, final, output_start, output_length, error,
        machine_id, remembered,
      execution_ms)
    WHERE j.endpoint_id = ANY(ARRAY[g.endpoint_id]) AND j.id = g.id AND j.attempt = g.attempt
      AND j.machine_id = g.machine_id
      AND j.state || '' = 'IN_PROGRESS' AND j.expires_at + interval '0' > now()
    RETURNING j.endpoint_id, j.id, j.state, j.attempt, j.retries, j.worker_id,
round(date_part('epoch', j.submitted_at) * 1e6) / 1000 AS submitted_ms, round(date_part('epoch', j.finished_at) * 1e6) / 1000 AS finished_ms,
CASE WHEN j.started_at < j.submitted_at THEN 0
ELSE floor((round(date_part('epoch', j.started_at - j.submitted_at) * 1e6) + 500) / 1000) END AS delay_ms,
CASE WHEN j.finished_at < j.started_at THEN 0
ELSE floor((round(date_part('epoch', j.finished_at - j.started_at) * 1e6) + 500) / 1000) END AS execution_ms, j.position, j.has_webhook, j.low_priority, g.index, g.counted, g.error,
      g.machine_id, g.remembered,
      substring($12::bytea FROM g.output_start FOR g.output_length) AS output
  ) , stored AS (
  INSERT INTO job_output (endpoint_id, job_id, output, error)
  SELECT m.endpoint_id, m.id, CASE WHEN m.state <> 'IN_QUEUE' THEN m.output END, CASE WHEN m.state <> 'IN_QUEUE'
    THEN m.error END FROM moved m
  ON CONFLICT (endpoint_id, job_id) DO UPDATE SET output = excluded.output, error = excluded.error
), announced AS (
  INSERT INTO webhook_delivery (endpoint_id, job_id, url, url_sealed, body)
  SELECT m.endpoint_id, m.id, coalesce(i.webhook, ''), i.webhook_sealed,
convert_to(concat('{"id":', to_json(m.id), ',"status":"', m.state, '"',
  ',"delayTime":' || m.delay_ms::bigint, ',"executionTime":' || m.execution_ms::bigint,
  ',"workerId":' || to_json(m.worker_id),
  CASE WHEN m.retries > 0 THEN ',"retries":' || m.retries END, ',"error":' || to_json(m.error),
  ',"webhook":' || to_json(i.webhook), ',"metadata":' || i.metadata, ',"input":'), 'UTF8')
|| i.input || CASE WHEN m.output IS NULL THEN ''::bytea
  ELSE convert_to(',"output":', 'UTF8') || m.output END || convert_to('}', 'UTF8')
  FROM moved m JOIN job_input i ON i.endpoint_id = ANY(ARRAY[m.endpoint_id]) AND i.job_id = m.id
  WHERE m.has_webhook AND m.state = ANY($13::text[])
    AND num_nonnulls(i.webhook, i.webhook_sealed) > 0
    AND EXISTS (SELECT FROM endpoint e WHERE e.id = ANY(ARRAY[m.endpoint_id]))
), tallied AS (
  INSERT INTO endpoint_tally AS t (endpoint_id, slot, completed, failed, retried, queued, queued_low, claimed_to)
  SELECT c.endpoint_id, pg_backend_pid() % 16, c.completed, c.failed, c.retried, c.queued,
    c.queued_low, c.claimed_to
  FROM (SELECT endpoint_id, (state = 'COMPLETED')::int AS completed, (state IN ('FAILED', 'TIMED_OUT'))::int AS failed,
0 AS retried, 0 AS queued, 0 AS queued_low, 0 AS claimed_to FROM moved) AS c ORDER BY c.endpoint_id
  ON CONFLICT (endpoint_id, slot) DO UPDATE SET completed = t.completed + excluded.completed,
    failed = t.failed + excluded.failed,
    retried = t.retried + excluded.retried, queued = t.queued + excluded.queued,
    queued_low = t.queued_low + excluded.queued_low,
    claimed_to = greatest(t.claimed_to, excluded.claimed_to)
)
  SELECT state, retries, worker_id, submitted_ms, finished_ms, delay_ms, execution_ms, position, index,
    has_webhook, low_priority FROM moved;
