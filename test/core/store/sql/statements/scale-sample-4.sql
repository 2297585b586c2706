  SELECT e.id, h.worker_id, coalesce(h.held, 0) AS held, coalesce(h.normal, 0) AS normal,
    (extract(epoch FROM h.since) * 1000)::float8 AS since_ms,
(extract(epoch FROM now()) * 1000)::float8 AS now_ms,
    (extract(epoch FROM clock_timestamp() - now()) * 1000)::float8 AS took_ms
  FROM unnest($1::text[], $2::float8[],
  $3::float8[]) AS e (id, since_ms,
    full_due_ms)
  LEFT JOIN LATERAL (
    SELECT worker_id, count(*)::int AS held, (count(*) FILTER (WHERE NOT low_priority))::int AS normal,
      min(started_at) AS since FROM (
      SELECT worker_id, low_priority, started_at FROM job
      WHERE endpoint_id = e.id AND state = 'IN_PROGRESS' AND started_at >= CASE WHEN extract(epoch FROM now()) * 1000 >= coalesce(e.full_due_ms, 0)
  THEN timestamptz '-infinity'
  ELSE to_timestamp(e.since_ms / 1000) END
      ORDER BY started_at) AS r
    GROUP BY worker_id) AS h ON true;
