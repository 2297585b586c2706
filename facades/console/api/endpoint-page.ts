/** Feeds an endpoint's page: counts, workers, explanation, and decisions of the scaler. */

import type { EndedWorkers, Worker, WorkerStretch } from '@slipway/proto/gen/slipway/v1/machine';
import { StandbyLevel, WorkerState } from '@slipway/proto/gen/slipway/v1/machine';
import { enumName } from '@slipway/proto/wire/enum-name';
import { CoreError } from '@slipway/proto/wire/reason';
import type { ConsoleParts } from '../console-parts.ts';
import type { FeedSource } from '../live-feeds.ts';
import type { EndedView, EndpointView, StretchView, WorkerView } from '../views.ts';
import { DECISIONS_PAGE, ENDPOINT_PAST_MS } from '../views.ts';
import { CounterHistory } from './counter-history.ts';
import { decisionView } from './decisions.ts';
import { endpointRow } from './endpoint-row.ts';
import { loadView } from './gpu-load.ts';
import { readProblems, readProblemsOfAll } from './problems.ts';

/** Most workers that are shown of each kind. */
const WORKERS_MAX = 200;

/** Returns the feed of an endpoint. */
export function endpointPage({ core, clock }: ConsoleParts, apiKey: string, operator: boolean, id: string): FeedSource {
  const past = new CounterHistory(ENDPOINT_PAST_MS);
  const names = new Map<string, string>();
  const read = async (signal: AbortSignal): Promise<EndpointView> => {
    const options = { apiKey, repeatable: true, signal };
    const { endpoint } = await core.endpoints.call((client) => client.getEndpoint, { id }, options);
    if (!endpoint) throw new CoreError('INTERNAL', 'core answered without an endpoint');
    const [health, { workers, recent, ended }, { explanation }, { decisions }, wrong] = await Promise.all([
      core.jobs.call((client) => client.getHealth, { endpointId: id }, options),
      // A key for jobs alone may not see workers.
      core.machines
        .call((client) => client.listWorkers, { endpointId: id, pageSize: WORKERS_MAX }, options)
        .catch(nothingFor401({ workers: [], recent: [], ended: [] })),
      core.endpoints.call((client) => client.explain, { endpointId: id }, options),
      core.endpoints
        .call((client) => client.listDecisions, { endpointId: id, pageSize: DECISIONS_PAGE, beforeId: 0 }, options)
        .catch(nothingFor401({ decisions: [] })),
      operator ? readProblemsOfAll(core, id, names, options) : readProblems(core, id, options),
    ]);
    const nowMs = clock.nowMs();
    const row = endpointRow(endpoint, health);
    await past.add([row], nowMs, core, options);
    return {
      nowMs,
      row,
      summary: explanation?.summary ?? '',
      ...wrong,
      oldestWaitMs: explanation?.oldestWaitMs ?? 0,
      machines: (explanation?.machines ?? []).map(({ count, name, fits, reason, change }) => ({
        count,
        name,
        fits,
        reason,
        change,
      })),
      models: explanation?.models ?? [],
      batches: explanation?.batches ?? [],
      workers: workers.map(workerView),
      recent: recent.map(workerView),
      ended: ended.map(endedView),
      decisions: decisions.map(decisionView),
    };
  };
  return { read, past: () => past.view() };
}

function nothingFor401<Answer>(nothing: Answer): (error: unknown) => Answer {
  return (error) => {
    if (error instanceof CoreError && error.httpStatus === 401) return nothing;
    throw error;
  };
}

const LEVELS: Readonly<Record<number, 'GPU' | 'HOST'>> = { [StandbyLevel.GPU]: 'GPU', [StandbyLevel.HOST]: 'HOST' };

/** Converts a worker for the page. */
export function workerView({ createTime, readyTime, endTime, busy, frozen, ...worker }: Worker): WorkerView {
  const { id, machineId, state, held, capacity, version, reason, gpuUuids: gpus, gpuLoads, sdkVersion } = worker;
  const word = enumName(WorkerState, state);
  return {
    id,
    machineId,
    state: word,
    held,
    capacity,
    version,
    reason,
    gpus,
    loads: gpuLoads.map(loadView),
    load: worker.load
      ? { processors: worker.load.processors ?? null, memoryMib: worker.load.memoryUsedMib ?? null }
      : null,
    sdkVersion,
    createdMs: createTime?.getTime() ?? 0,
    readyMs: readyTime?.getTime() ?? 0,
    endedMs: endTime?.getTime() ?? 0,
    crashedMs: worker.crashTime?.getTime() ?? 0,
    retryMs: worker.retryTime?.getTime() ?? 0,
    standby: LEVELS[worker.standbyLevel] ?? '',
    gpuBytes: worker.gpuMemoryBytes,
    offloadMs: worker.lastOffload?.durationMs ?? 0,
    restoreMs: worker.lastRestore?.durationMs ?? 0,
    busy: busy.map(stretchView),
    frozen: frozen.map(stretchView),
  };
}

function stretchView({ beginTime, endTime }: WorkerStretch): StretchView {
  return [beginTime?.getTime() ?? 0, endTime?.getTime() ?? 0];
}

/** Converts ended workers for the page. */
export function endedView({ count, exitCode, lastLine, lastEndTime, lastWorkerId, reason }: EndedWorkers): EndedView {
  return {
    count,
    exitCode: exitCode ?? null,
    lastLine,
    lastEndedMs: lastEndTime?.getTime() ?? 0,
    lastWorkerId,
    reason,
  };
}
