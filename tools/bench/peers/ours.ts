/** Slipway in the race: through its real agent, with two workers that hold 100 jobs each. */
import { existsSync } from 'node:fs';
import { PYTHONS } from '@slipway/test/helpers/system/handlers';
import { waitFor } from '@slipway/test/helpers/time/wait-for';
import { drainOnce } from '../parts/backlog.ts';
import type { LongQueue } from '../parts/long-queue.ts';
import { drained } from '../parts/long-queue.ts';
import { checkOutcomes, checkQueued, databaseNow } from '../parts/outcomes.ts';
import type { Bench } from '../stack/bench.ts';
import type { Machine } from '../stack/machine.ts';
import { benchFile, SHAPES, startMachine, workerCommand } from '../stack/machine.ts';
import type { Stack } from '../stack/stack.ts';
import { startStack } from '../stack/stack.ts';
import type { Contestant, Opened, Route } from './contestant.ts';
import { BODY, EXPECT } from './contestant.ts';
import type { Round } from './race-report.ts';

/**
 * Share of the jobs that Python drains. Its rate needs no more, and its rounds then take no longer than those of
 * others.
 */
const PYTHON_DRAINS = 1 / 10;
/**
 * Rate limits of POST /run. They are counted and checked, and give a worker's endpoint the highest values that the
 * settings allow.
 */
const LIMITS = {
  SLIPWAY_RATE_LIMITS: 'true',
  SLIPWAY_REQUESTS_PER_WORKER: '1000000',
  SLIPWAY_CONCURRENCY_PER_WORKER: '100000',
};
const { workers, capacity } = SHAPES.agent;
const SETTINGS =
  `one core, one facade, ${workers} workers of ${capacity} jobs on one agent, all settings as they come; ` +
  `/run with rate limits (${LIMITS.SLIPWAY_REQUESTS_PER_WORKER} requests in 10 s), /runsync without`;

/** Returns Slipway with JavaScript workers. */
export function slipway(bench: Bench): Contestant {
  return { ...through(bench, 'Slipway', workerCommand()), drainBefore: (long) => drainBefore(bench, long) };
}

/**
 * Returns the baseline of Slipway's drain at the head of a long queue: the same drain without other jobs and without an
 * open transaction.
 */
export function slipwayAlone(bench: Bench): Contestant {
  const drainAlone = ({ jobs }: LongQueue): Promise<Round> =>
    drainBefore(bench, { jobs, behind: 0, openSeconds: undefined });
  const { open, settings } = slipway(bench);
  return { name: 'Slipway, nothing behind it', settings, routes: [], open, drainBefore: drainAlone };
}

async function drainBefore(bench: Bench, long: LongQueue): Promise<Round> {
  const { rate, bystanderMs, openSeconds } = await drained(bench, long);
  return { rate, bystanderMs, openSeconds };
}

/** Returns Slipway with workers of the Python SDK; `undefined` if the SDK is not installed. */
export function slipwayPython(bench: Bench): Contestant | undefined {
  if (!existsSync(PYTHONS.new)) return undefined;
  // Python writes JSON with a space.
  const python = through(bench, 'Slipway, Python workers', [PYTHONS.new, benchFile('noop_handler.py')], {
    ...EXPECT,
    runsync: '"done": true',
  });
  return { ...python, routes: ['runsync'], drain: (jobs) => python.drain!(Math.ceil(jobs * PYTHON_DRAINS)) };
}

function through(bench: Bench, name: string, command: string[], expect = EXPECT): Contestant {
  return {
    name,
    settings: SETTINGS,
    routes: ['run', 'runsync'],
    open: async (route) => {
      const stack = await startStack(bench, route === 'run' ? LIMITS : {});
      try {
        return await openOn(stack, route, command, expect[route]);
      } catch (error) {
        await stack.stop();
        throw error;
      }
    },
    drain: async (jobs) => {
      const stack = await startStack(bench);
      try {
        return { rate: (await drainOnce(stack, 'agent', jobs, command)).rate };
      } finally {
        await stack.stop();
      }
    },
  };
}

async function openOn(stack: Stack, route: Route, command: string[], expect: string): Promise<Opened> {
  const isRun = route === 'run';
  const endpointId = await stack.createEndpoint(isRun ? 1 : workers, command);
  const machine = await (isRun ? startFull(stack, endpointId) : startMachine(stack, 'agent', endpointId));
  let since = await databaseNow(stack);
  return {
    load: {
      url: `${stack.url}/v2/${endpointId}/${route}`,
      headers: { authorization: `Bearer ${stack.key}` },
      body: BODY,
      expect,
    },
    verify: async (jobs) => {
      await (isRun ? checkQueued : checkOutcomes)(stack, endpointId, { jobs, since });
      since = await databaseNow(stack);
    },
    stop: async () => {
      await machine.stop();
      await stack.stop();
    },
  };
}

/** Starts a machine whose worker runs but has no capacity for a job. Limits grow with the number of workers. */
async function startFull(stack: Stack, endpointId: string): Promise<Machine> {
  const machine = await startMachine(stack, 'session', endpointId, { workers: 1, capacity: 0, ready: 0 });
  await waitFor(
    'a worker',
    async () =>
      (await stack.sql`SELECT 1 FROM worker WHERE endpoint_id = ${endpointId} AND state = 'READY'`).length > 0,
  );
  return machine;
}
