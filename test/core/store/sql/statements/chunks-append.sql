WITH current AS (
  SELECT g.* FROM unnest(
    $1::text[],
    $2::text[],
    $3::int[],
    $4::int[],
    $5::int[], $6::int[], $7::int[], $8::int[],
    $9::text[]
  ) AS g(endpoint_id, id, attempt, number, output_start, output_length, metrics_start, metrics_length, machine_id)
  JOIN job j ON j.endpoint_id = ANY(ARRAY[g.endpoint_id]) AND j.id = g.id AND j.attempt = g.attempt
    AND j.machine_id = g.machine_id
    AND j.state || '' = 'IN_PROGRESS' AND j.expires_at + interval '0' > now()
  FOR SHARE OF j
)
INSERT INTO job_chunk (endpoint_id, job_id, attempt, number, output, metrics)
SELECT endpoint_id, id, attempt, number, substring($10::bytea FROM output_start FOR output_length),
  substring($11::bytea FROM metrics_start FOR metrics_length)
FROM current ON CONFLICT DO NOTHING;
