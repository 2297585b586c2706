SELECT m.id, m.name, m.locations, m.cuda_version, m.cordoned, m.gpus, m.cpu_slots, m.cpu_count, m.memory_mib,
  m.standby_max, m.runs_commands, m.engine,
  (extract(epoch FROM m.leaves_at - now()) * 1000)::float8 AS leaves_in_ms,
  m.no_engine_reason, m.model_limit_bytes, m.session_id IS NOT NULL AND m.lease_expires_at > now() AS connected,
  m.seen_at < now() - $1::int * interval '1 min' AS gone, coalesce(u.cpu_used, 0) AS cpu_used,
  coalesce(u.siblings, 0) AS siblings,
  coalesce(u.used_uuids, '') AS used_uuids, coalesce(u.sizes, '') AS sizes,
  coalesce(u.gave_way_to, '') AS gave_way_to,
  coalesce(u.standbys, '[]') AS standbys, m.gpu_offload,
  coalesce(u.offloaded, '[]') AS offloaded, coalesce(u.offloaded_bytes, 0)::float8 AS offloaded_bytes,
  ($2::text <> '' OR $3::text <> '') AND EXISTS (SELECT FROM machine_image i
    WHERE i.machine_id = m.id
    AND CASE $4::text WHEN '' THEN i.name = $5
      ELSE i.digest = $6 END) AS has_image
FROM machine m LEFT JOIN (
  SELECT machine_id, count(*) FILTER (WHERE NOT frozen AND gpu_uuids = '{}')::int AS cpu_used,
    count(*) FILTER (WHERE NOT frozen AND endpoint_id = $7)::int AS siblings,
    string_agg(array_to_string(gpu_uuids, ','), ',') FILTER (WHERE NOT frozen AND gpu_uuids <> '{}') AS used_uuids,
    string_agg(instance_id, ',') FILTER (WHERE NOT frozen AND instance_id <> '') AS sizes,
    string_agg(gave_way_to, ',') FILTER (WHERE NOT frozen AND gave_way_to <> '') AS gave_way_to,
    jsonb_agg(jsonb_build_object('workerId', id, 'gpuUuids', gpu_uuids, 'instanceId', instance_id,
      'frozenMs', (extract(epoch FROM now() - desired_at) * 1000)::bigint,
      'bytes', bytes, 'mayOffload', may_offload,
      'movedBytes', offload_bytes, 'movedMs', offload_ms)) FILTER (WHERE frozen AND NOT in_host) AS standbys,
    jsonb_agg(jsonb_build_object('workerId', id, 'bytes', bytes,
      'offloadedMs', (extract(epoch FROM now() - coalesce(offloaded_at, now())) * 1000)::bigint))
      FILTER (WHERE frozen AND in_host) AS offloaded,
    sum(bytes) FILTER (WHERE in_host) AS offloaded_bytes
  FROM (
    SELECT id, machine_id, endpoint_id, gpu_uuids, instance_id, gave_way_to,
      desired = 'FREEZE' AND NOT suspended AS frozen, desired_at, offloaded_at, gpu_memory_bytes AS bytes,
      offload_bytes, offload_ms,
      standby_reached = 'HOST' OR (desired = 'FREEZE' AND standby_level = 'HOST') AS in_host,
      gpu_uuids <> '{}' AND desired = 'FREEZE' AND state IN ('READY', 'FROZEN') AND EXISTS (SELECT FROM endpoint e
        WHERE e.id = worker.endpoint_id AND e.flash_boot_standby <> 'GPU') AS may_offload
    FROM worker WHERE ended_at IS NULL AND machine_id <> '' AND state <> 'UNHEALTHY'
      AND id <> ALL(string_to_array($8, ','))
    UNION ALL
    SELECT id, machine_id, NULL, gpu_uuids, instance_id, '', false, NULL, NULL, 0, NULL, NULL, false, false
      FROM pod WHERE desired = 'RUNNING') alive
  GROUP BY machine_id) u ON u.machine_id = m.id
WHERE m.seen_at > now() - interval '1 day' ORDER BY m.id;
