  WITH normal AS MATERIALIZED (
    SELECT endpoint_id, id, position FROM job
    WHERE endpoint_id = $1 AND low_priority = false AND state = 'IN_QUEUE' AND position > $2
      AND expires_at > now()
    ORDER BY position LIMIT $3::int FOR UPDATE SKIP LOCKED
  ), low AS MATERIALIZED (
    SELECT endpoint_id, id, position FROM job
    WHERE endpoint_id = $4 AND low_priority = true AND state = 'IN_QUEUE' AND position > $5
      AND expires_at > now()
    ORDER BY position LIMIT $6::int - (SELECT count(*) FROM normal) FOR UPDATE SKIP LOCKED
  ), picked AS (
    SELECT endpoint_id, id, row_number() OVER (ORDER BY low, position) AS slot
    FROM (SELECT endpoint_id, id, position, false AS low FROM normal
      UNION ALL SELECT endpoint_id, id, position, true FROM low) AS q
  ), moved AS (
    UPDATE job j SET state = 'IN_PROGRESS', attempt = j.attempt + 1, claim_id = $7::uuid,
      worker_id = ($8::text[])[p.slot],
      machine_id = ($9::text[])[p.slot],
      started_at = now(), execution_deadline_at = now() + j.execution_timeout_ms * interval '1 ms'
    FROM picked p WHERE j.endpoint_id = ANY(ARRAY[p.endpoint_id]) AND j.id = p.id
    RETURNING j.endpoint_id, j.id, j.attempt, j.worker_id, j.machine_id, j.low_priority, j.position, j.submitted_at
  ), tallied AS (
  INSERT INTO endpoint_tally AS t (endpoint_id, slot, completed, failed, retried, queued, queued_low, claimed_to)
  SELECT c.endpoint_id, pg_backend_pid() % 16, c.completed, c.failed, c.retried, c.queued,
    c.queued_low, c.claimed_to
  FROM (
SELECT endpoint_id, 0 AS completed, 0 AS failed, 0 AS retried, -1 * count(*) AS queued,
  -1 * count(*) FILTER (WHERE low_priority) AS queued_low, coalesce(max(position) FILTER (WHERE NOT low_priority), 0) AS claimed_to FROM (SELECT endpoint_id, low_priority, position FROM moved) AS r
    GROUP BY endpoint_id) AS c ORDER BY c.endpoint_id
  ON CONFLICT (endpoint_id, slot) DO UPDATE SET completed = t.completed + excluded.completed,
    failed = t.failed + excluded.failed,
    retried = t.retried + excluded.retried, queued = t.queued + excluded.queued,
    queued_low = t.queued_low + excluded.queued_low,
    claimed_to = greatest(t.claimed_to, excluded.claimed_to)
)
    , sized AS (
  SELECT m.*, i.input, i.s3_config_sealed, i.traceparent, i.batch_id, octet_length(i.input) AS input_size,
    sum(least(octet_length(i.input), $10::int)) OVER (ORDER BY m.low_priority, m.position) AS running
  FROM moved m LEFT JOIN job_input i ON i.endpoint_id = ANY(ARRAY[m.endpoint_id]) AND i.job_id = m.id
)
SELECT id, attempt, worker_id, machine_id, low_priority, position, coalesce(input_size, 0) AS input_size,
  s3_config_sealed, traceparent, batch_id,
  CASE WHEN traceparent IS NOT NULL THEN (extract(epoch FROM submitted_at) * 1000)::float8 END AS submitted_ms,
  CASE WHEN input_size <= $11::int AND running <= $12::int THEN input END AS input
FROM sized ORDER BY low_priority, position;
