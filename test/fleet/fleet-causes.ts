/** Jobs that wait for a known cause, because the test made it: their explanation must name it. */
import { NO_WORKERS_TEXT } from '@slipway/core/domain/scaling/placement-refusal';
import type { Endpoint } from '@slipway/proto/gen/slipway/v1/endpoint';
import { ScalerType } from '@slipway/proto/gen/slipway/v1/endpoint';
import { call } from '../helpers/grpc/grpc-clients.ts';
import type { Fleet } from './fleet.ts';
import type { FleetCore, FleetEndpoint } from './fleet-options.ts';

/** A cause, and the words that name it. */
interface Cause {
  what: string;
  named: RegExp;
  fields: Partial<Endpoint>;
  /** Number of jobs, of which one waits. They run until all causes have been named. */
  jobs: number;
}

const ONE_BY_ONE = { scalerType: ScalerType.REQUEST_COUNT, scalerValue: 1 };
const CAUSES: Cause[] = [
  {
    what: 'a GPU that no machine has',
    named: /No worker can ever start: .*H200/,
    fields: { gpuIds: ['NVIDIA H200'], workersMax: 2 },
    jobs: 1,
  },
  {
    what: 'no worker may be',
    named: new RegExp(NO_WORKERS_TEXT),
    fields: { gpuIds: ['NVIDIA L4'], workersMax: 0 },
    jobs: 1,
  },
  {
    what: 'all workers are busy',
    named: /Its only worker is busy/,
    fields: { ...ONE_BY_ONE, gpuIds: ['NVIDIA L4'], workersMax: 1 },
    jobs: 2,
  },
  {
    what: 'the one GPU of its kind is taken',
    named: /cannot be placed: .*free/,
    fields: { ...ONE_BY_ONE, gpuIds: ['NVIDIA A30'], workersMax: 2 },
    jobs: 2,
  },
  {
    what: 'its workers crash',
    named: /crashed.*last log lines/,
    fields: { gpuIds: ['NVIDIA A2'], workersMax: 1 },
    jobs: 1,
  },
];

/**
 * Makes all causes, waits until each is named with its remedy, and removes the jobs. Returns the causes for which
 * either was never named, with what was said instead.
 */
export async function checkCauses(
  fleet: Fleet,
  core: FleetCore,
  patient: (what: string, check: () => Promise<boolean>) => Promise<unknown>,
): Promise<string[]> {
  fleet.addMachine('machinewith1', await fleet.newAgentKey(), ['NVIDIA A30']);
  fleet.addMachine('machinebroke', await fleet.newAgentKey(), ['NVIDIA A2'], { crashShare: 1 });
  const owner = await fleet.newAccount('causes');
  const short = await fleet.newAccount('short of quota');
  await call(core.clients.access, 'setQuota', { accountId: short.accountId, quota: { workers: 1 } }, core.rootKey);
  const quota: Cause = {
    what: 'a quota',
    named: /cannot be placed: .*quota/i,
    fields: { ...ONE_BY_ONE, gpuIds: ['NVIDIA L4'], workersMax: 3 },
    jobs: 2,
  };
  const unnamed = await Promise.all(
    [...CAUSES, quota].map(async (cause) => {
      const endpoint = await fleet.createEndpoint(cause === quota ? short : owner, cause.fields);
      const ids = await fleet.submit(
        Array.from({ length: cause.jobs }, () => endpoint),
        { hold: true },
      );
      return check(core, endpoint, ids, cause, patient);
    }),
  );
  fleet.release();
  return unnamed.flat();
}

async function check(
  { clients }: FleetCore,
  { id: endpointId, key }: FleetEndpoint,
  jobIds: readonly string[],
  { what, named }: Cause,
  patient: (what: string, look: () => Promise<boolean>) => Promise<unknown>,
): Promise<string[]> {
  const said = new Set<string>();
  const look = async (): Promise<boolean> => {
    for (const jobId of jobIds) {
      const { explanation } = await call(clients.jobs, 'explain', { endpointId, jobId }, key);
      if (explanation!.queuePosition > 0) said.add(explanation!.summary);
    }
    return [...said].some((summary) => named.test(summary) && / To change that: |raise it to/.test(summary));
  };
  try {
    await patient(what, look);
    return [];
  } catch {
    return [`${what}: ${[...said].join(' | ')}`];
  } finally {
    await call(clients.jobs, 'purgeQueue', { endpointId }, key);
  }
}
