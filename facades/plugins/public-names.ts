/** Replaces names of the contract in core's error texts with the names that the client sent. */
import { ENDPOINT } from '../resources/endpoints/endpoint-table.ts';
import { publicNames } from '../resources/field.ts';
import { POD } from '../resources/pods/pod-table.ts';
import { TEMPLATE } from '../resources/templates/template-table.ts';
import { VOLUME } from '../resources/volumes/volume-table.ts';

/** Contract name to public name. */
export type FieldNames = Readonly<Record<string, string>>;

/** Names that are the same on all public surfaces. */
const COMMON: FieldNames = {
  is_serverless: 'isServerless',
  data_center_id: 'dataCenterId',
  public_key: 'pubKey',
};

/** Names of the REST surface. */
export const REST_NAMES: FieldNames = {
  ...COMMON,
  ...publicNames(TEMPLATE, 'rest'),
  ...publicNames(POD, 'rest'),
  ...publicNames(ENDPOINT, 'rest'),
  ...publicNames(VOLUME, 'rest'),
  create_template: 'POST /v1/templates',
  data_center_ids: 'dataCenterId',
  end_time: 'endTime',
  gpu_type_ids: 'gpuTypeId',
  start_time: 'startTime',
};

/** Names of REST v2, which nests settings: a name is the path of the member. */
export const REST_V2_NAMES: FieldNames = {
  ...COMMON,
  allowed_cuda_versions: 'gpu.allowedCudaVersions',
  category: 'category',
  compute_type: 'gpu or cpu',
  container_disk_gb: 'disk',
  data_center_id: 'dataCenter',
  entrypoint: 'entrypoint',
  env: 'env',
  execution_timeout_ms: 'timeout',
  end_time: 'endTime',
  flash_boot_standby: 'flashbootStandby',
  flash_boot_type: 'flashboot',
  gpu_count: 'gpu.count',
  gpu_ids: 'gpu.pools',
  idle_timeout_seconds: 'workers.idleTimeout',
  image_name: 'image',
  instance_ids: 'cpu',
  is_serverless: 'serverless',
  locations: 'dataCenterIds',
  model_aliases: 'openai.aliases',
  model_queue_max: 'openai.queueMax',
  model_references: 'models',
  model_weight: 'openai.weight',
  network_volume_id: 'mounts.network',
  network_volume_ids: 'networkVolumes',
  public_key: 'keys',
  registry_auth_id: 'registry',
  scaler_type: 'scaling.type',
  scaler_value: 'scaling',
  size_gb: 'size',
  start_command: 'cmd',
  start_time: 'startTime',
  template_id: 'templateId',
  volume_gb: 'mounts.persistent.size',
  volume_mount_path: 'mounts.persistent.path',
  workers_max: 'workers.max',
  workers_min: 'workers.min',
  create_template: 'POST /v2/templates',
  queue_delay_ms: 'scaling.queueDelay',
};

/** Names of the queue surface: parameters of its queries. */
export const QUEUE_NAMES: FieldNames = {
  ended_from: 'endedFrom',
  error_group: 'errorGroup',
  page_token: 'cursor',
  submitted_from: 'submittedFrom',
  submitted_until: 'submittedUntil',
};

/** Names of the GraphQL surface, for everything but pods. */
export const GRAPHQL_NAMES: FieldNames = {
  ...COMMON,
  ...publicNames(TEMPLATE, 'graphql'),
  ...publicNames(POD, 'graphql'),
  ...publicNames(ENDPOINT, 'graphql'),
  ...publicNames(VOLUME, 'graphql'),
  create_template: 'saveTemplate',
  network_volume_ids: 'networkVolumeId',
};

/** Names of the pod mutations, which differ in some fields. */
export const GRAPHQL_POD_NAMES: FieldNames = { ...GRAPHQL_NAMES, gpu_ids: 'gpuTypeId', locations: 'dataCenterId' };

/**
 * Returns the text with public names. Quoted text is the client's own and stays as it is. A plain word counts as a
 * field only at the start of core's text.
 */
export function withPublicNames(text: string, names: FieldNames): string {
  return text.replace(/"(?:[^"\\]|\\.)*"|^[a-z]+\b|\b[a-z]+(?:_[a-z]+)+\b/g, (word) =>
    Object.hasOwn(names, word) ? names[word]! : word,
  );
}
