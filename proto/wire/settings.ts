/**
 * Defaults and bounds of settings, as core's domain has them. Made by `npm run gen` (core/publish-settings.ts); never
 * edited.
 */

export const ENDPOINT_SETTINGS = {
  name: { inPlace: true },
  templateId: {},
  type: { default: 'QB', inPlace: true },
  computeType: { default: 'GPU', inPlace: true },
  gpuIds: { default: [] },
  gpuCount: { default: 1, min: 0, max: 64 },
  instanceIds: { default: [] },
  workersMin: { default: 0, min: 0, max: 10000, inPlace: true },
  workersMax: { default: 3, min: 0, max: 10000, inPlace: true },
  idleTimeoutSeconds: { default: 5, min: 1, max: 3600, inPlace: true },
  scalerType: { default: 'QUEUE_DELAY', conditional: true, inPlace: true },
  scalerValue: { default: 4, min: 1, max: 1000000, inPlace: true },
  executionTimeoutMs: { default: 600000, min: 5000, max: 604800000, inPlace: true },
  flashBootType: { default: 'OFF', inPlace: true },
  locations: { default: [] },
  networkVolumeIds: { default: [] },
  env: { default: {} },
  retryLimit: { default: 2, min: 0, max: 10, inPlace: true },
  retryHandlerErrors: { default: false, inPlace: true },
  workerConcurrency: { default: 1, conditional: true, min: 1, max: 1000 },
  allowedCudaVersions: { default: [] },
  queueDelayMs: { default: 0, min: 0, max: 1000000000, inPlace: true },
  executionTimeoutUnset: { default: false, inPlace: true },
  priorityFlashBoot: { default: false, inPlace: true },
} as const;

export const POD_SETTINGS = {
  name: { default: 'my pod' },
  templateId: {},
  imageName: {},
  startCommand: {},
  entrypoint: {},
  env: {},
  workingDirectory: {},
  containerDiskGb: { default: 50, conditional: true, min: 0, max: 65536 },
  volumeGb: { default: 20, conditional: true, min: 0, max: 65536 },
  volumeMountPath: { default: '/workspace', conditional: true },
  ports: {},
  registryAuthId: {},
  networkVolumeId: {},
  gpuIds: { default: [] },
  gpuCount: { default: 1, min: 0, max: 64 },
  instanceIds: {},
  computeType: { default: 'GPU' },
  locations: {},
  allowedCudaVersions: { default: [] },
  locked: { default: false },
  interruptible: { default: false },
} as const;

export const TEMPLATE_SETTINGS = {
  name: { inPlace: true },
  imageName: {},
  startCommand: { default: [] },
  entrypoint: { default: [] },
  env: { default: {} },
  workingDirectory: {},
  containerDiskGb: { default: 50, min: 0, max: 65536 },
  volumeGb: { min: 0, max: 65536, inPlace: true },
  ports: {},
  volumeMountPath: { default: '/workspace', inPlace: true },
  registryAuthId: {},
  public: { default: false, inPlace: true },
  serverless: { default: false, inPlace: true },
  readme: { default: '', inPlace: true },
  category: { default: 'NVIDIA', inPlace: true },
} as const;

export const VOLUME_SETTINGS = {
  name: {},
  sizeGb: { min: 0, max: 4000 },
  dataCenterId: {},
} as const;
