  WITH given AS  (
    SELECT * FROM unnest(
  $1::text[], $2::text[],
  $3::boolean[],
  $4::bigint[],
  $5::bigint[],
  $6::bigint[],
  $7::int[], $8::int[], $9::int[], $10::int[],
  $11::int[], $12::int[],
  $13::text[],
  $14::text[],
  $15::text[],
  $16::text[]
)
      AS g(endpoint_id, id, low_priority, execution_timeout_ms, retention_ms, ttl_ms, input_start, input_length,
        webhook_start, webhook_length,
        sealed_start, sealed_length, worker_id, machine_id, traceparent, batch_id)
  ), payload AS (
    INSERT INTO job_input (endpoint_id, job_id, input, webhook_sealed, s3_config_sealed, traceparent,
      batch_id)
    SELECT g.endpoint_id, g.id, substring($17::bytea FROM g.input_start FOR g.input_length),
      substring($18::bytea FROM g.webhook_start FOR g.webhook_length), substring($19::bytea
        FROM g.sealed_start FOR g.sealed_length),
      g.traceparent, g.batch_id
    FROM given g ON CONFLICT (endpoint_id, job_id) DO NOTHING
  ), stored AS (
  INSERT INTO job AS j (endpoint_id, id, state, low_priority, attempt, machine_id, worker_id, claim_id, has_webhook,
    execution_timeout_ms,
    retention_ms, submitted_at, started_at, execution_deadline_at, ttl_deadline_at, expires_at)
  SELECT g.endpoint_id, g.id, CASE WHEN g.worker_id IS NULL THEN 'IN_QUEUE' ELSE 'IN_PROGRESS' END, g.low_priority,
    CASE WHEN g.worker_id IS NULL THEN 0 ELSE 1 END, g.machine_id, g.worker_id,
    CASE WHEN g.worker_id IS NOT NULL THEN $20::uuid END, g.webhook_length IS NOT NULL, g.execution_timeout_ms,
    g.retention_ms, now(),
    CASE WHEN g.worker_id IS NOT NULL THEN now() END,
    CASE WHEN g.worker_id IS NOT NULL THEN now() + g.execution_timeout_ms * interval '1 ms' END,
    now() + g.ttl_ms * interval '1 ms', now() + g.ttl_ms * interval '1 ms'
  FROM given g ON CONFLICT (endpoint_id, id) DO NOTHING
  RETURNING j.endpoint_id, j.id, j.state, j.low_priority, j.position, round(date_part('epoch', j.submitted_at) * 1e6) / 1000 AS submitted_ms
  )
  SELECT endpoint_id, id, position, submitted_ms FROM stored;
