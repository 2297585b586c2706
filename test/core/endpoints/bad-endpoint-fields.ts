/** Fields of an endpoint that are rejected, each with a part of the reason. */

import { type Endpoint, EndpointType, type ScalerType } from '@slipway/proto/gen/slipway/v1/endpoint';

export const BAD: [what: string, fields: Partial<Endpoint>, why: RegExp][] = [
  ['a long name', { name: 'x'.repeat(192) }, /name has 192 characters/],
  ['a NUL in the name', { name: 'a\0b' }, /cannot be stored/],
  ['an unknown template', { templateId: 'nosuch' }, /no template "nosuch"/],
  ['no template', { templateId: '' }, /template_id is required/],
  [
    'an unknown pool',
    { gpuIds: ['AMPERE_99'] },
    /"AMPERE_99" is not known; allowed is a pool \(AMPERE_16, AMPERE_24, .*or a type name \(NVIDIA RTX A4000/,
  ],
  ['an unknown excluded type', { gpuIds: ['AMPERE_24', '-L4'] }, /a type name after the '-'/],
  ['everything excluded', { gpuIds: ['NVIDIA L4', '-NVIDIA L4'] }, /every GPU type is excluded/],
  ['too many GPUs', { gpuIds: ['AMPERE_24'], gpuCount: 65 }, /gpu_count is 65/],
  ['negative GPUs', { gpuCount: -1 }, /gpu_count is -1/],
  ['negative workers', { workersMin: -1 }, /workers_min is -1/],
  ['more min than max', { workersMin: 4 }, /workers_min is 4, but must not exceed workers_max, which is 3/],
  ['no idle time', { idleTimeoutSeconds: -1 }, /idle_timeout_seconds is -1, but must be a whole number from 1 to 3600/],
  ['a long idle time', { idleTimeoutSeconds: 3_601 }, /3600/],
  ['a scaler value', { scalerValue: -1 }, /scaler_value/],
  [
    'a short execution',
    { executionTimeoutMs: 4_999 },
    /execution_timeout_ms is 4999, but must be a whole number from 5000 to 604800000/,
  ],
  ['a long execution', { executionTimeoutMs: 604_800_001 }, /604800000/],
  ['a retry limit', { retryLimit: 11 }, /retry_limit is 11/],
  ['a concurrency', { workerConcurrency: 101 }, /worker_concurrency is 101/],
  ['a compute type', { computeType: 'TPU' }, /compute_type is "TPU"/],
  ['a CPU with GPUs', { computeType: 'CPU', gpuIds: ['AMPERE_24'] }, /takes no gpu_ids/],
  [
    'a GPU endpoint with sizes',
    { instanceIds: ['cpu3c-2-4'] },
    /instance_ids are sizes of CPU workers: they need compute_type CPU/,
  ],
  ['a size without memory', { computeType: 'CPU', instanceIds: ['cpu3c-2'] }, /"cpu3c-2" is not like cpu3c-2-4/],
  ['a size without processors', { computeType: 'CPU', instanceIds: ['cpu3c-0-4'] }, /"cpu3c-0-4" is not like/],
  ['a size of too many', { computeType: 'CPU', instanceIds: ['cpu3c-1025-4'] }, /1 to 1024 processors/],
  [
    '101 sizes',
    { computeType: 'CPU', instanceIds: Array.from({ length: 101 }, () => 'cpu3c-2-4') },
    /instance_ids has 101 entries/,
  ],
  ['a CUDA version', { allowedCudaVersions: ['twelve'] }, /"twelve" is not a version/],
  ['a variable name', { env: { '1 bad': 'x' } }, /"1 bad" is not a name for a variable/],
  [
    'a large environment',
    { env: { A: 'x'.repeat(131_000), B: 'x'.repeat(131_000), C: 'x'.repeat(200) } },
    /env takes \d+ bytes, but may take 262144/,
  ],
  ['a NUL in a variable', { env: { A: 'a\0' } }, /cannot be stored/],
  ['an empty location', { locations: [''] }, /locations has 0 characters/],
  ['a long webhook secret', { webhookSecret: 'x'.repeat(1_025) }, /webhook_secret is longer/],
  ['an enum from the future', { scalerType: 9 as ScalerType }, /scaler_type has a value/],
  [
    'a port that is none',
    { type: EndpointType.LB, env: { PORT: 'http' } },
    /env: PORT must be a port, from 1 to 65535/,
  ],
  [
    'a port that is too large',
    { type: EndpointType.LB, env: { PORT_HEALTH: '65536' } },
    /env: PORT_HEALTH must be a port/,
  ],
  [
    'a health path with a blank',
    { type: EndpointType.LB, env: { HEALTH_CHECK_PATH: '/a b' } },
    /env: HEALTH_CHECK_PATH must be a path/,
  ],
  [
    'a health path with a line',
    { type: EndpointType.LB, env: { HEALTH_CHECK_PATH: '/a\nb' } },
    /env: HEALTH_CHECK_PATH must be a path/,
  ],
];
