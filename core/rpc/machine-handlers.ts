/** MachineService: decode, call a use case, encode. */
import { Metadata, credentials } from '@grpc/grpc-js';
import { MachineServiceClient } from '../../proto/gen/slipway/v1/machine_service.ts';
import type { GetWorkerLogRequest, GetWorkerLogResponse, MachineServiceServer } from '../../proto/gen/slipway/v1/machine_service.ts';
import { CHANNEL_OPTIONS, WORKER_LOG_BYTES_MAX } from '../../proto/wire/limits.ts';
import { fromGrpcError } from '../../proto/wire/reason.ts';
import type { Access } from '../access/access.ts';
import { isUnlimited, unauthorized } from '../domain/access.ts';
import { invalid } from '../domain/endpoint.ts';
import { DomainError } from '../domain/errors.ts';
import type { WorkerLogs } from '../dispatch/worker-logs.ts';
import type { EndpointContext } from '../endpoints/context.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Logger } from '../runtime/logger.ts';
import { machineToMessage, workerToMessage } from './machine-messages.ts';
import { unary } from './unary.ts';

const TAIL_BYTES_DEFAULT = 65_536;
/** Marks a call that another replica passed on: it is not passed on again. */
const FORWARDED_KEY = 'x-slipway-forwarded';
const FORWARD_MS_MAX = 15_000;

/** What the handlers need. */
export interface MachineHandlersOptions {
  access: Access;
  context: EndpointContext;
  logs: WorkerLogs;
  clock: Clock;
  logger: Logger;
}

/** Handlers of the service. */
export function machineHandlers(options: MachineHandlersOptions): MachineServiceServer {
  const { access, context, logger } = options;
  return {
    listMachines: unary(logger, async (_request, apiKey) => {
      const caller = await access.caller(apiKey);
      if (!isUnlimited(caller)) throw unauthorized();
      return { machines: (await context.machines.list()).map(machineToMessage) };
    }),
    listWorkers: unary(logger, async ({ endpointId }, apiKey) => {
      await access.check(apiKey, { api: 'MANAGEMENT', endpointId });
      return { workers: (await context.workers.list(endpointId)).map(workerToMessage) };
    }),
    getWorkerLog: unary(logger, (request, apiKey, metadata) => readLog(options, request, apiKey, metadata)),
  };
}

/** The log comes from the replica that holds the machine's session; the caller's own key opens it there as it does here. */
async function readLog(
  { access, context, logs, clock }: MachineHandlersOptions, request: GetWorkerLogRequest, apiKey: string, metadata: Metadata,
): Promise<GetWorkerLogResponse> {
  const { workerId } = request;
  const tailBytes = request.tailBytes === 0 ? TAIL_BYTES_DEFAULT : request.tailBytes;
  if (tailBytes < 1 || tailBytes > WORKER_LOG_BYTES_MAX) {
    throw invalid(`tail_bytes is ${tailBytes}, but must be from 1 to ${WORKER_LOG_BYTES_MAX}`);
  }
  await access.caller(apiKey);
  const worker = await context.workers.find(workerId);
  if (!worker) throw workerNotFound(workerId);
  try {
    await access.check(apiKey, { api: 'MANAGEMENT', endpointId: worker.endpointId });
  } catch (error) {
    // Another account's worker is like none.
    if (error instanceof DomainError && error.reason === 'ENDPOINT_NOT_FOUND') throw workerNotFound(workerId);
    throw error;
  }
  if (logs.reaches(worker.machineId)) return { log: await logs.read(worker.machineId, workerId, tailBytes) };
  const address = metadata.get(FORWARDED_KEY).length > 0 ? undefined : await context.machines.replicaOf(worker.machineId);
  if (!address) throw new DomainError('UNAVAILABLE', 'The machine of this worker is not connected.');
  return forward(address, { workerId, tailBytes }, apiKey, clock);
}

function forward(address: string, request: GetWorkerLogRequest, apiKey: string, clock: Clock): Promise<GetWorkerLogResponse> {
  const client = new MachineServiceClient(address, credentials.createInsecure(), CHANNEL_OPTIONS);
  const metadata = new Metadata();
  metadata.set('authorization', `Bearer ${apiKey}`);
  metadata.set(FORWARDED_KEY, '1');
  return new Promise<GetWorkerLogResponse>((resolve, reject) => {
    client.getWorkerLog(request, metadata, { deadline: clock.nowMs() + FORWARD_MS_MAX }, (error, response) => {
      if (!error) return resolve(response);
      const { reason, message } = fromGrpcError(error);
      reject(new DomainError(reason, message));
    });
  }).finally(() => client.close());
}

function workerNotFound(workerId: string): DomainError {
  return new DomainError('NOT_FOUND', `There is no worker ${JSON.stringify(workerId.slice(0, 64))} in this account.`);
}
