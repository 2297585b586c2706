SELECT e.id, e.gpu_ids AS "gpuIds", e.gpu_count AS "gpuCount", e.instance_ids AS "instanceIds", e.locations,
e.allowed_cuda_versions AS "allowedCudaVersions",
ARRAY(SELECT v.data_center_id FROM network_volume v WHERE v.id = ANY(e.network_volume_ids)
  ORDER BY v.id) AS "dataCenterIds",
coalesce((SELECT g.image_name FROM given_template g WHERE g.endpoint_id = e.id),
  (SELECT t.image_name FROM template t WHERE t.id = e.template_id)) AS "imageName",
e.execution_timeout_ms AS "executionTimeoutMs",
e.model_references AS "modelReferences", CASE WHEN e.model_references = '{}' THEN 0 ELSE (
SELECT coalesce(sum(largest), 0)::bigint FROM unnest(e.model_references) AS r CROSS JOIN LATERAL (
  SELECT max(m.size_bytes) AS largest FROM machine_model m
  WHERE m.repository = split_part(r, ':', 1) AND m.revision = coalesce(nullif(split_part(r, ':', 2), ''), $1)) AS known) END AS "modelBytes", e.account_id AS "accountId", e.type, e.workers_min AS "workersMin",
  e.workers_max AS "workersMax",
  e.idle_timeout_seconds AS "idleTimeoutSeconds", e.scaler_type AS "scalerType",
  CASE WHEN e.queue_delay_ms > 0 THEN e.queue_delay_ms::float8 / 1000 ELSE e.scaler_value END AS "scalerValue",
  e.version,
  e.flash_boot_type = 'FLASHBOOT' AND e.type = 'QB' AS "flashBoot",
  nullif(e.flash_boot_standby, 'AUTO') AS standby,
  d.target, d.throttled, d.reason, d.refusal, d.refusal_by_machine AS "refusalByMachine",
CASE WHEN r.endpoint_id IS NULL OR (r.version = e.version AND r.state = 'COMPLETE') THEN NULL
  ELSE jsonb_build_object(
  'version', r.version, 'state', r.state, 'goodVersion', r.good_version, 'roomMade', r.room_made, 'checked',
  r.checked, 'reason', r.reason,
  'ageMs', (extract(epoch FROM now() - r.since) * 1000)::bigint) END AS "keptRollout",
CASE WHEN g.version IS NULL THEN NULL ELSE jsonb_build_object('version', g.version, 'imageName', g.image_name,
  'gpuIds', to_jsonb(g.gpu_ids),
  'gpuCount', g.gpu_count, 'instanceIds', to_jsonb(g.instance_ids), 'locations', to_jsonb(g.locations),
  'allowedCudaVersions', to_jsonb(g.allowed_cuda_versions),
  'modelReferences', to_jsonb(g.model_references), 'modelBytes', CASE WHEN g.model_references = '{}' THEN 0 ELSE (
SELECT coalesce(sum(largest), 0)::bigint FROM unnest(g.model_references) AS r CROSS JOIN LATERAL (
  SELECT max(m.size_bytes) AS largest FROM machine_model m
  WHERE m.repository = split_part(r, ':', 1) AND m.revision = coalesce(nullif(split_part(r, ':', 2), ''), $2)) AS known) END,
  'dataCenterIds',
  to_jsonb(ARRAY(SELECT v.data_center_id FROM network_volume v WHERE v.id = ANY(g.network_volume_ids)
    ORDER BY v.id))) END AS good
FROM endpoint e LEFT JOIN scale_decision d ON d.endpoint_id = e.id LEFT JOIN endpoint_rollout r ON r.endpoint_id = e.id
LEFT JOIN endpoint_version g ON g.endpoint_id = e.id AND g.version = r.good_version AND g.version <> e.version
  WHERE e.id = ANY($3);
