/** All operations of REST v2, in the order of the document. */
import { secretOperations } from './account/secrets.ts';
import { sshKeyOperations } from './account/ssh-keys.ts';
import { billingOperations } from './billing/billing.ts';
import { cpuOperations } from './catalog/cpus.ts';
import { dataCenterOperations } from './catalog/data-centers.ts';
import { gpuOperations } from './catalog/gpus.ts';
import { publicTemplates } from './catalog/public-templates.ts';
import { nothingHere } from './empty/nothing-here.ts';
import { podLog, workerLog } from './logs/logs.ts';
import type { Operation } from './operation.ts';
import { podOperations } from './pods/pods.ts';
import { registryOperations } from './registries/registries.ts';
import { endpointOperations } from './serverless/endpoints.ts';
import { releaseOperations } from './serverless/releases.ts';
import { workersOperation } from './serverless/workers.ts';
import { templateOperations } from './templates/templates.ts';
import { volumeOperations } from './volumes/volumes.ts';

/** All operations. */
export const operations: readonly Operation[] = [
  ...endpointOperations,
  workersOperation,
  ...releaseOperations,
  workerLog,
  ...podOperations,
  podLog,
  ...templateOperations,
  ...registryOperations,
  ...volumeOperations,
  ...gpuOperations,
  ...cpuOperations,
  ...dataCenterOperations,
  publicTemplates,
  ...sshKeyOperations,
  ...secretOperations,
  ...billingOperations,
  ...nothingHere,
];
