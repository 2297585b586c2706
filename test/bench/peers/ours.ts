/** Slipway in the race: through its real agent, with two workers that hold 100 jobs each. */
import { existsSync } from 'node:fs';
import { PYTHONS } from '../../helpers/handlers.ts';
import { drainOnce } from '../backlog.ts';
import type { Bench } from '../bench.ts';
import { drained } from '../long-queue.ts';
import { benchFile, SHAPES, startMachine, workerCommand } from '../machine.ts';
import { startStack } from '../stack.ts';
import { BODY, EXPECT } from './contestant.ts';
import type { Contestant } from './contestant.ts';

/** Python drains this share of the jobs: its rate needs no more, and its rounds take no longer than those of others. */
const PYTHON_DRAINS = 1 / 10;

/** With JavaScript workers. */
export function slipway(bench: Bench): Contestant {
  return {
    ...through(bench, 'Slipway', workerCommand()),
    drainBefore: async (jobs, behind) => {
      const { rate, bystanderMs } = await drained(bench, { jobs, behind, snapshot: true });
      return { rate, bystanderMs };
    },
  };
}

/** With workers of the Python SDK; undefined: there is none here. */
export function slipwayPython(bench: Bench): Contestant | undefined {
  if (!existsSync(PYTHONS.new)) return undefined;
  // Python writes JSON with a space.
  const python = through(bench, 'Slipway, Python workers', [PYTHONS.new, benchFile('noop_handler.py')], { ...EXPECT, runsync: '"done": true' });
  return { ...python, routes: ['runsync'], drain: (jobs) => python.drain!(Math.ceil(jobs * PYTHON_DRAINS)) };
}

function through(bench: Bench, name: string, command: string[], expect = EXPECT): Contestant {
  return {
    name,
    routes: ['run', 'runsync'],
    open: async () => {
      const stack = await startStack(bench);
      const endpoints = { run: await stack.createEndpoint(0, command), runsync: await stack.createEndpoint(SHAPES.agent.workers, command) };
      const machine = await startMachine(stack, 'agent', endpoints.runsync);
      return {
        load: (route) => ({
          url: `${stack.url}/v2/${endpoints[route]}/${route}`, headers: { authorization: `Bearer ${stack.key}` }, body: BODY, expect: expect[route],
        }),
        stop: async () => { await machine.stop(); await stack.stop(); },
      };
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
