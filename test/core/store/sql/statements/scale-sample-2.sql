SELECT w.endpoint_id AS "endpointId", w.id, w.machine_id AS "machineId", w.desired, w.state, w.version, w.failures,
  w.state = 'READY' AND w.health = 'READY' AS "takesRequests",
  w.blocked AND w.state = 'READY' AND w.desired = 'RUN' AS blocked,
  coalesce(w.retry_at <= now(), false) AS "retryDue",
  CASE WHEN w.retry_at > now() THEN ceil(extract(epoch FROM w.retry_at - now()) * 1000)::bigint END AS "retryMs",
  greatest(extract(epoch FROM now() - w.busy_at) * 1000, 0)::bigint AS "idleMs",
  greatest(extract(epoch FROM now() - w.desired_at) * 1000, 0)::bigint AS "ageMs",
  greatest(extract(epoch FROM now() - w.ready_at) * 1000, 0)::bigint AS "readyMs",
  cardinality(w.busy_times) > 1 AS served, w.desired = 'FREEZE' AND w.standby_level = 'HOST' AS "isOffloaded", w.suspended AS "isSuspended",
w.gpu_uuids AS "gpuUuids", w.gpu_memory_bytes AS bytes, w.restore_bytes AS "restoreBytes",
w.restore_ms AS "restoreMs", (extract(epoch FROM w.ready_at - w.created_at) * 1000)::bigint AS "startMs",
(extract(epoch FROM now() - CASE
WHEN w.desired = 'FREEZE' AND w.standby_level = 'HOST' AND w.standby_reached <> 'HOST'
  THEN greatest(w.desired_at, w.busy_at)
WHEN w.desired = 'RUN' AND w.standby_reached = 'HOST' AND NOT EXISTS (SELECT FROM worker x WHERE x.machine_id = w.machine_id AND x.ended_at IS NULL
AND x.machine_id <> '' AND x.id <> w.id AND x.gpu_uuids && w.gpu_uuids AND x.state <> 'UNHEALTHY'
AND ((x.desired = 'FREEZE' AND x.standby_level = 'HOST' AND x.standby_reached <> 'HOST')
  OR (x.desired = 'DRAIN' AND true)))
  THEN greatest(w.desired_at, (SELECT max(greatest(x.offloaded_at, x.ended_at)) FROM worker x
WHERE x.machine_id = w.machine_id AND x.id <> w.id AND x.gpu_uuids && w.gpu_uuids)) END) * 1000)::bigint AS "movingMs",
  cardinality(w.gpu_uuids) AS gpus, m.session_id IS NOT NULL AND m.lease_expires_at > now()
    AND NOT m.cordoned AS reachable
FROM worker w JOIN machine m ON m.id = w.machine_id
WHERE w.endpoint_id = ANY($1) AND w.ended_at IS NULL AND w.endpoint_id <> ''
  ORDER BY w.created_at, w.id;
