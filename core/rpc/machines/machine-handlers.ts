/** MachineService: decode, call a use case, encode. */
import type { Metadata } from '@grpc/grpc-js';
import type { Logger } from '@slipway/kit/log/logger';
import type { Clock } from '@slipway/kit/time/clock';
import type {
  GetWorkerLogRequest,
  GetWorkerLogResponse,
  MachineServiceServer,
} from '@slipway/proto/gen/slipway/v1/machine_service';
import type { Access } from '../../access/access.ts';
import { modelToMessage } from '../../dispatch/model-messages.ts';
import { unauthorized } from '../../domain/accounts/permission.ts';
import { groupEnded } from '../../domain/machines/ended-workers.ts';
import { isRepository } from '../../domain/machines/model-reference.ts';
import { DomainError } from '../../domain/settings/errors.ts';
import { checkTexts, invalid } from '../../domain/settings/fields.ts';
import { cordonMachine } from '../../endpoints/cordon-machine.ts';
import { drainMachine } from '../../endpoints/drain-machine.ts';
import type { EndpointContext } from '../../endpoints/endpoint-context.ts';
import { forgetMachine, removeMachine } from '../../endpoints/forget-machine.ts';
import { findMachine, readMachine } from '../../endpoints/read-machine.ts';
import { resumeWorker, suspendWorker } from '../../endpoints/suspend-worker.ts';
import type { LogParts } from '../jobs/read-log.ts';
import { linesOf, readLog, tailBytesOf } from '../jobs/read-log.ts';
import type { PageBudget } from '../server/page-budget.ts';
import { listing, pageRequestOf, tokenOf } from '../server/paging.ts';
import { unary } from '../server/unary.ts';
import { endedToMessage, machinePageToMessage, machineToMessage, workerToMessage } from './machine-messages.ts';
import { machinePoolHandlers } from './machine-pool-handlers.ts';

interface MachineHandlersOptions {
  access: Access;
  context: EndpointContext;
  logs: LogParts;
  budget: PageBudget;
  clock: Clock;
  logger: Logger;
}

/** Returns the handlers of the service. */
export function machineHandlers(options: MachineHandlersOptions): MachineServiceServer {
  const { access, context, logger } = options;
  return {
    listMachines: listing(options, async (request, apiKey, enter) => {
      const { scope, accountId } = await access.caller(apiKey);
      // Machines are shared by all accounts, so only the operator may see them.
      if (scope !== 'ROOT') throw unauthorized();
      const page = pageRequestOf(request, 'name');
      await enter(accountId);
      const { entries, next } = await context.machines.page(page);
      return { machines: entries.map(machineToMessage), nextPageToken: tokenOf(next, page) };
    }),
    getMachine: listing(options, async ({ id }, apiKey, enter) => {
      const caller = await access.caller(apiKey);
      await enter(caller.accountId);
      return machinePageToMessage(await readMachine(context, caller, id));
    }),
    listMachineModels: listing(options, async ({ repository }, apiKey, enter) => {
      const { scope, accountId } = await access.caller(apiKey);
      if (scope !== 'ROOT') throw unauthorized();
      if (repository !== '' && !isRepository(repository))
        throw invalid('repository must be the name of a repository, org/name, or empty');
      await enter(accountId);
      const found = await context.cachedModels.list('', repository);
      return {
        models: found.map(({ machineId, machineName, ...model }) => ({
          machineId,
          machineName,
          model: modelToMessage(model),
        })),
      };
    }),
    ...stateHandlers(options),
    ...machinePoolHandlers(access, context, logger),
    listWorkers: listing(options, async (request, apiKey, enter) => {
      const { endpointId, accountId = '', pageToken = '', machines } = request;
      const caller = await access.caller(apiKey);
      if (caller.scope !== 'ROOT' && (accountId !== '' || machines)) throw unauthorized();
      if (machines?.ids.length === 0) throw invalid('machines.ids is empty: leave out machines for the workers of all');
      checkTexts('machines.ids', machines?.ids ?? []);
      // Only the operator may omit the endpoint.
      if (caller.scope !== 'ROOT' || endpointId !== '') await access.check(apiKey, { api: 'MANAGEMENT', endpointId });
      const page = pageRequestOf(request);
      await enter(caller.accountId);
      const { entries, next } = await context.workers.list({ endpointId, accountId, machineIds: machines?.ids }, page);
      const ended =
        pageToken === ''
          ? groupEnded(await context.workers.ended({ endpointId, accountId, machineIds: machines?.ids }))
          : [];
      const [machineId, ...others] = machines?.ids ?? [];
      const ofMachine = machineId !== undefined && others.length === 0 ? { machineId } : undefined;
      const of = endpointId !== '' ? { endpointId } : ofMachine;
      const recent = pageToken === '' && of ? await context.workers.recent(of) : [];
      const workers = entries.map(workerToMessage);
      return {
        workers,
        recent: recent.map(workerToMessage),
        ended: ended.map(endedToMessage),
        nextPageToken: tokenOf(next, page),
      };
    }),
    getWorkerLog: unary(logger, (request, apiKey, metadata) => workerLog(options, request, apiKey, metadata)),
  };
}

type StateCalls = 'forgetMachine' | 'cordonMachine' | 'drainMachine' | 'suspendWorker' | 'resumeWorker';

/** Returns the handlers that change whether a machine or a worker takes work. */
function stateHandlers({
  access,
  context,
  clock,
  logger,
}: MachineHandlersOptions): Pick<MachineServiceServer, StateCalls> {
  return {
    suspendWorker: unary(logger, async ({ workerId }, apiKey) => ({
      worker: workerToMessage(await suspendWorker(context, await access.caller(apiKey), workerId)),
    })),
    resumeWorker: unary(logger, async ({ workerId }, apiKey) => ({
      worker: workerToMessage(await resumeWorker(context, await access.caller(apiKey), workerId)),
    })),
    forgetMachine: unary(logger, async ({ id: named, connected }, apiKey) => {
      const caller = await access.caller(apiKey);
      const { id } = await findMachine(context, caller, named);
      return connected ? removeMachine(context, caller, id, clock) : forgetMachine(context, caller, id);
    }),
    cordonMachine: unary(logger, async ({ id, cordoned, gpuUuid = '' }, apiKey) => {
      await cordonMachine(context, await access.caller(apiKey), { id, gpuUuid }, cordoned);
      return {};
    }),
    drainMachine: unary(logger, async ({ id, deadlineMs, reason }, apiKey) => {
      const status = await drainMachine(context, await access.caller(apiKey), id, { deadlineMs, reason });
      return { status: machineToMessage(status) };
    }),
  };
}

async function workerLog(
  { access, context, logs }: MachineHandlersOptions,
  { workerId, tailBytes, job, endpointId }: GetWorkerLogRequest,
  apiKey: string,
  metadata: Metadata,
): Promise<GetWorkerLogResponse> {
  const bytes = tailBytesOf(tailBytes);
  await access.caller(apiKey);
  const worker = await context.workers.find(workerId);
  if (!worker || (endpointId ?? worker.endpointId) !== worker.endpointId) throw workerNotFound(workerId);
  const accountId = await accountOf(access, apiKey, worker.endpointId, workerId);
  const place = job && { ...job, limit: linesOf(job.limit) };
  const logRequest = {
    kind: 'worker',
    id: workerId,
    machineId: worker.machineId,
    accountId,
    tailBytes: bytes,
    job: place,
  } as const;
  return readLog(logs, logRequest, apiKey, metadata);
}

async function accountOf(access: Access, apiKey: string, endpointId: string, workerId: string): Promise<string> {
  try {
    return (await access.check(apiKey, { api: 'MANAGEMENT', endpointId })).accountId;
  } catch (error) {
    // Another account's worker is reported as unknown.
    if (error instanceof DomainError && error.reason === 'ENDPOINT_NOT_FOUND') throw workerNotFound(workerId);
    throw error;
  }
}

function workerNotFound(workerId: string): DomainError {
  const which = JSON.stringify(workerId.slice(0, 64));
  return new DomainError(
    'NOT_FOUND',
    `There is no worker ${which} in this account; the last 20 ended workers of an endpoint are known for a day.`,
  );
}
