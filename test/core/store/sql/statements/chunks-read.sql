  WITH found AS (
    SELECT g.reader, g.wanted, g.after_attempt IS NULL AS is_shared, j.endpoint_id, j.id, j.state,
      j.attempt AS current, o.error,
      coalesce(s.attempt, 0) AS shared_attempt, coalesce(s.number, 0) AS shared_number,
      s.job_id IS NOT NULL AS has_place,
      coalesce(g.after_attempt, s.attempt, 0) AS from_attempt, coalesce(g.after_number, s.number, 0) AS from_number
    FROM unnest(
      $1::int[],
      $2::text[],
      $3::text[],
      $4::int[],
      $5::int[],
      $6::int[]
    ) AS g(reader, endpoint_id, id, after_attempt, after_number, wanted)
    JOIN job j ON j.endpoint_id = ANY(ARRAY[g.endpoint_id]) AND j.id = g.id AND j.expires_at + interval '0' > now()
    LEFT JOIN job_output o ON o.endpoint_id = ANY(ARRAY[j.endpoint_id]) AND o.job_id = j.id
    LEFT JOIN stream_cursor s ON s.endpoint_id = ANY(ARRAY[j.endpoint_id]) AND s.job_id = j.id
  ), pages AS (
    SELECT f.*, p.attempt, p.number, p.output, p.metrics, p.nth, coalesce(p.listed, 0) AS listed,
      coalesce(p.fits, 0) AS fits,
      $7::boolean AND coalesce(p.fits < p.listed AND p.fits < f.wanted, false) AS left_out
    FROM found f LEFT JOIN LATERAL (
      SELECT *, sum(fit) OVER () AS fits FROM (
        SELECT *, count(*) OVER () AS listed, row_number() OVER places AS nth,
          CASE WHEN row_number() OVER places <= least(f.wanted, $8::int)
            AND (sum(bytes) OVER places <= $9::bigint
            OR row_number() OVER places = 1 AND NOT $10::boolean) THEN 1 ELSE 0 END AS fit
        FROM (
          SELECT c.attempt, c.number, c.output, c.metrics, octet_length(c.output) + coalesce(octet_length(c.metrics),
            0) AS bytes FROM job_chunk c
          WHERE c.endpoint_id = f.endpoint_id AND c.job_id = f.id AND c.attempt = f.current AND f.state <> 'IN_QUEUE'
            AND (c.attempt, c.number) > (f.from_attempt, f.from_number)
          ORDER BY c.attempt, c.number LIMIT least(f.wanted, $11::int) + 1
        ) AS listed WINDOW places AS (ORDER BY attempt, number)
      ) AS sized
    ) AS p ON p.fit = 1 OR p.nth = 1
  ),
ends AS (
  SELECT endpoint_id, id, shared_attempt, shared_number, has_place, attempt, number, reader FROM pages
    WHERE is_shared AND NOT left_out AND nth = fits
), moved AS (
  UPDATE stream_cursor s SET attempt = e.attempt, number = e.number FROM ends e
  WHERE e.has_place AND s.endpoint_id = ANY(ARRAY[e.endpoint_id]) AND s.job_id = e.id AND s.attempt = e.shared_attempt
    AND s.number = e.shared_number
  RETURNING e.reader
), made AS (
  INSERT INTO stream_cursor (endpoint_id, job_id, attempt, number) SELECT endpoint_id, id, attempt, number FROM ends
    WHERE NOT has_place
  ON CONFLICT DO NOTHING RETURNING endpoint_id, job_id
)
  SELECT reader, state, error, shared_attempt, shared_number, listed, fits, left_out, attempt, number,
    CASE WHEN NOT left_out THEN output END AS output, CASE WHEN NOT left_out THEN metrics END AS metrics,

NOT is_shared OR reader IN (SELECT reader FROM moved) OR (endpoint_id, id) IN (SELECT endpoint_id, job_id FROM made) AS taken
  FROM pages ORDER BY reader, nth;
