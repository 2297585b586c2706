WITH given AS NOT MATERIALIZED (
  SELECT * FROM (VALUES (0, $1::text, $2::text, $3::boolean,
$4::bigint, $5::bigint, $6::bigint, $7::float8,
$8::float8, 1, $9::int, 1, $10::int,
$11::text, $12::text)) AS g(index, endpoint_id, id, low_priority, execution_timeout_ms, retention_ms, ttl_ms,
    age_ms, execution_ms, input_start, input_length, output_start, output_length, worker_id, machine_id)
), ended AS (
  INSERT INTO job AS j (endpoint_id, id, state, low_priority, attempt, machine_id, worker_id, execution_timeout_ms,
    retention_ms, submitted_at, started_at, finished_at, ttl_deadline_at, expires_at)
  SELECT g.endpoint_id, g.id, 'COMPLETED', g.low_priority, 1, g.machine_id, g.worker_id, g.execution_timeout_ms,
    g.retention_ms, now() - g.age_ms * interval '1 ms',
    now() - least(g.execution_ms, g.age_ms) * interval '1 ms', now(),
    now() + (g.ttl_ms - g.age_ms) * interval '1 ms',
    now() + least(g.ttl_ms - g.age_ms, g.retention_ms) * interval '1 ms'
  FROM given g ON CONFLICT (endpoint_id, id) DO NOTHING
  RETURNING j.endpoint_id, j.id, round(date_part('epoch', j.submitted_at) * 1e6) / 1000 AS submitted_ms, round(date_part('epoch', j.finished_at) * 1e6) / 1000 AS finished_ms,
CASE WHEN j.started_at < j.submitted_at THEN 0
ELSE floor((round(date_part('epoch', j.started_at - j.submitted_at) * 1e6) + 500) / 1000) END AS delay_ms,
CASE WHEN j.finished_at < j.started_at THEN 0
ELSE floor((round(date_part('epoch', j.finished_at - j.started_at) * 1e6) + 500) / 1000) END AS execution_ms
), written AS (
  SELECT e.*, g.index, g.input_start, g.input_length, g.output_start, g.output_length
  FROM ended e JOIN given g ON g.endpoint_id = e.endpoint_id AND g.id = e.id
), payload AS (
  INSERT INTO job_input (endpoint_id, job_id, input)
  SELECT endpoint_id, id, substring($13::bytea FROM input_start FOR input_length) FROM written
), result AS (
  INSERT INTO job_output (endpoint_id, job_id, output)
  SELECT endpoint_id, id, substring($14::bytea FROM output_start FOR output_length) FROM written
), tallied AS (
  INSERT INTO endpoint_tally AS t (endpoint_id, slot, completed, failed, retried, queued, queued_low, claimed_to)
  SELECT c.endpoint_id, pg_backend_pid() % 16, c.completed, c.failed, c.retried, c.queued,
    c.queued_low, c.claimed_to
  FROM (SELECT endpoint_id, count(*) AS completed, 0 AS failed, 0 AS retried, 0 AS queued, 0 AS queued_low,
    0 AS claimed_to FROM ended GROUP BY endpoint_id) AS c ORDER BY c.endpoint_id
  ON CONFLICT (endpoint_id, slot) DO UPDATE SET completed = t.completed + excluded.completed,
    failed = t.failed + excluded.failed,
    retried = t.retried + excluded.retried, queued = t.queued + excluded.queued,
    queued_low = t.queued_low + excluded.queued_low,
    claimed_to = greatest(t.claimed_to, excluded.claimed_to)
)
SELECT submitted_ms, finished_ms, delay_ms, execution_ms, index FROM written;
