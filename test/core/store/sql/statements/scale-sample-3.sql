SELECT e.id, least(greatest(t.queued, 0), e.counted_max)::int AS queued,
  CASE WHEN t.queued > 0
    THEN (extract(epoch FROM now() - coalesce((SELECT submitted_at FROM job WHERE endpoint_id = e.id AND state = 'IN_QUEUE' AND low_priority = false
AND position > t.claimed_to
ORDER BY position LIMIT 1), (SELECT submitted_at FROM job WHERE endpoint_id = e.id AND state = 'IN_QUEUE' AND low_priority = false
AND position > 0
ORDER BY position LIMIT 1))) *
      1000)::bigint END
    AS oldest_ms
FROM unnest($1::text[], $2::int[]) AS e (id, counted_max)
CROSS JOIN LATERAL (
  SELECT coalesce(sum(queued - queued_low), 0) AS queued, coalesce(max(claimed_to), 0) AS claimed_to
    FROM endpoint_tally WHERE endpoint_id = e.id) AS t;
