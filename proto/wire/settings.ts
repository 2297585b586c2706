/** Defaults and bounds of settings, as core's domain has them. Made by `npm run gen` (core/publish-settings.ts); never edited. */

export const ENDPOINT_SETTINGS = {
  name: {},
  templateId: {},
  type: { default: 'QB' },
  computeType: { default: 'GPU' },
  gpuIds: { default: [] },
  gpuCount: { default: 1, min: 0, max: 64 },
  instanceIds: { default: [] },
  workersMin: { default: 0, min: 0, max: 10000 },
  workersMax: { default: 3, min: 0, max: 10000 },
  idleTimeoutSeconds: { default: 5, min: 1, max: 3600 },
  scalerType: { default: 'QUEUE_DELAY' },
  scalerValue: { default: 4, min: 1, max: 1000000 },
  executionTimeoutMs: { default: 600000, min: 5000, max: 604800000 },
  flashBootType: { default: 'OFF' },
  locations: { default: [] },
  networkVolumeIds: { default: [] },
  env: { default: {} },
  retryLimit: { default: 2, min: 0, max: 10 },
  retryHandlerErrors: { default: false },
  workerConcurrency: { default: 1, min: 1, max: 1000 },
  allowedCudaVersions: { default: [] },
} as const;

export const TEMPLATE_SETTINGS = {
  name: {},
  imageName: {},
  startCommand: { default: [] },
  entrypoint: { default: [] },
  env: { default: {} },
  workingDirectory: {},
  containerDiskGb: { default: 50, min: 0, max: 65536 },
  volumeGb: { min: 0, max: 65536 },
  ports: {},
  volumeMountPath: { default: '/workspace' },
  registryAuthId: {},
  public: { default: false },
  serverless: { default: false },
  readme: { default: '' },
  category: { default: 'NVIDIA' },
} as const;

export const VOLUME_SETTINGS = {
  name: {},
  sizeGb: { min: 0, max: 4000 },
  dataCenterId: {},
} as const;
