  WITH due AS MATERIALIZED (
  SELECT endpoint_id, id FROM job WHERE expires_at <= now() AND expires_at >= (timestamptz 'epoch' + $1::bigint * interval '1 microsecond')
  ORDER BY expires_at LIMIT $2::int FOR UPDATE SKIP LOCKED), gone AS (
  DELETE FROM job j USING due d WHERE j.endpoint_id = ANY(ARRAY[d.endpoint_id]) AND j.id = d.id
  RETURNING j.endpoint_id, j.id, j.attempt, j.position, j.state, j.low_priority, j.has_webhook,
    j.expires_at > now() AS live,
    (extract(epoch FROM j.expires_at) * 1000000)::bigint AS expires_us,
    CASE WHEN j.state = 'IN_PROGRESS' THEN j.machine_id END AS machine_id
  ), tallied AS (
  INSERT INTO endpoint_tally AS t (endpoint_id, slot, completed, failed, retried, queued, queued_low, claimed_to)
  SELECT c.endpoint_id, pg_backend_pid() % 16, c.completed, c.failed, c.retried, c.queued,
    c.queued_low, c.claimed_to
  FROM (
SELECT endpoint_id, 0 AS completed, 0 AS failed, 0 AS retried, -1 * count(*) AS queued,
  -1 * count(*) FILTER (WHERE low_priority) AS queued_low, 0 AS claimed_to FROM (SELECT endpoint_id, low_priority FROM gone WHERE state = 'IN_QUEUE') AS r
    GROUP BY endpoint_id) AS c ORDER BY c.endpoint_id
  ON CONFLICT (endpoint_id, slot) DO UPDATE SET completed = t.completed + excluded.completed,
    failed = t.failed + excluded.failed,
    retried = t.retried + excluded.retried, queued = t.queued + excluded.queued,
    queued_low = t.queued_low + excluded.queued_low,
    claimed_to = greatest(t.claimed_to, excluded.claimed_to)
)
  SELECT endpoint_id, id, attempt, position, live, state NOT IN ('IN_QUEUE', 'IN_PROGRESS') AS is_final,
    attempt > 1 OR (attempt = 1 AND state <> 'COMPLETED') AS tried, has_webhook, machine_id, expires_us
  FROM gone;
